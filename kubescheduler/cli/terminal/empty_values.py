"""Values that are empty, as an unset variable of a shell leaves them: no default stands in for what was asked."""

from __future__ import annotations

from typing import Any

import click

MAY_BE_EMPTY = frozenset({"feature_gates", "tolerate", "flags"})
"""Parameters that list what may be none, and the flags of ``run``, which kube-scheduler's own rules read."""

EMPTY = "it is empty; leave it out for the default, or see to the variable that it comes from"


def check_values(ctx: click.Context) -> None:
    """Raises BadParameter for a name, file or text that is empty, wherever it was said."""
    for param in ctx.command.params:
        value = ctx.params.get(str(param.name))
        values = value if isinstance(value, tuple) else (value,)
        if param.name not in MAY_BE_EMPTY and any(isinstance(one, str) and not one.strip(" ,") for one in values):
            raise click.BadParameter(EMPTY, ctx, param)


class CheckedCommand(click.Command):
    """A command that does not run with empty values."""

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command. Raises BadParameter for an empty value."""
        check_values(ctx)
        return super().invoke(ctx)
