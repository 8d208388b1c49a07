"""The client's own limit on requests. Upstream: client-go's flowcontrol, a token bucket."""

from __future__ import annotations

import msgspec

from kubescheduler.live.contract.wall_clock import SystemClock, WallClock


class Limits(msgspec.Struct, frozen=True):
    """How often a client may ask."""

    qps: float = 50.0
    """Requests a second in the long run; 0 or less: no limit."""
    burst: int = 100
    """Requests at once after a pause."""


class TokenBucket:
    """Every request takes a token; tokens come back at ``qps`` a second, up to ``burst``.

    Used from one thread. Tokens are given out in the order in which they were asked for.
    """

    def __init__(self, limits: Limits, clock: WallClock | None = None) -> None:
        self._limits = limits
        self._clock = SystemClock() if clock is None else clock
        self._tokens = float(limits.burst)
        self._last = self._clock.monotonic()

    def reserve(self) -> float:
        """Takes a token; the seconds to wait before it may be used."""
        if self._limits.qps <= 0:
            return 0.0
        now = self._clock.monotonic()
        self._tokens = min(float(self._limits.burst), self._tokens + (now - self._last) * self._limits.qps) - 1.0
        self._last = now
        return max(0.0, -self._tokens / self._limits.qps)

    def lift(self) -> None:
        """From now on there is no limit."""
        self._limits = Limits(0.0, 0)

    async def take(self) -> float:
        """Waits for a token; the seconds that it took."""
        delay = self.reserve()
        if delay > 0:
            await self._clock.sleep(delay)
        return delay
