"""The queue of release 1.4: first come, first served, and a separate back-off for every pod that fitted nowhere."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.objects import Pod
from kubescheduler.queue.entry import Place
from kubescheduler.queue.heap import KeyedHeap
from kubescheduler.queue.priority_queue_1_16 import QueuedPod

if TYPE_CHECKING:
    from clusterstate.objects import Node
    from kubescheduler.queue.entry import Failed
    from kubescheduler.queue.nominations import Nominations
    from kubescheduler.queue.priority_queue_1_16 import Clock

FIRST_WAIT = 1.0
LONGEST_WAIT = 60.0
"""Seconds; also how long a wait is remembered."""


class _Waiting(msgspec.Struct, frozen=True):
    """A pod whose last attempt failed at ``since``, and that comes back at ``due``."""

    pod: Pod
    since: float
    due: float


class FIFOQueue:
    """Pods in order of arrival. The other methods are SchedulingQueue's; what 1.4 does not know does nothing.

    A pod waits 1, 2, 4 … 60 seconds after a failed attempt; no event shortens that. Upstream: 1.4 cache.FIFO and
    podBackoff.
    """

    def __init__(self, clock: Clock, nominations: Nominations | None = None) -> None:  # noqa: ARG002
        self._clock = clock
        self._active: OrderedDict[str, QueuedPod] = OrderedDict()
        self._waiting: KeyedHeap[_Waiting] = KeyedHeap()
        # by pod, those used longest ago first: the next wait, when it was last used
        self._waits: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._cycle = 0

    @property
    def cycle(self) -> int:
        """How many pods have been popped."""
        return self._cycle

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Pods that are active, that wait, and none."""
        both = sum(key in self._waiting for key in self._active)
        return len(self._active), len(self._waiting) - both, 0

    def __len__(self) -> int:
        return sum(self.sizes)

    def __contains__(self, pod: Pod) -> bool:
        return pod.key in self._active or pod.key in self._waiting

    def pending(self) -> list[Pod]:
        """Every pod of the queue: the active ones, then those that wait."""
        waiting = (entry.pod for entry in self._waiting if entry.pod.key not in self._active)
        return [*(entry.pod for entry in self._active.values()), *waiting]

    def add(self, pod: Pod) -> None:
        """A new pod goes to the end; one that is there already keeps its place."""
        known = self._active.get(pod.key)
        self._active[pod.key] = QueuedPod(pod, self._clock() if known is None else known.since)

    def pop(self) -> QueuedPod | None:
        """The pod that has been here longest; None when none is active."""
        if not self._active:
            return None
        self._cycle += 1
        return self._active.popitem(last=False)[1]

    def add_unschedulable(self, pod: Pod, cycle: int) -> None:  # noqa: ARG002
        """A pod whose attempt failed waits; one that waits already goes on doing so."""
        now = self._clock()
        while self._waits and next(iter(self._waits.values()))[1] + LONGEST_WAIT < now:
            self._waits.popitem(last=False)
        if pod.key in self._waiting:
            return
        wait, _ = self._waits.pop(pod.key, (FIRST_WAIT, now))
        self._waits[pod.key] = (min(2 * wait, LONGEST_WAIT), now)
        self._waiting.put(pod.key, _Waiting(pod, now, now + wait), (now + wait,))

    def put_back(self, entry: QueuedPod, pod: Pod, failure: Failed) -> None:  # noqa: ARG002
        """A pod whose attempt failed waits for its back-off."""
        self.add_unschedulable(pod, self._cycle)

    def done(self, pod: Pod) -> None:
        """Nothing is kept of a pod that is on its way."""

    def gate(self, pod: Pod) -> str:  # noqa: ARG002
        """No pod is held back."""
        return ""

    def place(self, pod: Pod) -> Place | None:
        """Where a pod is; None: nowhere."""
        if pod.key in self._active:
            return Place.ACTIVE
        return Place.BACKOFF if pod.key in self._waiting else None

    def activate(self, pods: Sequence[Pod]) -> None:
        """1.4 has no plugins that could ask for it."""

    def update(self, old: Pod, new: Pod) -> None:  # noqa: ARG002
        """A pod changed: it is queued as it is now."""
        self.add(new)

    def delete(self, pod: Pod) -> None:
        """A pod is gone from the cluster, or bound by somebody else."""
        self._active.pop(pod.key, None)
        self._waiting.remove(pod.key)

    def bound(self, pod: Pod) -> None:
        """A pod got its node: the informer of pending pods sees it go."""
        self.delete(pod)

    def nominate(self, pod: Pod, node_name: str) -> None:
        """1.4 nominates nothing."""

    def move_all(self) -> None:
        """No event brings a pod back sooner."""

    def assigned_pod_changed(self, pod: Pod) -> None:
        """No event brings a pod back sooner."""

    assigned_pod_added = assigned_pod_changed

    def assigned_pod_deleted(self, pod: Pod, excluding: Pod | None = None) -> None:
        """No event brings a pod back sooner."""

    def assigned_pod_updated(self, old: Pod, new: Pod) -> None:
        """No event brings a pod back sooner."""

    def node_added(self, node: Node) -> None:
        """No event brings a pod back sooner."""

    node_deleted = node_added

    def node_updated(self, old: Node, new: Node) -> None:
        """No event brings a pod back sooner."""

    def object_changed(self, old: Any, new: Any) -> None:
        """No event brings a pod back sooner."""

    def flush_due(self) -> None:
        """Pods whose wait is over go to the end of the queue, unless they are in it."""
        now = self._clock()
        while (rank := self._waiting.lowest()) is not None and rank[0] <= now:
            entry = self._waiting.pop()
            if entry is not None and entry.pod.key not in self._active:
                self._active[entry.pod.key] = QueuedPod(entry.pod, now)

    def next_flush(self) -> float | None:
        """When the next back-off ends; None when no pod waits."""
        rank = self._waiting.lowest()
        return None if rank is None else rank[0]

    def resting(self) -> list[Pod] | None:
        """The pods that wait; None if any is active."""
        return None if self._active else [entry.pod for entry in self._waiting]

    def rest_until(self, moment: float) -> dict[str, int]:
        """As SchedulingQueue's: waiting pods are tried, fail and wait on."""
        tried: dict[str, int] = {}
        after = [_rested(entry, self._next_wait(entry.pod), moment) for entry in self._waiting]
        after.sort(key=lambda rested: (rested[0].since, rested[0].due))
        for entry, wait, count in after:
            self._waits[entry.pod.key] = (wait, entry.since)
            self._waits.move_to_end(entry.pod.key)
            if count:
                tried[entry.pod.key] = count
            self._waiting.remove(entry.pod.key)
            self._waiting.put(entry.pod.key, entry, (entry.due,))
        self._cycle += sum(tried.values())
        return tried

    def _next_wait(self, pod: Pod) -> float:
        return self._waits.get(pod.key, (FIRST_WAIT, 0.0))[0]


def _rested(entry: _Waiting, wait: float, moment: float) -> tuple[_Waiting, float, int]:
    """A pod that is tried in vain whenever it is due before ``moment``; its next wait; how often that was."""
    since, due, count = entry.since, entry.due, 0
    while due < moment and wait < LONGEST_WAIT:
        since, due, wait, count = due, due + wait, min(2 * wait, LONGEST_WAIT), count + 1
    if due < moment:
        more = math.ceil((moment - due) / LONGEST_WAIT)
        if due + (more - 1) * LONGEST_WAIT >= moment:  # rounded the wrong way
            more -= 1
        since, count = due + (more - 1) * LONGEST_WAIT, count + more
        due = since + LONGEST_WAIT
    return _Waiting(entry.pod, since, due), wait, count
