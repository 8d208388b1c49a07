"""A sweep: cases are run somewhere, by processes of this machine for one, and each leaves a row."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager

import attrs
import msgspec

from kubescheduler.sweep.cases import Case
from kubescheduler.sweep.rows import ERROR, Rows, one_line
from kubescheduler.sweep.run_case import CaseOutcome, failed, run_case

Runner = Callable[[Sequence[Case]], Generator[CaseOutcome]]
"""Runs cases and yields each one's outcome once, in whatever order they end. A generator, which is closed early when
the sweep is stopped."""

Progress = Callable[[int, int], None]
"""Called with (cases that have a row, cases in all)."""

Notice = Callable[[str], None]


class SweepSummary(msgspec.Struct, frozen=True):
    """How many cases were run, and which failed."""

    cases: int
    """How many cases there are."""
    there: int
    """How many had a row before."""
    new: int
    """How many were run now."""
    failed: tuple[tuple[str, str], ...]
    """(case, error) of every row with an error."""


def pending_cases(cases: Sequence[Case], rows: Rows, *, retry_errors: bool = False) -> list[Case]:
    """The cases without a row; retry_errors: and those whose row has an error."""
    return [case for case in cases if (row := rows.rows.get(case.id)) is None or (retry_errors and row[ERROR])]


def sweep(
    cases: Sequence[Case],
    runner: Runner,
    rows: Rows,
    *,
    retry_errors: bool = False,
    progress: Progress | None = None,
    notice: Notice | None = None,
) -> SweepSummary:
    """Runs the cases that have no row yet. Every row is written when its case ends.

    When all are there, and also when something stops the sweep, the rows are put in order: the file's rows of other
    cases first, then those of ``cases`` in their order. So the same cases give the same file whatever ran them.
    notice: called once for each thing that may be unexpected about a configuration.
    """
    todo = pending_cases(cases, rows, retry_errors=retry_errors)
    there = len(cases) - len(todo)
    told: set[str] = set()
    try:
        with closing(runner(todo)) as outcomes:
            for done, outcome in enumerate(outcomes, start=1):
                rows.append(one_line(outcome.row))
                if progress is not None:
                    progress(there + done, len(cases))
                if notice is not None:
                    for note in dict.fromkeys(note for note in outcome.notes if note not in told):
                        notice(note)
                told.update(outcome.notes)
    finally:
        rows.finish(case.id for case in cases)
    failed = tuple((case.id, str(rows.rows[case.id][ERROR])) for case in cases if rows.rows[case.id][ERROR])
    return SweepSummary(len(cases), there, len(todo), failed)


ATTEMPTS = 3
"""How often a case is run whose process dies of it."""

AHEAD = 2
"""Cases handed over for each process, so that none waits for work."""


@attrs.define
class _Backlog:
    """Cases to run."""

    fresh: deque[Case]
    suspects: deque[Case] = attrs.field(factory=deque)
    """Cases under way when a process died; each is run alone, to find which one it was."""
    deaths: dict[str, int] = attrs.field(factory=dict)

    def __bool__(self) -> bool:
        return bool(self.fresh or self.suspects)

    def take(self, room: int, running: int) -> list[Case]:
        """The next cases, where ``room`` may run at once and ``running`` do."""
        if self.suspects:
            return [self.suspects.popleft()] if not running else []
        return [self.fresh.popleft() for _ in range(min(room - running, len(self.fresh)))]

    def died(self, cases: list[Case]) -> Case | None:
        """A process died while these were under way. Returns the one that is given up, if it is clear which it was."""
        if len(cases) > 1:
            self.suspects.extend(cases)
            return None
        (case,) = cases
        self.deaths[case.id] = self.deaths.get(case.id, 0) + 1
        if self.deaths[case.id] >= ATTEMPTS:
            return case
        self.suspects.appendleft(case)
        return None


def run_locally(cases: Sequence[Case], workers: int) -> Generator[CaseOutcome]:
    """Runs cases on ``workers`` processes, yields outcomes as they come.

    A process that dies loses nothing: what was under way is run again, one case at a time; a case whose process dies
    ATTEMPTS times has an error.
    """
    backlog = _Backlog(deque(cases))
    while backlog:
        yield from _until_broken(backlog, workers)


def _until_broken(backlog: _Backlog, workers: int) -> Iterator[CaseOutcome]:
    """Runs the backlog on a new pool, until it is empty or a process has died."""
    running: dict[Future[CaseOutcome], Case] = {}
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_begin)
    try:
        while backlog or running:
            healthy = _submit(pool, backlog.take(AHEAD * workers, len(running)), running)
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            healthy = healthy and not any(_died(future) for future in done)
            if not healthy:
                done, _ = wait(running)
            yield from (_outcome(future, running.pop(future)) for future in done if not _died(future))
            if not healthy:
                lost = backlog.died(list(running.values()))
                if lost is not None:
                    yield failed(lost, f"the process that ran it died, {ATTEMPTS} times; is there enough memory?")
                return
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _submit(pool: ProcessPoolExecutor, cases: list[Case], running: dict[Future[CaseOutcome], Case]) -> bool:
    """Hands cases over. Returns whether the pool still takes any; what it did not take counts as lost with it."""
    for at, case in enumerate(cases):
        try:
            with _interrupts_held_back():
                future = pool.submit(run_case, case)
            running[future] = case
        except BrokenProcessPool as error:
            for left in cases[at:]:
                future = Future()
                future.set_exception(error)
                running[future] = left
            return False
    return True


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """A process that is started meanwhile is not interrupted before ``_begin``, while it imports modules."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _died(future: Future[CaseOutcome]) -> bool:
    return isinstance(future.exception(), BrokenProcessPool)


def _outcome(future: Future[CaseOutcome], case: Case) -> CaseOutcome:
    """The outcome; of a case that ended its process on purpose, or whose outcome cannot be sent, the error."""
    error = future.exception()
    return future.result() if error is None else failed(case, f"{type(error).__name__}: {error}")


# --- in the processes --------------------------------------------------------------------------


def _begin() -> None:
    """An interrupt ends the process without a word, and so does the end of the one that started it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: multiprocessing.process.BaseProcess) -> None:
    parent.join()
    os._exit(1)
