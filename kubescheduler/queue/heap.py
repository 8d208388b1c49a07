"""A heap whose entries are found, replaced and removed by key."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")

Rank = tuple[Any, ...]
"""What entries are ordered by, lowest first; entries of one rank come in order of arrival."""

SLACK = 64
"""Removed entries that may lie in the heap beside as many as are alive."""


class KeyedHeap(Generic[T]):
    """Entries with a key and a rank. Every operation costs O(log n) at most, on average."""

    def __init__(self) -> None:
        self.alive: dict[str, tuple[Rank, int, T]] = {}
        """Key → (rank, number of arrival, entry), in order of arrival; what is taken out of it is removed."""
        self._heap: list[tuple[Rank, int, str]] = []
        self._arrivals = 0

    def __len__(self) -> int:
        return len(self.alive)

    def __contains__(self, key: object) -> bool:
        return key in self.alive

    def __iter__(self) -> Iterator[T]:
        """The entries in order of arrival."""
        return (item for _, _, item in self.alive.values())

    def get(self, key: str) -> T | None:
        """The entry of a key; None when there is none."""
        entry = self.alive.get(key)
        return None if entry is None else entry[2]

    def put(self, key: str, item: T, rank: Rank) -> None:
        """Adds an entry. One of the same key and rank is replaced in its place, one of another rank moves."""
        known = self.alive.get(key)
        if known is not None and known[0] == rank:
            self.alive[key] = (rank, known[1], item)
            return
        self._arrivals += 1
        self.alive[key] = (rank, self._arrivals, item)
        heapq.heappush(self._heap, (rank, self._arrivals, key))
        if len(self._heap) > 2 * len(self.alive) + SLACK:
            self._heap = [(rank, arrival, key) for key, (rank, arrival, _) in self.alive.items()]
            heapq.heapify(self._heap)

    def remove(self, key: str) -> T | None:
        """Takes an entry out; None if there is none."""
        entry = self.alive.pop(key, None)
        return None if entry is None else entry[2]

    def lowest(self) -> Rank | None:
        """The rank of the entry that ``pop`` would give."""
        self._drop_removed()
        return self._heap[0][0] if self._heap else None

    def peek(self) -> T | None:
        """The entry of the lowest rank, which stays; None when there is none."""
        if not self.alive:
            return None
        self._drop_removed()
        return self.alive[self._heap[0][2]][2]

    def pop(self) -> T | None:
        """The entry of the lowest rank; None when there is none."""
        while self.alive:
            _, arrival, key = heapq.heappop(self._heap)
            known = self.alive.get(key)
            if known is not None and known[1] == arrival:
                del self.alive[key]
                return known[2]
        return None

    def _drop_removed(self) -> None:
        while self._heap:
            _, arrival, key = self._heap[0]
            known = self.alive.get(key)
            if known is not None and known[1] == arrival:
                return
            heapq.heappop(self._heap)
