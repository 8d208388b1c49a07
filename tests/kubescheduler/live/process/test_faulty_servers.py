"""Schedulers beside servers, networks and clocks that fail: every pod is bound once, where it fits.

On the real server, where there is one, the last test has 1,000 nodes and 5,000 pods, and most faults together.
"""

from __future__ import annotations

import asyncio
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import attrs
import pytest
from aiohttp import web

from kubescheduler.engine.spec import EngineSpec
from kubescheduler.framework.contract.go_durations import SECOND
from kubescheduler.framework.contract.profile import LeaderElection
from kubescheduler.live.contract.wall_clock import SystemClock, WallClock
from kubescheduler.live.logs.log_writer import LogWriter
from kubescheduler.live.process.live_settings import LiveSettings, ServerSettings
from kubescheduler.live.process.release_live import live_release
from kubescheduler.live.process.scheduler_process import SchedulerProcess
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import ApiClient, ClientOptions
from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.live.transport.server_access import ServerAccess
from kubescheduler.live.transport.token_bucket import Limits
from tests.support.apiserver import ApiServer
from tests.support.faulty_proxy import FaultyProxy, before_binding, failing_writes
from tests.support.live_cluster import a_node, a_pod
from tests.support.live_process import started
from tests.support.real_apiserver import ASSETS, TOKEN, RealApiServer

PODS, NODES = "/api/v1/namespaces/default/pods", "/api/v1/nodes"
SECONDS = 900.0
"""Until a test gives up."""
QUICK = ("--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=500ms")
ROOM = 40
"""Pods that a node has room for."""


@attrs.define(eq=False)
class Trial:
    """A server behind a proxy, and what its administrator sees."""

    io: IoThread
    server: ApiServer | RealApiServer
    proxy: FaultyProxy
    api: ApiClient
    folder: Path
    nodes: int = 10
    pods: int = 100
    log: list[str] = attrs.field(factory=list)
    gone: set[str] = attrs.field(factory=set)
    """Pods that are not there at the end, or on a node that is not."""

    def fill(self) -> None:
        """Makes all nodes and pods."""
        nodes = [(NODES, {"kind": "Node", "apiVersion": "v1", **a_node(f"n{i}")}) for i in range(self.nodes)]
        self.io.wait(self._make([*nodes, *((PODS, a_pod(f"p{i}")) for i in range(self.pods))]))

    async def _make(self, objects: list[tuple[str, Any]]) -> None:
        async def work() -> None:
            while objects:
                path, obj = objects.pop(0)
                await self.api.request("POST", path, (), obj)

        await asyncio.gather(*(work() for _ in range(16)))

    def listed(self, path: str) -> list[Any]:
        items: list[Any] = self.io.wait(self.api.request("GET", path)).document()["items"]
        return items

    def settled(self) -> bool:
        """Whether no pod waits for a node."""
        try:
            return all(pod["spec"].get("nodeName") for pod in self.listed(PODS))
        except ApiError:
            return False

    def until(self, holds: Callable[[], bool]) -> None:
        """Waits for something to hold."""
        pause = threading.Event()
        for _ in range(int(SECONDS / 0.1)):
            if holds():
                return
            pause.wait(0.1)
        raise AssertionError("\n".join(self.log[-20:]))

    def some(self, share: float) -> Callable[[], bool]:
        """Whether that share of the pods was bound."""
        return lambda: len(self.proxy.bound) >= share * self.pods

    def check(self) -> None:
        """Every pod is bound, once, and no node has more than it has room for."""
        self.until(self.settled)
        assert set(self.proxy.bound.values()) == {1}
        on = Counter(pod["spec"]["nodeName"] for pod in self.listed(PODS) if pod["metadata"]["name"] not in self.gone)
        assert set(on) <= {node["metadata"]["name"] for node in self.listed(NODES)}
        assert max(on.values()) <= ROOM
        assert on.total() >= self.pods - len(self.gone)
        assert "Traceback" not in "".join(self.log)

    @contextmanager
    def scheduler(self, clock: WallClock | None = None, *, elects: bool = False) -> Iterator[SchedulerProcess]:
        """A scheduler in this process, to the end of the block."""
        release = live_release("1.36")
        election = LeaderElection(
            leader_elect=elects,
            resource_lock="leases",
            lease_duration_ns=3 * SECOND,
            renew_deadline_ns=2 * SECOND,
            retry_period_ns=SECOND // 2,
        )
        engine = EngineSpec(release=release.name).engine(self.log.append)
        settings = LiveSettings(release, engine, ServerSettings(master=self.proxy.url, qps=0), election)
        process = SchedulerProcess(settings, LogWriter(self.log.append), clock=clock)
        thread = threading.Thread(target=process.run)
        thread.start()
        try:
            yield process
        finally:
            process.stop()
            thread.join(SECONDS)

    @contextmanager
    def replica(self, name: str) -> Iterator[Any]:
        """A scheduler in a process of its own that stands for election, to the end of the block at most."""
        folder = self.folder / name
        folder.mkdir()
        with started(folder, "1.36", f"--master={self.proxy.url}", *QUICK) as process:
            yield process
        assert "Traceback" not in process.text()


@pytest.fixture(params=["in process", "real"])
def trial(request: pytest.FixtureRequest, io: IoThread, tmp_path: Path) -> Iterator[Trial]:
    """An empty server; the real one where there is one."""
    real = request.param == "real"
    if real and not ASSETS:
        pytest.skip("KUBEBUILDER_ASSETS names no kube-apiserver")
    with ExitStack() as stack:
        server: ApiServer | RealApiServer
        if real:
            server = RealApiServer(tmp_path)
            stack.callback(server.close)
            server.start()
        else:
            server = stack.enter_context(ApiServer(io))
        token = TOKEN if real else ""
        plain = stack.enter_context(FaultyProxy(io, server.url, token))
        proxy = stack.enter_context(FaultyProxy(io, server.url, token))
        api = ApiClient(ServerAccess(plain.url), ClientOptions(Limits(0, 0)))
        stack.callback(lambda: io.wait(api.close()))
        yield Trial(io, server, proxy, api, tmp_path)


def restart(trial: Trial) -> None:
    """The server is killed, and comes back on its port."""
    if isinstance(trial.server, RealApiServer):
        trial.server.kill()
        trial.server.start()
    else:
        port = int(trial.server.url.rpartition(":")[2])
        trial.server.stop()
        trial.server.start(port)


@contextmanager
def cut_watches(trial: Trial) -> Iterator[None]:
    """Every 200 ms a third of the watches is cut."""

    async def cut() -> None:
        while True:
            await asyncio.sleep(0.2)
            trial.proxy.cut(1 / 3)

    cutting = trial.io.submit(cut())
    try:
        yield
    finally:
        cutting.cancel()


def test_the_server_is_killed_and_comes_back(trial: Trial) -> None:
    """What was not bound until then is bound after it."""
    trial.fill()
    with trial.scheduler():
        trial.until(trial.some(0.3))
        restart(trial)
        trial.check()


def test_watches_are_cut(trial: Trial) -> None:
    """Nothing is missed, nothing is seen twice."""
    with trial.scheduler(), cut_watches(trial):
        trial.fill()
        trial.check()


def test_writes_fail(trial: Trial) -> None:
    """Refused bindings are tried again; those whose answer was lost are not."""
    trial.proxy.faults.append(failing_writes(0.05 if trial.pods > 1000 else 0.3, random.Random(1)))
    trial.fill()
    with trial.scheduler():
        trial.check()


def test_a_pod_is_deleted_while_it_is_bound(trial: Trial) -> None:
    """Its room is free again, and nobody waits for it."""

    async def delete(request: web.Request, _: Any) -> None:
        trial.gone.add(request.path.split("/")[-2])
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
        await trial.api.request("DELETE", request.path.removesuffix("/binding"), (), options)

    trial.proxy.faults.append(before_binding(10, delete))
    trial.fill()
    with trial.scheduler():
        trial.check()
    assert len(trial.gone) == 1


def test_the_chosen_node_is_removed_before_the_binding(trial: Trial) -> None:
    """Later pods go elsewhere; those on their way to it are the server's to clean up."""
    removed: list[str] = []

    async def remove(_: web.Request, body: Any) -> None:
        removed.append(body["target"]["name"])
        await trial.api.request("DELETE", f"{NODES}/{removed[0]}")

    trial.proxy.faults.append(before_binding(trial.pods - 5, remove))
    trial.fill()
    with trial.scheduler():
        trial.until(trial.settled)
    on_it = {pod["metadata"]["name"] for pod in trial.listed(PODS) if pod["spec"]["nodeName"] == removed[0]}
    assert 1 <= len(on_it) <= ROOM
    trial.gone |= on_it
    trial.check()


def test_leaders_are_killed(trial: Trial) -> None:
    """The next one goes on where the dead one was, twice."""
    trial.fill()
    with trial.replica("first") as first, trial.replica("second") as second:
        trial.until(lambda: has_led(first) or has_led(second))
        leader, other = (first, second) if has_led(first) else (second, first)
        leader.send(signal.SIGKILL)
        trial.io.wait(trial.api.request("POST", PODS, (), a_pod("late1")))
        trial.until(lambda: has_led(other))
        with trial.replica("third") as third:
            other.send(signal.SIGKILL)
            trial.io.wait(trial.api.request("POST", PODS, (), a_pod("late2")))
            trial.until(lambda: has_led(third))
            trial.check()


def has_led(process: Any) -> bool:
    return "Successfully acquired lease" in process.text()


class OffClock(SystemClock):
    """Half a minute ahead of the others."""

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=30)


@pytest.mark.parametrize("clocks", [(OffClock(), SystemClock()), (SystemClock(), OffClock())], ids=["leads", "waits"])
def test_the_clock_of_one_replica_is_off(trial: Trial, clocks: tuple[WallClock, WallClock]) -> None:
    """One leads at a time all the same, and the other follows it when it ends."""
    first, second = clocks
    with ExitStack() as stack:
        with trial.scheduler(first, elects=True):
            trial.fill()
            trial.until(trial.some(0.2))
            stack.enter_context(trial.scheduler(second, elects=True))
            trial.until(trial.settled)
        trial.io.wait(trial.api.request("POST", PODS, (), a_pod("late")))
        trial.check()


@pytest.mark.skipif(not ASSETS, reason="KUBEBUILDER_ASSETS names no kube-apiserver")
@pytest.mark.parametrize("trial", ["real"], indirect=True)
def test_everything_at_once(trial: Trial) -> None:
    """1,000 nodes, 5,000 pods: watches are cut, 5 % of the writes fail, the server is killed, and two leaders."""
    trial.nodes, trial.pods = 1000, 5000
    trial.proxy.faults.append(failing_writes(0.05, random.Random(1)))
    trial.fill()
    with cut_watches(trial), trial.replica("first") as first, trial.replica("second") as second:
        trial.until(trial.some(0.1))
        leader, other = (first, second) if has_led(first) else (second, first)
        leader.send(signal.SIGKILL)
        trial.until(trial.some(0.3))
        restart(trial)
        with trial.replica("third"):
            trial.until(trial.some(0.6))
            other.send(signal.SIGKILL)
            trial.check()
