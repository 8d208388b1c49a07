"""``kubescheduler lab``: exercises that check themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kubescheduler.cli.common_options import OneOf
from kubescheduler.cli.terminal.empty_values import CheckedCommand

if TYPE_CHECKING:
    from kubescheduler.cli.terminal.screen import Screen
    from kubescheduler.lab.exercises.checking import CheckedExercise

FOLDER = click.Path(file_okay=False)


@click.group(short_help="Exercises that check themselves.")
def lab() -> None:
    """Exercises in scheduling that check themselves.

    \b
    Examples:
      kubescheduler lab list
      kubescheduler lab start taints my-taints
      kubescheduler lab check my-taints
    """


@lab.command("list", cls=CheckedCommand, short_help="The exercises that come with the package.")
def list_exercises() -> int:
    """List the exercises that come with the package, in the order of the workshop."""
    import sys

    from kubescheduler.cli.tables import table
    from kubescheduler.cli.terminal.screen import screen_of
    from kubescheduler.lab.exercises.shipped_exercises import shipped_exercise, shipped_names

    found = [shipped_exercise(name) for name in shipped_names()]
    rows = [(one.name, one.scheduler.release, str(one.minutes), one.title, one.summary) for one in found]
    head = ("NAME", "RELEASE", "MINUTES", "TITLE", "ABOUT")
    click.echo(table([head, *rows], screen_of(sys.stdout), gives_way=4, keys=1))
    return 0


@lab.command(
    cls=CheckedCommand,
    short_help="Make a folder to work in.",
    epilog="Exit status: 0 the folder is made, 2 there is no such exercise, or the folder is in use.",
)
@click.argument("name")
@click.argument("folder", metavar="DIR", type=FOLDER)
def start(name: str, folder: str) -> int:
    """Make the folder DIR with the task, what is given and what you begin with, of the exercise NAME.

    \b
    Examples:
      kubescheduler lab start 02-taints my-taints
      kubescheduler lab start taints my-taints
    """
    from pathlib import Path

    from kubescheduler.lab.exercises.shipped_exercises import shipped_exercise, start_exercise

    exercise = shipped_exercise(name)
    files = start_exercise(exercise, Path(folder))
    click.echo(f"{exercise.title}: {', '.join(files)}")
    click.echo(f"Read {folder}/task.md, change {', '.join(one.file for one in exercise.edit)}, then:")
    click.echo(f"  kubescheduler lab check {folder}")
    return 0


@lab.command(
    cls=CheckedCommand,
    short_help="Check what a student made.",
    epilog="Exit status: 0 every check passes; 1 some fail; 2 an error: in the exercise, in the student's files, or "
    "in the usage.",
)
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.option("--work", metavar="DIR", type=FOLDER, help="Where the student's files are, if they are elsewhere.")
@click.option("--hint", "tier", type=click.IntRange(min=1), metavar="TIER", help="Also show the hints up to a tier.")
@click.option("-o", "--output", type=OneOf(["table", "json", "junit"]), default="table", show_default=True)
def check(folder: str, work: str | None, tier: int | None, output: str) -> int:
    """Check the work in DIR, a folder that `lab start` made, or an exercise's own.

    What the student wrote is run: predicates, priorities, plugins and extenders of the folder that you name.

    \b
    Examples:
      kubescheduler lab check my-taints
      kubescheduler lab check my-taints --hint 1
      kubescheduler lab check exercises/taints --work exercises/taints/solution -o junit
    """
    import sys
    from pathlib import Path

    from kubescheduler.cli.terminal.screen import screen_of
    from kubescheduler.lab.exercises.checking import check_work
    from kubescheduler.lab.exercises.shipped_exercises import work_of

    exercise, theirs = work_of(Path(folder), None if work is None else Path(work))
    checked = check_work(exercise, theirs)
    if output == "junit":
        from kubescheduler.lab.exercises.check_documents import checks_as_junit

        for piece in checks_as_junit([checked]):
            click.echo(piece, nl=False)
    elif output == "json":
        from kubescheduler.sources.foreign_text import json_text

        click.echo(json_text(checked.to_dict(), 2))
    else:
        _show(checked, screen_of(sys.stdout))
    screen = screen_of(sys.stderr if output != "table" else sys.stdout)
    for number, hint in enumerate(exercise.hints[: tier or 0], 1):
        text = f"hint {number} of {len(exercise.hints)}: {hint.strip()}"
        click.echo(screen.filled(text), err=output != "table")
    return 0 if checked.passed else 1


def _show(checked: CheckedExercise, screen: Screen) -> None:
    from kubescheduler.cli.tables import table
    from kubescheduler.cli.terminal.screen import Toned

    tones = {"passed": "good", "failed": "bad", "skipped": "quiet"}
    rows = [("RESULT", "CHECK", "FOUND")]
    for one in checked.outcomes:
        name = f"{one.scenario}: {one.name}" if one.scenario else one.name
        rows.append((Toned(one.standing.value, tones[one.standing.value]), name, one.found))
    click.echo(table(rows, screen, gives_way=2, keys=2))
    for remark in dict.fromkeys(one.remark.strip() for one in checked.outcomes if one.remark):
        click.echo(screen.filled(f"! {remark}"))
    good = sum(one.standing.value == "passed" for one in checked.outcomes)
    click.echo()
    click.echo(screen.filled(f"{checked.exercise.title}: {good} of {len(checked.outcomes)} checks pass"))
