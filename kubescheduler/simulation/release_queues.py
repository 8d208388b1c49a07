"""The queue that a simulation's scheduler takes its pods from, as its release has it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

from clusterstate.objects import Node, Pod
from kubescheduler.engine.engines import ProfiledScheduler, Scheduler
from kubescheduler.framework.plugins.priority_sort import PrioritySort
from kubescheduler.framework.profiles.in_tree_plugins import PLUGINS_1_36, events_by_plugin
from kubescheduler.framework.profiles.profile_map import Profiles
from kubescheduler.queue.entry import Backoff, Failed, Order, QueueEntry, by_priority
from kubescheduler.queue.fifo_1_4 import FIFOQueue
from kubescheduler.queue.heap import Rank
from kubescheduler.queue.priority_queue_1_16 import Clock, SchedulingQueue
from kubescheduler.queue.priority_queue_1_20 import Queue120
from kubescheduler.queue.priority_queue_1_36 import Queue136
from kubescheduler.queue.queueing_hints import Hopes


class Queue(Protocol):
    """What a simulation needs of a queue; see SchedulingQueue and FrameworkQueue."""

    @property
    def sizes(self) -> tuple[int, int, int]: ...
    def __len__(self) -> int: ...
    def add(self, pod: Pod) -> None: ...
    def gate(self, pod: Pod) -> str: ...
    def pop(self) -> Any: ...
    def put_back(self, entry: Any, pod: Pod, failure: Failed) -> None: ...
    def done(self, pod: Pod) -> None: ...
    def update(self, old: Pod, new: Pod) -> None: ...
    def delete(self, pod: Pod) -> None: ...
    def nominate(self, pod: Pod, node_name: str) -> None: ...
    def assigned_pod_added(self, pod: Pod) -> None: ...
    def assigned_pod_updated(self, old: Pod, new: Pod) -> None: ...
    def assigned_pod_deleted(self, pod: Pod, excluding: Pod | None = None) -> None: ...
    def node_added(self, node: Node) -> None: ...
    def node_updated(self, old: Node, new: Node) -> None: ...
    def node_deleted(self, node: Node) -> None: ...
    def flush_due(self) -> None: ...
    def next_flush(self) -> float | None: ...
    def resting(self) -> list[Pod] | None: ...
    def rest_until(self, moment: float) -> dict[str, int]: ...


def order_of(profiles: Profiles) -> Order:
    """How the profiles' queue sort orders pods."""
    less = profiles.less
    if isinstance(getattr(less, "__self__", None), PrioritySort):
        return by_priority
    key = functools.cmp_to_key(lambda one, other: -1 if less(one, other) else int(less(other, one)))

    def order(entry: QueueEntry) -> Rank:
        return (key(entry),)

    return order


def fifo(scheduler: Scheduler, clock: Clock) -> Queue:
    return FIFOQueue(clock, scheduler.cache)


def priority_queue(scheduler: Scheduler, clock: Clock) -> Queue:
    return SchedulingQueue(clock, scheduler.cache)


def queue_1_20(scheduler: Scheduler, clock: Clock) -> Queue:
    profiled = _profiled(scheduler)
    return Queue120(clock, scheduler.cache, order=order_of(profiled.profiles), backoff=_backoff(profiled))


def queue_1_36(scheduler: Scheduler, clock: Clock) -> Queue:
    profiled = _profiled(scheduler)
    return Queue136(
        clock,
        scheduler.cache,
        order=order_of(profiled.profiles),
        backoff=_backoff(profiled),
        pre_enqueue=profiled.profiles.pre_enqueue,
        hopes=Hopes(events_by_plugin(PLUGINS_1_36)),
    )


def _profiled(scheduler: Scheduler) -> ProfiledScheduler:
    assert isinstance(scheduler, ProfiledScheduler), type(scheduler)
    return scheduler


def _backoff(scheduler: ProfiledScheduler) -> Backoff:
    config = scheduler.config
    return Backoff(config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds)


QUEUES: dict[str, Callable[[Scheduler, Clock], Queue]] = {
    "1.4": fifo,
    "1.16": priority_queue,
    "1.20": queue_1_20,
    "1.36": queue_1_36,
}
"""Release → its queue over a scheduler's cluster; clock: seconds since the start."""
