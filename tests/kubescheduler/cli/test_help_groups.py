"""Help has its commands and options in groups, each with an example that works."""

from __future__ import annotations

import re
import shlex

import click
import pytest

from kubescheduler.cli import COMMANDS, cli
from kubescheduler.cli.help_groups import COMMAND_GROUPS, OPTION_GROUPS
from tests.kubescheduler.cli.conftest import Run


def test_every_command_is_in_one_group(kubescheduler: Run) -> None:
    """And the program's help shows each once, below the example of its group."""
    assert len(COMMANDS) == sum(len(group.commands) for group in COMMAND_GROUPS)
    shown = kubescheduler("--help").out
    for name in COMMANDS:
        assert len(re.findall(rf"^  {name} +[A-Z]", shown, re.M)) == 1
    for title, example, _ in COMMAND_GROUPS:
        assert f"{title}, as {example}:" in shown


@pytest.mark.parametrize("example", [example for _, example, _ in COMMAND_GROUPS])
def test_examples_of_commands_work(kubescheduler: Run, example: str) -> None:
    """In a folder with the files that they name."""
    program, *arguments = shlex.split(example)
    assert program == "kubescheduler"
    assert kubescheduler(*arguments).status == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_options_are_shown_once(kubescheduler: Run, name: str) -> None:
    """Grouped or not, none is lost and none stands twice."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    shown = kubescheduler(name, "--help").out
    for param in command.params:
        if isinstance(param, click.Option):
            assert len(re.findall(rf"^  {param.opts[0]}(?=[, /\n])", shown, re.M)) == 1, param.opts


def test_groups_of_options(kubescheduler: Run) -> None:
    """The many options of schedule are grouped, each group with an example of options that the command has."""
    shown = kubescheduler("schedule", "--help").out
    assert "\nWhat is decided, as --pod web.yaml:\n" in shown
    assert "\nWhat decides, as --release 1.36 --config scheduler.yaml:\n" in shown
    assert "\nWhat is shown, as --top 5 -o json:\n" in shown
    assert "\nWhat" not in kubescheduler("evaluate", "--help").out


def test_an_option_is_in_one_group_at_most() -> None:
    """Otherwise it would be shown where it was not looked for."""
    names = [name for group in OPTION_GROUPS for name in group.options]
    assert len(names) == len(set(names))
