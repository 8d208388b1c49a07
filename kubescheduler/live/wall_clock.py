"""The clocks of a process."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime


class WallClock:
    """The machine's time of day, a clock that never goes back, and a way to wait by it; tests have others."""

    def now(self) -> datetime:
        """The time of day, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds since any fixed moment."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Lets some seconds pass on the event loop."""
        await asyncio.sleep(seconds)
