"""What can be measured of a queue."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from kubescheduler.queue.cluster_events import ClusterEvent

if TYPE_CHECKING:
    from kubescheduler.queue.entry import Place, QueueEntry

Event = ClusterEvent | str
"""Why pods move: a change of the cluster, or its label as upstream's metrics have it."""

SCHEDULE_ATTEMPT_FAILURE, BACKOFF_COMPLETE = "ScheduleAttemptFailure", "BackoffComplete"
POP_FROM_BACKOFF, FORCE_ACTIVATE, UNSCHEDULABLE_TIMEOUT = "PopFromBackoffQ", "ForceActivate", "UnschedulableTimeout"
"""Upstream's labels of what moves pods beside changes of the cluster."""


class QueueListener(Protocol):
    """Told of what happens in a queue, by whoever holds its lock."""

    def came(self, place: Place, event: Event) -> None:
        """A pod came into a part of the queue."""
        ...

    def now(self) -> float:
        """Seconds since any fixed moment."""
        ...

    def hinted(self, plugin: str, event: ClusterEvent, queues: bool, seconds: float) -> None:
        """A plugin was asked whether an event may help a pod (1.36)."""
        ...


class ListenedQueue(Protocol):
    """A queue that can be listened to, and asked how it stands; under its lock."""

    listener: QueueListener | None
    """Nobody listens at first."""

    @property
    def gated(self) -> int:
        """How many pods a PreEnqueue plugin holds back."""
        ...

    def entries(self) -> Iterable[QueueEntry]:
        """Every pod of the queue."""
        ...

    def in_flight(self) -> tuple[int, Iterable[ClusterEvent]]:
        """(pods that are being tried or bound, events that are kept for them) (1.36)."""
        ...
