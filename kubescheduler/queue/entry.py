"""What the queue holds, and what is reported to it."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from typing import Protocol

import msgspec

from clusterstate.objects import Pod
from kubescheduler.core.status import Status
from kubescheduler.queue.heap import Rank


class Place(enum.Enum):
    """Where in a queue a pod is."""

    ACTIVE = "active"
    """It is tried next, in its turn."""
    BACKOFF = "backed-off"
    """It waits out its back-off."""
    UNSCHEDULABLE = "unschedulable"
    """It waits for an event that may help it, or until it has waited for long."""
    GATED = "gated"
    """A PreEnqueue plugin holds it back (1.36)."""


class Failed(Protocol):
    """A failed attempt; without rejectors and pending ones an error ended it."""

    @property
    def rejectors(self) -> frozenset[str]:
        """The plugins that rejected the pod."""

    @property
    def pending(self) -> frozenset[str]:
        """Those of the rejectors whose event has the pod tried at once."""


PreEnqueue = Callable[[Pod, str], Status | None]
"""Of (pod, the plugin to ask first): why a plugin does not let it in, or None."""


class Backoff(msgspec.Struct, frozen=True):
    """Seconds that a pod waits after its first failure, and at most. Upstream: podInitial-, podMaxBackoffSeconds."""

    initial: float = 1.0
    longest: float = 10.0


Clock = Callable[[], float]
"""Seconds since any fixed moment."""


class QueueEntry(msgspec.Struct, eq=False):
    """A pod of the queue, which alone changes it. Times are seconds on the queue's clock."""

    pod: Pod
    timestamp: float
    """When it last came into the queue: new, or back from an attempt."""
    added: float
    """When it first came into the queue."""
    attempts: int = 0
    """How often it was popped."""
    backoff_until: float = -math.inf
    """Until when it waits after its last failure."""
    rejectors: frozenset[str] = frozenset()
    """The plugins that rejected the last attempt, or hold the pod back."""
    pending: frozenset[str] = frozenset()
    """Those of the rejectors whose event has it tried at once."""
    rejections: int = 0
    """How many attempts plugins rejected."""
    errors: int = 0
    """How many attempts in a row ended in an error (1.36)."""
    gate: Status | None = None
    """Why it is held back from the queue, None when it is not."""
    first_tried: float = math.nan
    """When it was first popped."""
    flushed: bool = False
    """Whether it was tried last because it had waited for long, and no event had moved it."""

    @property
    def erred(self) -> bool:
        """Whether an error gave the last attempt up."""
        return not self.rejectors and not self.pending

    @property
    def gated_by(self) -> str:
        """The PreEnqueue plugin that holds the pod back; empty for none."""
        return "" if self.gate is None else self.gate.plugin


Order = Callable[[QueueEntry], Rank]
"""What entries are popped by, lowest first."""


def by_priority(entry: QueueEntry) -> Rank:
    """Higher priority first, then who came first. Upstream: 1.16 activeQComp, PrioritySort."""
    return (-entry.pod.priority, entry.timestamp)


def by_arrival(_: QueueEntry) -> Rank:
    """All alike: entries of one rank come in order of arrival, and keep their place when they change."""
    return ()
