"""How the command line behaves on a terminal and in a pipe."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.kubescheduler.cli.conftest import COMMAND, ENVIRONMENT, in_a_process
from tests.support.processes.disturbed_processes import here_on_a_terminal, on_a_terminal

PODS = 5200
"""More than what is worth a progress bar while reading."""

CLASSIC = Path("policy_examples/classic-default.json").absolute()


@pytest.fixture
def many(folder: Path) -> Path:
    """A cluster that takes long: thousands of pods wait."""
    node = {"kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "9k", "pods": "9k"}}}
    pods = [{"kind": "Pod", "metadata": {"name": f"p{i:04}"}, "spec": {"containers": []}} for i in range(PODS)]
    path = folder / "many.json"
    path.write_text(json.dumps({"kind": "List", "items": [node, *pods]}))
    return path


def seen_on_a_terminal(arguments: Sequence[str], *, whole: bool = False) -> tuple[int, str, str]:
    """(status, standard output, what a terminal shows); ``whole``: both on the terminal."""
    shown = on_a_terminal([*COMMAND, *arguments], ENVIRONMENT, whole=whole)
    return shown.status, shown.out, shown.raw


def bars(shown: str) -> list[tuple[str, int]]:
    """(label, percentage) of each state of a progress bar."""
    return [(label, int(share)) for label, share in re.findall(r"(reading|scheduling) .*?(\d+)%", shown)]


# --- progress ------------------------------------------------------------------------------


def test_progress_on_a_terminal(many: Path) -> None:
    """Reading and scheduling each have a bar that only grows and ends full; the output is apart from it."""
    short = ("schedule", str(many), "--pending")
    status, out, shown = seen_on_a_terminal(short)
    states = bars(shown)
    assert (status, len(out.splitlines())) == (0, PODS + 1)
    for label in ("reading", "scheduling"):
        shares = [share for name, share in states if name == label]
        assert shares == sorted(shares)
        assert len(set(shares)) > 3
        assert shares[-1] == 100
    assert "note" not in shown


def test_no_progress_for_short_work(folder: Path) -> None:
    """A small cluster is there at once: nothing on the terminal but what was asked for."""
    status, _, shown = seen_on_a_terminal(("schedule", "cluster.yaml", "--pod", "pod.yaml", "-o", "name"), whole=True)
    assert (status, shown) == (0, "default/web n1\r\n")


def test_no_progress_between_names(many: Path) -> None:
    """What is printed as it comes is not mixed with a bar on the same terminal."""
    _, _, shown = seen_on_a_terminal(("schedule", str(many), "--pending", "-o", "name"), whole=True)
    assert {label for label, _ in bars(shown)} == {"reading"}


def test_no_progress_in_a_pipe(many: Path, folder: Path) -> None:
    """Nothing but decisions when nobody watches."""
    outcome = in_a_process("schedule", str(many), "--pending", "-o", "name", cwd=folder)
    assert (outcome.status, outcome.err, len(outcome.out.splitlines())) == (0, "", PODS)


def test_a_sign_of_life_before_there_is_news(folder: Path) -> None:
    """While nothing has been read yet something turns on the terminal, and nothing of it stays there."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "schedule", "-", "--pod", "pod.yaml", "-o", "name"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**ENVIRONMENT, "TERM": "xterm"},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        os.close(theirs)
        shown = b""
        while b"reading /" not in shown:
            shown += os.read(ours, 1 << 10)
        process.stdin.write((folder / "cluster.yaml").read_bytes())
        process.stdin.close()
        with contextlib.suppress(OSError):
            while data := os.read(ours, 1 << 10):
                shown += data
        os.close(ours)
        assert process.stdout.read() == b"default/web n1\n"
        assert process.wait() == 0
    assert shown.startswith(b"\rreading |\rreading /")
    assert shown.endswith(b"\r\x1b[K")


# --- pipes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [("-o", "name"), ("-o", "json"), ()], ids=["names", "json", "table"])
def test_a_reader_that_leaves(many: Path, folder: Path, arguments: tuple[str, ...]) -> None:
    """``| head -1`` is no fault: quiet, with the status of a program that a broken pipe ends; --save is done."""
    with subprocess.Popen(
        [*COMMAND, "schedule", str(many), "--pending", "--save", "x.json", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=ENVIRONMENT,
    ) as process:
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 128 + signal.SIGPIPE
    assert (folder / "x.json").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["registry"], id="registry"),
        pytest.param(["registry", "--release", "1.36"], id="registry of plugins"),
        pytest.param(["migrate", str(CLASSIC), "-o", "table"], id="migrate"),
    ],
)
def test_tables_of_names_fit_a_terminal(arguments: list[str]) -> None:
    """No line is wider than 80 columns, and no name is broken in two."""
    narrow, wide = (here_on_a_terminal(arguments, width=width) for width in (80, 1000))
    assert narrow.lines
    assert max(map(len, narrow.lines)) <= 80
    names, shown = (set(re.findall(r"[A-Za-z]{5,}", "\n".join(each.lines))) for each in (wide, narrow))
    assert names <= shown
