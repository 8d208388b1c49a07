"""A cluster that is exactly full once every pod is bound, and what has to hold of it whatever goes wrong."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import attrs

from kubescheduler.live.transport.io_thread import IoThread
from tests.support.apiserver.front_server import FrontServer
from tests.support.apiserver.storage import Document, StatusError
from tests.support.faults.lease_history import Leadership, bound_by_others, leaders
from tests.support.faults.pod_history import PodHistory
from tests.support.faults.replicas import DUMPED, Replica, replica
from tests.support.faults.request_faults import around_bindings, failing_writes
from tests.support.live.live_cluster import NODES, PODS, a_node, a_pod

SECONDS = 600.0
"""Until a test gives up."""
ROOM = 5
"""Pods that a node has room for."""


@attrs.define(eq=False)
class Trial:
    """A server, and what its administrator sees."""

    io: IoThread
    server: FrontServer
    history: PodHistory
    folder: Path
    nodes: int
    seed: int
    deleted: set[str] = attrs.field(factory=set)
    """Pods that were deleted while they were bound."""
    removed: set[str] = attrs.field(factory=set)
    """Nodes that were removed."""
    _replaced: set[str] = attrs.field(factory=set, init=False)
    killed: list[str] = attrs.field(factory=list)
    """Identities of leaders."""
    replicas: list[Replica] = attrs.field(factory=list)
    rng: random.Random = attrs.field(init=False)
    started: float = attrs.field(factory=time.monotonic)
    """When there was something to do: all pods, or the first ones where a scheduler was there before them."""

    def __attrs_post_init__(self) -> None:
        self.rng = random.Random(self.seed)

    @property
    def qps(self) -> int:
        """Requests a second of a scheduler: it is not done before anything goes wrong."""
        return 20 if self.nodes < 100 else 5000

    @property
    def pods(self) -> int:
        """As many as there is room for."""
        return self.nodes * ROOM

    # --- the cluster -----------------------------------------------------------------------------

    def fill(self) -> None:
        """Makes all nodes and pods."""
        for number in range(self.nodes):
            self._make_node(f"n{number}")
        for number in range(self.pods):
            self._make_pod(f"p{number}")
        if not self.replicas:
            self.started = time.monotonic()

    def _make_node(self, name: str) -> None:
        self.server.storage.create(NODES, "", a_node(name, cpu="2600m"))

    def _make_pod(self, name: str) -> None:
        self.server.storage.create(PODS, "default", a_pod(name, cpu="500m"))

    # --- what goes wrong -------------------------------------------------------------------------

    def fail_writes(self) -> None:
        """5 % of the writes: refused with 409, 429 or 500, or done and not answered."""
        self.server.faults.append(failing_writes(self.server, 0.05 if self.pods > 500 else 0.2, self.rng))

    def delete_pods(self, count: int) -> None:
        """Pods are deleted right before, and right after, the server binds them."""

        def delete(pod: str, _: str) -> None:
            self.server.storage.delete(PODS, "default", pod)
            self.deleted.add(pod)

        for after in (False, True):
            chosen = set(self.rng.sample(range(1, self.pods), count // 2))
            self.server.faults.append(around_bindings(self.server, chosen, delete, after=after))

    def remove_nodes(self, count: int) -> None:
        """Nodes are removed right before a pod is bound to them, and others come."""

        def remove(_: str, node: str) -> None:
            if node not in self.removed:
                self.server.storage.delete(NODES, "", node)
                self.removed.add(node)
                self._make_node(f"{node}-new")

        chosen = set(self.rng.sample(range(1, self.pods), count))
        self.server.faults.append(around_bindings(self.server, chosen, remove, after=False))

    @contextmanager
    def cut_watches(self) -> Iterator[None]:
        """Every 200 ms a third of the watches is cut."""

        async def cut() -> None:
            while True:
                await asyncio.sleep(0.2)
                await self.server.cut_some(1 / 3)

        cutting = self.io.submit(cut())
        try:
            yield
        finally:
            cutting.cancel()

    def kill_leader(self) -> None:
        """``kill -9``, once there is one that was not killed yet."""
        self.until(lambda: self._leader().identity not in ("", *self.killed))
        leader = self._leader()
        self.killed.append(leader.identity)
        (killed,) = (one for one in self.replicas if one.url == leader.url)
        killed.send(signal.SIGKILL)

    def _leader(self) -> Leadership:
        return next(reversed(leaders(self.server)), Leadership(0.0, "", ""))

    @contextmanager
    def schedulers(self, release: str, *ahead: float) -> Iterator[None]:
        """One scheduler, or several that elect a leader, with clocks ahead by so many seconds."""
        with contextlib.ExitStack() as stack:
            for seconds in ahead or (0.0,):
                self.join(stack, release, seconds, elects=bool(ahead))
            yield

    def join(self, stack: contextlib.ExitStack, release: str, ahead: float = 0.0, *, elects: bool = True) -> None:
        """One more scheduler, to the end of a stack."""
        folder = self.folder / f"replica{len(self.replicas)}"
        one = stack.enter_context(
            replica(folder, release, self.server.door(), qps=self.qps, elects=elects, ahead=ahead)
        )
        self.replicas.append(one)

    @contextmanager
    def _lively(self) -> Iterator[None]:
        """Something changes on a node every second, as in clusters that live: 1.16 and 1.20 try a pod whose binding was
        refused again only then, or after a minute and more, and again if that is refused too."""

        async def live() -> None:
            for beat in itertools.count():
                await asyncio.sleep(1)
                unless_away(lambda beat=beat: self._beat(str(beat)))  # type: ignore[misc]

        living = self.io.submit(live())
        try:
            yield
        finally:
            living.cancel()

    def _beat(self, label: str) -> None:
        def beat(node: Document) -> None:
            node["metadata"]["labels"]["beat"] = label

        self.server.storage.change(NODES, "", self.server.storage.all(NODES)[0]["metadata"]["name"], beat)

    # --- what has to hold ------------------------------------------------------------------------

    def until(self, holds: Callable[[], bool], seconds: float = SECONDS) -> None:
        """Waits for something to hold."""
        pause, end = threading.Event(), time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, self._state()
            pause.wait(0.1)

    def _state(self) -> str:
        waiting = [pod.name for pod in self.history.present() if not pod.node]
        logs = "\n".join(f"{one.name}: {one.text()[-1500:]}" for one in self.replicas)
        return f"{len(waiting)} pods wait, as {waiting[:5]}; {self.figures()}\n{logs}"

    def some(self, share: float) -> None:
        """Waits for that share of the pods to be bound."""
        self.until(lambda: len(self.server.bound) >= share * self.pods)

    def settled(self) -> bool:
        """Whether every pod has a node."""
        return all(pod.node for pod in self.history.present())

    def clean_up(self) -> bool:
        """Replaces pods on nodes that are gone, as the garbage collector and their controllers do; whether none was.

        Nodes may go while their replacements are bound: what is there then is replaced once more.
        """
        left = [pod for pod in self.history.present() if pod.node in self.removed]
        for pod in left:
            if pod.name not in self._replaced:
                self._replaced.add(pod.name)
                self.server.storage.delete(PODS, "default", pod.name)
                self._make_pod(f"{pod.name}-new")
        return not left

    def check(self, *, elects: bool = True) -> None:
        """Waits until every pod is bound. Once each, on nodes that have room at every moment, and nothing is left."""
        with self._lively():
            self.until(lambda: len(self.history.pods) >= self.pods and self.settled())
            seconds = time.monotonic() - self.started
            late = len([pod for pod in self.history.present() if pod.node in self.removed])
            self.until(lambda: self.clean_up() and self.settled())
        self._check_pods()
        self.until(self._queues_are_empty, 60.0)
        if elects:
            assert bound_by_others(self.server) == []
        print(f"\nbound in {seconds:.0f} s, {late} on nodes that were gone; {self.figures()}")

    def _check_pods(self) -> None:
        history = self.history
        assert history.moved == []
        assert set(self.server.bound.values()) == {1}
        assert history.most_on_a_node() <= ROOM
        there: Sequence[Document] = self.server.storage.all(PODS, "default")
        assert {pod["metadata"]["uid"] for pod in there} == {
            uid for uid, pod in list(history.pods.items()) if not pod.gone
        }
        names = {pod.name for pod in history.pods.values()}
        assert len(there) == self.pods - len([name for name in self.deleted if f"{name}-new" not in names])
        assert all(pod["spec"]["nodeName"] for pod in there)
        assert set(history.on_node()) <= {node["metadata"]["name"] for node in self.server.storage.all(NODES)}

    def _queues_are_empty(self) -> bool:
        """Whether no scheduler has a pod left, by its dump and its metrics, and its cache is what the server has."""
        for one in self.replicas:
            if not one.is_serving():
                return False
            dumps = one.text().count(DUMPED)
            one.send(signal.SIGUSR2)
            self.until(lambda one=one, dumps=dumps: one.text().count(DUMPED) > dumps, 60.0)  # type: ignore[misc]
            if "name:" in one.queue() or (one.release != "1.16" and any(one.pending().values())):
                return False
            if "mismatch" in one.text().rpartition("omparer started")[2]:  # as while informers still begin
                return False
        return True

    def figures(self) -> str:
        """What happened, in numbers."""
        server, statuses = self.server, [status for one in self.replicas for status in one.statuses]
        asked = [one for one in server.asked if one.path.endswith("/binding")]
        parts = {
            "nodes": self.nodes,
            "pods": self.pods,
            "bindings asked for": len(asked),
            "made": sum(server.bound.values()),
            "twice": sum(count > 1 for count in server.bound.values()),
            "most on a node": f"{self.history.most_on_a_node()} of {ROOM}",
            "pods deleted": len(self.deleted),
            "nodes removed": len(self.removed),
            "leaders": len({one.identity for one in leaders(server) if one.identity}),
            "bindings of others": len(bound_by_others(server)) if leaders(server) else 0,
            "processes ended": statuses,
            "seed": self.seed,
        }
        return ", ".join(f"{what} {count}" for what, count in parts.items())


def unless_away(work: Callable[[], object]) -> None:
    """Does something with a server that may be away."""
    with contextlib.suppress(OSError, StatusError):
        work()
