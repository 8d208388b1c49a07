"""Which of the best nodes 1.36 takes: the root of a heap."""

from __future__ import annotations

import random

import numpy as np

from clusterstate.growable import IntArray, Mask


class HeapTie:
    """Stands for the release's own choice: the root of a heap over all scored nodes."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def choose(self, tied: IntArray, ranks: IntArray) -> int:  # noqa: ARG002
        """The first of the rows with the highest total, where no heap decides."""
        return int(tied[0])


def heap_root(totals: IntArray, ranks: IntArray | None = None) -> int:
    """The position that a binary max-heap of (total, rank), built from the list as it is, has at its root.

    totals: (n,) in list order, n ≥ 1. ranks: (n,), None: all equal. A child goes up only when it is greater, and the
    right one before the left only when it is greater. Upstream: 1.36 selectHost, newNodeScoreHeap.
    """
    return _first_best(totals) if ranks is None else _sifted(totals, ranks)


def _first_best(totals: IntArray) -> int:
    """Where no ranks decide: of the greatest, the first by node, left subtree, right subtree."""
    at = np.flatnonzero(totals == totals.max())
    if len(at) == 1 or at[0] == 0:
        return int(at[0])
    levels = np.frexp(at + 1)[1]
    paths = (at + 1) << (levels[-1] - levels)
    return int(at[np.lexsort((levels, paths))[0]])


def _sifted(totals: IntArray, ranks: IntArray) -> int:
    """Whole levels at once, the lowest first."""
    size = len(totals)
    best = np.arange(size)
    first = (1 << (size.bit_length() - 1)) - 1
    while first > 0:
        first = (first - 1) // 2
        at = np.arange(first, min(2 * first + 1, size // 2))
        if not len(at):
            continue
        left = best[2 * at + 1]
        other = np.minimum(2 * at + 2, size - 1)
        right = np.where(2 * at + 2 < size, best[other], left)
        child = np.where(_greater(totals, ranks, right, left), right, left)
        best[at] = np.where(_greater(totals, ranks, child, at), child, at)
    return int(best[0])


def _greater(totals: IntArray, ranks: IntArray, these: IntArray, those: IntArray) -> Mask:
    more: Mask = totals[these] > totals[those]
    more |= (totals[these] == totals[those]) & (ranks[these] > ranks[those])
    return more


def random_ranks(size: int, scored: IntArray, rng: random.Random) -> IntArray:
    """(n,) 0, or a random number for the positions that an extender scored."""
    ranks = np.zeros(size, np.int64)
    ranks[scored] = [rng.getrandbits(62) for _ in range(len(scored))]
    return ranks
