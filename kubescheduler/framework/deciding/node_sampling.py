"""Upstream's way to stop looking once enough nodes pass."""

from __future__ import annotations

import msgspec
import numpy as np

from clusterstate.growable import IntArray, Mask


def wanted_1_36(nodes: int, percentage: int) -> int:
    """As ``nodes_to_find``, without a limit on the percentage. Upstream: 1.36 numFeasibleNodesToFind."""
    if nodes < 100:
        return nodes
    if percentage <= 0:
        percentage = max(5, 50 - nodes // 125)
    return max(100, nodes * percentage // 100)


class Sampler(msgspec.Struct):
    """Where the next attempt begins to look."""

    next_start: int = 0

    def sample(self, order: IntArray, fits: Mask, wanted: int) -> tuple[IntArray, Mask]:
        """((k,) rows that pass, in the order they were met, (N,) bool the rows looked at).

        order: (n,) the rows in the order of the node list, of which ``next_start`` is the first to be looked at.
        """
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
