"""The queues that schedulers take their pods from, as each release has it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Protocol

from clusterstate.cache import ClusterCache
from clusterstate.objects import Node, Pod
from kubescheduler.framework.plugins.priority_sort import PrioritySort
from kubescheduler.framework.profiles.profile_map import Profiles
from kubescheduler.queue.entry import Backoff, Failed, Order, QueueEntry, by_priority
from kubescheduler.queue.heap import Rank
from kubescheduler.queue.priority_queue_1_16 import Clock
from kubescheduler.queue.priority_queue_1_20 import Queue120
from kubescheduler.queue.priority_queue_1_36 import Queue136
from kubescheduler.queue.queueing_hints import Hopes, Registered


class Queue(Protocol):
    """What a scheduler needs of a queue; see SchedulingQueue and FrameworkQueue."""

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Pods that are active, in back-off, unschedulable."""

    def __len__(self) -> int: ...
    def add(self, pod: Pod) -> None:
        """Queues a new pod."""

    def gate(self, pod: Pod) -> str:
        """Why the pod is held back from the queue; empty when it is not."""

    def pop(self) -> Any:
        """The entry to be tried next; None when none is active."""

    def put_back(self, entry: Any, pod: Pod, failure: Failed) -> None:
        """Takes back a pod whose attempt failed."""

    def done(self, pod: Pod) -> None:
        """Ends the attempt of a pod that is assumed."""

    def update(self, old: Pod, new: Pod) -> None:
        """A pending pod changed."""

    def delete(self, pod: Pod) -> None:
        """A pending pod is gone."""

    def nominate(self, pod: Pod, node_name: str) -> None:
        """Records the node that a pod is nominated to."""

    def assigned_pod_added(self, pod: Pod) -> None:
        """A pod was bound."""

    def assigned_pod_updated(self, old: Pod, new: Pod) -> None:
        """A bound pod changed."""

    def assigned_pod_deleted(self, pod: Pod, excluding: Pod | None = None) -> None:
        """A bound pod is gone; the pod ``excluding`` is not moved for that."""

    def node_added(self, node: Node) -> None:
        """A node is new."""

    def node_updated(self, old: Node, new: Node) -> None:
        """A node changed."""

    def node_deleted(self, node: Node) -> None:
        """A node is gone."""

    def flush_due(self) -> None:
        """Moves what has waited for long enough at the clock's time."""

    def next_flush(self) -> float | None:
        """When ``flush_due`` has something to do next; None: never without an event."""

    def resting(self) -> list[Pod] | None:
        """The pods that will be tried by themselves some day; None if any is to be tried now."""

    def rest_until(self, moment: float) -> dict[str, int]:
        """Lets time pass in which every attempt would fail as before: pod → its attempts."""


def order_of(profiles: Profiles) -> Order:
    """How the profiles' queue sort orders pods."""
    less = profiles.less
    if isinstance(getattr(less, "__self__", None), PrioritySort):
        return by_priority
    key = functools.cmp_to_key(lambda one, other: -1 if less(one, other) else int(less(other, one)))

    def order(entry: QueueEntry) -> Rank:
        return (key(entry),)

    return order


def queue_1_20(clock: Clock, cache: ClusterCache, profiles: Profiles, backoff: Backoff) -> Queue:
    """The queue of 1.20, sorted as the profiles say."""
    return Queue120(clock, cache, order=order_of(profiles), backoff=backoff)


def queue_1_36(
    clock: Clock,
    cache: ClusterCache,
    profiles: Profiles,
    backoff: Backoff,
    *,
    events: Mapping[str, tuple[Registered, ...]],
) -> Queue:
    """The queue of 1.36, sorted as the profiles say; their PreEnqueue plugins hold pods back.

    events: plugin → the events that it registers.
    """
    return Queue136(
        clock,
        cache,
        order=order_of(profiles),
        backoff=backoff,
        pre_enqueue=profiles.pre_enqueue,
        hopes=Hopes(events),
    )
