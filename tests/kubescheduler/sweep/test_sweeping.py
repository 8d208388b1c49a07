"""Sweeps: every case once, whatever stops them."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import msgspec
import pytest

from kubescheduler.sweep import sweeping
from kubescheduler.sweep.cases import Case
from kubescheduler.sweep.rows import Row, Rows, open_rows
from kubescheduler.sweep.run_case import CaseOutcome, failed, run_case
from kubescheduler.sweep.sweeping import ATTEMPTS, SweepSummary, run_locally, sweep
from tests.support.comparisons import COLUMNS, deadly_case, rows_in, run_here, sixty


@pytest.fixture
def cases(tmp_path: Path) -> list[Case]:
    """The first few of two hundred."""
    return sixty(tmp_path / "snaps")[:6]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows.csv"


def test_every_case_has_a_row(cases: list[Case], path: Path) -> None:
    """In the order of the cases, though they end in another."""
    told: list[tuple[int, int]] = []
    summary = sweep(
        cases,
        lambda todo: run_here(list(reversed(todo))),
        open_rows(str(path), COLUMNS),
        progress=lambda done, total: told.append((done, total)),
    )
    assert summary == SweepSummary(6, 0, 6, ())
    assert [row["case"] for row in rows_in(path)] == [case.id for case in cases]
    assert rows_in(path) == [dict(run_case(case).row) for case in cases]
    assert told == [(at, 6) for at in range(1, 7)]


def test_a_sweep_goes_on(cases: list[Case], path: Path) -> None:
    """What has a row is not run again; more cases may have come."""
    sweep(cases[1:4], run_here, open_rows(str(path), COLUMNS))
    ran: list[str] = []

    def runner(todo: Sequence[Case]) -> Generator[CaseOutcome]:
        ran.extend(case.id for case in todo)
        yield from run_here(todo)

    assert sweep(cases, runner, open_rows(str(path), COLUMNS)) == SweepSummary(6, 3, 3, ())
    assert ran == [case.id for case in (cases[0], *cases[4:])]
    assert rows_in(path) == [dict(run_case(case).row) for case in cases]


def one_fails(todo: Sequence[Case]) -> Generator[CaseOutcome]:
    """The second case fails, with an error of two lines."""
    yield from (failed(case, "one\ntwo") if at == 1 else run_case(case) for at, case in enumerate(todo))


def test_errors_are_tried_again_when_asked(cases: list[Case], path: Path) -> None:
    """A row with an error counts as there, unless errors are to be tried again."""
    first = sweep(cases, one_fails, open_rows(str(path), COLUMNS))
    assert first.failed == ((cases[1].id, "one; two"),)
    assert sweep(cases, run_here, open_rows(str(path), COLUMNS)) == msgspec.structs.replace(first, there=6, new=0)
    again = sweep(cases, run_here, open_rows(str(path), COLUMNS), retry_errors=True)
    assert again == SweepSummary(6, 5, 1, ())
    assert rows_in(path) == [dict(run_case(case).row) for case in cases]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_what_stops_a_sweep_loses_nothing(cases: list[Case], path: Path, error: type[BaseException]) -> None:
    """The rows so far are in the file, in order, and the runner is closed."""
    closed: list[bool] = []

    def runner(todo: Sequence[Case]) -> Generator[CaseOutcome]:
        try:
            yield from run_here([todo[3], todo[1]])
            raise error
        finally:
            closed.append(True)

    with pytest.raises(error):
        sweep(cases, runner, open_rows(str(path), COLUMNS))
    assert closed == [True]
    assert [row["case"] for row in rows_in(path)] == [cases[1].id, cases[3].id]
    sweep(cases, run_here, open_rows(str(path), COLUMNS))
    assert rows_in(path) == [dict(run_case(case).row) for case in cases]


def test_a_runner_is_closed_when_rows_cannot_be_written(cases: list[Case], path: Path) -> None:
    """A full disk ends the sweep and what runs for it."""
    closed: list[bool] = []

    def runner(todo: Sequence[Case]) -> Generator[CaseOutcome]:
        try:
            yield from run_here(todo)
        finally:
            closed.append(True)

    rows = open_rows(str(path), COLUMNS)

    @attrs.define
    class Full(Rows):
        rows: dict[str, Row] = attrs.field(factory=dict)

        def append(self, row: Row) -> None:
            raise OSError("full")

        def finish(self, order: object) -> None:
            rows.finish([])

    with pytest.raises(OSError, match="full"):
        sweep(cases, runner, Full())
    assert closed == [True]


def test_notes_are_told_once(cases: list[Case], path: Path) -> None:
    """Many cases of one configuration have one note."""

    def runner(todo: Sequence[Case]) -> Generator[CaseOutcome]:
        yield from (msgspec.structs.replace(run_case(case), notes=("a", "a", case.snapshot.name[-7:])) for case in todo)

    told: list[str] = []
    sweep(cases, runner, open_rows(str(path), COLUMNS), notice=told.append)
    assert told == ["a", "s0.json"]


@pytest.fixture
def worker_cases(tmp_path: Path) -> list[Case]:
    return sixty(tmp_path / "snaps")[:20]


def killing_one(todo: Sequence[Case]) -> Generator[CaseOutcome]:
    """Two processes, of which one is killed when the first case is done."""
    before = set(multiprocessing.active_children())
    for at, outcome in enumerate(run_locally(todo, 2)):
        if at == 0:
            (victim, *_) = set(multiprocessing.active_children()) - before
            assert victim.pid is not None
            os.kill(victim.pid, signal.SIGKILL)
        yield outcome


def test_two_processes(worker_cases: list[Case], tmp_path: Path) -> None:
    """The same file as without processes, also when one of them is killed."""
    files = {}
    for name, runner in (("here", run_here), ("two", partial(run_locally, workers=2)), ("killed", killing_one)):
        path = tmp_path / f"{name}.csv"
        assert sweep(worker_cases, runner, open_rows(str(path), COLUMNS)) == SweepSummary(20, 0, 20, ())
        files[name] = path.read_text()
    assert files["two"] == files["here"]
    assert files["killed"] == files["here"]


def test_a_case_that_kills(worker_cases: list[Case]) -> None:
    """What no process survives is an error, and takes no other case with it."""
    guilty = deadly_case(worker_cases[0].snapshot.name)
    few = worker_cases[:4]
    rows = {str(outcome.row["case"]): outcome.row for outcome in run_locally([*few[:2], guilty, *few[2:]], 2)}
    assert [rows[case.id] for case in few] == [outcome.row for outcome in run_here(few)]
    assert rows[guilty.id]["error"] == (f"the process that ran it died, {ATTEMPTS} times; is there enough memory?")
    assert len(rows) == 5


def test_no_cases() -> None:
    """Nothing to do starts no process."""
    before = multiprocessing.active_children()
    assert list(run_locally([], 2)) == []
    assert multiprocessing.active_children() == before


def test_closing_ends_the_processes(worker_cases: list[Case]) -> None:
    """A sweep that is stopped leaves no process behind."""
    before = set(multiprocessing.active_children())
    outcomes = run_locally(worker_cases, 2)
    next(outcomes)
    outcomes.close()
    assert set(multiprocessing.active_children()) <= before


def held_back() -> bool:
    """Whether interrupts of this thread are held back."""
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_processes_are_interrupted_once_they_have_begun(
    worker_cases: list[Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not while they import modules, which would end in a traceback."""
    seen: list[tuple[bool, Any]] = []

    class Pool(ProcessPoolExecutor):
        def submit(self, *_: Any, **__: Any) -> Future[Any]:
            inside = super().submit(signal.pthread_sigmask, signal.SIG_BLOCK, ())
            seen.append((held_back(), inside.result()))
            return super().submit(signal.getsignal, signal.SIGINT)

    monkeypatch.setattr(sweeping, "ProcessPoolExecutor", Pool)
    (handler,) = run_locally(worker_cases[:1], 1)
    assert not held_back()
    assert (seen, handler) == ([(True, set())], signal.SIG_DFL)
