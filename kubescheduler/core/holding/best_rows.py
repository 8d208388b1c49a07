"""The rows with the highest total, found from the highest of each block."""

from __future__ import annotations

from heapq import heapify, heappop, heappush, heapreplace

import numpy as np

from clusterstate.growable import IntArray
from kubescheduler.core.holding.held_scores import TOTAL
from kubescheduler.core.holding.number_table import NumberTable
from kubescheduler.core.selection import FirstByName, TieBreak

STALE = 4
"""So many times as many entries as blocks are queued before those that are out of date are dropped."""

Queued = tuple[int, int, int, int, int]
"""(a block's highest total, negated; the place by name of the first row that has it, -1 while that is not looked up;
the block; how often it had changed by then; the row)."""


class BestRows:
    """Of a table's totals, the highest of each block and the rows that have it; see ``NumberTable``."""

    __slots__ = ("_changes", "_highest", "_orders", "_queue", "_ranks", "_table", "_tied")

    def __init__(self, table: NumberTable, totals: IntArray, ranks: IntArray) -> None:
        """totals: (N,) those of the table. ranks: (N,) every row's place in the order of names."""
        self._table = table
        self._ranks = ranks
        self._highest: list[int] = np.maximum.reduceat(totals, np.arange(0, len(totals), table.size)).tolist()
        self._changes = [0] * len(table)
        self._tied: list[IntArray | None] = [None] * len(table)
        self._orders: list[IntArray | None] = [None] * len(table)
        self._queue: list[Queued] = [(-high, -1, at, 0, 0) for at, high in enumerate(self._highest)]
        heapify(self._queue)

    def changed(self, at: int) -> None:
        """A block's totals have changed."""
        self._changes[at] += 1
        self._tied[at] = None
        first = self._first(at)
        self._highest[at] = -first[0]
        if len(self._queue) > STALE * len(self._changes):
            self._queue = [queued for queued in self._queue if queued[3] == self._changes[queued[2]]]
            heapify(self._queue)
        heappush(self._queue, first)

    def choose(self, tie_break: TieBreak) -> int:
        """The chosen row."""
        if type(tie_break) is FirstByName:
            return self._first_of_all()
        best = max(self._highest)
        tied = [self._rows(block) for block, high in enumerate(self._highest) if high == best]
        return tie_break.choose(tied[0] if len(tied) == 1 else np.concatenate(tied), self._ranks)

    def _rows(self, at: int) -> IntArray:
        """The rows that have a block's highest total, ascending."""
        tied = self._tied[at]
        if tied is None:
            here = np.flatnonzero(self._table.block(at)[TOTAL] == self._highest[at])
            tied = self._tied[at] = here + at * self._table.size
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
        start = at * self._table.size
        order = self._orders[at]
        if order is None:
            order = self._orders[at] = self._ranks[start : start + self._table.size].argsort()
        totals = self._table.block(at)[TOTAL]
        here = order.item(totals[order].argmax())
        return -totals.item(here), self._ranks.item(start + here), at, self._changes[at], start + here
