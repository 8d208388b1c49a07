"""What queues hold: their entries, in which order these are popped, and the heap from which they are."""

from __future__ import annotations

import enum
import heapq
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, Protocol, TypeGuard, TypeVar

import msgspec

from clusterstate.objects import Pod
from kubescheduler.core.status import Status


class Place(enum.Enum):
    """Where in a queue a pod is."""

    ACTIVE = "active"
    """It is tried next, in its turn."""
    BACKOFF = "backed-off"
    """It waits out its back-off."""
    UNSCHEDULABLE = "unschedulable"
    """It waits for an event that may help it, or until it has waited for long."""
    GATED = "gated"
    """A PreEnqueue plugin holds it back (1.36)."""


class Failed(Protocol):
    """A failed attempt; without rejectors and pending ones an error ended it."""

    @property
    def rejectors(self) -> frozenset[str]:
        """The plugins that rejected the pod."""

    @property
    def pending(self) -> frozenset[str]:
        """Those of the rejectors whose event has the pod tried at once."""


PreEnqueue = Callable[[Pod, str], Status | None]
"""Of (pod, the plugin to ask first): why a plugin does not let it in, or None."""


class Backoff(msgspec.Struct, frozen=True):
    """Seconds that a pod waits after its first failure, and at most. Upstream: podInitial-, podMaxBackoffSeconds."""

    initial: float = 1.0
    longest: float = 10.0


Clock = Callable[[], float]
"""Seconds since any fixed moment."""


class QueueEntry(msgspec.Struct, eq=False):
    """A pod of the queue, which alone changes it. Times are seconds on the queue's clock."""

    pod: Pod
    timestamp: float
    """When it last came into the queue: new, or back from an attempt."""
    added: float
    """When it first came into the queue."""
    attempts: int = 0
    """How often it was popped."""
    backoff_until: float = -math.inf
    """Until when it waits after its last failure."""
    rejectors: frozenset[str] = frozenset()
    """The plugins that rejected the last attempt, or hold the pod back."""
    pending: frozenset[str] = frozenset()
    """Those of the rejectors whose event has it tried at once."""
    rejections: int = 0
    """How many attempts plugins rejected."""
    errors: int = 0
    """How many attempts in a row ended in an error (1.36)."""
    gate: Status | None = None
    """Why it is held back from the queue, None when it is not."""
    first_tried: float = math.nan
    """When it was first popped."""
    flushed: bool = False
    """Whether it was tried last because it had waited for long, and no event had moved it."""

    @property
    def erred(self) -> bool:
        """Whether an error gave the last attempt up."""
        return not self.rejectors and not self.pending

    @property
    def gated_by(self) -> str:
        """The PreEnqueue plugin that holds the pod back; empty for none."""
        return "" if self.gate is None else self.gate.plugin


Rank = tuple[Any, ...]
"""What entries are ordered by, lowest first; entries of one rank come in order of arrival."""

Order = Callable[[QueueEntry], Rank]
"""What entries are popped by, lowest first."""


def by_priority(entry: QueueEntry) -> Rank:
    """Higher priority first, then who came first. Upstream: 1.16 activeQComp, PrioritySort."""
    return (-entry.pod.priority, entry.timestamp)


def by_arrival(_: QueueEntry) -> Rank:
    """All alike: entries of one rank come in order of arrival, and keep their place when they change."""
    return ()


T = TypeVar("T")

SLACK = 64
"""Removed entries that may lie in the heap beside as many as are alive."""


class KeyedHeap(Generic[T]):
    """Entries with a key and a rank. Every operation costs O(log n) at most, on average."""

    def __init__(self) -> None:
        self.alive: dict[str, tuple[Rank, int, T]] = {}
        """Key → (rank, number of arrival, entry), in order of arrival; what is taken out of it is removed."""
        self._heap: list[tuple[Rank, int, str]] = []
        self._arrivals = 0

    def __len__(self) -> int:
        return len(self.alive)

    def __contains__(self, key: object) -> bool:
        return key in self.alive

    def __iter__(self) -> Iterator[T]:
        """The entries in order of arrival."""
        return (item for _, _, item in self.alive.values())

    def get(self, key: str) -> T | None:
        """The entry of a key; None when there is none."""
        entry = self.alive.get(key)
        return None if entry is None else entry[2]

    def put(self, key: str, item: T, rank: Rank) -> None:
        """Adds an entry. One of the same key and rank is replaced in its place, one of another rank moves."""
        known = self.alive.get(key)
        if known is not None and known[0] == rank:
            self.alive[key] = (rank, known[1], item)
            return
        self._arrivals += 1
        self.alive[key] = (rank, self._arrivals, item)
        heapq.heappush(self._heap, (rank, self._arrivals, key))
        if len(self._heap) > 2 * len(self.alive) + SLACK:
            self._heap = [(rank, arrival, key) for key, (rank, arrival, _) in self.alive.items()]
            heapq.heapify(self._heap)

    def remove(self, key: str) -> T | None:
        """Takes an entry out; None if there is none."""
        entry = self.alive.pop(key, None)
        return None if entry is None else entry[2]

    def peek(self) -> T | None:
        """The entry of the lowest rank, which stays; None when there is none."""
        if not self.alive:
            return None
        self._drop_removed()
        return self.alive[self._heap[0][2]][2]

    def pop(self) -> T | None:
        """The entry of the lowest rank; None when there is none."""
        entry = self.peek()
        if entry is not None:
            _, _, key = heapq.heappop(self._heap)
            del self.alive[key]
        return entry

    def _drop_removed(self) -> None:
        while self._heap:
            _, arrival, key = self._heap[0]
            known = self.alive.get(key)
            if known is not None and known[1] == arrival:
                return
            heapq.heappop(self._heap)


FINISHED = ("Succeeded", "Failed")


def is_pending(obj: Any) -> TypeGuard[Pod]:
    """Whether an object is a pod that a scheduler queues: unassigned, not finished, not being deleted."""
    return (
        isinstance(obj, Pod)
        and not obj.node_name
        and obj.phase not in FINISHED
        and obj.metadata.deletion_timestamp is None
    )


def queue_order(objects: Iterable[Any]) -> list[Pod]:
    """The pending pods among some objects: higher priority first, then older, then as they come.

    Pods that are being deleted are passed over. Upstream: 1.16 activeQComp, the creation standing for the time at
    which a scheduler first saw the pod.
    """
    waiting = [obj for obj in objects if is_pending(obj)]
    return sorted(waiting, key=lambda pod: (-pod.priority, pod.metadata.creation_timestamp or ""))


def arrival_order(objects: Iterable[Any]) -> list[Pod]:
    """The pending pods among some objects: older first, then as they come, whatever their priority.

    Pods that are being deleted are among them. Upstream: 1.4 cache.FIFO, the creation standing for the time at which a
    scheduler first saw the pod.
    """
    waiting = [obj for obj in objects if isinstance(obj, Pod) and not obj.node_name and obj.phase not in FINISHED]
    return sorted(waiting, key=lambda pod: pod.metadata.creation_timestamp or "")
