"""Code of a user's own that cannot be ended from within ends its process, and the command with status 2."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kubescheduler.lab.exercises.exercise_reading import shipped_exercise, start_exercise

RULES = """\
import os, time
from algorithmprovider import register_priority_function

def cheap(pod, meta, node_info):
    {body}

def register():
    register_priority_function("Cheap", cheap)
"""
POLICY = ("--policy-config-file", "policy.yaml", "--plugin", "rules:register")
SCHEDULE = ("schedule", "cluster.yaml", "--pod", "pods.yaml", *POLICY)
CHECK = ("lab", "check", ".")

CASES: dict[str, tuple[tuple[str, ...], str, str]] = {
    "a loop": (CHECK, "while True: pass", "it has run for 0.3 s and did not return"),
    "a loop in C": (CHECK, "return sum(range(10**12))", "it has run for 0.3 s and cannot be ended"),
    "a loop in C, scheduled": (SCHEDULE, "return sum(range(10**12))", "it has run for 0.3 s and cannot be ended"),
    "a loop, scheduled": (SCHEDULE, "while True: pass", "it has run for 0.3 s and did not return"),
    "the end": (CHECK, "os._exit(0)", "os._exit(0) would end the scheduler without an answer"),
    "the end, scheduled": (SCHEDULE, "os._exit(0)", "os._exit(0) would end the scheduler without an answer"),
}
"""Case → command, what the priority does, what is said of it."""


@pytest.mark.parametrize("case", CASES)
def test_what_does_not_return_is_an_error(case: str, tmp_path: Path) -> None:
    """Status 2, with the file and the line, and no answer."""
    words, body, said = CASES[case]
    start_exercise(shipped_exercise("priority"), tmp_path / "mine")
    (tmp_path / "mine/rules.py").write_text(RULES.format(body=body))
    command = [sys.executable, "-m", "kubescheduler", *words, "--patience", "0.3"]
    done = subprocess.run(command, cwd=tmp_path / "mine", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, ""), done
    assert "rules.py, line 5: " in done.stderr
    assert said in done.stderr


@pytest.mark.parametrize("words", [CHECK, SCHEDULE], ids=["check", "schedule"])
def test_a_process_that_ends_itself_is_an_error(words: tuple[str, ...], tmp_path: Path) -> None:
    """A crash in code of a user's own is no answer either, and is said."""
    start_exercise(shipped_exercise("priority"), tmp_path / "mine")
    (tmp_path / "mine/rules.py").write_text(RULES.format(body="os.abort()"))
    command = [sys.executable, "-m", "kubescheduler", *words]
    done = subprocess.run(command, cwd=tmp_path / "mine", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, ""), done
    assert done.stderr.endswith("rules.py, line 5: the process was ended by SIGABRT, and nothing of it is an answer\n")
