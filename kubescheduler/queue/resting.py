"""Pods that wait while nothing happens: once each is tried at regular times, whole periods can be counted at once."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from kubescheduler.queue.entry import QueueEntry


class Beat(msgspec.Struct, frozen=True):
    """How often pods are tried that have waited for long, in seconds."""

    lying: int
    """Of unschedulable ones."""
    erring: int | None
    """Of those that errors keep in back-off; None: these count as unschedulable, too."""
    longest: float
    """The longest back-off."""

    def of(self, entry: QueueEntry) -> int:
        """After how many seconds the pod of this entry is tried again."""
        return self.lying if self.erring is None or not entry.erred else self.erring

    def settled(self, entry: QueueEntry, waits: bool) -> bool:
        """Whether it is tried at regular times from now on: its back-off is as long as it gets, and ticks meet it.

        waits: it is in back-off now.
        """
        erring = self.erring is not None and entry.erred
        full = entry.backoff_until - entry.timestamp == self.longest
        return full and waits is erring and entry.timestamp % (1 if erring else 30) == 0

    def whole(self, entries: Iterable[QueueEntry], seconds: float) -> int:
        """The longest time within ``seconds`` after which all entries stand as they do now; 0: there is none."""
        period = math.lcm(*{self.of(entry) for entry in entries})
        return int(seconds // period) * period

    def later(self, entry: QueueEntry, seconds: int) -> tuple[QueueEntry, int]:
        """(the entry after so many seconds, how often it was tried in them)."""
        tried = seconds // self.of(entry)
        changed = msgspec.structs.replace(
            entry,
            timestamp=entry.timestamp + seconds,
            backoff_until=entry.backoff_until + seconds,
            attempts=entry.attempts + tried,
            rejections=entry.rejections + tried * (entry.rejections > 0 and not entry.erred),
            errors=entry.errors + tried * (entry.errors > 0 and entry.erred),
        )
        return changed, tried
