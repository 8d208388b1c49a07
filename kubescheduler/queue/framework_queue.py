"""What the queues of 1.20 and 1.36 have in common: pods that are active, wait out a back-off, or fitted nowhere."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from clusterstate.errors import ClusterStateError
from kubescheduler.queue.entry import BACKOFF, Place, QueueEntry, by_priority
from kubescheduler.queue.heap import KeyedHeap
from kubescheduler.queue.nominations import note_nomination
from kubescheduler.queue.priority_queue_1_16 import BACKOFF_TICK, UNSCHEDULABLE_TICK
from kubescheduler.queue.queue_listener import (
    BACKOFF_COMPLETE,
    FORCE_ACTIVATE,
    SCHEDULE_ATTEMPT_FAILURE,
    UNSCHEDULABLE_TIMEOUT,
)

if TYPE_CHECKING:
    from clusterstate.objects import Node, Pod
    from kubescheduler.queue.cluster_events import ClusterEvent
    from kubescheduler.queue.entry import Backoff, Failed, Order
    from kubescheduler.queue.nominations import Nominations
    from kubescheduler.queue.priority_queue_1_16 import Clock
    from kubescheduler.queue.queue_listener import (
        Event,
        QueueListener,
    )
    from kubescheduler.queue.resting import Beat


class FrameworkQueue(ABC):
    """Pods to schedule, identified by namespace and name.

    Nothing here waits or locks: a caller with a clock calls ``flush_due`` at the ticks of 1 and 30 seconds, and one
    with threads sees to it that only one of them is in here. order: of active pods.
    """

    def __init__(
        self, clock: Clock, nominations: Nominations, *, order: Order = by_priority, backoff: Backoff = BACKOFF
    ) -> None:
        self._clock = clock
        self._nominations = nominations
        self._order = order
        self._backoff = backoff
        self._active: KeyedHeap[QueueEntry] = KeyedHeap()
        self._waiting: KeyedHeap[QueueEntry] = KeyedHeap()
        self._unschedulable: dict[str, QueueEntry] = {}  # in order of their timestamps
        self._has_backoffs(self._waiting)
        self._cycle = 0
        self._cause: Event = ""
        self.listener: QueueListener | None = None
        """What is told of pods that come into a part of the queue."""

    @property
    def cycle(self) -> int:
        """How many pods have been popped; the number of the attempt that is under way."""
        return self._cycle

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Pods that are active, waiting out a back-off, unschedulable or held back."""
        return len(self._active), sum(map(len, self._backoffs)), len(self._unschedulable)

    def __bool__(self) -> bool:
        return any(self._parts)

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __contains__(self, pod: Pod) -> bool:
        return any(pod.key in part for part in self._parts)

    def _has_backoffs(self, *heaps: KeyedHeap[QueueEntry]) -> None:
        """Notes where pods wait out their back-off."""
        self._backoffs = heaps
        self._resting_parts: tuple[dict[str, Any], ...] = (*(heap.alive for heap in heaps), self._unschedulable)
        self._parts = (self._active.alive, *self._resting_parts)

    def pending(self) -> list[Pod]:
        """Every pod of the queue: the active ones, those in back-off, the unschedulable ones."""
        return [entry.pod for entry in self.entries()]

    def entries(self) -> Iterable[QueueEntry]:
        """Every pod of the queue."""
        return chain(self._active, *self._backoffs, self._unschedulable.values())

    @property
    def gated(self) -> int:
        """How many pods a PreEnqueue plugin holds back."""
        return sum(entry.gate is not None for entry in self._unschedulable.values())

    def in_flight(self) -> tuple[int, Iterable[ClusterEvent]]:
        """(pods that are being tried or bound, events that are kept for them), where the release keeps account."""
        return 0, ()

    def gate(self, pod: Pod) -> str:
        """Why a pod is held back from being tried; empty when it is not."""
        if not self._unschedulable:
            return ""
        entry = self._unschedulable.get(pod.key)
        return "" if entry is None or entry.gate is None else entry.gate.message

    def place(self, pod: Pod) -> Place | None:
        """Where a pod is; None: nowhere."""
        if pod.key in self._active:
            return Place.ACTIVE
        if any(pod.key in heap for heap in self._backoffs):
            return Place.BACKOFF
        entry = self._unschedulable.get(pod.key)
        if entry is None:
            return None
        return Place.UNSCHEDULABLE if entry.gate is None else Place.GATED

    # --- attempts --------------------------------------------------------------------------

    def add(self, pod: Pod) -> None:
        """A new pod becomes active, unless it is held back."""
        self._cause, key = self.added_event, pod.key
        for part in self._resting_parts:
            part.pop(key, None)
        now = self._clock()
        self._activate(QueueEntry(pod, now, now))
        note_nomination(self._nominations, pod)

    def pop(self) -> QueueEntry | None:
        """The next pod to try; None when there is none."""
        entry = self._take()
        if entry is None:
            return None
        self._cycle += 1
        entry.attempts += 1
        if entry.attempts == 1:
            entry.first_tried = self._clock()
        return entry

    def _take(self) -> QueueEntry | None:
        return self._active.pop()

    def put_back(self, entry: QueueEntry, pod: Pod, failure: Failed) -> None:
        """The attempt of a popped entry failed; ``pod``: as it is now. Raises ClusterStateError if it is back already.

        Upstream: AddUnschedulableIfNotPresent.
        """
        self._refuse_twice(pod.key)
        events = self._landed(pod)
        entry.pod, entry.rejectors, entry.pending = pod, failure.rejectors, failure.pending
        entry.flushed, self._cause = False, SCHEDULE_ATTEMPT_FAILURE
        self.failed(entry, self._clock())
        self._shelve(entry, events)
        note_nomination(self._nominations, pod)

    def done(self, pod: Pod) -> None:
        """A popped pod is on its way to its node."""
        self._landed(pod)

    def _landed(self, pod: Pod) -> Any:  # noqa: ARG002
        """What happened while a pod was tried, as far as the release keeps account of it."""
        return ()

    @abstractmethod
    def _refuse_twice(self, key: str) -> None:
        """Raises ClusterStateError for a pod that is in the queue."""

    @abstractmethod
    def failed(self, entry: QueueEntry, now: float) -> None:
        """Notes in an entry that its attempt failed now."""

    @abstractmethod
    def _shelve(self, entry: QueueEntry, events: Any) -> None:
        """An entry whose attempt failed goes where it waits."""

    # --- what happens to pods of the queue ---------------------------------------------------

    @abstractmethod
    def update(self, old: Pod, new: Pod) -> None:
        """A pending pod changed."""

    def delete(self, pod: Pod) -> None:
        """A pending pod is gone. One that is not in the queue is only no longer nominated."""
        self.bound(pod)

    def bound(self, pod: Pod) -> None:
        """A pending pod got its node, by this scheduler or another."""
        key = pod.key
        self._nominations.nominate(pod, "")
        for part in self._parts:
            part.pop(key, None)

    def nominate(self, pod: Pod, node_name: str) -> None:
        """Notes in memory that a pod waits for room on a node."""
        note_nomination(self._nominations, pod, node_name)

    def activate(self, pods: Sequence[Pod]) -> None:
        """Pods are to be tried now, whatever back-off they are in; those that are not in the queue are passed over."""
        self._cause = FORCE_ACTIVATE
        for pod in pods:
            for heap in self._backoffs:
                if (entry := heap.remove(pod.key)) is not None:
                    self._activate(entry)
            if (entry := self._unschedulable.get(pod.key)) is not None:
                self._activate(entry)
                if pod.key in self._active:
                    self._leave(entry)

    # --- what happens elsewhere --------------------------------------------------------------

    @abstractmethod
    def assigned_pod_added(self, pod: Pod) -> None:
        """A pod was placed."""

    @abstractmethod
    def assigned_pod_updated(self, old: Pod, new: Pod) -> None:
        """A placed pod changed."""

    @abstractmethod
    def assigned_pod_deleted(self, pod: Pod, excluding: Pod | None = None) -> None:
        """A placed pod is gone, or a pod gave its place back; all pods but one may fit now."""

    @abstractmethod
    def node_added(self, node: Node) -> None:
        """A node is new."""

    @abstractmethod
    def node_updated(self, old: Node, new: Node) -> None:
        """A node changed."""

    @abstractmethod
    def node_deleted(self, node: Node) -> None:
        """A node is gone."""

    @abstractmethod
    def object_changed(self, old: Any, new: Any) -> None:
        """Any other object came (``old`` is None), changed, or went (``new`` is None)."""

    # --- time --------------------------------------------------------------------------------

    def flush_due(self) -> None:
        """Moves what has waited for long enough, if the clock stands at a tick; both ticks count from time 0."""
        now = self._clock()
        if now % BACKOFF_TICK == 0:
            self.flush_backoff()
        if now % UNSCHEDULABLE_TICK == 0:
            self.flush_unschedulable()

    def flush_backoff(self) -> None:
        """Pods whose wait is over become active."""
        now = self._clock()
        self._cause = BACKOFF_COMPLETE
        for heap in self._backoffs:
            while (entry := heap.peek()) is not None and not self.backs_off(entry, now):
                heap.pop()
                self._active.put(entry.pod.key, entry, self._order(entry))
                self._came(Place.ACTIVE)

    def flush_unschedulable(self) -> None:
        """Pods that have lain for longer than ``lies_for`` are tried again without an event."""
        now = self._clock()
        self._cause = UNSCHEDULABLE_TIMEOUT
        for entry in [entry for entry in self._unschedulable.values() if now - entry.timestamp > self.lies_for]:
            entry.flushed = True
            self._requeue(entry)

    def next_flush(self) -> float | None:
        """The first tick at which ``flush_due`` moves a pod; None when no pod waits."""
        if not any(self._resting_parts):
            return None
        now = self._clock()
        heads = [heap.peek() for heap in self._backoffs]
        ticks = [max(self.ready(head), math.floor(now) + BACKOFF_TICK) for head in heads if head is not None]
        if self._unschedulable:
            oldest = next(iter(self._unschedulable.values()))
            ticks.append(max(self.flush_of(oldest.timestamp), self.flush_of(now - self.lies_for)))
        return min(ticks, default=None)

    def flush_of(self, since: float) -> float:
        """The first tick at which a pod that is unschedulable since then has lain for long enough."""
        return UNSCHEDULABLE_TICK * (math.floor((since + self.lies_for) / UNSCHEDULABLE_TICK) + 1)

    @property
    @abstractmethod
    def lies_for(self) -> float:
        """Seconds after which an unschedulable pod is tried again without an event."""

    @abstractmethod
    def backs_off(self, entry: QueueEntry, now: float) -> bool:
        """Whether the wait after its last failure is not over."""

    @abstractmethod
    def ready(self, entry: QueueEntry) -> float:
        """The first tick of flush_backoff at which its wait is over."""

    # --- time in which nothing happens -------------------------------------------------------

    def resting(self) -> list[Pod] | None:
        """The pods that will be tried by themselves some day; None if any is to be tried now."""
        if len(self._active):
            return None
        return [entry.pod for entry in self._resting()]

    def _resting(self) -> list[QueueEntry]:
        return [entry for entry in chain(*self._backoffs, self._unschedulable.values()) if entry.gate is None]

    def rest_until(self, moment: float) -> dict[str, int]:
        """Lets time pass in which nothing happens but that pods are tried, fail for the same reasons, and come back.

        Leaves the queue as flushes and failing attempts at every tick before ``moment`` do; no pod may be active.
        Returns how often each pod that was tried was, by its key.
        """
        if len(self._active):
            raise ClusterStateError("only pods that wait can rest; pop the others first")
        clock, tried, skipped = self._clock, Counter[str](), False
        try:
            while (tick := self.next_flush()) is not None and tick < moment:
                if not skipped and self._settled():
                    skipped = True
                    self._clock = partial(float, self._clock() + self._skip(moment - tick, tried))
                    continue
                self._clock = partial(float, tick)
                self.flush_due()
                while (entry := self.pop()) is not None:
                    tried[entry.pod.key] += 1
                    self.put_back(entry, entry.pod, entry)
        finally:
            self._clock = clock
        return dict(+tried)

    def _settled(self) -> bool:
        """Whether every pod is tried at regular times."""
        if self._backoff.longest > self.lies_for:
            return False
        beat, lying = self.beat, self._unschedulable
        return all(beat.settled(entry, entry.pod.key not in lying) for entry in self._resting())

    def _skip(self, seconds: float, tried: Counter[str]) -> int:
        """Lets whole periods pass at once, within so many seconds; how long that was."""
        entries = self._resting()
        if not entries:
            return 0
        whole = self.beat.whole(entries, seconds)
        lying = set(self._unschedulable)
        for part in self._resting_parts:
            for entry in entries:
                part.pop(entry.pod.key, None)
        later = [(entry, *self.beat.later(entry, whole)) for entry in entries]
        # As they would have been put back: by their last attempts, of those at one moment in the order of the queue.
        for entry, changed, times in sorted(later, key=lambda one: (one[1].timestamp, self._order(one[0]))):
            tried[entry.pod.key] += times
            self._cycle += times
            if entry.pod.key in lying:
                self._unschedulable[entry.pod.key] = changed
            else:
                self._wait(changed)
        return whole

    @property
    @abstractmethod
    def beat(self) -> Beat:
        """How regularly pods are tried in vain."""

    # --- inside ------------------------------------------------------------------------------

    @property
    @abstractmethod
    def added_event(self) -> str:
        """The label of a new pod's arrival."""

    def _came(self, place: Place) -> None:
        """A pod came into a part of the queue, for the cause that is noted."""
        if self.listener is not None:
            self.listener.came(place, self._cause)

    def _activate(self, entry: QueueEntry) -> None:
        self._active.put(entry.pod.key, entry, self._order(entry))
        self._came(Place.ACTIVE)

    @abstractmethod
    def _wait(self, entry: QueueEntry) -> None:
        """An entry waits out its back-off."""

    def _requeue(self, entry: QueueEntry) -> None:
        """An unschedulable entry becomes active, or waits out what is left of its back-off."""
        self._leave(entry)
        if self.backs_off(entry, self._clock()):
            self._wait(entry)
            self._came(Place.BACKOFF)
        else:
            self._activate(entry)

    def _leave(self, entry: QueueEntry) -> None:
        self._unschedulable.pop(entry.pod.key, None)
