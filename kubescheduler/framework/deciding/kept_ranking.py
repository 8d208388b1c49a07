"""The ranking of one pod's feasible nodes, from which the next pods with the same signature take theirs (1.36)."""

from __future__ import annotations

import msgspec
import numpy as np

from clusterstate.growable import IntArray, Mask
from kubescheduler.core.selection import TieBreak
from kubescheduler.framework.deciding.heap_tie import HeapTie

Order = list[int]
"""Positions of the ranking, laid out as a binary max-heap of their totals."""


class KeptRanking(msgspec.Struct, eq=False):
    """Feasible nodes, best first; nothing is ordered before the first node is asked for."""

    names: tuple[str, ...]
    """By row."""
    feasible: IntArray
    """(n,) rows in the order in which they were scored."""
    totals: IntArray
    """(n,) what they scored."""
    ranks: IntArray
    """(N,) every row's place in the order of names."""
    tie_break: TieBreak
    chosen: int
    """The row that was taken at once."""
    left: int = 0
    """How many nodes it still has: at first all but the chosen one."""
    _heap: Order | None = None
    _there: Mask | None = None

    def __post_init__(self) -> None:
        self.left = len(self.feasible) - 1

    def pop(self) -> str:
        """The name of the best node that is left, which is no longer left then. Upstream: sortedNodeScores.Pop."""
        self.left -= 1
        row = self._next_of_heap() if isinstance(self.tie_break, HeapTie) else self._next_by_tie_break()
        return self.names[row]

    def take(self, rows: IntArray) -> None:
        """Takes rows away that were found to be the next ones, one after the other, without asking the tie rule."""
        self.left -= len(rows)
        self._there = (self.feasible != self.chosen) & ~np.isin(self.feasible, rows)

    def _next_of_heap(self) -> int:
        totals = self.totals.tolist()
        if self._heap is None:
            self._heap = heap_of(totals)
            pop_root(self._heap, totals)
        return int(self.feasible[pop_root(self._heap, totals)])

    def _next_by_tie_break(self) -> int:
        if self._there is None:
            self._there = self.feasible != self.chosen
        there = np.flatnonzero(self._there)
        totals = self.totals[there]
        tied = there[totals == totals.max()]
        row = self.tie_break.choose(self.feasible[tied], self.ranks)
        self._there &= self.feasible != row
        return row


def heap_of(totals: list[int]) -> Order:
    """The positions of totals as a binary max-heap, built in place from their order. Upstream: Go's heap.Init."""
    heap = list(range(len(totals)))
    for at in reversed(range(len(heap) // 2)):
        _sift(heap, totals, at, len(heap))
    return heap


def pop_root(heap: Order, totals: list[int]) -> int:
    """Takes the root out of a heap and returns its position in ``totals``. Upstream: Go's heap.Pop."""
    last = len(heap) - 1
    heap[0], heap[last] = heap[last], heap[0]
    _sift(heap, totals, 0, last)
    return heap.pop()


def _sift(heap: Order, totals: list[int], at: int, end: int) -> None:
    """Moves a node down until no child is greater; of two equal children the left one goes up."""
    while (child := 2 * at + 1) < end:
        if child + 1 < end and totals[heap[child + 1]] > totals[heap[child]]:
            child += 1
        if totals[heap[child]] <= totals[heap[at]]:
            return
        heap[at], heap[child] = heap[child], heap[at]
        at = child
