"""What the queues of the framework releases hold, and what they are told."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import attrs

from clusterstate.objects import Pod
from kubescheduler.queue.heap import Rank


class Failed(Protocol):
    """A failed attempt. rejectors: the plugins for which it failed; pending: those of them whose event has the pod
    tried at once. None of either: an error gave the attempt up."""

    @property
    def rejectors(self) -> frozenset[str]: ...
    @property
    def pending(self) -> frozenset[str]: ...


class Refusal(Protocol):
    """Why a PreEnqueue plugin does not let a pod in."""

    @property
    def plugin(self) -> str: ...
    @property
    def message(self) -> str: ...


PreEnqueue = Callable[[Pod, str], Any]
"""Of (pod, the plugin to ask first): a Refusal, or None."""


@attrs.frozen
class Rejection:
    """A Failed."""

    rejectors: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()


@attrs.frozen
class Backoff:
    """Seconds that a pod waits after its first failure, and at most. Upstream: podInitial-, podMaxBackoffSeconds."""

    initial: float = 1.0
    longest: float = 10.0


BACKOFF = Backoff()


@attrs.define(eq=False)
class QueueEntry:
    """A pod of the queue, which alone changes it. Times are seconds on the queue's clock.

    timestamp: when it last came into the queue: new, or back from an attempt. attempts: how often it was popped.
    backoff_until: until when it waits after its last failure. rejectors: the plugins that the last attempt, or a gate,
    failed for; pending: likewise, those whose event has it tried at once. rejections: attempts that plugins rejected;
    errors: those in a row that erred (1.36).
    gate: why it is held back from the queue, None when it is not.
    """

    pod: Pod
    timestamp: float
    attempts: int = 0
    backoff_until: float = -math.inf
    rejectors: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()
    rejections: int = 0
    errors: int = 0
    gate: Refusal | None = None

    @property
    def erred(self) -> bool:
        """Whether an error gave the last attempt up."""
        return not self.rejectors and not self.pending

    @property
    def gated_by(self) -> str:
        return "" if self.gate is None else self.gate.plugin


Order = Callable[[QueueEntry], Rank]
"""What entries are popped by, lowest first."""


def by_priority(entry: QueueEntry) -> Rank:
    """Higher priority first, then who came first. Upstream: PrioritySort."""
    return (-entry.pod.priority, entry.timestamp)
