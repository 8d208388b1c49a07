"""A sweep: cases are run, by processes of this machine or on a dask.distributed cluster, and each leaves a row.

To a cluster the files go along: workers need kubescheduler, but neither the folder nor a shared disk. A snapshot is
sent once, as a task of its own that its cases depend on, so that the cluster can make it again when the worker that
holds it is lost.
"""

from __future__ import annotations

import importlib
import importlib.util
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from itertools import groupby
from typing import Any
from urllib.parse import urlsplit

import attrs
import msgspec

from clusterstate.errors import InputError
from kubescheduler.extender.recorded_answers import record_of
from kubescheduler.sweep.cases import Case, Contents, packed
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


RETRIES = 2
"""Of a case whose sending failed."""

CONNECT_SECONDS = 10

LARGE = "distributed.admin.large-graph-warning-threshold"
"""dask's setting for how much may be sent to the scheduler without a warning."""


SCHEMES = ("tcp", "tls", "ucx", "ws", "wss")
"""What dask.distributed speaks."""


def check_dask(address: str) -> None:
    """Raises InputError when dask.distributed is not installed, or the address cannot be a scheduler's."""
    if importlib.util.find_spec("distributed") is None:
        raise InputError(f"--scheduler {address}: it needs dask.distributed; pip install 'kubescheduler[sweep]'")
    try:
        parts = urlsplit(address)
        good = parts.scheme in SCHEMES and bool(parts.hostname) and parts.port is not None
    except ValueError:  # a port that is no number
        good = False
    if not good:
        raise InputError(f"--scheduler {address}: this is no address of a scheduler; write it as tcp://HOST:8786")


def run_on_dask(cases: Sequence[Case], address: str) -> Generator[CaseOutcome]:
    """Runs cases on the cluster whose scheduler is at ``address``, yields outcomes as they come.

    A worker that dies loses nothing: the cluster runs its cases again. A case whose workers die again and again, more
    often than the cluster's ``allowed-failures``, is run once more with nothing beside it, and then has an error.
    Raises InputError when there is no scheduler, or it goes away.
    """
    if not cases:
        return
    distributed = importlib.import_module("distributed")
    try:
        client = distributed.Client(address, set_as_default=False, timeout=CONNECT_SECONDS)
    except OSError as error:
        raise InputError(f"--scheduler {address}: there is no dask scheduler that answers: {error}") from error
    with client:
        suspects: list[Case] = []
        for case, outcome in _outcomes(client, cases, address):
            if outcome is None:
                suspects.append(case)
            else:
                yield outcome
        for suspect in suspects:
            for case, outcome in _outcomes(client, [suspect], address):
                yield outcome or failed(case, "the workers that ran it died, again and again; is there enough memory?")


def _outcomes(client: Any, cases: Sequence[Case], address: str) -> Iterator[tuple[Case, CaseOutcome | None]]:
    """(case, outcome) as they come; None: its workers died."""
    distributed = importlib.import_module("distributed")
    futures = _submitted(client, cases)
    for future in distributed.as_completed(list(futures), loop=client.loop):
        case = futures.pop(future)
        try:
            outcome = _outcome_of(future, case)
        except (OSError, CancelledError) as error:
            lost = f"--scheduler {address}: the connection was lost; run the same command again to go on"
            raise InputError(lost) from error
        _keep_record(case, outcome)
        yield case, outcome


def _keep_record(case: Case, outcome: CaseOutcome | None) -> None:
    """Answers of extenders that a worker recorded go into the file that is to have them. Raises InputError."""
    if outcome is not None and outcome.recorded and case.configuration.recorded is not None:
        record_of(case.configuration.recorded).merge(outcome.recorded)


def _outcome_of(future: Any, case: Case) -> CaseOutcome | None:
    """None: the workers died. Raises CancelledError or OSError when the cluster is gone."""
    if future.status != "error":
        outcome: CaseOutcome = future.result()
        return outcome
    error = future.exception()
    if isinstance(error, importlib.import_module("distributed").KilledWorker):
        return None
    return failed(case, f"{type(error).__name__}: {error}")


def _submitted(client: Any, cases: Sequence[Case]) -> dict[Any, Case]:
    """Future → case. Files are kept by the cluster as long as a case needs them."""
    config = importlib.import_module("dask.config")
    futures: dict[Any, Case] = {}
    with config.set({LARGE: "1 TiB"}):
        for _, group in groupby(cases, key=lambda case: case.snapshot):
            several = list(group)
            files = packed({name: None for case in several for name in case.files})
            held = client.submit(_hold, files, pure=False, retries=RETRIES)
            for case in several:
                futures[client.submit(run_case, case, held, pure=False, retries=RETRIES)] = case
    return futures


def _hold(files: Contents) -> Contents:
    """The files, as a result that other tasks can depend on."""
    return files
