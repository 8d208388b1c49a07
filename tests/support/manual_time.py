"""A clock that tests move."""

from __future__ import annotations

import threading

from kubescheduler.framework.contract.cycle_state import Cancellation, Timekeeper


class ManualTime(Timekeeper):
    """A clock that stands still until it is moved; whoever waits by it is woken then."""

    def __init__(self, start: float = 0.0) -> None:
        self._now = start
        self._lock = threading.Lock()
        self._waiting: list[threading.Condition] = []

    def now(self) -> float:
        """The moment that it was last set to."""
        return self._now

    def wait(self, condition: threading.Condition, until: float | None) -> None:
        """Waits for the condition, at most until the clock is set to a moment."""
        with self._lock:
            if until is not None and self._now >= until:
                return
            self._waiting.append(condition)
        condition.wait()
        with self._lock:
            self._waiting.remove(condition)

    def sleep(self, cancellation: Cancellation, seconds: float) -> None:
        """Moves the clock on."""
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Moves the clock on."""
        with self._lock:
            self._now += seconds
            waiting = list(self._waiting)
        for condition in waiting:
            with condition:
                condition.notify_all()
