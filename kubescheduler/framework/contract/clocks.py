"""The clock that a scheduler runs on: the real one, or that of a simulation."""

from __future__ import annotations

import threading
import time
from typing import Protocol

from clusterstate.errors import ClusterStateError
from kubescheduler.framework.contract.cycle_state import Cancellation


class Timekeeper(Protocol):
    """A clock one can wait by."""

    def now(self) -> float:
        """Seconds since any fixed moment."""
        ...

    def wait(self, condition: threading.Condition, until: float | None) -> None:
        """Waits with ``condition`` held until it is notified or the clock may have reached ``until``."""
        ...

    def sleep(self, cancellation: Cancellation, seconds: float) -> object:
        """Lets some seconds pass, fewer when the work is to stop."""
        ...


class RealTime:
    """The machine's monotonic clock."""

    def now(self) -> float:
        """Seconds of the monotonic clock."""
        return time.monotonic()

    def wait(self, condition: threading.Condition, until: float | None) -> None:
        """Waits for the condition, at most until a moment of this clock."""
        condition.wait(None if until is None else max(0.0, until - self.now()))

    def sleep(self, cancellation: Cancellation, seconds: float) -> object:
        """Waits so many seconds, or until it is cancelled."""
        return cancellation.wait(seconds)


class VirtualTime:
    """The clock of a simulation: one thread moves it from moment to moment, and nobody waits by it.

    What sleeps does not keep the others waiting: the clock runs ahead for it alone, until ``back``.
    """

    def __init__(self) -> None:
        self.moment = 0.0
        """Seconds after the start, whoever sleeps."""
        self._ahead = 0.0

    def now(self) -> float:
        """Seconds since the start, with what was slept at this moment."""
        return self.moment + self._ahead

    def move_to(self, moment: float) -> None:
        """It is ``moment`` seconds after the start."""
        self.moment = moment

    def wait(self, condition: threading.Condition, until: float | None) -> None:
        """Raises ClusterStateError."""
        raise ClusterStateError(f"nobody can wait until {until} in a simulation: {condition}")

    def sleep(self, cancellation: Cancellation, seconds: float) -> None:  # noqa: ARG002
        """Nobody waits: the clock is ahead by so many seconds until ``back``."""
        self._ahead += seconds

    def back(self) -> None:
        """Whoever slept is done."""
        self._ahead = 0.0
