"""Clocks of the live scheduler that do not keep tests waiting."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from kubescheduler.live.wall_clock import WallClock

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class StoodClock(WallClock):
    """Who sleeps by it sleeps not at all: the clock moves on instead."""

    def __init__(self) -> None:
        self.moment = 0.0
        """Seconds since ``EPOCH``."""
        self.slept: list[float] = []
        """How long was slept, one after the other."""

    def now(self) -> datetime:
        return EPOCH + timedelta(seconds=self.moment)

    def monotonic(self) -> float:
        return self.moment

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.moment += seconds


class HastyClock(WallClock):
    """The machine's clocks; who sleeps by it sleeps a hundredth of the time."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / 100)
