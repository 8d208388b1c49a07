"""A command with sub-commands: the first word says which; any other first word is an argument of the command's own."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import click

from kubescheduler.cli.terminal.help_groups import GroupedCommand


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
        """The command's own options, then the sub-commands."""
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
