"""``kubescheduler run --dry-run`` beside a scheduler."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kubescheduler.cli.running.dry_running import DryRunOptions, dry_run
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.framework.contract.profile import LeaderElection
from kubescheduler.live.dry_run.dry_run_process import DryRunProcess
from kubescheduler.live.process.live_settings import LiveSettings, ServerSettings
from kubescheduler.live.process.release_live import live_release
from tests.kubescheduler.cli.conftest import Run
from tests.support.apiserver import FrontServer
from tests.support.served_clusters import NODES, PODS, a_node, a_pod, fill, kubeconfig

SECONDS = 60.0


@pytest.fixture
def server(folder: Path, api_server: FrontServer) -> FrontServer:
    """A node with room; ./kubeconfig leads there."""
    fill(api_server, a_node("n1"))
    kubeconfig(folder, api_server.url)
    return api_server


class Beside:
    """A dry run in a thread, and the real scheduler's writes by hand."""

    def __init__(self, server: FrontServer, release: str, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
        self.server = server
        self.log: list[str] = []
        self.status: list[int] = []
        self._processes: list[DryRunProcess] = []
        monkeypatch.setattr("kubescheduler.cli.running.dry_running._until_signal", self._until_stopped)
        engine = EngineSpec(release=release).engine(self.log.append)
        election = LeaderElection(leader_elect=False)
        settings = LiveSettings(live_release(release), engine, ServerSettings(master=server.url, qps=0), election)
        given = DryRunOptions("", results="day.jsonl", **options)
        self._thread = threading.Thread(target=lambda: self.status.append(dry_run(settings, given, self.log.append)))

    def _until_stopped(self, process: DryRunProcess) -> None:
        self._processes.append(process)
        process.run()

    def __enter__(self) -> Beside:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._processes[0].stop()
        self._thread.join(SECONDS)

    def lines(self) -> list[dict[str, Any]]:
        path = Path("day.jsonl")
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def until(self, holds: Callable[[], bool]) -> None:
        waiting = threading.Event()
        for _ in range(int(SECONDS * 50)):
            if holds():
                return
            waiting.wait(0.02)
        raise AssertionError(self.log)

    def waits(self, count: int) -> None:
        """Until the dry run has decided so many pods of which nothing is known."""
        self.until(lambda: bool(self._processes) and self._processes[0].shadow.undecided == count)

    def bind(self, name: str, node: str) -> None:
        self.server.storage.change(PODS, "default", name, lambda pod: pod["spec"].update(nodeName=node))


@pytest.mark.parametrize("release", ["1.16", "1.20", "1.36"])
def test_beside_a_scheduler(server: FrontServer, release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods are compared as they are bound; lines, a page and a mirror are written, and the server is asked to GET."""
    server.storage.create(PODS, "default", a_pod("before"))
    with Beside(server, release, monkeypatch, report="day.html", mirror="day.mirror") as beside:
        beside.waits(1)
        beside.bind("before", "n1")
        beside.until(lambda: len(beside.lines()) == 1)
        server.storage.create(NODES, "", a_node("n2", cpu="1"))
        server.storage.create(PODS, "default", a_pod("after", cpu="2"))
        beside.waits(1)
        beside.bind("after", "n2")
        beside.until(lambda: len(beside.lines()) == 2)
    assert beside.status == [1]
    assert [(line["pod"], line["agrees"]) for line in beside.lines()] == [
        ("default/before", True),
        ("default/after", False),
    ]
    assert beside.lines()[1]["cause"] == "filtered-now"
    assert beside.log == ["2 attempts compared, 1 agree (50.0%)", "  filtered-now: 1"]
    assert "1 of 2 pods goes elsewhere" in Path("day.html").read_text()
    lines = [json.loads(line) for line in Path("day.mirror").read_text().splitlines()]
    types = [line.get("type") for line in lines if line.get("object", {}).get("kind", "Pod") in ("Pod", "Node")]
    assert types == [None, "ADDED", "ADDED", "SYNCED", "MODIFIED", "ADDED", "ADDED", "MODIFIED"]
    assert {one.method for one in server.asked} == {"GET"}


def test_a_replay(kubescheduler: Run, server: FrontServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """simulate and compare go through the recorded day, twice with the same bytes."""
    with Beside(server, "1.36", monkeypatch, mirror="day.gz") as beside:
        beside.until(lambda: Path("day.gz").exists())
        server.storage.create(PODS, "default", a_pod("web"))
        beside.waits(1)
        beside.bind("web", "n1")
        beside.until(lambda: len(beside.lines()) == 1)
        server.storage.create(PODS, "default", a_pod("big", cpu="9"))
        beside.waits(1)
    simulated, again = (kubescheduler("simulate", "--mirror", "day.gz", "--release", "1.36") for _ in range(2))
    assert (simulated.status, simulated.out) == (1, again.out)
    assert "Insufficient cpu" in simulated.out
    command = ("compare", "--mirror", "day.gz", "--old", "release=1.20", "--new", "release=1.36", "--mode", "sequence")
    compared, again = (kubescheduler(*command, "-o", "json") for _ in range(2))
    assert (compared.status, compared.out) == (again.status, again.out)
    assert json.loads(compared.out)["compared"] == 2
    assert kubescheduler("simulate", "cluster.yaml", "--mirror", "day.gz").status == 2
    assert "leave out CLUSTER" in kubescheduler("compare", "--mirror", "day.gz", "x", "--new", "release=1.36").err


@pytest.mark.parametrize(
    ("args", "said"),
    [
        pytest.param(
            ("--dry-run", "--kubeconfig", "kubeconfig", "--context", "gone"), "the cluster cannot be watched", id="gone"
        ),
        pytest.param(("--dry-run", "--kubeconfig", "none"), "stat none: no such file", id="no kubeconfig"),
        pytest.param(("--dry-run", "--kubeconfig", "kubeconfig", "--real", "release=9"), "release", id="real"),
        pytest.param(("--dry-run", "--kubeconfig", "kubeconfig", "--mirror", "no/m"), "there is no folder no", id="m"),
        pytest.param(("--mirror", "m"), "--mirror: only a dry run has one; add --dry-run", id="mirror alone"),
        pytest.param(("--results", "r"), "--results: only a dry run has one; add --dry-run", id="results alone"),
    ],
)
def test_faults(kubescheduler: Run, server: FrontServer, args: tuple[str, ...], said: str) -> None:
    """Each is said, with status 2."""
    done = kubescheduler("run", "--release", "1.36", *args)
    assert done.status == 2, done.err
    assert said in done.err
    assert "Traceback" not in done.err
