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
