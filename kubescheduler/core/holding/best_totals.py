"""The totals of all rows, changed in place, and the best of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clusterstate.growable import IntArray
from clusterstate.topology.row_groups import GroupedScores
from kubescheduler.core.selection import TieBreak

if TYPE_CHECKING:
    from kubescheduler.core.holding.best_by_group import BestByGroup
    from kubescheduler.core.holding.best_rows import BestRows

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
            from kubescheduler.core.holding.best_rows import BestRows

            self._rows = BestRows(self.totals, self._ranks)
        return self._rows.choose(tie_break)

    def choose_with(self, scores: GroupedScores, weight: int) -> int | None:
        """The first row by name of those with the highest total together with scores of another rule; None: it is not
        known without all of them."""
        if not 0 <= weight <= MOST_WEIGHT or len(self.totals) < FEWEST_ROWS:
            return None
        if self._by_group is None or self._by_group.groups is not scores.groups:
            from kubescheduler.core.holding.best_by_group import BestByGroup

            self._by_group = BestByGroup(scores.groups, self.totals, self._ranks)
        return self._by_group.choose(scores, weight)
