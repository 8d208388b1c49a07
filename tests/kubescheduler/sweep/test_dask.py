"""Cases on a dask.distributed cluster of two processes, with all that goes along: code, certificates, answers."""

from __future__ import annotations

import csv
import json
import os
import signal
from collections.abc import Generator, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest
import trustme

from clusterstate.errors import InputError
from kubescheduler.sweep.cases import Case
from kubescheduler.sweep.rows import open_rows
from kubescheduler.sweep.run_case import CaseOutcome
from kubescheduler.sweep.sweeping import SweepSummary, check_dask, run_on_dask, sweep
from tests.kubescheduler.cli.conftest import in_a_process
from tests.support.comparisons import COLUMNS, deadly_case, node_manifest, pod_manifest, run_here, sixty, write
from tests.support.custom.extender_process import extender

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
    with distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as local:
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


CODE = """\
from allowed_for_sweeps import ALLOWED
import algorithmprovider

def rule(pod, meta, node_info):
    return node_info.node.metadata.name in ALLOWED, ["not allowed"]

def mine():
    algorithmprovider.register_fit_predicate("Mine", rule)

class Plugin:
    name = "Mine"

    def filter_nodes(self, state, pod, snapshot):
        import numpy as np
        return {"not allowed": np.array([name not in ALLOWED for name in snapshot.names])}
"""
REQUESTS = 6
"""Of two pods: each filtered in two ways, and two nodes scored; equal requests of snapshots are one."""
TLS = {"caFile": "ca.pem", "certFile": "cert.pem", "keyFile": "key.pem"}


@attrs.frozen
class Setting:
    """A configuration with an extender and custom code, as one release takes it."""

    spec: str
    plugin: str

    def call(self, out: str, extenders: str, *more: str) -> list[str]:
        """The command line; rows have the placements."""
        arguments = ["sweep", "snaps", "--config-spec", self.spec, "--plugin", self.plugin, "--placements"]
        return [*arguments, "--out", out, "--extenders", extenders, *more]


SETTINGS = {
    "1.16": Setting("release=1.16,policy=policy.json", "code_of_sweeps:mine"),
    "1.36": Setting("release=1.36,config=config.json", "Mine=code_of_sweeps:Plugin"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: three snapshots, of which two are asked about alike, and the code."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "code_of_sweeps.py").write_text(CODE)
    (tmp_path / "allowed_for_sweeps.py").write_text('ALLOWED = ("n1", "n2")\n')
    for at, names in enumerate((("n0", "n1"), ("n1", "n2"), ("n0", "n1", "n2"))):
        write(tmp_path / "snaps" / f"s{at}.json", *map(node_manifest, names), pod_manifest("a"), pod_manifest("b"))
    return tmp_path


@pytest.fixture
def settings(folder: Path) -> Iterator[str]:
    """The configurations, whose extender wants a client's certificate; its address."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    client, server = authority.issue_cert("client"), authority.issue_cert("127.0.0.1")
    client.private_key_pem.write_to_path(str(folder / "key.pem"))
    client.cert_chain_pems[0].write_to_path(str(folder / "cert.pem"))
    server.private_key_and_cert_chain_pem.write_to_path(str(folder / "server.pem"))
    with extender(folder / "server.pem", folder / "ca.pem") as url:
        _write_configurations(folder, f"{url}/good")
        yield url


def _write_configurations(folder: Path, url: str) -> None:
    asked: dict[str, Any] = {"urlPrefix": url, "filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 5}
    policy = {"kind": "Policy", "apiVersion": "v1", "predicates": [{"name": "Mine"}]}
    legacy = {**asked, "enableHttps": True, "tlsConfig": TLS}
    (folder / "policy.json").write_text(json.dumps({**policy, "extenders": [legacy]}))
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "Mine"}]}}}],
        "extenders": [{**asked, "enableHTTPS": True, "tlsConfig": TLS}],
    }
    (folder / "config.json").write_text(json.dumps(config))


def _rows(name: str) -> list[dict[str, str]]:
    """What a file says of each case, whatever its order and how its extenders were asked."""
    with open(name, encoding="utf-8", newline="") as file:
        rows = [{key: row[key] for key in ("snapshot", "placements", "error")} for row in csv.DictReader(file)]
    return sorted(rows, key=lambda row: row["snapshot"])


def _requests(name: str) -> list[str]:
    return sorted(Path(name).read_text().splitlines())


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_on_workers_as_here(folder: Path, settings: str, cluster: Any, setting: Setting) -> None:
    """The same rows and the same recorded answers as on this machine; a replay of them asks nobody."""
    here, there = ("--workers", "1"), ("--scheduler", cluster.scheduler_address)
    for call in (
        setting.call("here.csv", "record here.jsonl", *here),
        setting.call("there.csv", "record there.jsonl", *there),
    ):
        assert _ended(call) == (0, "")
    assert _rows("there.csv") == _rows("here.csv")
    assert all(row["error"] == "" and '"n0"' not in row["placements"] for row in _rows("there.csv"))
    recorded = _requests("there.jsonl")
    assert recorded == _requests("here.jsonl")
    assert len(recorded) == len(set(recorded)) == REQUESTS
    assert _ended(setting.call("again.csv", "record there.jsonl", *there)) == (0, "")
    assert _requests("there.jsonl") == recorded
    for name in TLS.values():
        (folder / name).unlink()
    assert _ended(setting.call("replayed.csv", "replay there.jsonl", *there)) == (0, "")
    assert _rows("replayed.csv") == _rows("here.csv")


def test_errors_of_workers(folder: Path, settings: str, cluster: Any) -> None:
    """Code that raises and a replay without its answer are rows with an error and no placements: exit status 2."""
    setting = SETTINGS["1.36"]
    (folder / "none.jsonl").write_text("")
    there = ("--scheduler", cluster.scheduler_address)
    status, text = _ended(setting.call("missing.csv", "replay none.jsonl", *there))
    assert (status, "no answer is recorded to this request" in text) == (2, True)
    (folder / "allowed_for_sweeps.py").write_text("ALLOWED = None\n")
    status, text = _ended(setting.call("raised.csv", "pass", *there))
    assert (status, "code_of_sweeps.py, line " in text, "TypeError" in text) == (2, True, True)
    assert "Traceback" not in text
    assert str(folder) not in text
    assert all(row["error"] and not row["placements"] for row in [*_rows("raised.csv"), *_rows("missing.csv")])


def _ended(call: list[str]) -> tuple[int, str]:
    """The exit status and standard error, but for notes, of a command in a process of its own."""
    found = in_a_process(*call)
    return found.status, "".join(line for line in found.err.splitlines(keepends=True) if not line.startswith("note: "))
