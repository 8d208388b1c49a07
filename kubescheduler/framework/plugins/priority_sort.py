"""PrioritySort: pods of higher priority first, of equal priority who came to the queue first."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from clusterstate.objects import Pod
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import InTreePlugin

NAME = "PrioritySort"
POINTS = frozenset({Point.QUEUE_SORT})


class QueuedPodInfo(Protocol):
    """A pod of the queue. timestamp: when it last entered a queue, in seconds."""

    @property
    def pod(self) -> Pod:
        """The pod."""

    @property
    def timestamp(self) -> float:
        """When it came into the queue."""


class PrioritySort(msgspec.Struct, frozen=True):
    """Upstream: 1.20 and 1.36 PrioritySort."""

    name: str = NAME
    points: frozenset[Point] = POINTS

    def less(self, first: QueuedPodInfo, second: QueuedPodInfo) -> bool:
        """Whether ``first`` is to be taken before ``second``."""
        one, other = first.pod.priority, second.pod.priority
        return one > other or (one == other and first.timestamp < second.timestamp)


def priority_sort(_: Any, __: Handle) -> PrioritySort:
    """Pods of higher priority first, of equal priority those that came into the queue earlier.

    Upstream: 1.20 and 1.36 PrioritySort.
    """
    return PrioritySort()


# --- what it is in each release ---------------------------------------------------------------

PLUGIN_1_20 = InTreePlugin(NAME, POINTS, priority_sort)
PLUGIN_1_36 = InTreePlugin(NAME, POINTS, priority_sort)
