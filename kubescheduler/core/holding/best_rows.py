"""The rows with the highest total, found from the highest of each block."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush, heapreplace

import numpy as np

from clusterstate.growable import IntArray
from kubescheduler.core.holding.number_table import block_size
from kubescheduler.core.selection import FirstByName, TieBreak

STALE = 4
"""So many times as many entries as blocks are queued before those that are out of date are dropped."""
FEW_BLOCKS = 2
"""While fewer than one of so many blocks have changed, each is looked at; else all are."""

Queued = tuple[int, int, int, int, int]
"""(a block's highest total, negated; the place by name of the first row that has it, -1 while that is not looked up;
the block; how often it had changed by then; the row)."""


class BestRows:
    """Of totals that change in place, the highest of each block of rows and the rows that have it.

    Nothing is looked at before the first choice.
    """

    __slots__ = ("_changes", "_highest", "_orders", "_queue", "_ranks", "_size", "_tied", "_totals")

    def __init__(self, totals: IntArray, ranks: IntArray) -> None:
        """totals: (N,), which may be written to when ``changed`` is called then. ranks: (N,) every row's place in the
        order of names."""
        self._totals = totals
        self._ranks = ranks
        self._size = block_size(len(totals))
        self._orders: list[IntArray | None] = [None] * -(-len(totals) // self._size)
        self._highest: list[int] | None = None

    def _look(self) -> list[int]:
        """The highest total of each block."""
        highest: list[int] = np.maximum.reduceat(self._totals, np.arange(0, len(self._totals), self._size)).tolist()
        self._highest = highest
        self._changes = [0] * len(highest)
        self._tied: list[IntArray | None] = [None] * len(highest)
        self._queue: list[Queued] = [(-high, -1, at, 0, 0) for at, high in enumerate(highest)]
        heapify(self._queue)
        return highest

    def changed(self, rows: Sequence[int]) -> None:
        """The totals of some rows have changed."""
        if self._highest is None or not rows:
            return
        if len(rows) > 1:
            blocks = {row // self._size for row in rows}
            if len(blocks) * FEW_BLOCKS > len(self._orders):
                self._highest = None
                return
            for at in blocks:
                self._changed(at, self._highest)
        else:
            self._changed(rows[0] // self._size, self._highest)

    def _changed(self, at: int, highest: list[int]) -> None:
        """A block's totals have changed."""
        self._changes[at] += 1
        self._tied[at] = None
        first = self._first(at)
        highest[at] = -first[0]
        if len(self._queue) > STALE * len(self._changes):
            self._queue = [queued for queued in self._queue if queued[3] == self._changes[queued[2]]]
            heapify(self._queue)
        heappush(self._queue, first)

    def choose(self, tie_break: TieBreak) -> int:
        """The chosen row."""
        highest = self._look() if self._highest is None else self._highest
        if type(tie_break) is FirstByName:
            return self._first_of_all()
        best = max(highest)
        tied = [self._rows(block, best) for block, high in enumerate(highest) if high == best]
        return tie_break.choose(tied[0] if len(tied) == 1 else np.concatenate(tied), self._ranks)

    def _rows(self, at: int, best: int) -> IntArray:
        """The rows that have a block's highest total, ascending."""
        tied = self._tied[at]
        if tied is None:
            start = at * self._size
            tied = self._tied[at] = np.flatnonzero(self._totals[start : start + self._size] == best) + start
        return tied

    def _first_of_all(self) -> int:
        """The first row by name of those with the highest total."""
        queue = self._queue
        while True:
            _, rank, at, changes, row = queue[0]
            if changes != self._changes[at]:
                heappop(queue)
            elif rank < 0:
                heapreplace(queue, self._first(at))
            else:
                return row

    def _first(self, at: int) -> Queued:
        """What is queued of a block as it is now."""
        start = at * self._size
        order = self._orders[at]
        if order is None:
            order = self._orders[at] = self._ranks[start : start + self._size].argsort() + start
        row = order.item(self._totals[order].argmax())
        return -self._totals.item(row), self._ranks.item(row), at, self._changes[at], row
