"""Nodes as they look when an extender answered them as bare objects: without pods, amounts in use and images."""

from __future__ import annotations

import numpy as np

from clusterstate.counting.tally import Tally
from clusterstate.growable import IntArray
from clusterstate.snapshot import Snapshot


class EmptiedNodes(Snapshot):
    """A snapshot whose rows have lost what is not in the node object itself.

    Counts over a topology are those of the whole cluster all the same. Upstream: 1.36 builds new NodeInfos from the
    nodes that an extender's filter answers as objects.
    """

    __slots__ = ()

    @classmethod
    def of(cls, snapshot: Snapshot) -> EmptiedNodes:
        """The rows of a snapshot, emptied."""
        return cls(snapshot._columns, snapshot.objects, snapshot.rows, snapshot.changes)

    def take(self, rows: IntArray) -> EmptiedNodes:
        """Only these rows."""
        return EmptiedNodes(self._columns, self.objects, rows, self.changes)

    @property
    def requested(self) -> IntArray:
        """(R, n) int64: zeros."""
        return np.zeros_like(super().requested)

    @property
    def nonzero(self) -> IntArray:
        """(2, n) int64: zeros."""
        return np.zeros_like(super().nonzero)

    @property
    def pod_count(self) -> IntArray:
        """(n,) int64: zeros."""
        return np.zeros_like(super().pod_count)

    def image(self, name: str) -> tuple[IntArray, IntArray]:
        """((n,) size, (n,) number of nodes) of an image: zeros, no node has it."""
        sizes, counts = super().image(name)
        return np.zeros_like(sizes), np.zeros_like(counts)

    def counts(self, tally: Tally, *, nominated: bool = True) -> IntArray:
        """(n,) int64: counts by node are zeros, those by topology stay."""
        counts = super().counts(tally, nominated=nominated)
        return counts if tally.column is not None else np.zeros_like(counts)
