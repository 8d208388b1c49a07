"""What an unset variable of a shell leaves behind is no default: an empty value is a usage error."""

from __future__ import annotations

import importlib
from pathlib import Path

import click
import pytest

from kubescheduler.cli import COMMANDS
from kubescheduler.cli.help_groups import EMPTY, MAY_BE_EMPTY
from tests.kubescheduler.cli.conftest import Run

BASES = {
    "schedule": ["schedule", "cluster.yaml", "--pod", "pod.yaml"],
    "simulate": ["simulate", "cluster.yaml", "--workload", "pod.yaml"],
    "capacity": ["capacity", "cluster.yaml", "--pod", "pod.yaml"],
    "compare": ["compare", "cluster.yaml", "--pods", "pod.yaml", "--new", "release=1.20"],
    "evaluate": ["evaluate"],
    "sweep": ["sweep", "cluster.yaml", "--pods", "pod.yaml", "--out", "rows.csv"],
    "migrate": ["migrate", "--algorithm-provider", "DefaultProvider"],
    "explain": ["explain", "NodeResourcesFit"],
    "run": ["run", "--dry-run"],
    "snapshot": ["snapshot", "-o", "saved.json"],
    "registry": ["registry"],
}
TEXTS = (click.types.StringParamType, click.Path)


def _options() -> list[tuple[str, str]]:
    """(command, spelling) of every option that takes a name, a file or another text."""
    found = []
    for name in BASES:
        command: click.Command = getattr(importlib.import_module(COMMANDS[name]), name)
        for param in command.params:
            if isinstance(param, click.Option) and isinstance(param.type, TEXTS) and param.name not in MAY_BE_EMPTY:
                found += [(name, spelling) for spelling in param.opts]
    return found


@pytest.mark.parametrize("value", ["", " "], ids=["empty", "blank"])
@pytest.mark.parametrize(("command", "option"), _options())
def test_every_option(kubescheduler: Run, folder: Path, command: str, option: str, value: str) -> None:
    """The message names the option; nothing is decided, read or written."""
    before = sorted(folder.iterdir())
    found = kubescheduler(*BASES[command], option, value)
    assert (found.status, found.out) == (2, "")
    assert f"{EMPTY}\nSee 'kubescheduler {command} --help' for usage.\n" in found.err
    assert f"'{option}'" in found.err
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["schedule", "", "--pod", "pod.yaml"], id="CLUSTER"),
        pytest.param(["schedule", "cluster.yaml", "", "--pod", "pod.yaml"], id="one of CLUSTER"),
        pytest.param(["migrate", ""], id="FILE"),
        pytest.param(["--settings", "", *BASES["schedule"]], id="--settings"),
        pytest.param(["--max", "", *BASES["schedule"]], id="--max"),
        pytest.param([*BASES["compare"][:-1], ","], id="a configuration of nothing"),
    ],
)
def test_arguments(kubescheduler: Run, arguments: list[str]) -> None:
    """Neither the current folder nor a default takes the place of an argument or of an option of all commands."""
    found = kubescheduler(*arguments)
    assert (found.status, found.out) == (2, "")
    assert EMPTY in found.err


@pytest.mark.parametrize("key", ["release", "provider", "policy", "policy-configmap", "config", "scheduler-name"])
@pytest.mark.parametrize("option", ["--old", "--new"])
def test_keys_of_a_configuration(kubescheduler: Run, option: str, key: str) -> None:
    """``policy=$POLICY`` without the variable."""
    found = kubescheduler(*BASES["compare"], option, f"{key}=")
    assert (found.status, found.out) == (2, "")
    assert f"error: {option}: {key}=: {key}: it has no value; leave the key out for the default\n" in found.err


def test_settings(kubescheduler: Run, folder: Path) -> None:
    """A settings file is named with the key."""
    (folder / "kubescheduler.toml").write_text('[schedule]\nalgorithm-provider = ""\n')
    found = kubescheduler(*BASES["schedule"])
    assert found.status == 2
    assert f"kubescheduler.toml: schedule.algorithm_provider: {EMPTY}" in found.err


def test_lists_may_be_empty(kubescheduler: Run) -> None:
    """No gates and no tolerated causes are what a pipeline may well have."""
    assert kubescheduler(*BASES["schedule"], "--feature-gates", "").status == 0
    assert kubescheduler(*BASES["compare"], "--tolerate", "").status == 0
