"""The clocks of a process."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class WallClock(Protocol):
    """The time of day, a clock that never goes back, and a way to wait by it."""

    def now(self) -> datetime:
        """The time of day, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds since any fixed moment."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Lets some seconds pass."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now(self) -> datetime:
        """The time of day, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds of the monotonic clock."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Lets some seconds pass on the event loop."""
        await asyncio.sleep(seconds)
