"""What is to happen, in order of time."""

from __future__ import annotations

import enum
import heapq
from collections.abc import Callable
from typing import Any

import msgspec

from kubescheduler.sources.sanitize import json_text

LEAVING, NODES, ARRIVING = 0, 1, 2
"""The order of events of one moment: room is made before it is filled."""

PATIENCE = 30 * 60.0
"""Seconds after the last thing that lasted: a gang that never gets complete is tried no longer, and the run ends."""
SPINS = 10
"""Attempts of one moment beside three a pending pod: if nothing comes of further ones, they wait for a while."""
SPIN_PAUSE = 10.0
"""How long they wait, in seconds."""

Action = Callable[[], None]

Event = tuple[float, int, int, Action]
"""(time in seconds, kind, number, what happens)."""


class Events:
    """Events by time, then by kind, then in the order in which they were noted."""

    def __init__(self) -> None:
        self._known: list[Event] = []
        self._heap: list[Event] = []
        self._begun = False
        self.noted = 0
        self.done = 0

    def at(self, time: float, kind: int, action: Action) -> None:
        """Has an action happen at a time, in seconds; at the same time by kind, then in the order they were noted."""
        self.noted += 1
        event = (time, kind, self.noted, action)
        if self._begun:
            heapq.heappush(self._heap, event)
        else:
            self._known.append(event)

    @property
    def next(self) -> float | None:
        """The time of the first event; None when nothing is to happen."""
        known, heap = self._begin(), self._heap
        if known and not (heap and heap[0] < known[-1]):
            return known[-1][0]
        return heap[0][0] if heap else None

    def run(self, moment: float) -> None:
        """Everything that is due by now. What it causes for the same moment is left for the next call."""
        due, known, heap = [], self._begin(), self._heap
        while known and known[-1][0] <= moment:
            due.append(known.pop())
        while heap and heap[0][0] <= moment:
            due.append(heapq.heappop(heap))
        due.sort()
        for _, _, _, action in due:
            action()
        self.done += len(due)

    def _begin(self) -> list[Event]:
        """What was noted before anything was asked for, the first event last."""
        if not self._begun:
            self._begun = True
            self._known.sort(reverse=True)
        return self._known


class Kind(enum.Enum):
    """What happened; the values are the names in the stream."""

    ENQUEUED = "enqueued"
    """A pod came and is to be tried."""
    GATED = "gated"
    """A pod came, or its attempt failed, and a PreEnqueue plugin holds it back: ``message``."""
    IGNORED = "ignored"
    """A pod came that another scheduler is to place."""
    ATTEMPTED = "attempted"
    """A pod was tried: ``node`` was chosen, or ``message`` says why none was."""
    ERROR = "error"
    """An error ended the attempt of a pod, so that nobody knows where it would go: ``message``."""
    RETRIED = "retried"
    """While nothing changed, a pod was tried ``attempts`` times, in vain as before."""
    WAITING = "waiting"
    """Permit plugins hold a pod; its place on ``node`` is kept."""
    BINDING_FAILED = "binding-failed"
    """A pod gave its place on ``node`` back: ``message``."""
    ACTIVE = "active"
    """A pod whose attempt failed is tried again in its turn."""
    BACKED_OFF = "backed-off"
    """A pod whose attempt failed waits out a back-off."""
    UNSCHEDULABLE = "unschedulable"
    """A pod whose attempt failed waits for an event that may help it."""
    NOMINATED = "nominated"
    """A pod waits for room on ``node``."""
    NOMINATION_CLEARED = "nomination-cleared"
    """A pod no longer waits for room on ``node``."""
    EVICTED = "evicted"
    """A pod on ``node`` is asked to leave, for the pod ``by``."""
    BOUND = "bound"
    """A pod is on ``node``."""
    LEFT = "left"
    """A pod is gone, from ``node`` if it was on one: ``outcome``."""
    NODE_ADDED = "node-added"
    NODE_CHANGED = "node-changed"
    NODE_REMOVED = "node-removed"
    NOTE = "note"
    """Nothing happened; ``message`` is what a reader has to know of the whole run. First in the stream."""


class RunEvent(msgspec.Struct, frozen=True):
    """One event of a run."""

    time: float
    """Seconds after the start."""
    kind: Kind
    pod: str = ""
    """namespace/name; empty for events of nodes."""
    node: str = ""
    message: str = ""
    by: str = ""
    outcome: str = ""
    attempts: int = 0

    def to_dict(self) -> dict[str, Any]:
        """``time``, ``kind`` and what the kind has besides."""
        rest = {
            key: value for key, value in msgspec.structs.asdict(self).items() if value and key not in ("time", "kind")
        }
        return {"time": self.time, "kind": self.kind.value, **rest}

    def to_json(self) -> str:
        """One line, without its end."""
        return json_text(self.to_dict())


Listen = Callable[[RunEvent], None]
"""Told of every event, as it happens."""
