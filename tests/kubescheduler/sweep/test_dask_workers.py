"""Cases on a dask.distributed cluster of two processes."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from clusterstate.errors import InputError
from kubescheduler.sweep.cases import Case
from kubescheduler.sweep.rows import open_rows
from kubescheduler.sweep.run_case import CaseOutcome
from kubescheduler.sweep.sweeping import SweepSummary, check_dask, run_on_dask, sweep
from tests.support.comparisons import COLUMNS, deadly_case, run_here, sixty

distributed = pytest.importorskip(
    "distributed", reason="dask.distributed is not installed: pip install 'kubescheduler[sweep]'"
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A scheduler and two workers, each a process of its own."""
    with distributed.LocalCluster(n_workers=2, processes=True, threads_per_worker=1, dashboard_address=":0") as local:
        yield local


@pytest.fixture
def cases(tmp_path: Path) -> list[Case]:
    return sixty(tmp_path / "snaps")[:20]


def killing_one(todo: Sequence[Case], cluster: Any) -> Generator[CaseOutcome]:
    """A worker is killed when the first case is done."""
    for at, outcome in enumerate(run_on_dask(todo, cluster.scheduler_address)):
        if at == 0:
            os.kill(cluster.workers[0].pid, signal.SIGKILL)
        yield outcome


def test_two_workers(cluster: Any, cases: list[Case], tmp_path: Path) -> None:
    """The same file as in this process, also when one worker is killed."""
    files = {}
    for name, runner in (
        ("here", run_here),
        ("dask", partial(run_on_dask, address=cluster.scheduler_address)),
        ("killed", partial(killing_one, cluster=cluster)),
    ):
        path = tmp_path / f"{name}.csv"
        assert sweep(cases, runner, open_rows(str(path), COLUMNS)) == SweepSummary(20, 0, 20, ())
        files[name] = path.read_text()
    assert files["dask"] == files["here"]
    assert files["killed"] == files["here"]


def test_a_case_that_kills(cluster: Any, cases: list[Case], monkeypatch: pytest.MonkeyPatch) -> None:
    """What no worker survives is an error, and takes no other case with it."""
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    guilty = deadly_case(cases[0].snapshot.name)
    few = cases[:4]
    outcomes = run_on_dask([*few[:2], guilty, *few[2:]], cluster.scheduler_address)
    rows = {str(outcome.row["case"]): outcome.row for outcome in outcomes}
    assert [rows[case.id] for case in few] == [outcome.row for outcome in run_here(few)]
    assert rows[guilty.id]["error"] == "the workers that ran it died, again and again; is there enough memory?"
    assert len(rows) == 5


def test_the_files_go_along(cluster: Any, cases: list[Case]) -> None:
    """Workers read nothing from this machine: the files may be gone once everything is sent."""
    some = [case for case in cases if case.seed == 0]
    expected = {case.id: outcome.row for case, outcome in zip(some, run_here(some), strict=True)}
    found = {}
    for outcome in run_on_dask(some, cluster.scheduler_address):
        for case in some:
            for name in case.files:
                Path(name).unlink(missing_ok=True)
        found[outcome.row["case"]] = outcome.row
    assert found == expected


def test_a_scheduler_that_is_not_there(monkeypatch: pytest.MonkeyPatch, cases: list[Case]) -> None:
    """Nobody at the address is wrong input."""
    monkeypatch.setattr("kubescheduler.sweep.sweeping.CONNECT_SECONDS", 0.1)
    with pytest.raises(InputError, match=r"--scheduler tcp://127.0.0.1:9: there is no dask scheduler that answers"):
        next(run_on_dask(cases, "tcp://127.0.0.1:9"))


def test_a_scheduler_that_goes_away(cases: list[Case]) -> None:
    """Without its scheduler a sweep ends with advice."""
    config = {"distributed.comm.timeouts.connect": "0.1s"}
    import dask.config

    with (
        dask.config.set(config),
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as local,
    ):
        outcomes = run_on_dask(cases, local.scheduler_address)
        next(outcomes)
        local.close()
        with pytest.raises(InputError, match=r"the connection was lost; run the same command again to go on"):
            list(outcomes)


@pytest.mark.parametrize("address", ["localhost:8786", "tcp://host", "http://host:8786", "tcp://host:port"])
def test_addresses(address: str) -> None:
    """What is no address of a scheduler says how to write one."""
    with pytest.raises(InputError) as error:
        check_dask(address)
    assert error.value.problems == (
        f"--scheduler {address}: this is no address of a scheduler; write it as tcp://HOST:8786",
    )


def test_without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without dask.distributed it is said what to install."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'kubescheduler\[sweep\]'"):
        check_dask("tcp://host:8786")
