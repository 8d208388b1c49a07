"""A cluster with a scheduler beside it, in this process."""

from __future__ import annotations

import asyncio
import gc
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import attrs
import msgspec
import pytest
import yaml

from clusterstate.errors import ConfigError
from kubescheduler.cli.whole_run import with_hints
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.framework.contract.profile import LeaderElection
from kubescheduler.live.flags import parse_flags
from kubescheduler.live.informers import Informers
from kubescheduler.live.klog import LogWriter
from kubescheduler.live.process.process_options import CommandLine, LiveSettings, ServerSettings, settings_of
from kubescheduler.live.process.scheduler_process import SchedulerProcess
from kubescheduler.live.serving.scheduler_servers import ServingSettings
from kubescheduler.live.transport.io_thread import WallClock
from kubescheduler.releases.lookup import live_release, recorded_processes
from tests.support.apiserver import FrontServer
from tests.support.apiserver.storage import Document, StatusError
from tests.support.processes import SECONDS
from tests.support.processes.dependent_processes import dependent

PODS, NODES, LEASES = "/api/v1/pods", "/api/v1/nodes", "/apis/coordination.k8s.io/v1/leases"


def a_node(name: str, cpu: str = "4", **labels: str) -> Document:
    """A node with room for ``cpu``."""
    room = {"cpu": cpu, "memory": "32Gi", "pods": "110"}
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "status": {"allocatable": room, "capacity": room},
    }


def a_pod(name: str, cpu: str = "100m", **spec: Any) -> Document:
    """A pod that waits for a node, as an API server stores it."""
    container = {"name": "c", "image": "pause:3", "resources": {"requests": {"cpu": cpu}}}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {"schedulerName": "default-scheduler", "priority": 0, "containers": [container], **spec},
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
        """Makes objects. Nodes are known to the process before pods come: these are told of by another stream."""
        for obj in objects:
            self.server.storage.create(path, "" if path == NODES else "default", obj)
        if path == NODES:
            self.until(lambda: self._knows_nodes({obj["metadata"]["name"] for obj in objects}))

    def _knows_nodes(self, names: set[str]) -> bool:
        """A process that has not found the server yet reads them before it tries any pod."""
        parts = self.process.parts
        return parts is None or names <= {stored.obj.metadata.name for stored in parts.informers.stores["Node"]}

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
            self._changed.wait(0.05)

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
    hinted: bool = False,
    **election: Any,
) -> Iterator[Cluster]:
    """A process that runs until the end of the block, and then ends with status 0. spec: what decides. hinted: whether
    its metrics say what would help pods that fit nowhere."""
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
    process = SchedulerProcess(with_hints(settings) if hinted else settings, LogWriter(log.append))
    statuses: list[int] = []
    thread = threading.Thread(target=lambda: statuses.append(process.run()))
    thread.start()
    try:
        yield Cluster(server, process, log)
    finally:
        process.stop()
        thread.join(SECONDS)
    assert statuses == [0], log


T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """What work comes to, on a loop in a thread of its own: the test's thread may have one of a browser."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


Left = Callable[[], Counter[str]]
"""How many objects there are of each class, beyond those that were there before."""


@contextmanager
def uncollected(*classes: type) -> Iterator[Left]:
    """Counts objects of these classes while nothing looks for cycles."""
    enabled = gc.isenabled()
    gc.disable()
    gc.freeze()  # what is there is not gone through each time: millions of objects late in a run of all tests
    try:
        yield lambda: _counted(classes)
    finally:
        gc.unfreeze()
        if enabled:
            gc.enable()


def _counted(classes: tuple[type, ...]) -> Counter[str]:
    return Counter(type(found).__name__ for found in gc.get_objects() if type(found) in classes)


EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class StoodClock(WallClock):
    """Who sleeps by it sleeps not at all: the clock moves on instead."""

    def __init__(self) -> None:
        self.moment = 0.0
        """Seconds since ``EPOCH``."""
        self.slept: list[float] = []
        """How long was slept, one after the other."""

    def now(self) -> datetime:
        return EPOCH + timedelta(seconds=self.moment)

    def monotonic(self) -> float:
        return self.moment

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.moment += seconds


class HastyClock(WallClock):
    """The machine's clocks; who sleeps by it sleeps a hundredth of the time."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / 100)


SECOND = 1_000_000_000
GROUP = "kubescheduler.config.k8s.io"
VERSIONS = {"1.16": f"{GROUP}/v1alpha1", "1.20": f"{GROUP}/v1beta1", "1.36": f"{GROUP}/v1"}
EVERY = pytest.mark.parametrize("release", list(recorded_processes()))


def settled(release: str, *words: str, notes: list[str] | None = None) -> LiveSettings | None:
    """What they come to; None where the process is to end."""
    live = live_release(release)
    heard = [] if notes is None else notes
    return settings_of(CommandLine(live, parse_flags(live.flags, words)), heard.append, heard.append)


def settings(release: str, *words: str, notes: list[str] | None = None) -> LiveSettings:
    """What they come to, where the process goes on."""
    found = settled(release, *words, notes=notes)
    assert found is not None
    return found


def fault(release: str, *words: str) -> str:
    """What is said of them as they are refused."""
    with pytest.raises(ConfigError) as caught:
        settled(release, *words)
    return ", ".join(caught.value.problems)


def a_file(folder: Path, release: str, **content: Any) -> str:
    """The flag that names a new configuration file of some content."""
    path = folder / f"config-{len(list(folder.iterdir()))}.yaml"
    document = {"apiVersion": VERSIONS[release], "kind": "KubeSchedulerConfiguration", **content}
    path.write_text(yaml.safe_dump(document))
    return f"--config={path}"


CLOSED = {
    "1.16": ("--secure-port=0", "--port=0"),
    "1.20": ("--secure-port=0", "--port=0"),
    "1.36": ("--secure-port=0",),
}
"""Flags with which nothing is served."""


@attrs.define(eq=False)
class RunningProcess:
    """One run."""

    process: subprocess.Popen[bytes]
    log: Path
    """What it writes to stderr."""

    def text(self) -> str:
        return self.log.read_text()

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def status(self) -> int:
        """Waits for its end."""
        return self.process.wait(SECONDS)

    def until(self, holds: Callable[[], bool], server: FrontServer | None = None) -> None:
        """Waits for something to hold of what the server has, or of what the log says."""
        changed = threading.Event()
        if server is not None:
            server.storage.listeners.append(changed.set)
        end = time.monotonic() + SECONDS
        while not _holds(holds):
            assert self.process.poll() is None, self.text()
            assert time.monotonic() < end, self.text()
            changed.wait(0.05)
            changed.clear()


@contextmanager
def started(folder: Path, release: str, *flags: str) -> Iterator[RunningProcess]:
    """A process that runs until the end of the block at most."""
    log = folder / "stderr.txt"
    command = [sys.executable, "-m", "kubescheduler", "run", "--release", release, "--", *CLOSED[release], *flags]
    with (
        log.open("wb") as stream,
        subprocess.Popen(dependent(command), stdout=subprocess.DEVNULL, stderr=stream) as process,
    ):
        try:
            yield RunningProcess(process, log)
        finally:
            process.kill()
