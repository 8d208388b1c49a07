"""A cluster with a scheduler beside it, in this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from kubescheduler.engine.spec import EngineSpec
from kubescheduler.framework.contract.profile import LeaderElection
from kubescheduler.live.informers.informers import Informers
from kubescheduler.live.klog import LogWriter
from kubescheduler.live.process.live_settings import LiveSettings, ServerSettings
from kubescheduler.live.process.scheduler_process import SchedulerProcess
from kubescheduler.live.serving.serving_settings import ServingSettings
from kubescheduler.releases.lookup import live_release
from tests.support.apiserver import FrontServer
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

    def __init__(self, server: FrontServer, process: SchedulerProcess, log: list[str]) -> None:
        self.server, self.process, self.log = server, process, log
        self._changed = threading.Event()
        server.storage.listeners.append(self._notify)

    def _notify(self) -> None:
        self._changed.set()

    @property
    def informers(self) -> Informers:
        """Those of the process, once it has found the server."""
        assert self.process.parts is not None
        return self.process.parts.informers

    def make(self, path: str, *objects: Document) -> None:
        for obj in objects:
            self.server.storage.create(path, "" if path == NODES else "default", obj)

    def faults(self) -> list[str]:
        """The lines of the log that are no information."""
        return [line for line in self.log if not line.startswith("I")]

    def pod(self, name: str) -> Document:
        return self.server.storage.get(PODS, "default", name)

    def until(self, holds: Callable[[], bool]) -> None:
        """Waits for something to hold of what the server has."""
        end = time.monotonic() + SECONDS
        while True:
            self._changed.clear()
            if _holds(holds):
                return
            assert time.monotonic() < end, self.log
            self._changed.wait(1.0)

    def is_bound(self, *names: str) -> bool:
        return all(self.pod(name)["spec"].get("nodeName") for name in names)

    def condition(self, name: str) -> Document:
        conditions = self.pod(name).get("status", {}).get("conditions", [])
        return next((one for one in conditions if one["type"] == "PodScheduled"), {})

    def events(self, reason: str) -> list[Document]:
        paths = ("/apis/events.k8s.io/v1/events", "/apis/events.k8s.io/v1beta1/events", "/api/v1/events")
        found = {event["metadata"]["uid"]: event for path in reversed(paths) for event in self.server.storage.all(path)}
        return [event for event in found.values() if event["reason"] == reason]


def _holds(holds: Callable[[], bool]) -> bool:
    try:
        return holds()
    except StatusError:
        return False


@contextmanager
def running(
    server: FrontServer,
    release: str,
    *,
    spec: EngineSpec | None = None,
    serving: ServingSettings | None = None,
    **election: Any,
) -> Iterator[Cluster]:
    """A process that runs until the end of the block, and then ends with status 0. spec: what decides."""
    log: list[str] = []
    engine = (spec or EngineSpec(release=release)).engine(log.append)
    lock = {"resource_lock": next(iter(live_release(release).locks))}
    settings = LiveSettings(
        live_release(release),
        engine,
        ServerSettings(master=server.url, qps=0),
        msgspec.structs.replace(LeaderElection(leader_elect=bool(election)), **{**lock, **election}),
        serving=serving,
    )
    process = SchedulerProcess(settings, LogWriter(log.append))
    statuses: list[int] = []
    thread = threading.Thread(target=lambda: statuses.append(process.run()))
    thread.start()
    try:
        yield Cluster(server, process, log)
    finally:
        process.stop()
        thread.join(SECONDS)
    assert statuses == [0], log
