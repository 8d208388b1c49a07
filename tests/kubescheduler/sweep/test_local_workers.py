"""Two hundred cases on processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kubescheduler.sweep import local_workers
from kubescheduler.sweep.cases import Case
from kubescheduler.sweep.local_workers import ATTEMPTS, run_locally
from kubescheduler.sweep.rows_file import open_rows
from kubescheduler.sweep.run_case import CaseOutcome
from kubescheduler.sweep.sweeping import SweepSummary, sweep
from tests.support.comparing.sweep_build import COLUMNS, deadly_case, run_here, two_hundred


@pytest.fixture
def cases(tmp_path: Path) -> list[Case]:
    return two_hundred(tmp_path / "snaps")


def killing_one(todo: Sequence[Case]) -> Generator[CaseOutcome]:
    """Two processes, of which one is killed when the first case is done."""
    before = set(multiprocessing.active_children())
    for at, outcome in enumerate(run_locally(todo, 2)):
        if at == 0:
            (victim, *_) = set(multiprocessing.active_children()) - before
            assert victim.pid is not None
            os.kill(victim.pid, signal.SIGKILL)
        yield outcome


def test_two_processes(cases: list[Case], tmp_path: Path) -> None:
    """The same file as without processes, also when one of them is killed."""
    files = {}
    for name, runner in (("here", run_here), ("two", partial(run_locally, workers=2)), ("killed", killing_one)):
        path = tmp_path / f"{name}.csv"
        assert sweep(cases, runner, open_rows(str(path), COLUMNS)) == SweepSummary(200, 0, 200, ())
        files[name] = path.read_text()
    assert files["two"] == files["here"]
    assert files["killed"] == files["here"]


def test_a_case_that_kills(cases: list[Case]) -> None:
    """What no process survives is an error, and takes no other case with it."""
    guilty = deadly_case(cases[0].snapshot.name)
    few = cases[:4]
    rows = {str(outcome.row["case"]): outcome.row for outcome in run_locally([*few[:2], guilty, *few[2:]], 2)}
    assert [rows[case.id] for case in few] == [outcome.row for outcome in run_here(few)]
    assert rows[guilty.id]["error"] == (f"the process that ran it died, {ATTEMPTS} times; is there enough memory?")
    assert len(rows) == 5


def test_no_cases() -> None:
    """Nothing to do starts no process."""
    before = multiprocessing.active_children()
    assert list(run_locally([], 2)) == []
    assert multiprocessing.active_children() == before


def test_closing_ends_the_processes(cases: list[Case]) -> None:
    """A sweep that is stopped leaves no process behind."""
    before = set(multiprocessing.active_children())
    outcomes = run_locally(cases, 2)
    next(outcomes)
    outcomes.close()
    assert set(multiprocessing.active_children()) <= before


def held_back() -> bool:
    """Whether interrupts of this thread are held back."""
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_processes_are_interrupted_once_they_have_begun(cases: list[Case], monkeypatch: pytest.MonkeyPatch) -> None:
    """Not while they import modules, which would end in a traceback."""
    seen: list[tuple[bool, Any]] = []

    class Pool(ProcessPoolExecutor):
        def submit(self, *_: Any, **__: Any) -> Future[Any]:
            inside = super().submit(signal.pthread_sigmask, signal.SIG_BLOCK, ())
            seen.append((held_back(), inside.result()))
            return super().submit(signal.getsignal, signal.SIGINT)

    monkeypatch.setattr(local_workers, "ProcessPoolExecutor", Pool)
    (handler,) = run_locally(cases[:1], 1)
    assert not held_back()
    assert (seen, handler) == ([(True, set())], signal.SIG_DFL)
