"""How many distinct things (volumes) the pods of each node use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from clusterstate.growable import Growable, IntArray

if TYPE_CHECKING:
    from clusterstate.podinfo import PodInfo

Ids = Callable[["PodInfo"], frozenset[str]]
"""The things that a pod of this class uses."""


class DistinctIds:
    """The ids in use on each row; only pods with ids cost anything.

    holders: id → row → number of pods there that use it. sizes: row → number of distinct ids there.
    version: what the ids were worked out from besides claims and volumes, whose changes ``renew`` follows.
    """

    __slots__ = ("_holders", "_ids", "_memo", "_sizes", "version")

    def __init__(self, ids: Ids, infos: Iterable[PodInfo], version: int) -> None:
        self._ids = ids
        self._memo: dict[PodInfo, frozenset[str]] = {}
        self._holders: dict[str, dict[int, int]] = {}
        self._sizes = Growable((0,))
        self.version = version
        for info in infos:
            if self._of(info):
                for row, count in info.rows.items():
                    self.add(info, row, count)

    def _of(self, info: PodInfo) -> frozenset[str]:
        ids = self._memo.get(info)
        if ids is None:
            ids = self._memo[info] = self._ids(info)
        return ids

    def add(self, info: PodInfo, row: int, amount: int) -> None:
        """Counts ``amount`` more pods of a class on a row, or fewer where it is negative."""
        for name in self._of(info):
            holders = self._holders.setdefault(name, {})
            before = holders.get(row, 0)
            after = before + amount
            if after:
                holders[row] = after
            else:
                del holders[row]
                if not holders:
                    del self._holders[name]
            self._reach(row)
            self._sizes.data[row] += (after > 0) - (before > 0)

    def _reach(self, row: int) -> None:
        if row >= self._sizes.shape[0]:
            self._sizes.resize(row + 1)

    def renew(self, info: PodInfo) -> None:
        """Works out anew what the placed pods of a class use."""
        before, now = self._memo.get(info), self._ids(info)
        if before is None or before == now:
            return
        for row, count in info.rows.items():
            self.add(info, row, -count)
        self._memo[info] = now
        for row, count in info.rows.items():
            self.add(info, row, count)

    def drop(self, info: PodInfo) -> None:
        """Forgets a class that has no pods left."""
        self._memo.pop(info, None)

    def union_sizes(self, new: frozenset[str], rows: IntArray, deltas: Iterable[tuple[int, PodInfo, int]]) -> IntArray:
        """(n,) int64: how many ids row n would use with ``new`` on top; ``deltas`` are (row, class, ±1)."""
        if len(rows):
            self._reach(int(rows.max()))
        sizes = self._sizes.view
        both = np.zeros(len(sizes), np.int64)
        for name in new:
            for row in self._holders.get(name, ()):
                both[row] += 1
        out: IntArray = (sizes - both)[rows] + len(new)
        for row, gained in self._gained(new, deltas).items():
            out[rows == row] += gained
        return out

    def _gained(self, new: frozenset[str], deltas: Iterable[tuple[int, PodInfo, int]]) -> dict[int, int]:
        """Row → by how many ids outside ``new`` the deltas raise it."""
        pods: Counter[tuple[int, str]] = Counter()
        for row, info, sign in deltas:
            ids = self._memo.get(info)
            for name in self._ids(info) if ids is None else ids:
                pods[row, name] += sign
        out: dict[int, int] = {}
        for (row, name), amount in pods.items():
            if name not in new:
                before = self._holders.get(name, {}).get(row, 0)
                out[row] = out.get(row, 0) + (before + amount > 0) - (before > 0)
        return out
