"""What happens in a simulation, one event after the other."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import msgspec

from kubescheduler.sources.sanitize import json_text


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
