"""SchedulingQueue: in which order pending pods are scheduled, and when those that fitted nowhere are tried again.

One queue for all releases; ``queue_policy`` has what they do differently. Read it from ``pop`` to ``put_back``, then
what moves pods: events (``_happened``) and time (``flush_due``).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from clusterstate.errors import ClusterStateError
from kubescheduler.queue.entry import (
    Backoff,
    Clock,
    Failed,
    KeyedHeap,
    Order,
    Place,
    PreEnqueue,
    QueueEntry,
    by_priority,
)
from kubescheduler.queue.queue_policy import QueuePolicy, changes_more_than_status
from kubescheduler.queue.queueing_hints import (
    ASSIGNED_POD,
    NODE,
    TIMEOUT,
    UNSCHEDULABLE_POD,
    Action,
    ClusterEvent,
    Event,
    QueueingHint,
    QueueingHints,
    QueueListener,
    object_event,
)

if TYPE_CHECKING:
    from clusterstate.cache import ClusterCache
    from clusterstate.objects import Node, Pod

BACKOFF_TICK = 1.0
"""Seconds between looks at the pods whose wait may be over."""
UNSCHEDULABLE_TICK = 30.0
"""Seconds between looks at the pods that no event has moved."""
EXACT_TICK = 2.0**-10
"""Seconds whose multiples are added without rounding."""

SCHEDULE_ATTEMPT_FAILURE, BACKOFF_COMPLETE = "ScheduleAttemptFailure", "BackoffComplete"
POP_FROM_BACKOFF, FORCE_ACTIVATE, UNSCHEDULABLE_TIMEOUT = "PopFromBackoffQ", "ForceActivate", "UnschedulableTimeout"
"""Upstream's labels of what moves pods beside changes of the cluster."""
POD_UPDATE = "PodUpdate"


def no_gates(_: Pod, __: str) -> None:
    """Every pod may be tried."""


class SchedulingQueue:
    """Pods to schedule, identified by namespace and name: active, waiting out a back-off, or unschedulable.

    Nothing here waits or locks: a caller with a clock calls ``flush_due`` at the ticks of 1 and 30 seconds, and one
    with threads sees to it that only one of them is in here. Upstream: PriorityQueue.
    """

    def __init__(
        self,
        clock: Clock,
        cache: ClusterCache,
        policy: QueuePolicy,
        *,
        order: Order = by_priority,
        backoff: Backoff = Backoff(),  # noqa: B008
        pre_enqueue: PreEnqueue = no_gates,
        hints: QueueingHints | None = None,
    ) -> None:
        """cache: where nominations are kept. order: of active pods. pre_enqueue: whether a pod may be tried at all.
        hints: whether an event may help a pod, by default any may.
        """
        self._clock = clock
        self._cache = cache
        self._policy = policy
        self._order = order
        self._backoffs = policy.backoffs(backoff)
        self._pre_enqueue = pre_enqueue
        self.hints = hints or QueueingHints({})
        """Whether events may help pods."""
        self.lies_for = policy.lies_for
        """Seconds after which an unschedulable pod is tried again without an event."""
        self.listener: QueueListener | None = None
        """What is told of pods that come into a part of the queue."""
        self._active: KeyedHeap[QueueEntry] = KeyedHeap()
        self._waiting: KeyedHeap[QueueEntry] = KeyedHeap()
        self._erring: KeyedHeap[QueueEntry] = KeyedHeap()  # those in back-off that are not tried early
        self._unschedulable: dict[str, QueueEntry] = {}  # in order of their timestamps; held back ones too
        self._in_backoff = (self._waiting, self._erring)
        self._resting_parts: tuple[dict[str, Any], ...] = (
            self._waiting.alive,
            self._erring.alive,
            self._unschedulable,
        )
        self._parts: tuple[dict[str, Any], ...] = (self._active.alive, *self._resting_parts)
        self._missed: dict[str, list[ClusterEvent]] = {}  # by pod that is being tried or bound
        self._cycle = 0
        self._move_cycle = -1  # the cycle in which pods were last moved
        self._cause: Event = ""

    @property
    def cycle(self) -> int:
        """How many pods have been popped; the number of the attempt that is under way."""
        return self._cycle

    @property
    def now(self) -> float:
        """The time on the queue's clock, as entries have it."""
        return self._clock()

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Pods that are active, waiting out a back-off, unschedulable or held back."""
        return len(self._active), len(self._waiting) + len(self._erring), len(self._unschedulable)

    def __bool__(self) -> bool:
        return any(self._parts)

    def __len__(self) -> int:
        return sum(self.sizes)

    def __contains__(self, pod: Pod) -> bool:
        return any(pod.key in part for part in self._parts)

    def pending(self) -> list[Pod]:
        """Every pod of the queue: the active ones, those in back-off, the unschedulable ones."""
        return [entry.pod for entry in self.entries()]

    def entries(self) -> Iterable[QueueEntry]:
        """Every pod of the queue."""
        return chain(self._active, self._waiting, self._erring, self._unschedulable.values())

    @property
    def gated(self) -> int:
        """How many pods a PreEnqueue plugin holds back."""
        return sum(entry.gate is not None for entry in self._unschedulable.values())

    def in_flight(self) -> tuple[int, Iterable[ClusterEvent]]:
        """(pods that are being tried or bound, events that are kept for the one that is at it for longest), where the
        release keeps account.
        """
        return len(self._missed), next(iter(self._missed.values()), ())

    def gate(self, pod: Pod) -> str:
        """Why a pod is held back from being tried; empty when it is not."""
        entry = self._unschedulable.get(pod.key) if self._unschedulable else None
        return "" if entry is None or entry.gate is None else entry.gate.message

    def place(self, pod: Pod) -> Place | None:
        """Where a pod is; None: nowhere."""
        if pod.key in self._active:
            return Place.ACTIVE
        if pod.key in self._waiting or pod.key in self._erring:
            return Place.BACKOFF
        entry = self._unschedulable.get(pod.key)
        if entry is None:
            return None
        return Place.UNSCHEDULABLE if entry.gate is None else Place.GATED

    # --- attempts --------------------------------------------------------------------------

    def add(self, pod: Pod) -> None:
        """A new pod becomes active, unless it is held back."""
        self._cause, key = self._policy.arrival, pod.key
        for part in self._resting_parts:
            part.pop(key, None)
        now = self._clock()
        self._activate(QueueEntry(pod, now, now))
        self.nominate(pod)

    def pop(self) -> QueueEntry | None:
        """The next pod to try; None when there is none now."""
        entry = self._active.pop()
        if entry is None and self._policy.tries_early and (entry := self._waiting.pop()) is not None:
            self._cause = POP_FROM_BACKOFF
            self._came(Place.ACTIVE)
        if entry is None:
            return None
        if self._policy.keeps_events:
            self._missed[entry.pod.key] = []
        self._cycle += 1
        entry.attempts += 1
        if entry.attempts == 1:
            entry.first_tried = self._clock()
        return entry

    def put_back(self, entry: QueueEntry, pod: Pod, failure: Failed) -> None:
        """The attempt of a popped entry failed; ``pod``: as it is now. Raises ClusterStateError if it is back already.

        Upstream: AddUnschedulableIfNotPresent.
        """
        unschedulable, active, in_backoff = self._policy.present
        for text, part in zip((active, in_backoff, in_backoff, unschedulable), self._parts, strict=True):
            if pod.key in part:
                raise ClusterStateError(text.format(pod.key))
        missed = self._missed.pop(pod.key, ())
        entry.pod, entry.rejectors, entry.pending = pod, failure.rejectors, failure.pending
        entry.flushed, self._cause = False, SCHEDULE_ATTEMPT_FAILURE
        self._backoffs.failed(entry, self._clock())
        self._shelve(entry, missed)
        self.nominate(pod)

    def _shelve(self, entry: QueueEntry, missed: Iterable[ClusterEvent]) -> None:
        """It waits for its back-off alone if it erred, or if something happened meanwhile that may help it."""
        hint = QueueingHint.SKIP
        if not self._policy.keeps_events:
            if self._move_cycle >= self._cycle:
                self._wait(entry)
                self._came(Place.BACKOFF)
                return
        elif entry.erred:
            hint = QueueingHint.QUEUE
        else:
            hint = next(filter(None, (self._policy.helps(self.hints, entry, event) for event in missed)), hint)
        self._unschedulable[entry.pod.key] = entry
        if hint is QueueingHint.SKIP:
            self._came(Place.UNSCHEDULABLE)
        else:
            self._requeue(entry, hint)

    def done(self, pod: Pod) -> None:
        """A popped pod is on its way to its node, or is dropped: events no longer concern it."""
        self._missed.pop(pod.key, None)

    # --- what happens to pods of the queue ---------------------------------------------------

    def update(self, old: Pod, new: Pod) -> None:
        """A pending pod changed.

        Where events are kept it stays where it is, unless what changed may help it. Without, it becomes active (see
        ``updates_in_place``), an unschedulable one only if more than its status changed. Upstream: Update.
        """
        if self._policy.keeps_events:
            self._update_by_hints(old, new)
            return
        key = new.key
        if self._policy.updates_in_place and (entry := self._waiting.get(key)) is not None:
            self._update_nomination(old, new)
            self._wait(msgspec.structs.replace(entry, pod=new))
        elif (entry := self._active.get(key) or self._waiting.remove(key)) is not None:
            self._update_nomination(old, new)
            self._put_active(msgspec.structs.replace(entry, pod=new))
        elif (entry := self._unschedulable.get(key)) is not None:
            self._update_nomination(old, new)
            changed = msgspec.structs.replace(entry, pod=new)
            self._unschedulable[key] = changed
            if changes_more_than_status(old, new):
                self._backoffs.forget(key)
                self._cause = POD_UPDATE
                waits = self._policy.updates_in_place
                self._requeue(changed, QueueingHint.QUEUE if waits else QueueingHint.IMMEDIATELY)
        else:
            self.add(new)

    def _update_by_hints(self, old: Pod, new: Pod) -> None:
        key = new.key
        events = [ClusterEvent(UNSCHEDULABLE_POD, a, old, new, own=key) for a in self._policy.pod_actions(old, new)]
        self._give_up_nomination(old, new)
        if key in self._missed:
            self._missed[key] += events
        elif (entry := self._active.get(key)) is not None:
            self._update_nomination(old, new)
            self._put_active(msgspec.structs.replace(entry, pod=new))
        elif (entry := self._waiting.get(key) or self._erring.get(key)) is not None:
            self._update_nomination(old, new)
            self._wait(msgspec.structs.replace(entry, pod=new))
        elif (entry := self._unschedulable.get(key)) is not None:
            self._update_nomination(old, new)
            entry = self._unschedulable[key] = msgspec.structs.replace(entry, pod=new)
            for event in events:
                if hint := self._policy.helps(self.hints, entry, event):
                    self._cause = event
                    self._requeue(entry, hint)
                    break
        else:
            self.add(new)

    def delete(self, pod: Pod) -> None:
        """A pending pod is gone, and so is its nomination; one that is not in the queue is only no longer nominated."""
        self.bound(pod)
        if self._policy.keeps_events:
            self._give_up_nomination(pod, None)

    def bound(self, pod: Pod) -> None:
        """A pending pod got its node, by this scheduler or another."""
        key = pod.key
        self._cache.nominate(pod, "")
        if key not in self._active:
            self._backoffs.forget(key)
        for part in self._parts:
            part.pop(key, None)

    def activate(self, pods: Sequence[Pod]) -> None:
        """Pods are to be tried now, whatever back-off they are in; those that are being tried are tried again
        afterwards, others that are not in the queue are passed over.
        """
        self._cause = FORCE_ACTIVATE
        for pod in pods:
            key = pod.key
            for heap in self._in_backoff:
                if (entry := heap.remove(key)) is not None:
                    self._activate(entry)
            if (entry := self._unschedulable.get(key)) is not None:
                self._activate(entry)
                if key in self._active:
                    self._unschedulable.pop(key, None)
        for pod in pods:
            if pod.key in self._missed:
                self._missed[pod.key].append(msgspec.structs.replace(TIMEOUT, own=pod.key))

    # --- nominations ---------------------------------------------------------------------------

    def nominate(self, pod: Pod, node_name: str = "") -> None:
        """Notes in memory that a pod waits for room on this node, or else on the one that its status says.

        Upstream: 1.16 UpdateNominatedPodForNode.
        """
        self._cache.nominate(pod, node_name or pod.nominated_node_name)

    def _update_nomination(self, old: Pod, new: Pod) -> None:
        """What neither version of a pod says stays as it was set in memory, else the new version wins.

        Upstream: 1.16 nominatedPodMap.update.
        """
        kept = "" if old.nominated_node_name or new.nominated_node_name else self._nominated_node(old)
        self.nominate(new, kept)

    def _nominated_node(self, pod: Pod) -> str:
        """The node that a pod is nominated to, empty if there is none."""
        for node_name, pods in self._cache.nominated().items():
            if any(other.metadata.uid == pod.metadata.uid and other.key == pod.key for other in pods):
                return node_name
        return ""

    def _give_up_nomination(self, old: Pod, new: Pod | None) -> None:
        """The room that a pod was nominated to is free again for pods that are no more important."""
        node_name = old.nominated_node_name
        if node_name and (new is None or new.nominated_node_name != node_name):
            self._happened(ClusterEvent(ASSIGNED_POD, Action.DELETE, old, up_to=old.priority))

    # --- what happens elsewhere --------------------------------------------------------------

    def assigned_pod_added(self, pod: Pod) -> None:
        """A pod was bound."""
        self._happened(ClusterEvent(ASSIGNED_POD, Action.ADD, None, pod))

    def assigned_pod_updated(self, old: Pod, new: Pod) -> None:
        """A bound pod changed."""
        for action in self._policy.pod_actions(old, new):
            self._happened(ClusterEvent(ASSIGNED_POD, action, old, new))

    def assigned_pod_deleted(self, pod: Pod, excluding: Pod | None = None) -> None:
        """A bound pod is gone, or a pod gave its place back; all pods but one may fit now."""
        self._happened(ClusterEvent(ASSIGNED_POD, Action.DELETE, pod), excluding)

    def node_added(self, node: Node) -> None:
        """A node is new."""
        self._happened(ClusterEvent(NODE, Action.ADD, None, node))

    def node_updated(self, old: Node, new: Node) -> None:
        """A node changed."""
        for action in self._policy.node_actions(old, new):
            self._happened(ClusterEvent(NODE, action, old, new))

    def node_deleted(self, node: Node) -> None:
        """A node is gone."""
        self._happened(ClusterEvent(NODE, Action.DELETE, node))

    def object_changed(self, old: Any, new: Any) -> None:
        """Any other object came (``old`` is None), changed, or went (``new`` is None)."""
        event = object_event(old, new, self._policy.resources)
        if event is not None:
            self._happened(event)

    def _happened(self, event: ClusterEvent, excluding: Pod | None = None) -> None:
        """Moves the pods that an event may help, and notes it for those that are being tried."""
        policy, lying = self._policy, self._unschedulable
        if not policy.counts(event, bool(lying)):
            return
        key = "" if excluding is None else excluding.key
        self._cause = policy.label(event)
        for in_flight, missed in self._missed.items():
            if in_flight != key:
                missed.append(event)
        for entry in [entry for entry in lying.values() if entry.pod.key != key]:
            if (hint := policy.helps(self.hints, entry, event)) and self._passes(entry.pod, event):
                self._requeue(entry, hint)
        self._move_cycle = self._cycle

    def _passes(self, pod: Pod, event: ClusterEvent) -> bool:
        """Whether the pod passes a first look at the node that came or changed, if it was one."""
        if self._policy.admits is None or event.resource != NODE or event.new is None:
            return True
        row = self._cache.columns.row_of[event.new.name]
        return self._policy.admits(self._cache.info(pod), self._cache.snapshot().take(np.array([row], np.int64)))

    # --- time --------------------------------------------------------------------------------

    def flush_due(self) -> None:
        """Moves what has waited for long enough, if the clock stands at a tick; both ticks count from time 0."""
        now = self._clock()
        if now % BACKOFF_TICK == 0:
            self.flush_backoff()
        if now % UNSCHEDULABLE_TICK == 0:
            self.flush_unschedulable()

    def flush_backoff(self) -> None:
        """Pods whose wait is over become active. Upstream: flushBackoffQCompleted."""
        now = self._clock()
        self._cause = BACKOFF_COMPLETE
        for heap in self._in_backoff:
            while (entry := heap.peek()) is not None and self._policy.is_over(entry.backoff_until, now):
                heap.pop()
                self._put_active(entry)
                self._came(Place.ACTIVE)

    def flush_unschedulable(self) -> None:
        """Pods that have lain for longer than ``lies_for`` are tried again without an event.

        Upstream: 1.16 flushUnschedulableQLeftover.
        """
        now = self._clock()
        self._cause = UNSCHEDULABLE_TIMEOUT
        old = [entry for entry in self._unschedulable.values() if now - entry.timestamp > self.lies_for]
        for entry in old:
            entry.flushed = True
            self._requeue(entry)
        if old:
            self._move_cycle = self._cycle

    def next_flush(self) -> float | None:
        """The first tick at which ``flush_due`` moves a pod; None when no pod waits."""
        if not any(self._resting_parts):
            return None
        now = self._clock()
        heads = [heap.peek() for heap in self._in_backoff]
        ticks = [self._policy.found_over(head.backoff_until, now) for head in heads if head is not None]
        if self._unschedulable:
            oldest = next(iter(self._unschedulable.values()))
            ticks.append(max(self._flush_of(oldest.timestamp), self._flush_of(now - self.lies_for)))
        return min(ticks, default=None)

    def _flush_of(self, since: float) -> float:
        """The first tick at which a pod that is unschedulable since then has lain for long enough."""
        return UNSCHEDULABLE_TICK * (math.floor((since + self.lies_for) / UNSCHEDULABLE_TICK) + 1)

    # --- time in which nothing happens -------------------------------------------------------

    def resting(self) -> list[Pod] | None:
        """The pods that will be tried by themselves some day; None if any is to be tried sooner."""
        if len(self._active) or (len(self._waiting) and not self._policy.rests_in_backoff):
            return None
        return [entry.pod for entry in self._resting()]

    def _resting(self) -> list[QueueEntry]:
        entries = chain(self._waiting, self._erring, self._unschedulable.values())
        return [entry for entry in entries if entry.gate is None]

    def rest_until(self, moment: float) -> dict[str, int]:
        """Lets time pass in which nothing happens but that pods are tried, fail for the same reasons, and come back.

        Leaves the queue as flushes and failing attempts at every tick before ``moment`` do; no pod may be active.
        Returns how often each pod that was tried was, by its key. Once every pod is tried at regular times, whole
        periods are counted at once.
        """
        if len(self._active):
            raise ClusterStateError("only pods that wait can rest; pop the others first")
        clock, tried, skipped = self._clock, Counter[str](), False
        try:
            while (tick := self.next_flush()) is not None and tick < moment:
                if not skipped and self._is_settled():
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

    def _period(self, entry: QueueEntry) -> int:
        """After how many seconds a pod is tried again that is tried at regular times."""
        if self._policy.retry_period is None or not entry.erred:
            return int(self._flush_of(0.0))
        return self._policy.retry_period(self._backoffs.longest)

    def _is_settled(self) -> bool:
        """Whether every pod is tried at regular times: its back-off is as long as it gets, and ticks meet it."""
        return self._backoffs.longest <= self.lies_for and all(map(self._recurs, self._resting()))

    def _recurs(self, entry: QueueEntry) -> bool:
        errs = self._policy.retry_period is not None and entry.erred
        tick = self._tick if errs else UNSCHEDULABLE_TICK
        full = entry.backoff_until - entry.timestamp == self._backoffs.settled
        return full and errs is (entry.pod.key not in self._unschedulable) and entry.timestamp % tick == 0

    _tick = BACKOFF_TICK

    def _skip(self, seconds: float, tried: Counter[str]) -> int:
        """Lets whole periods pass at once, within so many seconds; how long that was."""
        entries = self._resting()
        period = math.lcm(*map(self._period, entries))
        whole = int(seconds // period) * period
        if not entries or not whole:
            return 0
        lying = set(self._unschedulable)
        for part in self._resting_parts:
            for entry in entries:
                part.pop(entry.pod.key, None)
        # As they would have been put back: by their last attempts, of those at one moment in the order of the queue.
        for entry in sorted(entries, key=lambda one: (one.timestamp, self._order(one))):
            times = whole // self._period(entry)
            tried[entry.pod.key] += times
            self._cycle += times
            later = msgspec.structs.replace(
                entry,
                timestamp=entry.timestamp + whole,
                backoff_until=entry.backoff_until + whole,
                attempts=entry.attempts + times,
                rejections=entry.rejections + times * (entry.rejections > 0 and not entry.erred),
                errors=entry.errors + times * (entry.errors > 0 and entry.erred),
            )
            self._backoffs.rested(later)
            if entry.pod.key in lying:
                self._unschedulable[entry.pod.key] = later
            else:
                self._wait(later)
        return whole

    # --- inside ------------------------------------------------------------------------------

    def _came(self, place: Place) -> None:
        """A pod came into a part of the queue, for the cause that is noted."""
        if self.listener is not None:
            self.listener.came(place, self._cause)

    def _activate(self, entry: QueueEntry) -> None:
        if self._admits(entry):
            self._put_active(entry)
            self._came(Place.ACTIVE)
        else:
            self._came(Place.UNSCHEDULABLE)

    def _put_active(self, entry: QueueEntry) -> None:
        self._active.put(entry.pod.key, entry, self._order(entry))

    def _wait(self, entry: QueueEntry) -> None:
        if self._policy.tries_early:
            heap = self._erring if entry.erred else self._waiting
            heap.put(entry.pod.key, entry, (entry.backoff_until, *self._order(entry)))
        else:
            self._waiting.put(entry.pod.key, entry, (entry.backoff_until,))

    def _requeue(self, entry: QueueEntry, hint: QueueingHint = QueueingHint.QUEUE) -> None:
        """An unschedulable entry becomes active, or waits out what is left of its back-off."""
        if not self._admits(entry):
            return
        self._unschedulable.pop(entry.pod.key, None)
        over = hint is QueueingHint.IMMEDIATELY or self._policy.is_over(entry.backoff_until, self._clock())
        (self._put_active if over else self._wait)(entry)
        self._came(Place.ACTIVE if over else Place.BACKOFF)

    def _admits(self, entry: QueueEntry) -> bool:
        """Whether PreEnqueue lets a pod in; if not, it lies among the unschedulable ones."""
        entry.gate = self._pre_enqueue(entry.pod, entry.gated_by)
        if entry.gate is None:
            return True
        entry.rejectors |= {entry.gate.plugin}
        self._unschedulable[entry.pod.key] = entry
        return False
