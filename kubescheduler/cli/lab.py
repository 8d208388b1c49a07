"""``kubescheduler lab``: the page in the browser, and exercises."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from kubescheduler.cli.cluster_options import ClusterPlace, cluster_options
from kubescheduler.cli.common_options import PATIENCE, number_option, output_option, pod_files_option
from kubescheduler.cli.engine_options import EngineOptions, engine_options
from kubescheduler.cli.help_groups import CheckedCommand, GroupedCommand

if TYPE_CHECKING:
    from pathlib import Path

    from kubescheduler.cli.output import Screen
    from kubescheduler.lab.exercises.checking import CheckedExercise


class OpeningGroup(GroupedCommand, click.Group):
    """Runs a sub-command when the first word is its name, otherwise itself, with all words as arguments and options."""

    def __init__(self, *args: Any, callback: Callable[..., Any], **kwargs: Any) -> None:
        super().__init__(*args, callback=_alone(callback), **kwargs)
        self.invoke_without_command, self.no_args_is_help = True, False
        self.subcommand_metavar = "| COMMAND [ARGS]..."

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does; of a sub-command's words none are read here.

        Raises UsageError where the first word is no file, and nearly the name of a sub-command.
        """
        ctx.meta[__name__] = bool(args) and args[0] in self.commands
        if self._passes_on(ctx):
            return super().parse_args(ctx, args)
        if args and not args[0].startswith("-"):
            self._check_first_word(args[0])
        ctx.allow_interspersed_args = True
        ctx.allow_extra_args = False
        return click.Command.parse_args(self, ctx, args)

    def _check_first_word(self, word: str) -> None:
        from clusterstate.errors import nearest

        hint = nearest(word, self.commands)
        if hint and not os.path.exists(word):
            raise click.UsageError(f"there is no file {word}, and no command{hint}")

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """None but --help where a sub-command is asked for."""
        params = super().get_params(ctx)
        return [one for one in params if one not in self.params] if self._passes_on(ctx) else params

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """In the order in which they were made."""
        return list(self.commands)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)

    def _passes_on(self, ctx: click.Context) -> bool:
        return bool(ctx.meta.get(__name__))


def _alone(callback: Callable[..., Any]) -> Callable[..., Any]:
    """The command's own work, which click asks for before a sub-command's too."""

    @functools.wraps(callback)
    def called(**given: Any) -> Any:
        return None if click.get_current_context().invoked_subcommand else callback(**given)

    return called


FOLDER = click.Path(file_okay=False)

EXTRA = "the lab's page needs the extra 'lab': pip install 'kubescheduler[lab]'"


@click.group(
    cls=OpeningGroup,
    short_help="See a scheduler think, in the browser; exercises.",
    epilog="Exit status: 0 ended by a signal, 2 an error: wrong input or usage, or the port is in use.",
)
@functools.partial(cluster_options, required=False)
@pod_files_option("pod", "--pod", "Pods that wait in it: manifests, or controllers with a pod template.")
@engine_options
@click.option("--exercise", metavar="DIR", type=FOLDER, help="An exercise, as `lab start` made it; or its name.")
@click.option(
    "--class",
    "class_folder",
    metavar="DIR",
    type=FOLDER,
    help="A folder with a folder for each student: how far they are is on the screen Class.",
)
@click.option(
    "--listen",
    metavar="ADDR:PORT",
    help="Where the page is served, for other machines too; these need --token.  [default: a free port of 127.0.0.1]",
)
@click.option(
    "--token", metavar="TEXT", help="What the page has to show, at least 16 characters.  [default: a new one]"
)
@click.option(
    "--browser/--no-browser", default=None, help="Open the page in a browser.  [default: if there is a display]"
)
def lab(
    cluster: tuple[ClusterPlace, ...],
    pod: tuple[str, ...],
    engine: EngineOptions,
    exercise: str | None,
    class_folder: str | None,
    listen: str | None,
    token: str | None,
    browser: bool | None,
) -> int:
    """Open a page with CLUSTER: where pods go and why, what would change it, and exercises.

    CLUSTER is as for schedule; without one it is a small cluster that comes with the package. The page changes its own
    copy: neither files nor a live cluster are written to.

    The words list, start, check and bundle right after lab are its sub-commands; a file of such a name is ./list.

    \b
    Examples:
      kubescheduler lab
      kubescheduler lab cluster.yaml --pod web.yaml --release 1.36
      kubescheduler lab cluster.yaml --policy-config-file policy.json
      kubescheduler lab --kubeconfig ~/.kube/config
      kubescheduler lab --exercise my-taints
      kubescheduler lab --class class
      kubescheduler lab list
    """
    import importlib.util

    if not all(map(importlib.util.find_spec, ("starlette", "uvicorn"))):
        raise click.UsageError(EXTRA)
    if not hasattr(os, "fork"):
        raise click.UsageError("the lab's page needs a system with fork: Linux, macOS, or on Windows its WSL")
    from kubescheduler.cli.lab_page import PageOptions, serve_page

    return serve_page(cluster, pod, engine, exercise, PageOptions(listen, token, browser, class_folder))


@lab.command("list", cls=CheckedCommand, short_help="The exercises that come with the package.")
def list_exercises() -> int:
    """List the exercises that come with the package, in the order of the workshop.

    MINUTES is what a student needs, TEACHER what the teacher says before and asks after.
    """
    from kubescheduler.cli.output import screen_of, table
    from kubescheduler.lab.exercises.exercise_reading import shipped_exercise, shipped_names

    exercises = [shipped_exercise(name) for name in shipped_names()]
    rows = [
        (one.name, one.scheduler.release, str(one.minutes), str(one.teacher_minutes), one.title, one.summary)
        for one in exercises
    ]
    head = ("NAME", "RELEASE", "MINUTES", "TEACHER", "TITLE", "ABOUT")
    click.echo(table([head, *rows], screen_of(sys.stdout), gives_way=5, keys=1))
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
    import shlex
    from pathlib import Path

    from kubescheduler.lab.exercises.exercise_reading import shipped_exercise, start_exercise

    exercise = shipped_exercise(name)
    files = start_exercise(exercise, Path(folder))
    click.echo(f"{exercise.title}: {', '.join(files)}")
    click.echo(f"Read {folder}/task.md, change {', '.join(one.file for one in exercise.edit)}, then:")
    click.echo(f"  kubescheduler lab check {shlex.quote(folder)}")
    return 0


@lab.command(
    cls=CheckedCommand,
    short_help="Check what a student made.",
    epilog="Exit status: 0 every check passes; 1 some fail; 2 an error: in the exercise, in the student's files, or "
    "in the usage.",
)
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.option("--all", "everybody", is_flag=True, help="DIR has a folder for each student: a table of the class.")
@click.option("--work", metavar="DIR", type=FOLDER, help="Where the student's files are, if they are elsewhere.")
@number_option("--hint", "tier", metavar="TIER", help="Also show the hints up to a tier.")
@PATIENCE
@output_option("table", "json", "junit")
def check(folder: str, everybody: bool, work: str | None, tier: int | None, output: str) -> int:
    """Check the work in DIR, a folder that `lab start` made, or an exercise's own.

    What the student wrote is run: predicates, priorities, plugins and extenders of the folder that you name.

    \b
    Examples:
      kubescheduler lab check my-taints
      kubescheduler lab check my-taints --hint 1
      kubescheduler lab check --all class
      kubescheduler lab check exercises/taints --work exercises/taints/solution -o junit
    """
    from pathlib import Path

    from kubescheduler.cli.common_options import in_a_process_of_its_own
    from kubescheduler.cli.engine_options import remarks
    from kubescheduler.cli.output import screen_of
    from kubescheduler.lab.exercises.checking import check_work
    from kubescheduler.lab.exercises.exercise_reading import work_of

    if everybody:
        return _check_all(Path(folder), work, tier, output)
    exercise, theirs = work_of(Path(folder), None if work is None else Path(work))
    if exercise.runs_code:
        in_a_process_of_its_own()
    checked = check_work(exercise, theirs)
    remarks(checked.notes)
    if output == "junit":
        from kubescheduler.lab.exercises.checking import checked_suite
        from kubescheduler.report.ci_results import junit

        for piece in junit("kubescheduler lab check", [checked_suite(checked)]):
            click.echo(piece, nl=False)
    elif output == "json":
        from kubescheduler.sources.untrusted import json_text

        click.echo(json_text(checked.to_dict(), 2))
    else:
        _show(checked, screen_of(sys.stdout))
    screen = screen_of(sys.stderr if output != "table" else sys.stdout)
    for number, hint in enumerate(exercise.hints[: tier or 0], 1):
        text = f"hint {number} of {len(exercise.hints)}: {hint.strip()}"
        click.echo(screen.filled(text), err=output != "table")
    return 0 if checked.passed else 1


def _check_all(folder: Path, work: str | None, tier: int | None, output: str) -> int:
    """The table of a class. 0: everybody has solved everything; 2: some files could not be judged."""
    from kubescheduler.cli.output import Toned, screen_of, table
    from kubescheduler.lab.exercises.classroom import ClassBoard, as_rows
    from kubescheduler.sources.untrusted import json_text

    if work is not None or tier is not None or output == "junit":
        raise click.UsageError("--all goes with neither --work, --hint nor -o junit")
    board = ClassBoard(folder).checked()
    rows = as_rows(board)
    every = [cell for cells in board.values() for cell in cells.values()]
    if output == "json":
        click.echo(json_text({"kind": "ClassBoard", **rows}, 2))
    else:
        short = [name.partition("-")[0] if name[:2].isdecimal() else name for name in rows["exercises"]]
        lines = [("STUDENT", *short, "DONE")]
        for student in rows["students"]:
            cells = {cell["exercise"]: cell for cell in student["cells"]}
            texts = [
                Toned(cells[name]["text"], "good" if cells[name]["done"] else "bad") if name in cells else "-"
                for name in rows["exercises"]
            ]
            lines.append((student["name"], *texts, str(student["done"])))
        click.echo(table(lines, screen_of(sys.stdout), keys=1))
        for student, cells in board.items():
            for name, cell in cells.items():
                if not cell.checks:
                    click.echo(f"error: {student}, {name}: {cell.said}", err=True)
    if not all(cell.checks for cell in every):
        return 2
    return 0 if all(cell.done for cell in every) else 1


def _show(checked: CheckedExercise, screen: Screen) -> None:
    from kubescheduler.cli.output import Toned, table

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


@lab.command(
    cls=CheckedCommand,
    short_help="Make what a room without network needs.",
    epilog="Exit status: 0 the folder is made, 2 the folder is in use, or pip could not make the wheels.",
)
@click.argument("folder", metavar="DIR", type=FOLDER)
def bundle(folder: str) -> int:
    """Make the folder DIR with wheels of kubescheduler and all that its lab needs, and INSTALL.txt.

    The wheels are for machines like this one: the same system, processor and version of Python.

    \b
    Examples:
      kubescheduler lab bundle usb-stick
    """
    from pathlib import Path

    from kubescheduler.lab.exercises.classroom import README, write_bundle

    wheels = write_bundle(Path(folder))
    click.echo(f"{len(wheels)} wheels in {folder}/wheels; {folder}/{README} says how to install them")
    return 0
