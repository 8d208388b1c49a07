"""The options of the page that ``kubescheduler lab`` opens."""

from __future__ import annotations

from collections.abc import Callable

import click

FOLDER = click.Path(file_okay=False)

_OPTIONS = (
    click.option("--exercise", metavar="DIR", type=FOLDER, help="An exercise, as `lab start` made it; or its name."),
    click.option(
        "--class",
        "class_folder",
        metavar="DIR",
        type=FOLDER,
        help="A folder with a folder for each student: how far they are is on the screen Class.",
    ),
    click.option(
        "--listen",
        metavar="ADDR:PORT",
        help="Where the page is served, for other machines too; these need --token.  [default: a free port of "
        "127.0.0.1]",
    ),
    click.option(
        "--token", metavar="TEXT", help="What the page has to show, at least 16 characters.  [default: a new one]"
    ),
    click.option(
        "--browser/--no-browser", default=None, help="Open the page in a browser.  [default: if there is a display]"
    ),
)


def page_options(command: Callable[..., int]) -> Callable[..., int]:
    """Gives a command the options."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
