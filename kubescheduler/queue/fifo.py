"""FIFO: the queue of 1.4, where pods are tried in order of arrival and no event shortens a wait.

A pod that waits and is queued meanwhile, as an update does it, is active and waits.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from kubescheduler.queue.entry import Backoff, Clock, Failed, QueueEntry, by_arrival
from kubescheduler.queue.queue_policy import BackoffsByKey, QueuePolicy
from kubescheduler.queue.scheduling_queue import EXACT_TICK, SchedulingQueue

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterstate.cache import ClusterCache
    from clusterstate.objects import Pod


class BackoffsOfFIFO(BackoffsByKey):
    """1, 2, 4 … 60 seconds, whatever became of the pod meanwhile. Upstream: 1.4 podBackoff."""

    counts_early = True

    @property
    def settled(self) -> float:
        """The longest wait: pods are tried as soon as it is over."""
        return self.longest

    def forget(self, key: str) -> None:
        """Only time does."""


class FIFO(SchedulingQueue):
    """Upstream: 1.4 cache.FIFO."""

    _tick = EXACT_TICK

    def __init__(self, clock: Clock, cache: ClusterCache, policy: QueuePolicy) -> None:
        super().__init__(clock, cache, policy, order=by_arrival, backoff=Backoff(1.0, 60.0))

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Pods that are active, that only wait, and none."""
        both = sum(key in self._waiting for key in self._active.alive)
        return len(self._active), len(self._waiting) - both, 0

    def entries(self) -> Iterable[QueueEntry]:
        """Every pod of the queue: the active ones, then those that wait."""
        return chain(self._active, (entry for entry in self._waiting if entry.pod.key not in self._active))

    def add(self, pod: Pod) -> None:
        """A new pod goes to the end; one that is there already keeps its place, and goes on waiting if it does."""
        now = self._clock()
        self._activate(QueueEntry(pod, now, now))

    def update(self, old: Pod, new: Pod) -> None:  # noqa: ARG002
        """A pod changed: it is queued as it is now."""
        self.add(new)

    def nominate(self, pod: Pod, node_name: str = "") -> None:
        """1.4 nominates nothing."""

    def bound(self, pod: Pod) -> None:
        """A pod got its node, or is gone."""
        for part in self._parts:
            part.pop(pod.key, None)

    def put_back(self, entry: QueueEntry, pod: Pod, failure: Failed) -> None:  # noqa: ARG002
        """A pod whose attempt failed waits; one that waits already goes on doing so."""
        if pod.key not in self._waiting:
            entry.pod = pod
            self._backoffs.failed(entry, self._clock())
            self._wait(entry)

    def flush_due(self) -> None:
        """Each wait has a timer of its own."""
        self.flush_backoff()

    def flush_backoff(self) -> None:
        """Pods whose wait is over go to the end of the queue, unless they are in it."""
        now = self._clock()
        while (entry := self._waiting.peek()) is not None and self._policy.is_over(entry.backoff_until, now):
            self._waiting.pop()
            if entry.pod.key not in self._active:
                self._put_active(entry)
