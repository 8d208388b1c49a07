"""A kubescheduler.toml that nobody named may have come with a cluster's files: it writes, runs and asks nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubescheduler.cli import _options, settings
from tests.kubescheduler.cli.conftest import Outcome, Run

SCHEDULE = ("schedule", "cluster.yaml", "--pod", "pod.yaml")
COMPARE = ("compare", "cluster.yaml", "--pods", "pod.yaml", "--new", "release=1.20")
EXTENDER = {"urlPrefix": "http://127.0.0.1:1", "filterVerb": "f"}

REFUSED: dict[str, tuple[str, tuple[str, ...], str]] = {
    "the completed configuration": ('write-config-to = "victim"', (*SCHEDULE, "--release", "1.16"), "writes a file"),
    "the cluster": ('save = "victim.yaml"', SCHEDULE, "writes a file"),
    "rows": ('[sweep]\nout = "victim.csv"', ("sweep", "cluster.yaml"), "writes a file"),
    "answers": ('extenders = "record victim"', SCHEDULE, "writes a file"),
    "answers, with a colon": ('extenders = "record:victim"', SCHEDULE, "writes a file"),
    "answers of a side": ('old = "release=1.16,extenders=record victim"', COMPARE, "writes a file"),
    "a plot": ('plot = "victim.svg"', ("simulate", "cluster.yaml", "--workload", "pod.yaml"), "writes a file"),
    "a recording": ('mirror = "victim"', ("run", "--dry-run"), "writes a file"),
    "a snapshot": ('output = "victim"', ("snapshot",), "writes a file"),
    "a server": ('context = "prod"', ("schedule", "--pod", "pod.yaml"), "may ask or tell others"),
    "workers": ('scheduler = "tcp://h:1"', ("sweep", "cluster.yaml", "--out", "r.csv"), "may ask or tell others"),
    "an extender that binds": ("bind = true", SCHEDULE, "may ask or tell others"),
    "a side's extenders": ('old = "release=1.16, policy=asking.json"', COMPARE, "may ask extenders"),
}


@pytest.fixture
def asking(folder: Path) -> Path:
    """A folder with files that are not to be touched, and a policy with an extender."""
    for name in ("victim", "victim.yaml", "victim.csv", "victim.svg"):
        (folder / name).write_text("precious\n")
    (folder / "asking.json").write_text(json.dumps({"kind": "Policy", "apiVersion": "v1", "extenders": [EXTENDER]}))
    return folder


@pytest.mark.parametrize(("line", "command", "what"), REFUSED.values(), ids=REFUSED)
def test_nothing_that_writes_or_asks(
    kubescheduler: Run, asking: Path, line: str, command: tuple[str, ...], what: str
) -> None:
    """Each is an error that names the setting, and says how to allow it; no file changes."""
    (asking / "kubescheduler.toml").write_text(line if line.startswith("[") else f"[{command[0]}]\n{line}\n")
    kubescheduler(*command).refused(f": this {what}", "to allow it: --settings kubescheduler.toml")
    assert {file.read_text() for file in asking.glob("victim*")} == {"precious\n"}


ASKED: dict[str, tuple[str, tuple[str, ...], str]] = {
    "found": ('policy-config-file = "asking.json"', (), "would be sent pods and nodes"),
    "found, live in it too": (
        'policy-config-file = "asking.json"\nextenders = "live"',
        (),
        "would be sent pods and nodes",
    ),
    "allowed": ('policy-config-file = "asking.json"', ("--extenders", "live"), "Connection refused"),
    "typed": ('extenders = "live"', ("--policy-config-file", "asking.json"), "Connection refused"),
}


@pytest.mark.parametrize(("lines", "more", "text"), ASKED.values(), ids=ASKED)
def test_extenders_of_a_configuration_that_nobody_named(
    kubescheduler: Run, asking: Path, lines: str, more: tuple[str, ...], text: str
) -> None:
    """They are not asked unless somebody types so; those of a policy that was typed are."""
    (asking / "kubescheduler.toml").write_text(f"{lines}\n")
    found = kubescheduler(*SCHEDULE, "--release", "1.16", *more)
    assert (found.status, text in found.err) == (2, True), found.err


def test_what_is_named_in_a_line(kubescheduler: Run, asking: Path) -> None:
    """What answers depend on is named; how they look is not, nor what other commands are told."""
    (asking / "kubescheduler.toml").write_text('output = "name"\nvalidate = "ignore"\n[sweep]\nout = "victim.csv"\n')
    note = "note: kubescheduler.toml, found in this folder, sets validate\n"
    assert kubescheduler(*SCHEDULE) == Outcome(0, "default/web n1\n", note)
    (asking / "kubescheduler.toml").write_text('policy-config-file = "asking.json"\nextenders = "pass"\n')
    assert "sets policy-config-file, extenders\n" in kubescheduler(*SCHEDULE, "--release", "1.16").err


def test_every_option_is_in_one_table() -> None:
    """What a new option may do in a file that was only found has to be decided; until then it is refused."""
    tables = (settings._SHOWS, settings._CHANGES, settings._RISKS)
    for command, options in _options().items():
        for option in {str(each.name) for each in options.values()}:
            given = [table for table in tables if {option, f"{command}.{option}"} & set(table)]
            assert len(given) == 1 or f"{command}.{option}" in settings._RISKS, (command, option)
