"""How long an informer waits before it tries again."""

from __future__ import annotations

import random
from typing import Protocol

from kubescheduler.live.contract.wall_clock import WallClock

FIRST, FACTOR, LONGEST = 0.8, 2.0, 30.0
"""Seconds of the first pause, its growth, and the most."""
CALM = 120.0
"""Seconds without a failure after which pauses are short again."""


class Pauses(Protocol):
    """The pauses of one informer."""

    def next(self) -> float:
        """Seconds to wait after one more failure."""
        ...


class FixedPauses:
    """Always a second. Upstream: 1.16."""

    def next(self) -> float:
        """One second."""
        return 1.0


class GrowingPauses:
    """Twice as long each time, with chance, so that not all come back at once. Upstream: client-go's BackoffManager."""

    def __init__(self, clock: WallClock, rng: random.Random) -> None:
        self._clock = clock
        self._rng = rng
        self._next = FIRST
        self._last = clock.monotonic()

    def next(self) -> float:
        """0.8 s, then twice that up to 30 s, each times 1 to 2."""
        now = self._clock.monotonic()
        if now - self._last > CALM:
            self._next = FIRST
        self._last = now
        pause, self._next = self._next, min(self._next * FACTOR, LONGEST)
        return pause * (1.0 + self._rng.random())
