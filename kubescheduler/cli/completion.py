"""``kubescheduler completion``: what a shell needs to complete commands and options."""

from __future__ import annotations

import click

from kubescheduler.cli.help_groups import CheckedCommand


@click.command(cls=CheckedCommand, epilog="Exit status: 0 the script is printed, 2 wrong usage.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell.

    \b
    Examples:
      source <(kubescheduler completion bash)
      kubescheduler completion fish > ~/.config/fish/completions/kubescheduler.fish
    """
    from click.shell_completion import get_completion_class

    from kubescheduler.cli import cli

    kind = get_completion_class(shell)
    assert kind is not None, shell
    click.echo(kind(cli, {}, "kubescheduler", "_KUBESCHEDULER_COMPLETE").source())
