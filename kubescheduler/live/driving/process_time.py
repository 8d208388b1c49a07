"""The clock of a live scheduler's queue and cycles."""

from __future__ import annotations

import threading

from kubescheduler.framework.contract.cycle_state import Cancellation
from kubescheduler.live.contract.wall_clock import WallClock


class ProcessTime:
    """Seconds since 1970 that never go back: whole ones fall together with those of the wall clock at the start.

    Upstream: 1.36 flushes its queues on the whole second.
    """

    def __init__(self, clock: WallClock) -> None:
        self._clock = clock
        self._offset = clock.now().timestamp() - clock.monotonic()

    def now(self) -> float:
        """Seconds since 1970 by the wall clock at the start and the monotonic one since."""
        return self._clock.monotonic() + self._offset

    def wait(self, condition: threading.Condition, until: float | None) -> None:
        """Waits for the condition, at most until a moment of this clock."""
        condition.wait(None if until is None else max(0.0, until - self.now()))

    def sleep(self, cancellation: Cancellation, seconds: float) -> object:
        """Waits so many seconds, or until it is cancelled."""
        return cancellation.wait(seconds)
