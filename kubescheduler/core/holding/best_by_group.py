"""The rows with the highest total in each group of rows, to which scores of the groups are added."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from clusterstate.growable import IntArray
from clusterstate.topology.row_groups import GroupedScores, RowGroups
from kubescheduler.core.holding.held_scores import LOWEST

MOST_GROUPS = 32
"""With more of them the totals of all rows are added up sooner."""
MOST_PASSED_OVER = 32
"""Rows of a group that have scores of their own although they are its best, up to which the next is looked for."""
STALE = 4
"""So many times as many entries as rows are queued before everything is looked up again."""

Queued = tuple[int, int, int]
"""(a row's total, negated; its place by name; the row)."""

UNKNOWN: Queued = (0, -1, -1)
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
        self._queues: list[list[Queued]] = [[] for _ in range(len(groups))]
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
        found: list[Queued] = []
        for queue, score in zip(self._queues, numbers, strict=False):
            passed_over: list[Queued] = []
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
