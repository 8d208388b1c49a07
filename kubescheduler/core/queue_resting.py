"""What becomes of a waiting pod while nothing happens but that it is tried in vain again and again."""

from __future__ import annotations

import math
from typing import Protocol

import attrs

from kubescheduler.core.queue_entry import Backoff, QueueEntry


class Rules(Protocol):
    """A FrameworkQueue."""

    @property
    def backoff(self) -> Backoff: ...
    @property
    def lies_for(self) -> float: ...
    @property
    def tried_in_backoff(self) -> bool: ...
    def flush_of(self, since: float) -> float: ...
    def ready(self, entry: QueueEntry) -> float: ...
    def backs_off(self, entry: QueueEntry, now: float) -> bool: ...
    def errs(self, entry: QueueEntry) -> bool: ...
    def failed(self, entry: QueueEntry, now: float, times: int = 1) -> QueueEntry: ...


@attrs.frozen(eq=False)
class Resting:
    """From ``now`` on, until just before ``moment``."""

    rules: Rules
    now: float
    moment: float

    def due(self, entry: QueueEntry, waits: bool) -> float:
        """The first tick from now on that moves an entry."""
        if waits:
            return max(self.rules.ready(entry), math.floor(self.now) + 1.0)
        return max(self.rules.flush_of(entry.timestamp), self.rules.flush_of(self.now - self.rules.lies_for))

    def tried(self, entry: QueueEntry, at: float, times: int = 1) -> QueueEntry:
        """The entry after an attempt in vain, the last of so many in a row of the same kind."""
        return self.rules.failed(attrs.evolve(entry, attempts=entry.attempts + times), at, times)

    def steady(self, entry: QueueEntry, waits: bool) -> bool:
        """Whether its back-off is as long as it gets, and what it waits for comes at regular times."""
        longest = self.rules.backoff.longest
        full = entry.backoff_until - entry.timestamp > longest - 1.0 or not longest
        return full and (waits or longest <= self.rules.lies_for)


@attrs.frozen(eq=False)
class Rested:
    """waits: it is in back-off. before: the entry ahead of its last attempt, None when there was none."""

    entry: QueueEntry
    waits: bool
    tried: int = 0
    before: QueueEntry | None = None


def rested(time: Resting, entry: QueueEntry, waits: bool) -> Rested:
    """The entry as it is at the end. Where attempts come at regular times they are counted, not gone through."""
    rules, moment = time.rules, time.moment
    due, period, tried, before = time.due(entry, waits), 0.0, 0, None
    while due < moment:
        if not waits and rules.backs_off(entry, due) and not rules.tried_in_backoff:
            waits, due = True, rules.ready(entry)
            continue
        before, entry, tried = entry, time.tried(entry, due), tried + 1
        waits = rules.errs(entry)
        following = rules.ready(entry) if waits else rules.flush_of(due)
        if following - due == period and following < moment and time.steady(entry, waits):
            count = math.ceil((moment - following) / period)
            last = following + (count - 1) * period
            before = attrs.evolve(entry, timestamp=last - period)
            entry, tried = time.tried(entry, last, count), tried + count
            following = last + period
        period, due = following - due, following
    return Rested(entry, waits, tried, before)
