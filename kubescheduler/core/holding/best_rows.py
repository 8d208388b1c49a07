"""The rows with the highest total, found from the highest of each block."""

from __future__ import annotations

import numpy as np

from clusterstate.growable import IntArray
from kubescheduler.core.holding.held_scores import TOTAL
from kubescheduler.core.holding.number_table import NumberTable
from kubescheduler.core.selection import FirstByName, TieBreak

LOWEST = -(1 << 63)
"""Stands for the total of a row that does not fit."""


class BestRows:
    """Of a table's totals, the highest of each block and the rows that have it; see ``NumberTable``."""

    __slots__ = ("_firsts", "_highest", "_orders", "_ranks", "_table", "_tied")

    def __init__(self, table: NumberTable, totals: IntArray, ranks: IntArray) -> None:
        """totals: (N,) those of the table. ranks: (N,) every row's place in the order of names."""
        self._table = table
        self._ranks = ranks
        self._highest = np.maximum.reduceat(totals, np.arange(0, len(totals), table.size)).tolist()
        self._tied: list[IntArray | None] = [None] * len(table)
        self._orders: list[IntArray | None] = [None] * len(table)
        self._firsts: list[tuple[int, int] | None] = [None] * len(table)

    def changed(self, at: int) -> None:
        """A block's totals have changed."""
        self._highest[at] = int(self._table.block(at)[TOTAL].max())
        self._tied[at] = self._firsts[at] = None

    def choose(self, tie_break: TieBreak) -> int:
        """The chosen row."""
        highest = self._highest
        best = max(highest)
        at = [at for at, high in enumerate(highest) if high == best]
        if type(tie_break) is FirstByName:
            return min([self._firsts[block] or self._first(block) for block in at])[1]
        tied = [self._rows(block) for block in at]
        return tie_break.choose(tied[0] if len(tied) == 1 else np.concatenate(tied), self._ranks)

    def _rows(self, at: int) -> IntArray:
        """The rows that have a block's highest total, ascending."""
        tied = self._tied[at]
        if tied is None:
            here = np.flatnonzero(self._table.block(at)[TOTAL] == self._highest[at])
            tied = self._tied[at] = here + at * self._table.size
        return tied

    def _first(self, at: int) -> tuple[int, int]:
        """(place by name, row) of the first by name of them."""
        order = self._orders[at]
        start = at * self._table.size
        if order is None:
            order = self._orders[at] = self._ranks[start : start + self._table.size].argsort()
        row = start + int(order[self._table.block(at)[TOTAL][order].argmax()])
        first = self._firsts[at] = int(self._ranks[row]), row
        return first
