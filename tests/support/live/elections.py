"""Candidates for leadership and the lock that they share, on a clock that keeps nobody waiting."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta

import attrs
import pytest

from kubescheduler.live.klog import LogLine
from kubescheduler.live.leadership import (
    ElectionListener,
    ElectionRules,
    ElectionTiming,
    LeaderElector,
    LeaderRecord,
    ResourceLock,
    lease_time,
)
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.releases.lookup import recorded_processes
from tests.support.live.live_cluster import EPOCH, StoodClock

RULES = {name: live.election for name, live in recorded_processes().items()}
EVERY = pytest.mark.parametrize("release", list(RULES))
LOCK = "kube-system/kube-scheduler"


class MemoryLock(ResourceLock):
    """A lock without a server; ``before`` may raise what a server would, and is told of each request."""

    def __init__(self, clock: StoodClock, record: LeaderRecord | None = None) -> None:
        self.name = LOCK
        self.record = record
        self.asked: list[tuple[str, float]] = []
        self.before: Callable[[str], None] = lambda _: None
        self._clock = clock

    def time(self, moment: datetime) -> str:
        """As Leases write it."""
        return lease_time(moment)

    def _ask(self, what: str) -> None:
        self.asked.append((what, self._clock.moment))
        self.before(what)

    def verbs(self) -> list[str]:
        """The requests so far, as HTTP methods."""
        return [what for what, _ in self.asked]

    async def get(self) -> LeaderRecord:
        """404 where nobody made it."""
        self._ask("GET")
        if self.record is None:
            raise ApiError("not found", 404, "NotFound")
        return self.record

    async def create(self, record: LeaderRecord) -> None:
        """As a server stores it."""
        self._ask("POST")
        self.record = record

    async def update(self, record: LeaderRecord) -> None:
        """As a server stores it, without a check of its version."""
        self._ask("PUT")
        self.record = record


@attrs.define(eq=False)
class Candidate:
    """An elector, and what it reported."""

    lock: MemoryLock
    clock: StoodClock
    rules: ElectionRules
    identity: str = "me"
    timing: ElectionTiming = attrs.field(factory=ElectionTiming)
    log: list[str] = attrs.field(factory=list)
    events: list[str] = attrs.field(factory=list)
    led: list[tuple[bool, float]] = attrs.field(factory=list)
    led_to: Callable[[bool], None] = lambda _: None
    elector: LeaderElector | None = None

    async def run(self) -> None:
        """Until it is stopped or has lost."""
        self.elector = LeaderElector(
            self.lock,
            self.identity,
            self.timing,
            self.rules,
            self.clock,
            ElectionListener(self._leads, self._logs, self.events.append),
            random.Random(1),
        )
        await self.elector.run()

    def _logs(self, line: LogLine) -> None:
        self.log.append(f"{line.severity.value} {line.text}")

    def _leads(self, leads: bool) -> None:
        self.led.append((leads, self.clock.moment))
        self.led_to(leads)

    def stop(self) -> None:
        """As when its process is to end."""
        assert self.elector is not None
        self.elector.stop()


def candidate(release: str, record: LeaderRecord | None = None) -> Candidate:
    """One of the identity ``me``, at the beginning of its clock."""
    clock = StoodClock()
    return Candidate(MemoryLock(clock, record), clock, RULES[release])


def a_record(holder: str, seconds: int = 15, renewed: float = 0.0) -> LeaderRecord:
    """What a lock says that was acquired and renewed at one moment, in seconds of the clock."""
    then = lease_time(EPOCH + timedelta(seconds=renewed))
    return LeaderRecord(holder, seconds, then, then, 3)
