"""A cluster that is exactly full once every pod is bound, and what has to hold of it whatever goes wrong."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import attrs
from aiohttp import web

from kubescheduler.live.transport.io_thread import IoThread
from tests.support.apiserver.front_server import Answer, FrontServer, lost
from tests.support.apiserver.real_server import free_ports
from tests.support.apiserver.storage import Document, StatusError
from tests.support.faults.history import Leadership, PodHistory, bound_by_others, leaders, renewals
from tests.support.live.live_cluster import NODES, PODS, a_node, a_pod
from tests.support.live.serving import trusting
from tests.support.processes import SECONDS
from tests.support.processes.dependent_processes import dependent

QUICK: tuple[str, ...] = (
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=500ms",
)
PORTS = {"1.16": ("--port=0",), "1.20": ("--port=0",), "1.36": ()}
"""Release → flags that close the ports besides the secure one."""
DUMPED = "Dump of scheduling queue"
PENDING = re.compile(r'^scheduler_pending_pods\{queue="(\w+)"\} (\S+)$', re.MULTILINE)


class Replica:
    """One of several schedulers."""

    def __init__(
        self, folder: Path, release: str, url: str, *, qps: int, elects: bool = True, ahead: float = 0.0
    ) -> None:
        """folder: for what it writes. qps: requests a second. ahead: seconds by which its clock is."""
        folder.mkdir()
        self.name, self.url = folder.name, url
        """By what it is known: its name, and the address by which it asks the server."""
        self._log = folder / "stderr.txt"
        self.release, self._port = release, free_ports(1)[0]
        self.statuses: list[int] = []
        """Of the processes that have ended."""
        self._stopping = False
        self._process: subprocess.Popen[bytes] | None = None
        module = ["kubescheduler"] if not ahead else ["tests.support.faults.skewed_process", str(ahead)]
        quick = QUICK if qps < 100 else ()
        election = quick if elects else ("--leader-elect=false",)
        self._command = [
            *(sys.executable, "-m", *module, "run", "--release", release, "--", *PORTS[release], *election),
            *(f"--kube-api-qps={qps}", f"--kube-api-burst={max(qps // 4, 10)}", "-v=2"),
            *(f"--master={url}", "--bind-address=127.0.0.1", f"--secure-port={self._port}"),
            *("--authorization-always-allow-paths=/metrics", "--authentication-skip-lookup=true"),
        ]
        self._guard = threading.Thread(target=self._supervise, daemon=True)
        self._guard.start()

    def _supervise(self) -> None:
        while not self._stopping:
            with self._log.open("ab") as log:
                self._process = subprocess.Popen(dependent(self._command), stdout=log, stderr=log)
                self.statuses.append(self._process.wait())

    def text(self) -> str:
        """What all its processes have logged."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def send(self, number: signal.Signals) -> None:
        """Sends a signal to the process of now."""
        assert self._process is not None
        self._process.send_signal(number)

    def stop(self) -> int:
        """Ends it for good; the last status."""
        self._stopping = True
        self.send(signal.SIGTERM)
        self._guard.join(60)
        if self._guard.is_alive():
            self.send(signal.SIGKILL)
            self._guard.join()
        return self.statuses[-1]

    def queue(self) -> str:
        """What the last dump said of the queue."""
        return self.text().rpartition(DUMPED)[2]

    def comparison(self) -> str:
        """What was said from the last dump of the queue but one to the last: cache and informers are compared there."""
        return self.text().rpartition(DUMPED)[0].rpartition(DUMPED)[2]

    def is_serving(self) -> bool:
        """Whether it takes requests, and signals."""
        try:
            self.pending()
        except OSError:
            return False
        return True

    def pending(self) -> dict[str, float]:
        """Queue → how many pods are in it, as the metrics say."""
        url = f"https://127.0.0.1:{self._port}/metrics"
        with urllib.request.urlopen(url, timeout=SECONDS, context=trusting()) as answer:
            return {queue: float(count) for queue, count in PENDING.findall(answer.read().decode())}


@contextmanager
def replica(
    folder: Path, release: str, url: str, *, qps: int, elects: bool = True, ahead: float = 0.0
) -> Iterator[Replica]:
    """A scheduler, to the end of the block, which it has to end with status 0 and without a traceback ever."""
    one = Replica(folder, release, url, qps=qps, elects=elects, ahead=ahead)
    try:
        yield one
    except BaseException:
        one.stop()
        raise
    assert one.stop() == 0, one.text()[-3000:]
    assert "Traceback" not in one.text()


CODES = {409: "Conflict", 429: "TooManyRequests", 500: "InternalError"}


def refused(code: int) -> web.Response:
    """An answer of the server that is no."""
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    return web.json_response({**status, "message": "no", "reason": CODES[code]}, status=code)


def failing_writes(front: FrontServer, share: float, rng: random.Random) -> Answer:
    """That share of all writes is refused, or done without anybody learning of it.

    A binding twice at most, as a scheduler waits twice as long each time; events are only refused, as it waits ten
    seconds with one that was not answered, also at its end.
    """
    failed: Counter[str] = Counter()

    async def fault(request: web.Request) -> web.StreamResponse | None:
        if request.method == "GET" or rng.random() >= share:
            return None
        failed[request.path] += request.path.endswith("/binding")
        if failed[request.path] > 2:
            return None
        how = rng.choice(tuple(CODES) if "/events" in request.path else (*CODES, 0))
        if how:
            return refused(how)
        await front.served(request)
        return lost(request)

    return fault


def around_bindings(front: FrontServer, chosen: set[int], act: Callable[[str, str], object], *, after: bool) -> Answer:
    """Something happens right before, or after, the bindings of these numbers, counted from 1.

    act: of (the pod's name, the node's); what it raises because the server is away, or has no such thing, is nothing.
    """
    seen = 0

    async def fault(request: web.Request) -> web.StreamResponse | None:
        nonlocal seen
        if not request.path.endswith("/binding"):
            return None
        seen += 1
        if seen not in chosen:
            return None
        answer = await front.served(request) if after else None
        with contextlib.suppress(OSError, StatusError):
            act(request.path.split("/")[-2], (await request.json())["target"]["name"])
        return answer

    return fault


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
        return 40 if self.nodes < 100 else 5000

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

    def until(self, holds: Callable[[], bool]) -> None:
        """Waits for something to hold."""
        pause, end = threading.Event(), time.monotonic() + SECONDS
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
        self._end_faults(elects)
        self.until(self._queues_are_empty)
        if elects:
            assert bound_by_others(self.server) == []
        print(f"\nbound in {seconds:.0f} s, {late} on nodes that were gone; {self.figures()}")

    def _end_faults(self, elects: bool) -> None:
        """A leader whose writes fail for long enough ends with another status than 0, as it has to: none does now."""
        self.server.faults.clear()
        before = renewals(self.server)
        self.until(lambda: not elects or renewals(self.server) > before)

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
        return all(self._is_done(one) for one in self.replicas)

    def _is_done(self, one: Replica) -> bool:
        if not one.is_serving():
            return False
        dumps, ended = one.text().count(DUMPED), len(one.statuses)
        one.send(signal.SIGUSR2)
        self.until(lambda: one.text().count(DUMPED) > dumps or len(one.statuses) > ended)
        if len(one.statuses) > ended:  # it lost the lease, and the next process has yet to say what it knows
            return False
        if "name:" in one.queue() or (one.release != "1.16" and any(one.pending().values())):
            return False
        return "mismatch" not in one.comparison()  # as while informers still begin

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
