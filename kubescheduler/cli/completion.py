"""``kubescheduler completion``: what a shell needs to complete commands and options."""

from __future__ import annotations

from collections.abc import Sequence

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


FILES, NO_FILES = ":0", ":4"
"""How a plugin tells kubectl whether its shell completes names of files as well. Upstream: cobra's directives."""


def kubectl_completions(command: str, words: Sequence[str]) -> str:
    """What kubectl's shell offers for a command that is its plugin: a line each, then whether files are offered.

    words: those after the command's name, the last one begun.
    """
    from click.shell_completion import ShellComplete

    from kubescheduler.cli import cli

    *before, begun = words or [""]
    found = ShellComplete(cli, {}, "kubescheduler", "").get_completions([command, *before], begun)
    files = any(item.type in ("file", "dir") for item in found)
    return "".join(f"{item.value}\n" for item in found if item.type == "plain") + (FILES if files else NO_FILES) + "\n"
