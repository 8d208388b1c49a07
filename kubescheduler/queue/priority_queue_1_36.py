"""The queue of release 1.36: gates in front of it, and events that move only the pods that they may help."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.errors import ClusterStateError
from kubescheduler.queue.backoff import backoff_seconds_1_36
from kubescheduler.queue.cluster_events import (
    ASSIGNED_POD,
    NODE,
    TIMEOUT,
    UNSCHEDULABLE_POD,
    Action,
    ClusterEvent,
    node_actions,
    object_event,
    pod_actions,
)
from kubescheduler.queue.entry import BACKOFF, Place, by_priority
from kubescheduler.queue.framework_queue import FrameworkQueue
from kubescheduler.queue.heap import KeyedHeap
from kubescheduler.queue.nominations import update_nomination
from kubescheduler.queue.queue_listener import POP_FROM_BACKOFF
from kubescheduler.queue.queueing_hints import Hopes
from kubescheduler.queue.resting import Beat

if TYPE_CHECKING:
    from clusterstate.objects import Node, Pod
    from kubescheduler.queue.entry import Backoff, Order, PreEnqueue, QueueEntry
    from kubescheduler.queue.nominations import Nominations
    from kubescheduler.queue.priority_queue_1_16 import Clock

LIES_FOR = 300.0
"""Seconds; upstream: podMaxInUnschedulablePodsDuration."""


class Hope(enum.IntEnum):
    """What an event does for a pod: nothing, has it tried after its back-off, or at once."""

    NONE = 0
    LATER = 1
    NOW = 2


def no_gates(_: Pod, __: str) -> None:
    """Every pod may be tried."""


class Queue136(FrameworkQueue):
    """Upstream: 1.36 PriorityQueue.

    pre_enqueue: whether a pod may be tried at all. hopes: whether an event may help a pod,
    by default any may.
    """

    def __init__(
        self,
        clock: Clock,
        nominations: Nominations,
        *,
        order: Order = by_priority,
        backoff: Backoff = BACKOFF,
        pre_enqueue: PreEnqueue = no_gates,
        hopes: Hopes | None = None,
        lies_for: float = LIES_FOR,
    ) -> None:
        super().__init__(clock, nominations, order=order, backoff=backoff)
        self._pre_enqueue = pre_enqueue
        self._hopes = hopes or Hopes({})
        self._lies_for = lies_for
        self._erring: KeyedHeap[QueueEntry] = KeyedHeap()
        self._missed: dict[str, list[ClusterEvent]] = {}  # by pod in flight
        self._has_backoffs(self._waiting, self._erring)

    @property
    def added_event(self) -> str:
        """The label of a new pod's arrival."""
        return "UnschedulablePodAdd"

    @property
    def hopes(self) -> Hopes:
        """Whether events may help pods."""
        return self._hopes

    def in_flight(self) -> tuple[int, Iterable[ClusterEvent]]:
        """(pods that are being tried or bound, events that are kept for the one that is at it for longest)."""
        return len(self._missed), next(iter(self._missed.values()), ())

    # --- attempts --------------------------------------------------------------------------

    def _take(self) -> QueueEntry | None:
        """Nothing to do: the first pod in back-off is tried ahead of its time, unless it erred."""
        entry = self._active.pop()
        if entry is None and (entry := self._waiting.pop()) is not None:
            self._cause = POP_FROM_BACKOFF
            self._came(Place.ACTIVE)
        if entry is not None:
            self._missed[entry.pod.key] = []
        return entry

    def _landed(self, pod: Pod) -> list[ClusterEvent]:
        return self._missed.pop(pod.key, [])

    def _refuse_twice(self, key: str) -> None:
        if key in self._unschedulable:
            raise ClusterStateError(f"Pod {key} is already present in unschedulable queue")
        if key in self._active:
            raise ClusterStateError(f"Pod {key} is already present in the active queue")
        if key in self._waiting or key in self._erring:
            raise ClusterStateError(f"Pod {key} is already present in the backoff queue")

    def failed(self, entry: QueueEntry, now: float) -> None:
        """Errors in a row count on their own."""
        if entry.erred:
            entry.errors += 1
        else:
            entry.rejections, entry.errors = entry.rejections + 1, 0
        failures = entry.errors or entry.rejections
        wait = backoff_seconds_1_36(failures, self._backoff.initial, self._backoff.longest)
        entry.timestamp = now
        entry.backoff_until = float(math.floor(now + wait)) if self._backoff.longest else -math.inf

    def _shelve(self, entry: QueueEntry, events: Iterable[ClusterEvent]) -> None:
        """It waits for its back-off only if it erred, or if something happened meanwhile that may help it."""
        self._unschedulable[entry.pod.key] = entry
        hope = Hope.LATER if entry.erred else next(filter(None, (self._hope(entry, e) for e in events)), Hope.NONE)
        if hope is Hope.NONE:
            self._came(Place.UNSCHEDULABLE)
        self._hoping(entry, hope)

    def activate(self, pods: Sequence[Pod]) -> None:
        """Tries these pods at once; those that are being tried are tried again afterwards."""
        super().activate(pods)
        for pod in pods:
            if pod.key in self._missed:
                self._missed[pod.key].append(msgspec.structs.replace(TIMEOUT, own=pod.key))

    # --- what happens to pods of the queue ---------------------------------------------------

    def update(self, old: Pod, new: Pod) -> None:
        """A pod that is in the queue stays where it is, unless what changed may help it."""
        key = new.key
        events = [ClusterEvent(UNSCHEDULABLE_POD, action, old, new, own=key) for action in pod_actions(old, new)]
        self._give_up_nomination(old, new)
        if key in self._missed:
            self._missed[key] += events
        elif (entry := self._active.get(key)) is not None:
            update_nomination(self._nominations, old, new)
            self._put_active(msgspec.structs.replace(entry, pod=new))
        elif (heap := next((heap for heap in self._backoffs if key in heap), None)) is not None:
            update_nomination(self._nominations, old, new)
            if (entry := heap.get(key)) is not None:
                self._wait(msgspec.structs.replace(entry, pod=new))
        elif (entry := self._unschedulable.get(key)) is not None:
            update_nomination(self._nominations, old, new)
            entry = self._unschedulable[key] = msgspec.structs.replace(entry, pod=new)
            for event in events:
                if hope := self._hope(entry, event):
                    self._cause = event
                    self._hoping(entry, hope)
                    break
        else:
            self.add(new)

    def delete(self, pod: Pod) -> None:
        """A pod is gone from the cluster, and so is its nomination."""
        super().delete(pod)
        self._give_up_nomination(pod, None)

    def _give_up_nomination(self, old: Pod, new: Pod | None) -> None:
        """The room that a pod was nominated to is free again for pods that are no more important."""
        node_name = old.nominated_node_name
        if node_name and (new is None or new.nominated_node_name != node_name):
            self._happened(ClusterEvent(ASSIGNED_POD, Action.DELETE, old, up_to=old.priority))

    # --- what happens elsewhere --------------------------------------------------------------

    def assigned_pod_added(self, pod: Pod) -> None:
        """A pod was bound: plugins are asked whom that may help."""
        if self._missed or self._unschedulable:
            self._happened(ClusterEvent(ASSIGNED_POD, Action.ADD, None, pod))

    def assigned_pod_updated(self, old: Pod, new: Pod) -> None:
        """A bound pod changed: plugins are asked whom each of the changes may help."""
        for action in pod_actions(old, new):
            self._happened(ClusterEvent(ASSIGNED_POD, action, old, new))

    def assigned_pod_deleted(self, pod: Pod, excluding: Pod | None = None) -> None:
        """A bound pod is gone: plugins are asked whom that may help, ``excluding`` apart."""
        if self._missed or self._unschedulable:
            self._happened(ClusterEvent(ASSIGNED_POD, Action.DELETE, pod), excluding)

    def node_added(self, node: Node) -> None:
        """A node is new: plugins are asked whom that may help."""
        self._happened(ClusterEvent(NODE, Action.ADD, None, node))

    def node_updated(self, old: Node, new: Node) -> None:
        """A node changed: plugins are asked whom each of the changes may help."""
        for action in node_actions(old, new):
            self._happened(ClusterEvent(NODE, action, old, new))

    def node_deleted(self, node: Node) -> None:
        """A node is gone: plugins are asked whom that may help."""
        self._happened(ClusterEvent(NODE, Action.DELETE, node))

    def object_changed(self, old: Any, new: Any) -> None:
        """Another object came, changed or went; kinds that no plugin registers events of move nothing."""
        event = object_event(old, new)
        if event is not None:
            self._happened(event)

    def _happened(self, event: ClusterEvent, excluding: Pod | None = None) -> None:
        """Moves the pods that an event may help, and notes it for those that are being tried."""
        key = "" if excluding is None else excluding.key
        self._cause = event
        for in_flight, missed in self._missed.items():
            if in_flight != key:
                missed.append(event)
        for entry in [entry for entry in self._unschedulable.values() if entry.pod.key != key]:
            self._hoping(entry, self._hope(entry, event))

    def _hope(self, entry: QueueEntry, event: ClusterEvent) -> Hope:
        """A pod that is held back is looked at anew only for the plugin that does it."""
        if not event.concerns(entry.pod):
            return Hope.NONE
        if event.everything:
            return Hope.LATER
        if self._hopes.any(entry.pod, entry.pending, event):
            return Hope.NOW
        rejectors = entry.rejectors if entry.gate is None else {entry.gated_by}
        return Hope.LATER if self._hopes.any(entry.pod, rejectors, event) else Hope.NONE

    def _hoping(self, entry: QueueEntry, hope: Hope) -> None:
        if hope is not Hope.NONE:
            self._requeue(entry, at_once=hope is Hope.NOW)

    # --- time --------------------------------------------------------------------------------

    @property
    def lies_for(self) -> float:
        """Seconds after which an unschedulable pod is tried again whatever happens."""
        return self._lies_for

    @lies_for.setter
    def lies_for(self, seconds: float) -> None:
        """Sets it, as the process's --pod-max-in-unschedulable-pods-duration does."""
        self._lies_for = seconds

    def backs_off(self, entry: QueueEntry, now: float) -> bool:
        """Whether the pod's back-off is not over at ``now``, which counts in whole seconds."""
        return entry.backoff_until >= math.floor(now)

    def ready(self, entry: QueueEntry) -> float:
        """When the pod's back-off is found to be over."""
        return entry.backoff_until + 1.0

    @property
    def beat(self) -> Beat:
        """How regularly pods that wait for long are tried."""
        return Beat(int(self.flush_of(0.0)), int(self._backoff.longest) + 1, self._backoff.longest)

    def resting(self) -> list[Pod] | None:
        """The pods that can be left alone until something happens; None while some are in back-off."""
        return None if len(self._waiting) else super().resting()

    # --- inside ------------------------------------------------------------------------------

    def _activate(self, entry: QueueEntry) -> None:
        if self._admits(entry):
            self._put_active(entry)
            self._came(Place.ACTIVE)
        else:
            self._came(Place.UNSCHEDULABLE)

    def _put_active(self, entry: QueueEntry) -> None:
        self._active.put(entry.pod.key, entry, self._order(entry))

    def _wait(self, entry: QueueEntry) -> None:
        heap = self._erring if entry.erred else self._waiting
        heap.put(entry.pod.key, entry, (entry.backoff_until, *self._order(entry)))

    def _requeue(self, entry: QueueEntry, *, at_once: bool = False) -> None:
        if not self._admits(entry):
            return
        self._leave(entry)
        if not at_once and self.backs_off(entry, self._clock()):
            self._wait(entry)
            self._came(Place.BACKOFF)
        else:
            self._put_active(entry)
            self._came(Place.ACTIVE)

    def _admits(self, entry: QueueEntry) -> bool:
        """Whether PreEnqueue lets a pod in; if not, it lies among the unschedulable ones."""
        entry.gate = self._pre_enqueue(entry.pod, entry.gated_by)
        if entry.gate is None:
            return True
        entry.rejectors |= {entry.gate.plugin}
        self._unschedulable[entry.pod.key] = entry
        return False
