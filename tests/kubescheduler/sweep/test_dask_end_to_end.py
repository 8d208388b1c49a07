"""``sweep --scheduler`` with everything that goes along: custom code, certificates, recorded answers."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
import trustme

from tests.kubescheduler.cli.conftest import in_a_process
from tests.support.comparisons import node_manifest, pod_manifest, write
from tests.support.custom.extender_process import extender

distributed = pytest.importorskip(
    "distributed", reason="dask.distributed is not installed: pip install 'kubescheduler[sweep]'"
)

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


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A scheduler and two workers, each a process of its own that was started in another folder."""
    with distributed.LocalCluster(n_workers=2, processes=True, threads_per_worker=1, dashboard_address=":0") as local:
        yield local.scheduler_address


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: three snapshots, of which two are asked about alike, and the code."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "code_of_sweeps.py").write_text(CODE)
    (tmp_path / "allowed_for_sweeps.py").write_text('ALLOWED = ("n1", "n2")\n')
    for at, names in enumerate((("n0", "n1"), ("n1", "n2"), ("n0", "n1", "n2"))):
        write(
            tmp_path / "snaps" / f"s{at}.json",
            *map(node_manifest, names),
            pod_manifest("a"),
            pod_manifest("b"),
        )
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
def test_on_workers_as_here(folder: Path, settings: str, address: str, setting: Setting) -> None:
    """The same rows and the same recorded answers as on this machine; a replay of them asks nobody."""
    here, there = ("--workers", "1"), ("--scheduler", address)
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


def test_errors_of_workers(folder: Path, settings: str, address: str) -> None:
    """Code that raises and a replay without its answer are rows with an error and no placements: exit status 2."""
    setting = SETTINGS["1.36"]
    (folder / "none.jsonl").write_text("")
    there = ("--scheduler", address)
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
