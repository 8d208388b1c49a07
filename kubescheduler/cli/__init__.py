"""The command line: click wires the rest together, no logic lives here.

Modules are imported when their command runs, so that ``--help`` answers at once.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Any

import click

from kubescheduler import __version__

COMMANDS: dict[str, str] = {
    "schedule": "kubescheduler.cli.schedule",
    "evaluate": "kubescheduler.cli.evaluate",
    "registry": "kubescheduler.cli.registry",
    "completion": "kubescheduler.cli.completion",
}
"""Command → the module that has it, under the command's own name."""

EXIT_INTERRUPTED = 130


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(COMMANDS[cmd_name]), cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from algorithmprovider.registry import nearest

            ctx.fail(f"No such command {args[0]!r}{nearest(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)


def known_options() -> dict[str, set[str]]:
    """Command → the names of its options, as a settings file spells them."""
    group = LazyGroup()
    context = click.Context(group)
    commands = {name: group.get_command(context, name) for name in COMMANDS}
    return {
        name: {str(p.name) for p in command.params if isinstance(p, click.Option)}
        for name, command in commands.items()
        if command is not None
    }


def _settings(ctx: click.Context, path: str | None) -> None:
    from pathlib import Path

    if path is None and not Path("kubescheduler.toml").exists():
        return
    from clusterstate.errors import ConfigError
    from kubescheduler.config.settings import check_settings, load_settings

    known = known_options()
    settings: Mapping[str, Mapping[str, Any]] = load_settings(path, Path.cwd(), COMMANDS)
    if problems := check_settings(settings, known):
        raise ConfigError(problems)
    ctx.default_map = {name: dict(options) for name, options in settings.items()}


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 done, 1 some pod fits nowhere, 2 wrong input or usage.",
)
@click.version_option(__version__, "--version", prog_name="kubescheduler", message="%(prog)s %(version)s")
@click.option("--settings", metavar="FILE", help="Defaults for options.  [default: kubescheduler.toml, if there]")
@click.pass_context
def cli(ctx: click.Context, settings: str | None) -> None:
    """Decide where pods go exactly as kube-scheduler does, and say why.

    \b
    Examples:
      kubescheduler schedule cluster.yaml --pod pod.yaml
      kubectl get nodes,pods,services -A -o json | kubescheduler schedule - --pending
      kubescheduler schedule cluster/ --pod web.yaml --policy-config-file policy.json --explain
    """
    _settings(ctx, settings)


def main(args: list[str] | None = None) -> None:
    """The console script. Wrong input ends with one message and status 2, an interrupt with 130."""
    sys.exit(run(args))


def run(args: list[str] | None = None) -> int:
    """The command line in this process; the exit status."""
    from clusterstate.errors import InputError

    try:
        status = cli.main(args, prog_name="kubescheduler", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except InputError as error:
        for problem in error.problems:
            click.echo(f"error: {problem}", err=True)
        return 2
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    return status if isinstance(status, int) else 0
