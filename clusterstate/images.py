"""Which images nodes have, as the scheduler cache remembers it."""

from __future__ import annotations

import numpy as np

from clusterstate.growable import IntArray
from clusterstate.objects import Node


class ImageStates:
    """Upstream: 1.16 schedulerCache.addNodeImageStates.

    An image name's size is what the first node that introduced it reported; the number of nodes is
    remembered with a node as it was when that node was last added or updated.
    """

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}
        self._nodes: dict[str, set[int]] = {}
        self._summaries: dict[int, dict[str, tuple[int, int]]] = {}
        self._columns: dict[str, tuple[IntArray, IntArray]] = {}

    def put(self, row: int, node: Node | None) -> None:
        """Notes the images of a row's node; None: the node is gone."""
        for name in self._summaries.pop(row, ()):
            self._forget(name, row)
        if node is None or not node.images:
            return
        summaries: dict[str, tuple[int, int]] = {}
        for image in node.images:
            for name in image.names:
                self._sizes.setdefault(name, image.size_bytes)
                self._nodes.setdefault(name, set()).add(row)
                summaries[name] = (self._sizes[name], len(self._nodes[name]))
                self._columns.pop(name, None)
        self._summaries[row] = summaries

    def refresh(self) -> None:
        """Brings every node's remembered numbers up to date, as an update of each node would."""
        for summaries in self._summaries.values():
            for name in summaries:
                summaries[name] = (self._sizes[name], len(self._nodes[name]))
        self._columns.clear()

    def touched(self, row: int) -> None:
        """Notes that pods of a row came or left; here its numbers do not depend on that."""

    def copied(self) -> list[int]:
        """Notes that the cluster is looked at for a pod; the rows whose numbers changed by that: here none."""
        return []

    def stands(self) -> bool:
        """Whether no number changes when rows are copied because pods came or left."""
        return True

    def _forget(self, name: str, row: int) -> None:
        self._columns.pop(name, None)
        nodes = self._nodes[name]
        nodes.discard(row)
        if not nodes:
            del self._nodes[name], self._sizes[name]

    def column(self, name: str, size: int) -> tuple[IntArray, IntArray]:
        """(size in bytes, number of nodes) of one image name, each (N,) int64; 0 on nodes without it."""
        column = self._columns.get(name)
        if column is None or len(column[0]) != size:
            sizes, counts = np.zeros(size, np.int64), np.zeros(size, np.int64)
            for row in self._nodes.get(name, ()):
                sizes[row], counts[row] = self._summaries[row][name]
            column = self._columns[name] = (sizes, counts)
        return column


class SnapshotImageStates(ImageStates):
    """The same with numbers remembered as they were when a row was last copied for a decision, which is done for rows
    whose node or pods have changed since. Upstream: 1.36 ImageStateSummary.Snapshot.
    """

    def __init__(self) -> None:
        super().__init__()
        self._dirty: set[int] = set()
        self._version = 0
        """How often the nodes that have an image have changed."""
        self._copied: dict[int, int] = {}
        """Row → the version when it was last copied."""
        self._stood = -1
        """The version as of which every remembered number was up to date."""

    def put(self, row: int, node: Node | None) -> None:
        """Notes the images of a row's node; None: the node is gone."""
        if row in self._summaries or (node is not None and node.images):
            self._version += 1
        super().put(row, node)
        self.touched(row)

    def touched(self, row: int) -> None:
        """Notes that pods of a row came or left: it is copied anew before the next decision."""
        self._dirty.add(row)

    def copied(self) -> list[int]:
        """Copies the rows that have changed; those whose numbers changed by that."""
        if not self._dirty:
            return []
        rows = [row for row in self._dirty if self._copied.get(row) != self._version and self._copy(row)]
        self._dirty.clear()
        return rows

    def stands(self) -> bool:
        """Whether no number changes when rows are copied because pods came or left."""
        if self._stood != self._version:
            for summaries in self._summaries.values():
                if any(numbers != (self._sizes[name], len(self._nodes[name])) for name, numbers in summaries.items()):
                    return False
            self._stood = self._version
        return True

    def _copy(self, row: int) -> bool:
        """Whether a number of the row is another than before."""
        self._copied[row] = self._version
        summaries = self._summaries.get(row, {})
        fresh = {name: (self._sizes[name], len(self._nodes[name])) for name in summaries}
        changed = [name for name, summary in fresh.items() if summary != summaries[name]]
        if changed:
            self._summaries[row] = fresh
            for name in changed:
                self._columns.pop(name, None)
        return bool(changed)
