"""``kubescheduler run --dry-run`` beside a scheduler."""

from __future__ import annotations

import errno
import json
import os
import random
import re
import socket
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, Any

import pytest
from aiohttp import web
from prometheus_client.parser import text_string_to_metric_families as parse

from clusterstate.cache import ClusterCache
from clusterstate.errors import ConfigError, InputError
from kubescheduler.cli.dry_running import DryRunOptions, dry_run
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.framework.contract.profile import LeaderElection
from kubescheduler.live.dry_run_process import DryRunProcess
from kubescheduler.live.informer_rules import KINDS_1_36
from kubescheduler.live.process.process_options import LiveSettings, ServerSettings
from kubescheduler.live.serving.scheduler_servers import ServingSettings
from kubescheduler.releases.lookup import live_release
from tests.kubescheduler.cli.conftest import Run
from tests.support.apiserver import ApiServer, FrontServer
from tests.support.live.live_cluster import NODES, PODS, a_node, a_pod, running
from tests.support.live.serving import Health, ServedScheduler, asking, fill, kubeconfig, two_contexts
from tests.support.processes import SECONDS

ROOM = 40_000
"""Bytes on a disk that fills up."""


@pytest.fixture
def server(folder: Path, api_server: FrontServer) -> FrontServer:
    """A node with room; ./kubeconfig leads there."""
    fill(api_server, a_node("n1"))
    two_contexts(folder, api_server.url)
    return api_server


class StartedDryRun:
    """A dry run in a thread, and the real scheduler's writes by hand."""

    def __init__(
        self,
        server: FrontServer,
        release: str,
        monkeypatch: pytest.MonkeyPatch,
        *,
        serving: ServingSettings | None = None,
        ended: list[BaseException] | None = None,
        **options: Any,
    ) -> None:
        """ended: gets what ends the run."""
        self.server = server
        self.log: list[str] = []
        self.status: list[int] = []
        self._processes: list[DryRunProcess] = []
        monkeypatch.setattr("kubescheduler.cli.dry_running._until_signal", self._until_stopped)
        engine = EngineSpec(release=release).engine(self.log.append)
        election = LeaderElection(leader_elect=False)
        place = ServerSettings(master=server.url, qps=0)
        settings = LiveSettings(live_release(release), engine, place, election, serving=serving)
        given = DryRunOptions("", **{"results": "day.jsonl", **options})

        def run() -> None:
            try:
                self.status.append(dry_run(settings, given, self.log.append))
            except InputError as error:
                if ended is None:
                    raise
                ended.append(error)

        self._thread = threading.Thread(target=run)

    def _until_stopped(self, process: DryRunProcess) -> None:
        self._processes.append(process)
        process.run()

    def __enter__(self) -> StartedDryRun:
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
    with StartedDryRun(server, release, monkeypatch, report="day.html", mirror="day.mirror") as beside:
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


class Kubelets:
    """Victims leave their nodes when they are told to be gone, and not before."""

    def __init__(self, server: FrontServer) -> None:
        self.storage = server.storage
        if isinstance(server, ApiServer):  # a real one waits for kubelets by itself
            server.faults.append(self._told)

    async def _told(self, request: web.Request) -> web.Response | None:
        path, _, name = request.path.rpartition("/")
        if request.method != "DELETE" or not path.endswith("/pods"):
            return None
        told = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
        pod = self.storage.change(PODS, "default", name, lambda pod: pod["metadata"].update(told))
        return web.json_response(pod)

    def leaving(self) -> list[str]:
        """Who has been told to leave."""
        return [pod["metadata"]["name"] for pod in self.storage.all(PODS) if "deletionTimestamp" in pod["metadata"]]

    def clear(self) -> None:
        """They are gone."""
        for name in self.leaving():
            self.storage.delete(PODS, "default", name)


def knows(cache: ClusterCache, name: str, unschedulable: bool) -> bool:
    """Whether a node is there, and as closed as this."""
    node = cache.columns.nodes[cache.columns.row_of[name]] if name in cache.columns.row_of else None
    return node is not None and node.unschedulable is unschedulable


@pytest.mark.parametrize("release", ["1.16", "1.20", "1.36"])
def test_beside_itself(server: FrontServer, release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same release with the same configuration agrees in everything: bursts apart, while room is made twice,
    victims take their time, pods and nodes go, are closed and come."""
    storage, kubelets, expected = server.storage, Kubelets(server), [0]
    with running(server, release) as real, StartedDryRun(server, release, monkeypatch) as beside:

        def told(count: int = 1) -> None:
            expected[0] += count
            beside.until(lambda: len(beside.lines()) >= expected[0])

        def placed(name: str, cpu: str, priority: int = 0) -> None:
            """A pod comes, and is bound or refused before the next one."""
            real.make(PODS, a_pod(name, cpu, priority=priority))
            real.until(lambda: real.is_bound(name) or real.condition(name).get("status") == "False")
            told()

        def know(node: str, *, unschedulable: bool = False) -> None:
            """Both have seen a node, which comes by another stream than pods do."""
            assert real.process.parts is not None
            shadow = beside._processes[0].shadow
            for cache in (real.process.parts.scheduler.parts.services.cache, shadow._ahead.cache):
                beside.until(partial(knows, cache, node, unschedulable))

        beside.until(lambda: bool(beside._processes) and beside._processes[0].shadow.has_begun)
        real.until(lambda: real.process.parts is not None)
        for number in range(2, 5):
            storage.create(NODES, "", a_node(f"n{number}", "4"))
            know(f"n{number}")
        for number in range(8):
            placed(f"low-{number}", "1800m")
        for name, cpu in (("first", "3"), ("second", "3500m")):
            placed(name, cpu, priority=10)
            real.until(lambda: len(kubelets.leaving()) == 2)
            storage.delete(PODS, "default", kubelets.leaving()[0])
            placed(f"small-{name}", "1500m")
            placed(f"tiny-{name}", "100m")
            kubelets.clear()
            real.until(partial(real.is_bound, name))
            told()
        left = [pod["metadata"]["name"] for pod in storage.all(PODS) if pod["metadata"]["name"].startswith("low")]
        storage.delete(PODS, "default", left[0])
        storage.change(NODES, "", "n2", lambda node: node.setdefault("spec", {}).update(unschedulable=True))
        know("n2", unschedulable=True)
        placed("after-a-deletion", "500m")
        storage.create(NODES, "", a_node("n5", "2"))
        know("n5")
        placed("after-a-node", "700m")
    lines = beside.lines()
    apart = [(line["pod"], line["real"], line["then"], line["cause"]) for line in lines if not line["agrees"]]
    assert apart == []
    assert {"bound", "unschedulable"} == {line["real"]["end"] for line in lines}
    assert beside.status == [0]
    assert beside.log[0].endswith("(100.0%)")


FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")


class Filling:
    """A file on a disk that is full after so many bytes."""

    def __init__(self, file: IO[bytes], room: int) -> None:
        self._file, self._room = file, room

    def write(self, data: bytes) -> int:
        self._room -= len(data)
        if self._room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()


@pytest.mark.parametrize(
    ("option", "path"),
    [
        pytest.param("results", "day.jsonl", id="results"),
        pytest.param("mirror", "day.mirror", id="mirror"),
        pytest.param("mirror", "day.mirror.gz", id="packed mirror"),
    ],
)
def test_a_disk_that_fills_up(server: FrontServer, monkeypatch: pytest.MonkeyPatch, option: str, path: str) -> None:
    """The run ends at once, whoever writes; what was compared is told, and the file is named. Pods have something that
    cannot be packed."""
    plain = open

    def limited(place: Any, *args: Any, **options: Any) -> Any:
        file = plain(place, *args, **options)
        return Filling(file, ROOM) if place == path else file

    monkeypatch.setattr("builtins.open", limited)
    ended: list[BaseException] = []
    options: dict[str, Any] = {option: path}
    with StartedDryRun(server, "1.36", monkeypatch, ended=ended, **options) as beside:
        beside.waits(0)
        for number in range(1000):
            if ended:
                break
            name = f"pod-{number}"
            noisy = a_pod(name)
            noisy["metadata"]["annotations"] = {"noise": random.Random(number).randbytes(4000).hex()}
            server.storage.create(PODS, "default", noisy)
            beside.until(lambda: bool(ended) or beside._processes[0].shadow.undecided == 1)
            beside.bind(name, "n1")
            beside.until(lambda: bool(ended) or beside._processes[0].shadow.undecided == 0)
    assert [str(error) for error in ended] == [f"--{option} {path}: cannot be written: No space left on device"]
    assert re.match(r"[1-9]\d* attempts compared, [1-9]\d* agree ", beside.log[0])


def test_nothing_is_compared(server: FrontServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that a signal ends before the real scheduler did anything is no agreement."""
    ended: list[BaseException] = []
    with StartedDryRun(server, "1.36", monkeypatch, ended=ended) as beside:
        for name in ("waits", "gone"):
            server.storage.create(PODS, "default", a_pod(name))
        beside.waits(2)
        server.storage.delete(PODS, "default", "gone")
        beside.waits(1)
    assert [str(error) for error in ended] == [
        "nothing was compared: no attempt of the real scheduler on these pods ended meanwhile"
    ]
    assert beside.log == [
        "0 attempts compared, 0 agree",
        "1 pods were deleted before anything became of them",
        "1 pods still wait",
    ]


@FULL
def test_a_disk_without_room(kubescheduler: Run, server: FrontServer) -> None:
    """Nothing can be written from the beginning: the run ends, and does not wait."""
    Path("full").symlink_to("/dev/full")
    server.storage.create(PODS, "default", a_pod("p", nodeName="n1"))
    places = ("--results", "day.jsonl", "--mirror", "full")
    ran = kubescheduler("run", "--dry-run", *places, "--", "--kubeconfig", "kubeconfig")
    assert ran.status == 2
    assert ran.err.strip().endswith("--mirror full: cannot be written: No space left on device")


@pytest.mark.parametrize("release", ["1.16", "1.36"])
def test_pages(server: FrontServer, release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Health, the configuration and metrics are served, agreement among them."""
    served = ServedScheduler(asking(kubeconfig(Path.cwd(), server.url), always_allowed=("*",)), Health(), [])
    with StartedDryRun(server, release, monkeypatch, serving=served.settings) as beside:
        for name in ("same", "other", "gone", "waits"):
            server.storage.create(PODS, "default", a_pod(name))
        server.storage.create(NODES, "", a_node("n2", cpu="10m"))
        beside.waits(4)
        beside.bind("same", "n1")
        beside.bind("other", "n2")
        server.storage.delete(PODS, "default", "gone")
        beside.until(lambda: len(beside.lines()) == 3)
        got = {path: served.ask(path) for path in ("/healthz", "/readyz", "/configz", "/metrics")}
    codes = {path: answer.code for path, answer in got.items()}
    assert codes == {"/healthz": 200, "/readyz": 404 if release == "1.16" else 200, "/configz": 200, "/metrics": 200}
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in parse(got["/metrics"].body)
        for sample in family.samples
    }
    counted = {key: value for key, value in found.items() if key[0].startswith("kubescheduler_")}
    assert counted == {
        ("kubescheduler_dry_run_pods_total", "agrees"): 1,
        ("kubescheduler_dry_run_pods_total", "differs"): 1,
        ("kubescheduler_dry_run_pods_total", "deleted"): 1,
        ("kubescheduler_dry_run_causes_total", "same"): 1,
        ("kubescheduler_dry_run_causes_total", "filtered-now"): 1,
        ("kubescheduler_dry_run_waiting_pods",): 1,
    }
    assert not [name for name, *_ in found if name.startswith("scheduler_")]
    assert [key for key in found if key[0] == "rest_client_requests_total"]
    assert {one.method for one in server.asked} == {"GET"}


def test_a_port_that_is_taken(server: FrontServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody has asked for it the run goes on without pages; else it does not begin."""
    serving = asking(kubeconfig(Path.cwd(), server.url))
    with socket.create_server(("127.0.0.1", serving.port)):
        with StartedDryRun(server, "1.36", monkeypatch, serving=serving) as beside:
            server.storage.create(PODS, "default", a_pod("web"))
            beside.waits(1)
            beside.bind("web", "n1")
            beside.waits(0)
        assert beside.log[0].startswith("nothing is served: failed to create listener")
        settings = LiveSettings(
            live_release("1.36"),
            EngineSpec(release="1.36").engine(print),
            ServerSettings(master=server.url, qps=0),
            LeaderElection(leader_elect=False),
            serving=serving,
        )
        with pytest.raises(ConfigError, match="address already in use"):
            dry_run(settings, DryRunOptions("", results="day.jsonl"), print, must_serve=True)


def test_a_replay(kubescheduler: Run, server: FrontServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """simulate and compare go through the recorded day, twice with the same bytes."""
    with StartedDryRun(server, "1.36", monkeypatch, mirror="day.gz") as beside:
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


TEMPLATE = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
OWNER = {"spec": {"selector": {"matchLabels": {"app": "x"}}, "template": TEMPLATE, "serviceName": "x"}}
SPACE = {"requests": {"storage": "1Gi"}}
LOCAL = {"hostPath": {"path": "/x"}, "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
DEVICES = {"driver": "d.example.com", "pool": {"name": "p", "resourceSliceCount": 1, "generation": 1}}
STORAGE = "/apis/storage.k8s.io/v1"
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "Namespace": ("/api/v1/namespaces", {}),
    "Service": ("/api/v1/services", {"spec": {"selector": {"app": "x"}, "ports": [{"port": 80}]}}),
    "ReplicationController": ("/api/v1/replicationcontrollers",
        {"spec": {"selector": {"app": "x"}, "template": TEMPLATE}}),
    "ReplicaSet": ("/apis/apps/v1/replicasets", {"spec": {**OWNER["spec"], "serviceName": None}}),
    "StatefulSet": ("/apis/apps/v1/statefulsets", OWNER),
    "PersistentVolume": ("/api/v1/persistentvolumes", {"spec": LOCAL}),
    "PersistentVolumeClaim": ("/api/v1/persistentvolumeclaims",
        {"spec": {"resources": SPACE, "accessModes": ["ReadWriteOnce"], "storageClassName": "x"}}),
    "StorageClass": (f"{STORAGE}/storageclasses", {"provisioner": "p", "volumeBindingMode": "WaitForFirstConsumer"}),
    "CSINode": (f"{STORAGE}/csinodes", {"spec": {"drivers": [{"name": "d", "nodeID": "n", "topologyKeys": []}]}}),
    "PodDisruptionBudget": ("/apis/policy/v1/poddisruptionbudgets",
        {"spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}}),
    "CSIDriver": (f"{STORAGE}/csidrivers", {"spec": {}}),
    "CSIStorageCapacity": (f"{STORAGE}/csistoragecapacities", {"storageClassName": "x"}),
    "VolumeAttachment": (f"{STORAGE}/volumeattachments",
        {"spec": {"attacher": "d", "nodeName": "n1", "source": {"persistentVolumeName": "x"}}}),
    "DeviceClass": ("/apis/resource.k8s.io/v1/deviceclasses", {"spec": {}}),
    "ResourceClaim": ("/apis/resource.k8s.io/v1/resourceclaims", {"spec": {}}),
    "ResourceSlice": ("/apis/resource.k8s.io/v1/resourceslices", {"spec": {**DEVICES, "nodeName": "n1"}}),
}  # fmt: skip
"""Kind → where the API server has its objects, and one of them."""
NAMESPACED = (
    *("Service", "ReplicationController", "ReplicaSet", "StatefulSet", "PersistentVolumeClaim"),
    *("PodDisruptionBudget", "CSIStorageCapacity", "ResourceClaim"),
)
GOING = KINDS.keys() - {"Namespace"}
"""Without controllers a namespace does not go."""


def test_a_replay_of_every_kind(kubescheduler: Run, server: FrontServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the release reads is recorded as it comes, changes and goes, and replayed: twice the same bytes."""
    assert set(KINDS) == {kind.kind for kind in KINDS_1_36} - {"Pod", "Node"}
    server.storage.create(PODS, "default", a_pod("web"))
    with StartedDryRun(server, "1.36", monkeypatch, mirror="day.mirror") as beside:
        beside.waits(1)
        for kind in KINDS:
            comes_changes_and_goes(server, kind)
        beside.until(
            lambda: all(
                types[-1:] == ["DELETED" if kind in GOING else "MODIFIED"] for kind, types in recorded().items()
            )
        )
        beside.bind("web", "n1")
        beside.until(lambda: len(beside.lines()) == 1)
    assert recorded() == {kind: [*("ADDED", "MODIFIED", "DELETED")[: 2 + (kind in GOING)]] for kind in KINDS}
    for command in (
        ("simulate", "--release", "1.36", "-o", "json"),
        ("simulate", "--release", "1.36", "-o", "events"),
        ("compare", "--old", "release=1.20", "--new", "release=1.36", "--mode", "sequence", "-o", "json"),
    ):
        first, second = (kubescheduler(*command, "--mirror", "day.mirror") for _ in range(2))
        assert (first.status, first.out, first.err) == (second.status, second.out, second.err)
        assert first.status == 0, first.err
        assert "web" in first.out


def comes_changes_and_goes(server: FrontServer, kind: str) -> None:
    """The object ``x`` of a kind."""
    path, document = KINDS[kind]
    space = "default" if kind in NAMESPACED else ""
    group = path.rpartition("/")[0].removeprefix("/apis/").removeprefix("/api/")

    def edit(obj: dict[str, Any]) -> None:
        obj["metadata"].setdefault("labels", {})["is"] = "later"
        obj["metadata"].pop("finalizers", None)

    server.storage.create(path, space, {"apiVersion": group, "kind": kind, "metadata": {"name": "x"}, **document})
    server.storage.change(path, space, "x", edit)
    if kind in GOING:
        server.storage.delete(path, space, "x")


def recorded() -> dict[str, list[str]]:
    """Kind → what became of the object ``x`` after the start, in order."""
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for text in Path("day.mirror").read_text().splitlines():
        line = json.loads(text)
        obj = line.get("object")
        if obj is not None and obj["metadata"]["name"] == "x":
            found[obj["kind"]].append(line["type"])
    return found


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
    kubescheduler("run", "--release", "1.36", *args).refused(said)
