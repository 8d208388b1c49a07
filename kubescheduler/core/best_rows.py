"""The rows with the highest total, kept up to date as totals change."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush, heapreplace
from math import isqrt

import numpy as np

from clusterstate.growable import IntArray
from clusterstate.topology.row_groups import GroupedScores, RowGroups
from kubescheduler.core.lazy_results import LOWEST
from kubescheduler.core.selection import FirstByName, TieBreak

LEAST_IN_BLOCK = 64


def block_size(rows: int) -> int:
    """How many rows a block has where there are so many."""
    return max(LEAST_IN_BLOCK, isqrt(rows))


FEWEST_ROWS = 2000
"""With fewer of them all totals are added up sooner than the best of each group is found."""
MOST_WEIGHT = 1 << 40
"""Weight of a rule up to which its scores never bring a total near the end of 64 bits."""


class BestTotals:
    """What is looked up of the best rows is kept from the first choice on."""

    __slots__ = ("_by_group", "_ranks", "_rows", "totals")

    def __init__(self, totals: IntArray, ranks: IntArray) -> None:
        """ranks: (N,) every row's place in the order of names."""
        self.totals = totals
        """(N,), LOWEST where a row does not fit; who writes to it calls ``changed``."""
        self._ranks = ranks
        self._rows: BestRows | None = None
        self._by_group: BestByGroup | None = None

    def of(self, feasible: IntArray) -> IntArray:
        """(n,) the totals of the rows that fit; a copy."""
        totals: IntArray = self.totals.copy() if len(feasible) == len(self.totals) else self.totals[feasible]
        return totals

    def changed(self, rows: Sequence[int]) -> None:
        """The totals of some rows have changed. rows: some perhaps more than once."""
        if self._rows is not None:
            self._rows.changed(rows)
        by_group = self._by_group
        if by_group is not None and not all([by_group.changed(row) for row in dict.fromkeys(rows)]):  # noqa: C419
            self._by_group = None

    def choose(self, tie_break: TieBreak) -> int:
        """One of the rows with the highest total."""
        if self._rows is None:
            self._rows = BestRows(self.totals, self._ranks)
        return self._rows.choose(tie_break)

    def choose_with(self, scores: GroupedScores, weight: int) -> int | None:
        """The first row by name of those with the highest total together with scores of another rule; None: it is not
        known without all of them."""
        if not 0 <= weight <= MOST_WEIGHT or len(self.totals) < FEWEST_ROWS:
            return None
        if self._by_group is None or self._by_group.groups is not scores.groups:
            self._by_group = BestByGroup(scores.groups, self.totals, self._ranks)
        return self._by_group.choose(scores, weight)


STALE = 4
"""So many times as many entries as rows or blocks are queued before those that are out of date are dropped."""
FEW_BLOCKS = 2
"""While fewer than one of so many blocks have changed, each is looked at; else all are."""

QueuedBlock = tuple[int, int, int, int, int]
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
        self._queue: list[QueuedBlock] = [(-high, -1, at, 0, 0) for at, high in enumerate(highest)]
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

    def _first(self, at: int) -> QueuedBlock:
        """What is queued of a block as it is now."""
        start = at * self._size
        order = self._orders[at]
        if order is None:
            order = self._orders[at] = self._ranks[start : start + self._size].argsort() + start
        row = order.item(self._totals[order].argmax())
        return -self._totals.item(row), self._ranks.item(row), at, self._changes[at], row


MOST_GROUPS = 32
"""With more of them the totals of all rows are added up sooner."""
MOST_PASSED_OVER = 32
"""Rows of a group that have scores of their own although they are its best, up to which the next is looked for."""

QueuedRow = tuple[int, int, int]
"""(a row's total, negated; its place by name; the row)."""

UNKNOWN: QueuedRow = (0, -1, -1)
"""Stands for a row that was not found among the first."""


class BestByGroup:
    """Of a table's totals, each group's rows by total and then by name; rows that change are queued once more."""

    __slots__ = ("_left", "_queues", "_ranks", "_totals", "groups")

    def __init__(self, groups: RowGroups, totals: IntArray, ranks: IntArray) -> None:
        """totals: (N,) those of the table, which go on being kept current; LOWEST where a row does not fit. ranks: (N,)
        every row's place in the order of names."""
        self.groups = groups
        self._totals = totals
        self._ranks = ranks
        self._queues: list[list[QueuedRow]] = [[] for _ in range(len(groups))]
        self._left = STALE * len(totals)
        order = np.lexsort((ranks, -totals))
        order = order[totals[order] != LOWEST]
        queued = zip((-totals[order]).tolist(), ranks[order].tolist(), order.tolist(), strict=True)
        for group, one in zip(groups.of_row[order].tolist(), queued, strict=True):
            self._queues[group].append(one)

    def changed(self, row: int) -> bool:
        """A row's total has changed. False: so many have that it is time to begin anew."""
        self._left -= 1
        total = self._totals.item(row)
        if total != LOWEST:
            heappush(self._queues[self.groups.of_row.item(row)], (-total, self._ranks.item(row), row))
        return self._left > 0

    def choose(self, scores: GroupedScores, weight: int) -> int | None:
        """The first row by name of those with the highest sum of total and weighted score; None: it is not known.

        A row of a group that has a score of its own is no better than the first one that has not, unless it is queued
        before. weight: 0 or more.
        """
        if len(self._queues) > MOST_GROUPS:
            return None
        numbers = scores.scores.tolist()
        own = dict(zip(scores.rows.tolist(), numbers[len(self._queues) :], strict=True))
        found: list[QueuedRow] = []
        for queue, score in zip(self._queues, numbers, strict=False):
            passed_over: list[QueuedRow] = []
            while queue:
                total, rank, row = queue[0]
                if -total != self._totals.item(row):
                    heappop(queue)
                elif row not in own:
                    found.append((total - weight * score, rank, row))
                    break
                elif len(passed_over) == MOST_PASSED_OVER:
                    found.append(UNKNOWN)
                    break
                else:
                    passed_over.append(heappop(queue))
                    found.append((total - weight * own[row], rank, row))
            for one in passed_over:
                heappush(queue, one)
        return None if UNKNOWN in found else min(found)[2]
