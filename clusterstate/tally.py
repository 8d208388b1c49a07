"""Running counts of pods per topology domain, kept as pods come and go."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from clusterstate.growable import IntArray
from clusterstate.nodecolumn import ABSENT, NodeColumn
from clusterstate.podinfo import PodInfo

Weight = Callable[[PodInfo], int]
"""What one running pod of a class adds to its domain; 0 for a class that does not take part."""


class Tally:
    """Σ weight of the running pods in each domain of a topology.

    column: the topology, a label column; None when every row is its own domain.
    sums: (D,) int64, by domain code. Code 0 (the key is absent) gathers pods that count nowhere.
    """

    __slots__ = ("_built", "column", "sums", "weight")

    def __init__(self, column: NodeColumn | None, weight: Weight) -> None:
        self.column = column
        self.weight = weight
        self.sums: IntArray = np.zeros(0, np.int64)
        self._built = -1

    def build(self, infos: Iterable[PodInfo], size: int) -> None:
        """Counts from scratch over the placed pod classes."""
        self.sums = np.zeros(self._room(size), np.int64)
        self._built = self.column.version if self.column else 0
        codes = self.column.codes if self.column else None
        for info in infos:
            weight = self.weight(info)
            if weight:
                rows = np.fromiter(info.rows.keys(), np.int64, len(info.rows))
                counts = np.fromiter(info.rows.values(), np.int64, len(info.rows))
                np.add.at(self.sums, rows if codes is None else codes[rows], counts * weight)

    def _room(self, size: int) -> int:
        return size if self.column is None else len(self.column.values)

    def is_current(self, size: int) -> bool:
        """Whether the topology is still the one it was built over; appended domains are made room for."""
        if self.column is not None and self._built != self.column.version:
            return False
        room = self._room(size)
        if len(self.sums) < room:
            self.sums = np.concatenate([self.sums, np.zeros(room - len(self.sums), np.int64)])
        return True

    def add(self, row: int, amount: int) -> None:
        """Counts ``amount`` more pods on a row, or fewer where it is negative."""
        if self.column is None:
            if row >= len(self.sums):
                self.sums = np.concatenate([self.sums, np.zeros(row + 1 - len(self.sums), np.int64)])
            self.sums[row] += amount
        elif self._built == self.column.version:
            self.sums[self.column.codes[row]] += amount

    def domain_of(self, row: int) -> int:
        """The index in ``sums`` that a row counts to: its domain's code, or the row itself without a column."""
        return row if self.column is None else int(self.column.codes[row])

    def counts(self, sums: IntArray, rows: IntArray | None) -> IntArray:
        """``sums`` laid over the rows: (n,) int64, 0 where the topology key is absent."""
        if self.column is None:
            return sums if rows is None else sums[rows]
        codes = self.column.codes if rows is None else self.column.codes[rows]
        out: IntArray = sums[codes]
        if sums[ABSENT]:
            out[codes == ABSENT] = 0
        return out
