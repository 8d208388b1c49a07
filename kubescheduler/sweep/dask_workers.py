"""Cases on a dask.distributed cluster.

The files go along: workers need kubescheduler, but neither the folder nor a shared disk. A snapshot is sent once, as a
task of its own that its cases depend on, so that the cluster can make it again when the worker that holds it is lost.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import CancelledError
from itertools import groupby
from typing import Any
from urllib.parse import urlsplit

from clusterstate.errors import InputError
from kubescheduler.extender.recorded_answers import record_of
from kubescheduler.sweep.cases import Case, Contents, packed
from kubescheduler.sweep.run_case import CaseOutcome, failed, run_case

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
        for case, outcome in _run(client, cases, address):
            if outcome is None:
                suspects.append(case)
            else:
                yield outcome
        for suspect in suspects:
            for case, outcome in _run(client, [suspect], address):
                yield outcome or failed(case, "the workers that ran it died, again and again; is there enough memory?")


def _run(client: Any, cases: Sequence[Case], address: str) -> Iterator[tuple[Case, CaseOutcome | None]]:
    """(case, outcome) as they come; None: its workers died."""
    distributed = importlib.import_module("distributed")
    futures = _submitted(client, cases)
    for future in distributed.as_completed(list(futures), loop=client.loop):
        case = futures.pop(future)
        try:
            outcome = _outcome(future, case)
        except (OSError, CancelledError) as error:
            lost = f"--scheduler {address}: the connection was lost; run the same command again to go on"
            raise InputError(lost) from error
        _keep_record(case, outcome)
        yield case, outcome


def _keep_record(case: Case, outcome: CaseOutcome | None) -> None:
    """Answers of extenders that a worker recorded go into the file that is to have them. Raises InputError."""
    if outcome is not None and outcome.recorded and case.configuration.recorded is not None:
        record_of(case.configuration.recorded).merge(outcome.recorded)


def _outcome(future: Any, case: Case) -> CaseOutcome | None:
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
