"""The command line: click wires the rest together, no logic lives here.

Modules are imported when their command runs, so that ``--help`` answers at once.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TextIO

import click

from kubescheduler import __version__
from kubescheduler.cli.common_options import FOUND, file_option
from kubescheduler.cli.help_groups import COMMAND_GROUPS, CheckedCommand, write_commands

if TYPE_CHECKING:
    from kubescheduler.cli.settings import Settings

COMMANDS = {
    name: f"{__name__}.{'run_command' if name == 'run' else name}"
    for group in COMMAND_GROUPS
    for name in group.commands
}
"""Command → the module that has it, under the command's own name."""

SETTINGS = "kubescheduler.toml"
NUMBERS = "kubescheduler.numbers in settings"
"""Where a context keeps the keys whose values lose digits as numbers: 1.30 is 1.3."""

console = False
"""Whether this is the console script, whose process is its own; a caller in Python keeps its process."""

TRACEBACK = "KUBESCHEDULER_TRACEBACK"
"""Names a file for the details of an unexpected fault."""
_REPORT = f"to report it, run the same with {TRACEBACK}=FILE, which writes the details there"

EXIT_INPUT = 2
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
"""As for any program that a SIGPIPE ends."""


class LazyGroup(CheckedCommand, click.Group):
    """A group that imports a command's module when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The commands, in the order of the help."""
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands in groups."""
        commands = {name: self.get_command(ctx, name) for name in COMMANDS}
        write_commands({name: command for name, command in commands.items() if command is not None}, formatter)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of a name, its module imported now; None for an unknown one."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(COMMANDS[cmd_name]), cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command. What the reader of the output no longer wants to read is no error."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise click.Abort from None
        except BrokenPipeError:
            _discard_output()
            return EXIT_BROKEN_PIPE

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click resolves it; for an unknown command the error suggests the nearest one."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from clusterstate.errors import nearest

            ctx.fail(f"No such command {args[0]!r}{nearest(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)


def _options() -> dict[str, dict[str, click.Option]]:
    """Command → its options by each name that a settings file may have: every spelling, and the argument's name."""
    context = click.Context(group := LazyGroup())
    commands = {name: group.get_command(context, name) for name in COMMANDS}
    return {
        name: {key: p for p in command.params if isinstance(p, click.Option) for key in (*keys_of(p), str(p.name))}
        for name, command in commands.items()
        if command is not None
    }


def keys_of(option: click.Parameter) -> list[str]:
    """An option's long spellings as a settings file has them, the first one first."""
    return [each[2:].replace("-", "_") for each in option.opts if each.startswith("--")]


def _settings(ctx: click.Context, path: str | None) -> None:
    """Makes what a settings file says the defaults of options."""
    from pathlib import Path

    file = Path.cwd() / (path or SETTINGS)
    if path is None and not file.exists():
        return
    from clusterstate.errors import ConfigError
    from kubescheduler.cli.settings import check_settings, found_settings, load_settings

    options = _options()
    settings = load_settings(path, Path.cwd(), COMMANDS)
    problems = check_settings(settings, options)
    problems += _faults(settings, options)
    told: list[str] = []
    if path is None:
        command = ctx.invoked_subcommand or ""
        known = {key: str(option.name) for key, option in options.get(command, {}).items()}
        refused, told = found_settings(command, settings, known)
        problems += refused
        ctx.meta[FOUND] = SETTINGS
    if problems:
        raise ConfigError(f"{file}: {problem}" for problem in problems)
    ctx.obj = str(file)
    ctx.meta[NUMBERS] = {key for given in settings.values() for key, value in given.items() if isinstance(value, float)}
    ctx.default_map = {
        command: {
            str(option.name): _value(option, value)
            for part in reversed(given.maps)
            for key, value in part.items()
            if (option := options[command].get(key)) is not None
        }
        for command, given in settings.items()
    }
    if told:
        click.echo(f"note: {SETTINGS}, found in this folder, sets {', '.join(told)}", err=True)


def _faults(settings: Settings, options: Mapping[str, Mapping[str, click.Option]]) -> list[str]:
    """Settings that are lists or tables where an option takes one value, and options that one table has by two names;
    each once though it is set for all."""
    from clusterstate.manifests.fields import describe

    faults: dict[str, None] = {}
    for command, given in settings.items():
        for part in given.maps:
            said: dict[click.Option, str] = {}
            for key, value in part.items():
                if (option := options[command].get(key)) is None:
                    continue
                several = value if isinstance(value, list) and option.multiple else [value]
                if wrong := [one for one in several if isinstance(one, list | dict)]:
                    faults[f"{key}: must be one value, not {describe(wrong[0])}"] = None
                if said.setdefault(option, key) != key:
                    faults[f"{key}: {command} has this option as {said[option]} already; leave out one"] = None
    return list(faults)


def _value(option: click.Option, value: Any) -> Any:
    """A setting as click takes it from the command line: numbers as text, of an option that can be repeated a list."""
    if option.is_flag:
        return value
    several = value if option.multiple and isinstance(value, list) else [value]
    values = [str(one).lower() if isinstance(one, bool) else str(one) for one in several]
    return values if option.multiple else values[0]


def _discard_output(stream: TextIO | None = None) -> None:
    """So that what is still to be flushed at the end of the process makes no noise."""
    import contextlib

    with contextlib.suppress(OSError, ValueError):  # a stream of a caller in Python may have no descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), (stream or sys.stdout).fileno())


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 done; 1 the answer is no: some pod fits nowhere, or something differs; 2 an error: wrong "
    "input or usage, or something that kept a pod from being decided. An error is never reported as 0 or 1, but "
    "by evaluate, whose lines say it, and by run, which ends as kube-scheduler does.",
)
@click.version_option(__version__, "--version", prog_name="kubescheduler", message="%(prog)s %(version)s")
@file_option("--settings", help=f"Defaults for options, in TOML.  [default: {SETTINGS}, if it is there]")
@click.option(
    "--max",
    "limits",
    multiple=True,
    metavar="NAME=NUMBER",
    help="Read more than usual: depth, aliases, values, size, pods or seeds.  [repeatable]",
)
@click.pass_context
def cli(ctx: click.Context, settings: str | None, limits: tuple[str, ...]) -> None:
    """Decide where pods go exactly as kube-scheduler does, and say why.

    \b
    Examples:
      kubescheduler schedule cluster.yaml --pod pod.yaml
      kubectl get nodes,pods,services -A -o json | kubescheduler schedule - --pending
      kubescheduler schedule cluster/ --pod web.yaml --policy-config-file policy.json --explain
    """
    if limits:
        from kubescheduler.sources.untrusted import changed_limits

        ctx.with_resource(changed_limits(",".join(limits)))
    _settings(ctx, settings)


def main(args: list[str] | None = None) -> None:
    """The console script. Wrong input ends with one message and status 2, an interrupt with 130."""
    import signal

    global console  # noqa: PLW0603 - said once, as the process begins
    console = True
    _open_streams()
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _terminated)
    sys.exit(run(args))


def _terminated(number: int, _: object) -> None:
    """Ends the process as an exception does, so that no half-written file is left behind."""
    sys.exit(128 + number)


def _open_streams() -> None:
    """A standard stream that the caller has closed is one with nothing in it."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nothing = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(nothing, mode, encoding="utf-8", closefd=False))


def run(args: list[str] | None = None) -> int:
    """The command line in this process; the exit status."""
    from clusterstate.errors import InputError

    given = sys.argv[1:] if args is None else args
    try:
        status = cli.main(given or ["--help"], prog_name="kubescheduler", standalone_mode=False)
    except click.UsageError as error:
        _show([_usage_problem(error)])
        if error.ctx is not None:
            _say(f"See '{error.ctx.command_path} --help' for usage.")
        return EXIT_INPUT
    except InputError as error:
        _show(error.problems)
        return EXIT_INPUT
    except (click.Abort, KeyboardInterrupt):
        _say("interrupted")
        return EXIT_INTERRUPTED
    except (BrokenPipeError, SystemExit) as error:
        if isinstance(error, SystemExit) and error.code != 1:  # 1: so click ends when nobody reads its help
            raise
        _discard_output()
        return EXIT_BROKEN_PIPE
    except Exception as error:  # nothing else may end with status 1, which says that some pod fits nowhere
        _discard_output()
        _show([unexpected_problem(error)])
        return EXIT_INPUT
    return status if isinstance(status, int) else 0


def _show(problems: Iterable[str]) -> None:
    from kubescheduler.sources.untrusted import shown

    _say("\n".join(f"error: {shown(problem)}" for problem in problems))


def _say(text: str) -> None:
    """On standard error. That it cannot be written changes no status: an error stays one."""
    try:
        click.echo(text, err=True)
    except (OSError, ValueError):
        _discard_output(sys.stderr)


def _usage_problem(error: click.UsageError) -> str:
    """click's message; where a settings file is to blame, with the place in it."""
    from click.core import ParameterSource

    if isinstance(error, click.NoSuchOption) and error.option_name in [o for p in cli.params for o in p.opts]:
        return f"{error.option_name} stands before the command: kubescheduler {error.option_name} … COMMAND"
    context, param = error.ctx, getattr(error, "param", None)
    if context is None or param is None or context.get_parameter_source(param.name) != ParameterSource.DEFAULT_MAP:
        return error.format_message()
    quotes = "; put it in quotes" if context.meta[NUMBERS].intersection(keys_of(param)) else ""
    return f"{context.obj}: {context.command.name}.{keys_of(param)[0]}: {error.message}{quotes}"


def unexpected_problem(error: Exception) -> str:
    """One message without Python's words; the details go to the file that the variable names, if it is set."""
    _write_details(error)
    if isinstance(error, MemoryError):
        return "there is not enough memory for this input"
    if isinstance(error, RecursionError):
        return f"the input is nested too deeply to be read; {_REPORT}"
    if isinstance(error, OSError) and error.strerror:
        what = f"{error.filename}: cannot be used" if error.filename else "the output cannot be written"
        return f"{what}: {error.strerror}"
    return f"a fault in kubescheduler: nothing was decided, and this input is not to blame alone; {_REPORT}"


def _write_details(error: Exception) -> None:
    path = os.environ.get(TRACEBACK)
    if not path:
        return
    import traceback
    from pathlib import Path

    try:
        Path(path).write_text("".join(traceback.format_exception(error)), encoding="utf-8")
    except OSError:
        return
