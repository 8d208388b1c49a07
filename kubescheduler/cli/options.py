"""Options that several commands have."""

from __future__ import annotations

import click

RELEASES = ("1.16",)
"""The releases there are; spelled out so that ``--help`` imports nothing. A test holds them to the registry's."""

RELEASE = click.option(
    "--release", type=click.Choice(RELEASES), default="1.16", show_default=True, help="Whose rules to decide by."
)

PLUGIN = click.option(
    "--plugin", multiple=True, metavar="MODULE:FUNCTION", help="Register your own algorithms first.  [repeatable]"
)
