"""Garbage collection while a command runs."""

from __future__ import annotations

import gc
import subprocess
import sys

import click

from kubescheduler.cli.cluster_files import nothing_collected
from tests.kubescheduler.cli.conftest import ROOT

ENDING = """
import atexit, gc, sys
from kubescheduler.__main__ import MADE_BEFORE_COLLECTION, main
atexit.register(lambda: print(gc.get_threshold()[0] == MADE_BEFORE_COLLECTION, gc.get_freeze_count() > 1000))
sys.argv = ["kubescheduler", "--version"]
main()
"""


def test_collection_is_as_before_when_the_command_has_ended() -> None:
    """None while a cluster is read, then as before, but for what is set aside until the command ends."""
    frozen = gc.get_freeze_count()
    with click.Context(click.Command("any")):
        with nothing_collected():
            assert not gc.isenabled()
        assert gc.isenabled()
        assert gc.get_freeze_count() > frozen
    assert gc.get_freeze_count() == 0


def test_a_process_ends_without_a_search_for_cycles() -> None:
    """The console script collects seldom, and has set aside what there is when the interpreter ends."""
    done = subprocess.run(
        [sys.executable, "-c", ENDING],
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "True True"
