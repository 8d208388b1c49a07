"""Which nodes are looked at, and which of those with the highest total is chosen."""

from __future__ import annotations

import random
from typing import Protocol

import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.growable import IntArray, Mask


class TieBreak(Protocol):
    """Chooses among tied rows.

    tied: (k,) the rows with the highest total, in list order, k ≥ 1. ranks: (N,) row → place by name.
    """

    def choose(self, tied: IntArray, ranks: IntArray) -> int:
        """One of the tied rows; ``ranks``: (N,) every row's place in the order of names."""


class FirstByName:
    """The bytewise first name. The default: the same input gives the same output."""

    def choose(self, tied: IntArray, ranks: IntArray) -> int:
        """The tied row whose name comes first."""
        return int(tied[0]) if len(tied) == 1 else int(tied[ranks[tied].argmin()])


class RandomTie:
    """Any of them with equal chance; by name order, so that a seed means the same whatever the list order."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def choose(self, tied: IntArray, ranks: IntArray) -> int:
        """Any tied row."""
        if len(tied) == 1:
            return int(tied[0])
        by_name = tied[ranks[tied].argsort()]
        return int(by_name[self._rng.randrange(len(by_name))])


class ReservoirTie:
    """One pass, switching to the j-th tied node with probability 1/j. Upstream: 1.16 selectHost."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def choose(self, tied: IntArray, ranks: IntArray) -> int:  # noqa: ARG002
        """Any tied row, drawn as upstream draws it."""
        chosen = int(tied[0])
        for seen, row in enumerate(tied[1:].tolist(), start=2):
            if self._rng.randrange(seen) == 0:
                chosen = row
        return chosen


class InTurnTie:
    """In the order of the nodes, the next one each time. Upstream: 1.13 and 1.15 selectHost.

    The count goes on over all decisions, also those where a single node is best.
    """

    def __init__(self, _: random.Random | None = None) -> None:
        """Nothing is drawn."""
        self._decisions = 0

    def choose(self, tied: IntArray, ranks: IntArray) -> int:  # noqa: ARG002
        """The tied row whose turn it is."""
        self._decisions += 1
        return int(tied[(self._decisions - 1) % len(tied)])


class RoundRobinTie(InTurnTie):
    """The same by descending name. Upstream: 1.4 selectHost."""

    def choose(self, tied: IntArray, ranks: IntArray) -> int:
        """The tied row whose turn it is."""
        return super().choose(tied[(-ranks[tied]).argsort()], ranks)


def nodes_to_find_1_13(nodes: int, percentage: int) -> int:
    """The same, but 0 is all. Upstream: 1.13 numFeasibleNodesToFind."""
    return nodes if percentage <= 0 else nodes_to_find(nodes, percentage)


def nodes_to_find(nodes: int, percentage: int) -> int:
    """How many fitting nodes are enough. Upstream: 1.16 numFeasibleNodesToFind (0: adaptive)."""
    if nodes < 100 or percentage >= 100:
        return nodes
    if percentage <= 0:
        percentage = max(5, 50 - nodes // 125)
    return max(100, nodes * percentage // 100)


# --- which nodes are looked at --------------------------------------------------------------------


class NodeWalk(Protocol):
    """In which order nodes are looked at, from attempt to attempt."""

    def sample(self, cache: ClusterCache, fits: Mask, among: Mask | None, wanted: int) -> tuple[IntArray, Mask]:
        """((k,) rows that fit, in the order in which they were met, at most ``wanted``; (N,) bool the rows looked at).

        fits: (N,) bool. among: (N,) bool, the rows that there are for the pod; None: all.
        """


class TreeWalk:
    """Zone by zone, from where the last attempt ended. Upstream: 1.16 findNodesThatFit."""

    def sample(self, cache: ClusterCache, fits: Mask, among: Mask | None, wanted: int) -> tuple[IntArray, Mask]:  # noqa: ARG002
        """See NodeWalk; the walk ends before the fitting node that is one too many."""
        row_of, feasible = cache.columns.row_of, list[int]()
        seen = np.zeros(len(fits), np.bool_)
        for _ in range(cache.columns.node_count):
            row = row_of[cache.tree.next()]
            if fits[row]:
                if len(feasible) == wanted:
                    break
                feasible.append(row)
            seen[row] = True
        return np.array(feasible, np.int64), seen


class ListWalk(msgspec.Struct):
    """Along the node list, from where the last attempt ended. Upstream: 1.18 and later findNodesThatPassFilters."""

    next_start: int = 0

    def sample(self, cache: ClusterCache, fits: Mask, among: Mask | None, wanted: int) -> tuple[IntArray, Mask]:
        """See NodeWalk; ``advance`` says where it ended."""
        order = cache.listed_rows()
        if among is not None:
            order = order[among[order]]
        seen = np.zeros(len(fits), np.bool_)
        if not len(order):
            return np.zeros(0, np.int64), seen
        start = self.next_start % len(order)
        rows = np.concatenate((order[start:], order[:start]))
        passing = np.flatnonzero(fits[rows])
        end = len(rows) if len(passing) < wanted else int(passing[wanted - 1]) + 1
        seen[rows[:end]] = True
        return rows[passing[:wanted]], seen

    def advance(self, seen: int, nodes: int) -> None:
        """After an attempt in which so many of the nodes passed or got a status."""
        self.next_start = (self.next_start + seen) % max(nodes, 1)
