"""The whole process against an API server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import attrs
import pytest

from kubescheduler.engine.spec import EngineSpec
from kubescheduler.framework.contract.profile import LeaderElection
from kubescheduler.live.process.live_settings import LiveSettings, ServerSettings
from kubescheduler.live.process.release_live import LIVE, live_release
from kubescheduler.live.process.scheduler_process import SchedulerProcess
from tests.support.apiserver import ApiServer
from tests.support.apiserver.storage import Document, StatusError

PODS, NODES, LEASES = "/api/v1/pods", "/api/v1/nodes", "/apis/coordination.k8s.io/v1/leases"
SECONDS = 60.0
"""Until a test gives up."""


def a_node(name: str, cpu: str = "4") -> Document:
    room = {"cpu": cpu, "memory": "32Gi", "pods": "110"}
    return {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}, "status": {"allocatable": room}}


def a_pod(name: str, cpu: str = "100m", **spec: Any) -> Document:
    container = {"name": "c", "image": "pause:3", "resources": {"requests": {"cpu": cpu}}}
    whole = {"schedulerName": "default-scheduler", "priority": 0, "containers": [container], **spec}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name},
        "spec": whole,
        "status": {"phase": "Pending"},
    }


class Cluster:
    """A server with a scheduler beside it."""

    def __init__(self, server: ApiServer, process: SchedulerProcess, log: list[str]) -> None:
        self.server, self.process, self.log = server, process, log
        self._changed = threading.Condition()
        server.storage.listeners.append(self._notify)

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def make(self, path: str, *objects: Document) -> None:
        for obj in objects:
            self.server.storage.create(path, "" if path == NODES else "default", obj)

    def pod(self, name: str) -> Document:
        return self.server.storage.get(PODS, "default", name)

    def until(self, holds: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: _holds(holds), SECONDS), self.log

    def is_bound(self, *names: str) -> bool:
        return all(self.pod(name)["spec"].get("nodeName") for name in names)

    def condition(self, name: str) -> Document:
        conditions = self.pod(name).get("status", {}).get("conditions", [])
        return next((one for one in conditions if one["type"] == "PodScheduled"), {})

    def events(self, reason: str) -> list[Document]:
        paths = ("/apis/events.k8s.io/v1/events", "/apis/events.k8s.io/v1beta1/events", "/api/v1/events")
        return [event for path in paths for event in self.server.storage.all(path) if event["reason"] == reason]


def _holds(holds: Callable[[], bool]) -> bool:
    try:
        return holds()
    except StatusError:
        return False


@contextmanager
def running(server: ApiServer, release: str, **election: Any) -> Iterator[Cluster]:
    """A process that runs until the end of the block, and then ends with status 0."""
    log: list[str] = []
    engine = EngineSpec(release=release).engine(log.append)
    lock = {"resource_lock": next(iter(live_release(release).locks))}
    settings = LiveSettings(
        live_release(release),
        engine,
        ServerSettings(master=server.url, qps=0),
        attrs.evolve(LeaderElection(leader_elect=bool(election)), **{**lock, **election}),
    )
    process = SchedulerProcess(settings, log.append)
    statuses: list[int] = []
    thread = threading.Thread(target=lambda: statuses.append(process.run()))
    thread.start()
    try:
        yield Cluster(server, process, log)
    finally:
        process.stop()
        thread.join(SECONDS)
    assert statuses == [0], log


RELEASES = pytest.mark.parametrize("release", list(LIVE))


@RELEASES
def test_pods_are_bound(server: ApiServer, release: str) -> None:
    """Pods that were there before and pods that come are bound, and an event says so."""
    server.storage.create(NODES, "", a_node("n1"))
    server.storage.create(PODS, "default", a_pod("before"))
    with running(server, release) as cluster:
        cluster.until(lambda: cluster.is_bound("before"))
        cluster.make(PODS, a_pod("after"), a_pod("foreign", schedulerName="another"))
        cluster.until(lambda: cluster.is_bound("after") and len(cluster.events("Scheduled")) == 2)
        assert not cluster.is_bound("foreign")
    bindings = [one.body for one in server.asked if one.path.endswith("/binding")]
    assert [body["target"] for body in bindings] == [{"kind": "Node", "name": "n1"}] * 2
    assert cluster.log == []


@RELEASES
def test_a_pod_that_fits_nowhere(server: ApiServer, release: str) -> None:
    """Its condition and its event say why; a node that has room for it brings it there."""
    server.storage.create(NODES, "", a_node("n1"))
    with running(server, release) as cluster:
        cluster.make(PODS, a_pod("big", cpu="8"))
        cluster.until(lambda: cluster.condition("big").get("reason") == "Unschedulable")
        assert cluster.condition("big")["message"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
        cluster.until(lambda: len(cluster.events("FailedScheduling")) == 1)
        cluster.make(NODES, a_node("n2", cpu="16"))
        cluster.until(lambda: cluster.is_bound("big"))
    assert cluster.pod("big")["spec"]["nodeName"] == "n2"


@RELEASES
def test_preemption(server: ApiServer, release: str) -> None:
    """A pod of high priority nominates itself and evicts a lower one; once that is gone it takes its place."""
    server.storage.create(NODES, "", a_node("n1"))
    with running(server, release) as cluster:
        cluster.make(PODS, a_pod("low", cpu="3"))
        cluster.until(lambda: cluster.is_bound("low"))
        cluster.make(PODS, a_pod("high", cpu="3", priority=1000))
        cluster.until(lambda: cluster.pod("low")["metadata"].get("deletionTimestamp") is not None)
        cluster.until(lambda: cluster.pod("high")["status"].get("nominatedNodeName") == "n1")
        cluster.until(lambda: len(cluster.events("Preempted")) == 1)
        cluster.server.storage.delete(PODS, "default", "low")
        cluster.until(lambda: cluster.is_bound("high"))


@pytest.mark.parametrize(
    ("release", "lock", "path"),
    [
        pytest.param("1.16", "endpoints", "/api/v1/endpoints", id="1.16 endpoints"),
        pytest.param("1.20", "leases", LEASES, id="1.20 leases"),
        pytest.param("1.36", "leases", LEASES, id="1.36 leases"),
    ],
)
def test_leadership(server: ApiServer, release: str, lock: str, path: str) -> None:
    """It leads before it binds, and gives the lock back when it is stopped."""
    server.storage.create(NODES, "", a_node("n1"))
    server.storage.create(PODS, "default", a_pod("p"))
    with running(server, release, leader_elect=True, resource_lock=lock) as cluster:
        cluster.until(lambda: cluster.is_bound("p"))
        assert server.storage.get(path, "kube-system", "kube-scheduler")
    record = server.storage.get(path, "kube-system", "kube-scheduler")
    holder = record["spec"]["holderIdentity"] if lock == "leases" else record["metadata"]["annotations"].popitem()[1]
    assert holder == "" if lock == "leases" else '"holderIdentity":""' in holder


@RELEASES
def test_a_lost_answer(server: ApiServer, release: str) -> None:
    """A binding that the server did but did not confirm is believed when the watch shows it."""
    server.storage.create(NODES, "", a_node("n1"))
    lost: list[str] = []

    async def lose(request: Any) -> None:
        if request.path.endswith("/binding") and not lost:
            lost.append(request.path)
            name = request.path.split("/")[-2]
            server.storage.change(PODS, "default", name, lambda pod: pod["spec"].update(nodeName="n1"))
            request.transport.abort()

    server.faults.append(lose)
    with running(server, release) as cluster:
        cluster.make(PODS, a_pod("p"))
        cluster.until(lambda: len(cluster.events("FailedScheduling")) == 1)
        cluster.make(PODS, a_pod("q"))
        cluster.until(lambda: cluster.is_bound("q"))
    assert len([one for one in server.asked if one.path.endswith("/p/binding")]) == 1
