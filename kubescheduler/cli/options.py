"""Options that several commands have, and types of options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

RELEASES = ("1.16",)
"""The releases there are; spelled out so that ``--help`` imports nothing. A test holds them to the registry's."""

if TYPE_CHECKING:
    _Choice = click.Choice[str]
else:
    _Choice = click.Choice


class OneOf(_Choice):
    """A choice that names the nearest of what there is."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value in self.choices:
            return value
        from algorithmprovider.registry import nearest

        self.fail(f"{value!r} is not one of {', '.join(self.choices)}{nearest(str(value), self.choices)}", param, ctx)


FILE = click.Path()
"""A file's name as it was given; shells complete it. Whether it is there is seen when it is read."""

RELEASE = click.option(
    "--release", type=OneOf(RELEASES), default="1.16", show_default=True, help="Whose rules to decide by."
)

FEATURE_GATES = click.option(
    "--feature-gates", metavar="A=true,B=false", default="", help="As kube-scheduler takes them."
)

PLUGIN = click.option(
    "--plugin",
    multiple=True,
    metavar="MODULE:FUNCTION",
    help="Call a function of yours that registers algorithms.  [repeatable]",
)
