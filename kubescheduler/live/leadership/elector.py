"""Seeking leadership, keeping it, and giving it back. Upstream: client-go's leaderelection."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Mapping

import msgspec

from kubescheduler.live.klog import LogLine, Severity, structured
from kubescheduler.live.leadership.resource_locks import LeaderRecord, ResourceLock
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.wall_clock import WallClock

JITTER = 1.2
"""A candidate waits for the retry period times 1 to 1 + this."""


class ElectionTiming(msgspec.Struct, frozen=True):
    """In seconds."""

    lease: float = 15.0
    """For how long others leave a leader alone."""
    renew: float = 10.0
    """For how long a leader tries to renew before it gives up."""
    retry: float = 2.0
    """Between two tries."""

    def fault(self) -> str:
        """Why an elector cannot be made, empty if it can; upstream's text."""
        if self.lease <= self.renew:
            return "leaseDuration must be greater than renewDeadline"
        if self.renew <= self.retry * JITTER:
            return "renewDeadline must be greater than retryPeriod*JitterFactor"
        return ""


class ElectionRules(msgspec.Struct, frozen=True, eq=False):
    """In what the releases' elections differ."""

    trusts_record: bool
    """Whether the record says for how long it is to be left alone (1.36), or each candidate's own setting does."""
    fast_path: bool
    """Whether a leader writes at once what it wrote last, without reading it (1.36)."""
    log: Callable[[str, str, str], LogLine | None]
    """Of (what happened, the lock's name, the error): the line; see ``log_1_16``."""


# --- what is logged ------------------------------------------------------------------------------------

LINES_1_16 = {
    "seeking": (Severity.INFO, "attempting to acquire leader lease  {lock}..."),
    "acquired": (Severity.INFO, "successfully acquired lease {lock}"),
    "lost": (Severity.INFO, "failed to renew lease {lock}: {error}"),
    "reading failed": (Severity.ERROR, "error retrieving resource lock {lock}: {error}"),
    "creating failed": (Severity.ERROR, "error initially creating leader election record: {error}"),
    "writing failed": (Severity.ERROR, "Failed to update lock: {error}"),
    "releasing failed": (Severity.ERROR, "Failed to release lock: {error}"),
}
"""What happened → the line of 1.16."""
LINES_1_20 = {**LINES_1_16, "seeking": (Severity.INFO, "attempting to acquire leader lease {lock}...")}
"""The same of 1.20, which has one blank less."""
MESSAGES_1_36 = {
    "seeking": LogLine(Severity.INFO, "Attempting to acquire leader lease..."),
    "acquired": LogLine(Severity.INFO, "Successfully acquired lease"),
    "lost": LogLine(Severity.ERROR, "Failed to renew lease"),
    "reading failed": LogLine(Severity.ERROR, "Error retrieving lease lock"),
    "creating failed": LogLine(Severity.ERROR, "Error initially creating lease lock"),
    "writing failed": LogLine(Severity.ERROR, "Failed to update lease"),
    "fast path": LogLine(Severity.INFO, "Failed to update lease optimistically, falling back to slow path", 2),
    "releasing failed": LogLine(Severity.ERROR, "Failed to release lease"),
}
"""What happened → the message of 1.36, without its keys."""


def log_1_16(what: str, lock: str, error: str) -> LogLine | None:
    """A line of 1.16; None for what it does not log."""
    return _plain(LINES_1_16, what, lock, error)


def log_1_20(what: str, lock: str, error: str) -> LogLine | None:
    """A line of 1.20; None for what it does not log."""
    return _plain(LINES_1_20, what, lock, error)


def log_1_36(what: str, lock: str, error: str) -> LogLine | None:
    """A line of 1.36; None for what it does not log."""
    line = MESSAGES_1_36.get(what)
    if line is None:
        return None
    if what == "lost":
        error = "context deadline exceeded"
    pairs = {"err": error, "lock": lock} if error else {"lock": lock}
    return LogLine(line.severity, structured(line.text, **pairs), line.level)


def _plain(lines: Mapping[str, tuple[Severity, str]], what: str, lock: str, error: str) -> LogLine | None:
    if what not in lines:
        return None
    severity, text = lines[what]
    return LogLine(severity, text.format(lock=lock, error=error))


def nothing_counted() -> None:
    """Nobody counts."""


class ElectionListener(msgspec.Struct, frozen=True, eq=False):
    """What an elector reports to; all of it is called on the I/O thread."""

    leads: Callable[[bool], None]
    """Called when leadership begins and ends."""
    log: Callable[[LogLine], None]
    """Writes a line of the log."""
    event: Callable[[str], None]
    """Makes an event about the lock."""
    slowed: Callable[[], None] = nothing_counted
    """Told that the lease has to be read before it can be renewed."""


class LeaderElector:
    """One candidate. ``run`` is for the I/O thread, and ends when leadership is lost or ``stop`` was called."""

    def __init__(
        self,
        lock: ResourceLock,
        identity: str,
        timing: ElectionTiming,
        rules: ElectionRules,
        clock: WallClock,
        listener: ElectionListener,
        rng: random.Random | None = None,
    ) -> None:
        self._lock = lock
        self._identity = identity
        self._timing = timing
        self._rules = rules
        self._clock = clock
        self._listener = listener
        self._rng = random.Random() if rng is None else rng
        self._seen = LeaderRecord()
        self._seen_at = float("-inf")
        self._stopping = asyncio.Event()
        self.succeeds = False
        """Whether the lock was there before it led: another may have bound pods until then."""

    @property
    def is_leader(self) -> bool:
        """Whether the record last seen is ours."""
        return self._seen.holder == self._identity

    def is_overdue(self, seconds: float) -> bool:
        """Whether it leads, but has not renewed its lock, so many seconds after that ended. Upstream: Check."""
        return self.is_leader and self._clock.monotonic() - self._seen_at > self._timing.lease + seconds

    def stop(self) -> None:
        """Ends ``run``: on the I/O thread."""
        self._stopping.set()

    async def run(self) -> None:
        """Seeks leadership, keeps it while it can, and gives it back in the end.

        The lock is given back last: until it is, nobody else leads.
        """
        if not await self._acquire():
            return
        self._listener.leads(True)
        try:
            await self._keep()
        finally:
            self._listener.leads(False)
            if self.is_leader:
                await self._release()

    # --- seeking and keeping -----------------------------------------------------------------------

    async def _acquire(self) -> bool:
        """Tries until it leads; False: it was stopped before."""
        self._say("seeking")
        while not self._stopping.is_set():
            if await self._try():
                self._listener.event(f"{self._identity} became leader")
                self._say("acquired")
                return True
            await self._pause(self._timing.retry * (1 + self._rng.random() * JITTER))
        return False

    async def _keep(self) -> None:
        """Renews until that fails for too long, or it is stopped."""
        while not self._stopping.is_set():
            deadline = self._clock.monotonic() + self._timing.renew
            error = "timed out waiting for the condition"
            while not await self._try_until(deadline):
                if self._clock.monotonic() + self._timing.retry > deadline or self._stopping.is_set():
                    break
                await self._pause(self._timing.retry)
            else:
                await self._pause(self._timing.retry)
                continue
            if self._stopping.is_set():
                return
            self._say("lost", error)
            self._listener.event(f"{self._identity} stopped leading")
            return

    async def _try_until(self, deadline: float) -> bool:
        """One try that the deadline cuts off."""
        left = deadline - self._clock.monotonic()
        try:
            return await asyncio.wait_for(self._try(), max(left, 0.001))
        except TimeoutError:
            return False

    async def _pause(self, seconds: float) -> None:
        """Waits so many seconds, or until it is stopped."""
        waits: list[Awaitable[object]] = [self._clock.sleep(seconds), self._stopping.wait()]
        tasks = [asyncio.ensure_future(wait) for wait in waits]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    # --- one try -----------------------------------------------------------------------------------

    async def _try(self) -> bool:
        """Acquires or renews once. Upstream: tryAcquireOrRenew."""
        now = self._lock.time(self._clock.now())
        wanted = LeaderRecord(self._identity, int(self._timing.lease), now, now)
        if self._rules.fast_path and self.is_leader and self._valid():
            renewed = msgspec.structs.replace(wanted, acquired=self._seen.acquired, transitions=self._seen.transitions)
            if await self._written(renewed, "fast path"):
                return True
            self._listener.slowed()
        try:
            record = await self._lock.get()
        except ApiError as error:
            if error.code != 404:
                self._say("reading failed", str(error))
                return False
            return await self._created(wanted)
        if record != self._seen:
            self._see(record)
        if record.holder and not self.is_leader and self._valid():
            return False
        if self.is_leader:
            wanted = msgspec.structs.replace(wanted, acquired=record.acquired, transitions=record.transitions)
        else:
            self.succeeds = True
            wanted = msgspec.structs.replace(wanted, transitions=record.transitions + 1)
        return await self._written(wanted, "writing failed")

    async def _created(self, record: LeaderRecord) -> bool:
        try:
            await self._lock.create(record)
        except ApiError as error:
            self._say("creating failed", str(error))
            return False
        self._see(record)
        return True

    async def _written(self, record: LeaderRecord, what: str) -> bool:
        try:
            await self._lock.update(record)
        except ApiError as error:
            self._say(what, str(error))
            return False
        self._see(record)
        return True

    def _see(self, record: LeaderRecord) -> None:
        """Other machines' clocks never matter: what counts is when we saw it."""
        self._seen, self._seen_at = record, self._clock.monotonic()

    def _valid(self) -> bool:
        """Whether the record last seen still holds."""
        seconds = self._seen.seconds if self._rules.trusts_record else self._timing.lease
        return self._seen_at + seconds > self._clock.monotonic()

    async def _release(self) -> None:
        """Gives the lock back: nobody holds it, for one second. Upstream: 1.36 release; the others keep it."""
        now = self._lock.time(self._clock.now())
        try:
            record = await self._lock.get()
            if record.holder == self._identity:
                await self._lock.update(LeaderRecord("", 1, now, now, record.transitions))
        except ApiError as error:
            self._say("releasing failed", str(error))

    def _say(self, what: str, error: str = "") -> None:
        line = self._rules.log(what, self._lock.name, error)
        if line is not None:
            self._listener.log(line)
