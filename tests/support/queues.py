"""The queue of each release, and a scheduler loop with everything around it, on a clock that is turned by hand."""

from __future__ import annotations

import functools
import heapq
import itertools
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

import attrs
import msgspec
import numpy as np

from clusterstate.errors import ClusterStateError
from clusterstate.objects import Pod
from kubescheduler.core.decision import Decision
from kubescheduler.core.status import Code, Status
from kubescheduler.cycle.failures import FailureRecord
from kubescheduler.cycle.schedule_one import LoopParts, PodAttempt, SchedulerLoop
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.handle import Services
from kubescheduler.framework.framework_runtime import Framework
from kubescheduler.framework.plugins.plugin_record import events_by_plugin
from kubescheduler.framework.profile_map import build_profiles
from kubescheduler.queue.fifo import FIFO
from kubescheduler.queue.queueing_hints import QueueingHints
from kubescheduler.queue.scheduling_queue import SchedulingQueue
from kubescheduler.releases import v1_4, v1_16, v1_20, v1_36
from kubescheduler.releases.lookup import release_named
from tests.support.build import cache_of, make_node
from tests.support.deciders import Binder, Recorder, Sort, profile_of, registry_of, services_of
from tests.support.manual_time import ManualTime


class Rejection(msgspec.Struct, frozen=True):
    """A failed attempt that plugins rejected; without any an error ended it."""

    rejectors: frozenset[str] = frozenset()
    """The plugins."""
    pending: frozenset[str] = frozenset()
    """Those of them whose event has the pod tried at once."""


FIT = Rejection(frozenset({"NodeResourcesFit"}))
ERROR = Rejection()

MAKERS: dict[str, Callable[..., SchedulingQueue]] = {
    "1.4": partial(FIFO, policy=v1_4.queue()),
    "1.16": partial(SchedulingQueue, policy=v1_16.queue()),
    "1.20": partial(SchedulingQueue, policy=v1_20.queue()),
    "1.36": partial(SchedulingQueue, policy=v1_36.queue(), hints=QueueingHints(events_by_plugin(v1_36.PLUGINS))),
}


class Setting:
    """A queue, its cluster, and a clock that is turned by hand."""

    def __init__(self, release: str, **options: Any) -> None:
        self.now = 0.0
        self.cache = cache_of([make_node("n1"), make_node("n2")])
        self.queue = MAKERS[release](lambda: self.now, self.cache, **options)

    def pop(self) -> Pod | None:
        """The next pod."""
        entry = self.queue.pop()
        return None if entry is None else entry.pod

    def fail(self, pod: Pod, why: Rejection = FIT) -> None:
        """One attempt that fails at once."""
        entry = self.queue.pop()
        assert entry is not None
        assert entry.pod == pod
        self.queue.put_back(entry, pod, why)

    def add_and_fail(self, *pods: Pod, why: Rejection = FIT) -> None:
        """Each pod in turn."""
        for pod in pods:
            self.queue.add(pod)
            self.fail(pod, why)

    def flush_until(self, until: float) -> None:
        """To a later moment, with every tick on the way."""
        while (tick := self.queue.next_flush()) is not None and tick <= until:
            self.now = tick
            self.queue.flush_due()
        self.now = until

    def try_in_vain(self, until: float) -> list[tuple[float, str]]:
        """Every pod that becomes active until then fails at once; (when, which) that was."""
        tried = []
        while True:
            while (entry := self.queue.pop()) is not None:
                tried.append((self.now, entry.pod.metadata.name))
                self.queue.put_back(entry, entry.pod, ERROR)
            tick = self.queue.next_flush()
            if tick is None or tick > until:
                self.now = max(self.now, until)
                return tried
            self.now = tick
            self.queue.flush_due()

    def popped(self) -> list[str]:
        """The names of all active pods, in order."""
        names = []
        while (entry := self.queue.pop()) is not None:
            names.append(entry.pod.metadata.name)
        return names


@attrs.frozen(eq=False)
class SimpleEntry:
    """A pod of the queue.

    timestamp: when it last entered a queue, in seconds. attempts: how often it was tried. gated_by: the PreEnqueue
    plugin that holds it back. rejectors: the plugins for which its last attempt failed.
    """

    pod: Pod
    timestamp: float
    attempts: int = 0
    gated_by: str = ""
    rejectors: frozenset[str] = frozenset()


def never_gated(_: Pod, __: str) -> Status | None:
    return None


class SimpleQueue:
    """What the loop calls of a queue: what failed waits until something happens, then it is tried again.

    less: the queue sort, as ``Profiles.less``. pre_enqueue: of (pod, the plugin to ask first), as
    ``Profiles.pre_enqueue``; a pod that it refuses is gated. clock: seconds.
    """

    def __init__(
        self,
        less: Callable[[Any, Any], bool],
        clock: Callable[[], float],
        pre_enqueue: Callable[[Pod, str], Status | None] = never_gated,
    ) -> None:
        self._clock = clock
        self._pre_enqueue = pre_enqueue
        self._order = functools.cmp_to_key(lambda one, other: -1 if less(one, other) else int(less(other, one)))
        self._lock = threading.RLock()
        self._numbers = itertools.count()
        self._heap: list[tuple[Any, int, str]] = []
        self._active: dict[str, tuple[int, SimpleEntry]] = {}
        self._unschedulable: dict[str, SimpleEntry] = {}

    def __len__(self) -> int:
        return len(self._active) + len(self._unschedulable)

    def gated(self) -> dict[str, str]:
        """Key of a pod that is held back → the plugin that does it."""
        return {key: entry.gated_by for key, entry in self._unschedulable.items() if entry.gated_by}

    def unschedulable(self) -> list[Pod]:
        """The pods whose last attempt failed, and the gated ones."""
        return [entry.pod for entry in self._unschedulable.values()]

    def add(self, pod: Pod) -> None:
        """A new pod, or a new version of one that is in the queue."""
        with self._lock:
            _, before = self._active.pop(pod.key, (0, None))
            before = before or self._unschedulable.pop(pod.key, None)
            entry = SimpleEntry(pod, self._clock()) if before is None else attrs.evolve(before, pod=pod)
            self._enqueue(entry)

    def remove(self, pod: Pod) -> None:
        """A pod is gone."""
        with self._lock:
            self._active.pop(pod.key, None)
            self._unschedulable.pop(pod.key, None)

    def pop(self) -> SimpleEntry | None:
        with self._lock:
            while self._heap:
                _, number, key = heapq.heappop(self._heap)
                found, entry = self._active.get(key, (-1, None))
                if entry is not None and found == number:
                    del self._active[key]
                    return attrs.evolve(entry, attempts=entry.attempts + 1)
            return None

    def put_back(self, entry: SimpleEntry, pod: Pod, failure: FailureRecord) -> None:
        with self._lock:
            for name, part in (("unschedulable queue", self._unschedulable), ("the active queue", self._active)):
                if pod.key in part:
                    raise ClusterStateError(f"Pod {pod.key} is already present in {name}")
            self._unschedulable[pod.key] = attrs.evolve(
                entry, pod=pod, timestamp=self._clock(), rejectors=failure.rejectors
            )

    def done(self, pod: Pod) -> None: ...

    def activate(self, pods: Sequence[Pod]) -> None:
        with self._lock:
            self._move([pod.key for pod in pods if pod.key in self._unschedulable])

    def assigned_pod_deleted(self, pod: Pod, excluding: Pod | None) -> None:
        with self._lock:
            self._move([key for key in self._unschedulable if excluding is None or key != excluding.key])

    def move_all(self) -> None:
        """Something changed that may let any pod in."""
        with self._lock:
            self._move(list(self._unschedulable))

    def _move(self, keys: Collection[str]) -> None:
        for key in keys:
            self._enqueue(self._unschedulable.pop(key))

    def _enqueue(self, entry: SimpleEntry) -> None:
        status = self._pre_enqueue(entry.pod, entry.gated_by)
        if status is None:
            number = next(self._numbers)
            self._active[entry.pod.key] = number, attrs.evolve(entry, gated_by="")
            heapq.heappush(self._heap, (self._order(entry), number, entry.pod.key))
        else:
            rejectors = entry.rejectors | {status.plugin}
            self._unschedulable[entry.pod.key] = attrs.evolve(entry, gated_by=status.plugin, rejectors=rejectors)


U, SKIP, WAIT = Status.unschedulable("u"), Status(Code.Skip), Status(Code.Wait)
BOTH = ["1.20", "1.36"]


@attrs.define
class Bench:
    """A loop with everything around it; a pod goes to the node of its label ``node``, n1 without."""

    loop: SchedulerLoop
    queue: SimpleQueue
    services: Services
    recorder: Recorder
    framework: Framework

    def add(self, *pods: Pod) -> None:
        """To the queue."""
        for pod in pods:
            self.queue.add(pod)

    def try_one(self, pod: Pod) -> PodAttempt:
        """The settled attempt of one pod."""
        self.add(pod)
        attempt = self.loop.run_once()
        assert attempt is not None
        attempt.outcome()
        return attempt

    def bound(self) -> dict[str, str]:
        """Pod → node, of those that are no longer just assumed."""
        cache = self.services.cache
        return {pod.metadata.name: pod.node_name for pod in cache.pods() if not cache.is_assumed(pod)}

    @property
    def time(self) -> ManualTime:
        """Moved by hand."""
        assert isinstance(self.services.time, ManualTime)
        return self.services.time


def decide(framework: Framework, pod: Pod, state: CycleState) -> Decision:
    """By the label ``node`` alone; ``error`` is a decision that fails, an empty one finds no node."""
    host = pod.metadata.labels.get("node", "n1")
    fields = {"error": "broken"} if host == "error" else {"host": host or None}
    return Decision(pod, framework.release, ("n1", "n2"), np.ones(2, np.bool_), 2, **fields)


@contextmanager
def bench(release: str, *plugins: Any, writes: bool = False, **fields: Any) -> Iterator[Bench]:
    """writes: there is an API to write to, and so nothing is confirmed by itself."""
    recorder, rules = Recorder(), release_named(release).framework_rules
    latest = fields.pop("latest", lambda pod: pod)
    services = services_of(
        release,
        [make_node("n1"), make_node("n2")],
        events=recorder,
        observer=recorder,
        client=recorder if writes else None,
        **fields,
    )
    all_plugins = [Sort(), *plugins, *([] if any(hasattr(p, "bind") for p in plugins) else [Binder()])]
    profile = profile_of(all_plugins)
    profiles = build_profiles([profile], registry_of(all_plugins), rules.profiles, services)
    queue = SimpleQueue(profiles.less, services.time.now, profiles.pre_enqueue)
    parts = LoopParts(profiles.of, services, cast("Any", queue), rules.cycle(), decide)

    def confirm(pod: Pod) -> None:
        if not writes:
            loop.cycles.assumed.confirm(pod)

    with SchedulerLoop(parts, latest=latest, bound=confirm) as loop:
        yield Bench(loop, queue, services, recorder, profiles["default-scheduler"])
