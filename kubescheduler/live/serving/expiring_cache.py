"""Answers that are remembered for a while."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

from kubescheduler.live.contract.wall_clock import WallClock

K = TypeVar("K")
V = TypeVar("V")


class ExpiringCache(Generic[K, V]):
    """At most so many entries, the least used go first; each lasts as long as it was given. For one thread.

    Upstream: apimachinery's LRUExpireCache.
    """

    def __init__(self, size: int, clock: WallClock) -> None:
        self._size = size
        self._clock = clock
        self._entries: OrderedDict[K, tuple[float, V]] = OrderedDict()

    def get(self, key: K) -> V | None:
        """What is remembered; None when there is nothing, or it is too old."""
        found = self._entries.get(key)
        if found is None:
            return None
        if found[0] <= self._clock.monotonic():
            del self._entries[key]
            return None
        self._entries.move_to_end(key)
        return found[1]

    def put(self, key: K, value: V, seconds: float) -> None:
        """Remembers a value for some seconds; for none, it forgets what it had."""
        self._entries.pop(key, None)
        if seconds <= 0:
            return
        self._entries[key] = (self._clock.monotonic() + seconds, value)
        if len(self._entries) > self._size:
            self._entries.popitem(last=False)

    def __len__(self) -> int:
        return len(self._entries)
