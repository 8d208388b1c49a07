"""The queues that schedulers take their pods from, as each release has it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kubescheduler.framework.plugins.priority_sort import PrioritySort

if TYPE_CHECKING:
    from clusterstate.cache import ClusterCache
    from kubescheduler.cycle.pod_queue import PodQueue
    from kubescheduler.framework.profiles.profile_map import Profiles
    from kubescheduler.queue.entry import Backoff, Order, QueueEntry
    from kubescheduler.queue.heap import Rank
    from kubescheduler.queue.priority_queue_1_16 import Clock
    from kubescheduler.queue.queueing_hints import Registered


def order_of(profiles: Profiles) -> Order:
    """How the profiles' queue sort orders pods."""
    less = profiles.less
    if isinstance(getattr(less, "__self__", None), PrioritySort):
        from kubescheduler.queue.entry import by_priority

        return by_priority
    key = functools.cmp_to_key(lambda one, other: -1 if less(one, other) else int(less(other, one)))

    def order(entry: QueueEntry) -> Rank:
        return (key(entry),)

    return order


def queue_1_20(clock: Clock, cache: ClusterCache, profiles: Profiles, backoff: Backoff) -> PodQueue:
    """The queue of 1.20, sorted as the profiles say."""
    from kubescheduler.queue.priority_queue_1_20 import Queue120

    return Queue120(clock, cache, order=order_of(profiles), backoff=backoff)


def queue_1_36(
    clock: Clock,
    cache: ClusterCache,
    profiles: Profiles,
    backoff: Backoff,
    *,
    events: Mapping[str, tuple[Registered, ...]],
) -> PodQueue:
    """The queue of 1.36, sorted as the profiles say; their PreEnqueue plugins hold pods back.

    events: plugin → the events that it registers.
    """
    from kubescheduler.queue.priority_queue_1_36 import Queue136
    from kubescheduler.queue.queueing_hints import Hopes

    return Queue136(
        clock,
        cache,
        order=order_of(profiles),
        backoff=backoff,
        pre_enqueue=profiles.pre_enqueue,
        hopes=Hopes(events),
    )
