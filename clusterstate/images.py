"""Which images nodes have, as the scheduler cache remembers it."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from clusterstate.growable import Growable, IntArray, constant_row
from clusterstate.objects import ContainerImage, Node

MOST_COLUMNS = 64
"""Images of which the numbers of every row are kept."""


class ImageHolders:
    """The nodes that have one image name, and how many these were at each time that a row may remember."""

    __slots__ = ("_counts", "_rows", "_times", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        """Bytes, as the first node that introduced the name reported them."""
        self._rows = array("q")
        self._times = array("q")
        self._counts = array("q")

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def rows(self) -> IntArray:
        """(k,) the rows of the nodes, ascending."""
        return np.array(self._rows, np.int64)

    def add(self, row: int) -> None:
        """A row's node has the image; it may be known."""
        rows = self._rows
        if not rows or row > rows[-1]:
            rows.append(row)
            return
        at = bisect_left(rows, row)
        if rows[at] != row:
            rows.insert(at, row)

    def add_many(self, rows: Iterable[int]) -> None:
        """The same of several rows."""
        self._rows = array("q", sorted({*self._rows, *rows}))

    def drop(self, row: int) -> None:
        """A row's node has the image no longer."""
        del self._rows[bisect_left(self._rows, row)]

    def note(self, time: int) -> None:
        """Remembers how many rows there are since ``time``, the latest so far."""
        count = len(self._rows)
        if self._times and self._times[-1] == time:
            self._counts[-1] = count
        elif not self._counts or self._counts[-1] != count:
            self._times.append(time)
            self._counts.append(count)

    def forget_before(self, time: int) -> None:
        """Every row remembers the number of now."""
        self._times, self._counts = array("q", [time]), array("q", [len(self)])

    def at(self, time: int) -> int:
        """How many rows there were."""
        return self._counts[bisect_right(self._times, time) - 1]

    def at_times(self, times: IntArray) -> IntArray:
        """(n,) how many rows there were at each of (n,) times."""
        found: IntArray = np.array(self._counts, np.int64)[self._places(times)]
        return found

    def _places(self, times: IntArray) -> IntArray:
        places: IntArray = np.searchsorted(np.array(self._times, np.int64), times, side="right") - 1
        return places

    def is_worn(self) -> bool:
        """Whether there is more to look up than rows that remember it."""
        return len(self._times) > 2 * len(self._rows) + 16

    def is_same_since(self, times: IntArray) -> bool:
        """Whether there were as many rows at each of some times as there are now."""
        return len(self._times) == 1 or bool((self.at_times(times) == len(self)).all())

    def keep(self, times: IntArray) -> None:
        """Keeps what was the case at some times, and what is now."""
        places = np.unique([*self._places(times), len(self._times) - 1])
        self._times = array("q", [self._times[at] for at in places])
        self._counts = array("q", [self._counts[at] for at in places])


class ImageStates:
    """Upstream: 1.16 schedulerCache.addNodeImageStates.

    An image name's size is what the first node that introduced it reported; the number of nodes is
    remembered with a node as it was when that node was last added or updated.
    """

    def __init__(self) -> None:
        self._holders: dict[str, ImageHolders] = {}
        self._images: dict[int, tuple[ContainerImage, ...]] = {}
        self._time = 0
        """How often the nodes that have an image have changed."""
        self._seen = Growable((0,))
        """Row → the time of the numbers that are remembered with it."""
        self._columns: OrderedDict[str, tuple[IntArray, IntArray]] = OrderedDict()

    def put(self, row: int, node: Node | None) -> None:
        """Notes the images of a row's node; None: the node is gone."""
        before, now = self._images.pop(row, ()), () if node is None else node.images
        if not before and not now:
            return
        self._time += 1
        if row >= self._seen.shape[0]:
            self._seen.resize(row + 1)
        if now:
            self._images[row] = now
        if before == now and all(len(self._holders[name]) > 1 for name in _names(now)):
            self._remember(row)
            return
        for name in dict.fromkeys(_names(before)):
            self._drop(name, row)
        for image in now:
            for name in image.names:
                holders = self._holders.get(name)
                if holders is None:
                    holders = self._holders[name] = ImageHolders(image.size_bytes)
                holders.add(row)
        self._seen.data[row] = self._time
        for name in dict.fromkeys((*_names(before), *_names(now))):
            self._columns.pop(name, None)
            holders = self._holders.get(name)
            if holders is not None:
                holders.note(self._time)
                if holders.is_worn():
                    holders.keep(self._seen.view[holders.rows])

    def put_many(self, rows: Sequence[int], nodes: Sequence[Node]) -> None:
        """As ``put`` of each, one after the other, and then ``refresh``. rows: different ones without a node."""
        by_images: dict[tuple[ContainerImage, ...], list[int]] = {}
        for row, node in zip(rows, nodes, strict=True):
            if node.images:
                self._images[row] = node.images
                by_images.setdefault(node.images, []).append(row)
        found: dict[str, list[int]] = {}
        for images, alike in by_images.items():
            for image in images:
                for name in image.names:
                    if name not in self._holders:
                        self._holders[name] = ImageHolders(image.size_bytes)
                    found.setdefault(name, []).extend(alike)
        for name, more in found.items():
            self._holders[name].add_many(more)
        self._seen.resize(max(self._seen.shape[0], 1 + max(self._images, default=-1)))
        self.refresh()

    def _drop(self, name: str, row: int) -> None:
        holders = self._holders[name]
        holders.drop(row)
        if not len(holders):
            del self._holders[name]

    def _remember(self, row: int) -> bool:
        """Remembers with a row the numbers of now; whether one is another than before."""
        seen = int(self._seen.data[row])
        self._seen.data[row] = self._time
        changed = [name for name in _names(self._images[row]) if self._holders[name].at(seen) != self._now(name)]
        for name in changed:
            self._columns.pop(name, None)
        return bool(changed)

    def _now(self, name: str) -> int:
        return len(self._holders[name])

    def refresh(self) -> None:
        """Brings every node's remembered numbers up to date, as an update of each node would."""
        self._seen.data[:] = self._time
        for holders in self._holders.values():
            holders.forget_before(self._time)
        self._columns.clear()

    def touched(self, row: int) -> None:
        """Notes that pods of a row came or left; here its numbers do not depend on that."""

    def copied(self) -> list[int]:
        """Notes that the cluster is looked at for a pod; the rows whose numbers changed by that: here none."""
        return []

    def stands(self) -> bool:
        """Whether no number changes when rows are copied because pods came or left."""
        return True

    def column(self, name: str, size: int) -> tuple[IntArray, IntArray]:
        """(size in bytes, number of nodes) of one image name, each (N,) int64; 0 on nodes without it."""
        holders = self._holders.get(name)
        if holders is None:
            return constant_row(0, size), constant_row(0, size)
        column = self._columns.get(name)
        if column is None or len(column[0]) != size:
            rows = holders.rows
            sizes, counts = np.zeros(size, np.int64), np.zeros(size, np.int64)
            sizes[rows] = holders.size
            counts[rows] = holders.at_times(self._seen.view[rows])
            column = self._columns[name] = (sizes, counts)
            if len(self._columns) > MOST_COLUMNS:
                self._columns.popitem(last=False)
        else:
            self._columns.move_to_end(name)
        return column


class ArrivedImageStates(ImageStates):
    """The same of nodes that arrived one after the other and were not updated since, as in the recordings of 1.25 to
    1.28: each remembers how many had an image when it came."""

    def put_many(self, rows: Sequence[int], nodes: Sequence[Node]) -> None:
        """As ``put`` of each, one after the other. rows: different ones without a node."""
        for row, node in zip(rows, nodes, strict=True):
            self.put(row, node)

    def refresh(self) -> None:
        """No node is updated only because all have arrived."""


class SnapshotImageStates(ImageStates):
    """The same with numbers remembered as they were when a row was last copied for a decision, which is done for rows
    whose node or pods have changed since. Upstream: 1.36 ImageStateSummary.Snapshot.
    """

    def __init__(self) -> None:
        super().__init__()
        self._dirty: set[int] = set()
        self._stood = -1
        """The time as of which every remembered number was up to date."""

    def put(self, row: int, node: Node | None) -> None:
        super().put(row, node)
        self.touched(row)

    def put_many(self, rows: Sequence[int], nodes: Sequence[Node]) -> None:
        super().put_many(rows, nodes)
        self._dirty.update(rows)

    def touched(self, row: int) -> None:
        self._dirty.add(row)

    def copied(self) -> list[int]:
        if not self._dirty:
            return []
        seen, time = self._seen.data, self._time
        rows = [row for row in self._dirty if row in self._images and seen[row] != time and self._remember(row)]
        self._dirty.clear()
        return rows

    def stands(self) -> bool:
        if self._stood != self._time and all(
            holders.is_same_since(self._seen.view[holders.rows]) for holders in self._holders.values()
        ):
            self._stood = self._time
        return self._stood == self._time


def _names(images: tuple[ContainerImage, ...]) -> Iterator[str]:
    return (name for image in images for name in image.names)
