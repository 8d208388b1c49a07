"""The queue of release 1.20: every event but a new pod's arrival moves every pod."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.errors import ClusterStateError
from kubescheduler.queue.backoff import backoff_seconds_1_20
from kubescheduler.queue.entry import Place
from kubescheduler.queue.framework_queue import FrameworkQueue
from kubescheduler.queue.move_requests import (
    node_update_label,
    node_update_moves,
    object_change_label,
    object_change_moves,
    wants_to_be_near,
)
from kubescheduler.queue.nominations import update_nomination
from kubescheduler.queue.priority_queue_1_16 import UNSCHEDULABLE_SECONDS, changes_more_than_status
from kubescheduler.queue.queue_listener import UNSCHEDULABLE_TIMEOUT
from kubescheduler.queue.resting import Beat

if TYPE_CHECKING:
    from clusterstate.objects import Node, Pod
    from kubescheduler.queue.entry import QueueEntry


class Queue120(FrameworkQueue):
    """Upstream: 1.20 PriorityQueue."""

    _move_cycle = -1

    @property
    def added_event(self) -> str:
        """The label of a new pod's arrival."""
        return "PodAdd"

    def _refuse_twice(self, key: str) -> None:
        if key in self._unschedulable:
            raise ClusterStateError(f"pod: {key} is already present in unschedulable queue")
        if key in self._active:
            raise ClusterStateError(f"pod: {key} is already present in the active queue")
        if key in self._waiting:
            raise ClusterStateError(f"pod {key} is already present in the backoff queue")

    def failed(self, entry: QueueEntry, now: float) -> None:
        """Notes a failed attempt and how long the pod backs off."""
        wait = backoff_seconds_1_20(entry.attempts, self._backoff.initial, self._backoff.longest)
        entry.timestamp, entry.backoff_until = now, now + wait

    def _shelve(self, entry: QueueEntry, events: Any) -> None:  # noqa: ARG002
        """It waits for its back-off only if something has moved pods since, as that may have come too late for it."""
        if self._move_cycle >= self._cycle:
            self._wait(entry)
            self._came(Place.BACKOFF)
        else:
            self._unschedulable[entry.pod.key] = entry
            self._came(Place.UNSCHEDULABLE)

    def update(self, old: Pod, new: Pod) -> None:
        """A pod in back-off becomes active at once, an unschedulable one when more than its status changed."""
        key = new.key
        if (entry := self._active.get(key) or self._waiting.remove(key)) is not None:
            update_nomination(self._nominations, old, new)
            self._put_active(msgspec.structs.replace(entry, pod=new))
        elif (entry := self._unschedulable.get(key)) is not None:
            update_nomination(self._nominations, old, new)
            changed = msgspec.structs.replace(entry, pod=new)
            if changes_more_than_status(old, new):
                self._leave(entry)
                self._put_active(changed)
            else:
                self._unschedulable[key] = changed
        else:
            self.add(new)

    # --- what happens elsewhere --------------------------------------------------------------

    def move_all(self) -> None:
        """Something changed that may let any pod in. Upstream: 1.20 MoveAllToActiveOrBackoffQueue."""
        self._move(list(self._unschedulable.values()))

    def assigned_pod_added(self, pod: Pod) -> None:
        """Pods that must be near such a pod are moved."""
        self._move_near(pod, "AssignedPodAdd")

    def _move_near(self, pod: Pod, event: str) -> None:
        self._cause = event
        self._move([entry for entry in self._unschedulable.values() if wants_to_be_near(entry.pod, pod)])

    def assigned_pod_updated(self, old: Pod, new: Pod) -> None:  # noqa: ARG002
        """A bound pod changed: as if it were new."""
        self._move_near(new, "AssignedPodUpdate")

    def assigned_pod_deleted(self, pod: Pod, excluding: Pod | None = None) -> None:  # noqa: ARG002
        """A bound pod is gone: every unschedulable pod is tried again, ``excluding`` apart."""
        self._cause = "AssignedPodDelete"
        self._move([e for e in self._unschedulable.values() if excluding is None or e.pod.key != excluding.key])

    def node_added(self, node: Node) -> None:  # noqa: ARG002
        """A node is new: every unschedulable pod is tried again."""
        self._cause = "NodeAdd"
        self.move_all()

    def node_updated(self, old: Node, new: Node) -> None:
        """Any update counts while no pod is unschedulable: one may be under way."""
        if not self._unschedulable or node_update_moves(old, new):
            self._cause = node_update_label(old, new) if self._unschedulable else ""
            self.move_all()

    def node_deleted(self, node: Node) -> None:
        """Moves nothing."""

    def object_changed(self, old: Any, new: Any) -> None:
        """Another object came, changed or went."""
        if object_change_moves(old, new):
            self._cause = object_change_label(old, new)
            self.move_all()

    def _move(self, entries: list[QueueEntry]) -> None:
        for entry in entries:
            self._requeue(entry)
        self._move_cycle = self._cycle

    # --- time --------------------------------------------------------------------------------

    def flush_unschedulable(self) -> None:
        """Tries pods again that have been unschedulable for too long."""
        now = self._clock()
        self._cause = UNSCHEDULABLE_TIMEOUT
        old = [entry for entry in self._unschedulable.values() if now - entry.timestamp > self.lies_for]
        if old:
            self._move(old)

    @property
    def lies_for(self) -> float:
        """Seconds after which an unschedulable pod is tried again whatever happens."""
        return UNSCHEDULABLE_SECONDS

    def backs_off(self, entry: QueueEntry, now: float) -> bool:
        """Whether the pod's back-off is not over at ``now``."""
        return entry.backoff_until > now

    def ready(self, entry: QueueEntry) -> float:
        """The tick at which the pod's back-off is found to be over."""
        return float(math.ceil(entry.backoff_until))

    @property
    def beat(self) -> Beat:
        """How regularly pods that wait for long are tried."""
        return Beat(int(self.flush_of(0.0)), None, self._backoff.longest)

    def _put_active(self, entry: QueueEntry) -> None:
        self._active.put(entry.pod.key, entry, self._order(entry))

    def _wait(self, entry: QueueEntry) -> None:
        self._waiting.put(entry.pod.key, entry, (entry.backoff_until,))
