"""Rows that are in the same domains, so that scores which follow from these are worked out once for all of them."""

from __future__ import annotations

import msgspec
import numpy as np

from clusterstate.changes import Reads
from clusterstate.growable import ABSENT, IntArray, Mask
from clusterstate.snapshot import Snapshot

Keys = tuple[str, ...]


class Among(msgspec.Struct, frozen=True, eq=False):
    """Which rows of each group are among some rows."""

    rows: IntArray | None
    """(n,) these rows; None: all."""
    sizes: IntArray
    """(G,) how many of them each group has."""
    fewest: int
    """The smallest of these."""
    mask: Mask | None
    """(N,) bool, the same rows; None: all."""

    def only(self, rows: IntArray) -> IntArray:
        """Those of some rows that are among them."""
        return rows if self.mask is None else rows[self.mask[rows]]


class RowGroups:
    """G groups of rows, as long as the nodes stay as they are."""

    __slots__ = ("_among", "_every", "first", "of_row")

    def __init__(self, of_row: IntArray, first: IntArray) -> None:
        self.of_row = of_row
        """(N,) the group of each row, 0 to G - 1."""
        self.first = first
        """(G,) a row of each group."""
        self._every = self._among = self._of(None, of_row, None)

    def __len__(self) -> int:
        """G."""
        return len(self.first)

    def among(self, rows: IntArray | None) -> Among:
        """Which are among some rows (None: all), remembered until it is asked of others."""
        if rows is None:
            return self._every
        if self._among.rows is not rows:
            mask = np.zeros(len(self.of_row), np.bool_)
            mask[rows] = True
            self._among = self._of(rows, self.of_row[rows], mask)
        return self._among

    def _of(self, rows: IntArray | None, groups: IntArray, mask: Mask | None) -> Among:
        sizes = np.bincount(groups, minlength=len(self.first))
        return Among(rows, sizes, int(sizes.min(initial=len(self.of_row))), mask)


def row_groups(whole: Snapshot, keys: Keys, carried: Keys = ()) -> RowGroups:
    """Rows of one group are in the same domain of each topology key of ``keys``, or all lack it; and all have the keys
    of ``carried``, or all lack them."""
    memo: dict[tuple[Keys, Keys, int], RowGroups] = whole.derived("row groups", Reads.ALL_NODES, dict)
    name = keys, carried, len(whole)
    if name not in memo:
        memo[name] = _found([*[_codes(whole, key) for key in keys], *[_codes(whole, key) != ABSENT for key in carried]])
    return memo[name]


def _codes(whole: Snapshot, key: str) -> IntArray:
    return whole.label_codes(key)[0]


def _found(numbers: list[IntArray]) -> RowGroups:
    """Rows are of one group that have the same number in each, (N,)."""
    of_row = numbers[0]
    for number in numbers[1:]:
        of_row = np.unique(of_row, return_inverse=True)[1] * (number.max(initial=0) + 1) + number
    _, first, of_row = np.unique(of_row, return_index=True, return_inverse=True)
    return RowGroups(of_row, first)


class GroupedScores(msgspec.Struct, frozen=True, eq=False):
    """A score for each row that fits: that of its group, but for some rows."""

    groups: RowGroups
    rows: IntArray
    """(m,) the rows that fit and have scores of their own."""
    scores: IntArray
    """(G + m,) int64: that of each group, meaningless where none of its rows fits but for some of ``rows``; then those
    of ``rows``."""

    def of_rows(self, rows: IntArray) -> IntArray:
        """(n,) int64, the scores of the rows that fit."""
        every: IntArray = self.scores.take(self.groups.of_row)
        every[self.rows] = self.scores[len(self.groups) :]
        return every if len(rows) == len(every) else every[rows]


RowScores = IntArray | GroupedScores
"""(n,) int64, the scores of the rows that fit, or what they follow from."""
