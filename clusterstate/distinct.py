"""How many distinct things (volumes) the pods of each node use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from clusterstate.growable import IntArray

if TYPE_CHECKING:
    from clusterstate.podinfo import PodInfo

Ids = Callable[["PodInfo"], frozenset[str]]
"""The things that a pod of this class uses."""


class DistinctIds:
    """Per row, the ids in use and by how many pods; sparse, so that only pods with ids cost anything.

    version: what the ids were worked out from (claims and volumes may change under the same pods).
    """

    __slots__ = ("_counters", "_ids", "_memo", "version")

    def __init__(self, ids: Ids, infos: Iterable[PodInfo], version: int) -> None:
        self._ids = ids
        self._memo: dict[PodInfo, frozenset[str]] = {}
        self._counters: dict[int, Counter[str]] = {}
        self.version = version
        for info in infos:
            for row, count in info.rows.items():
                self.add(info, row, count)

    def of(self, info: PodInfo) -> frozenset[str]:
        ids = self._memo.get(info)
        if ids is None:
            ids = self._memo[info] = self._ids(info)
        return ids

    def add(self, info: PodInfo, row: int, amount: int) -> None:
        ids = self.of(info)
        if not ids:
            return
        counter = self._counters.setdefault(row, Counter())
        for name in ids:
            counter[name] += amount
            if not counter[name]:
                del counter[name]
        if not counter:
            del self._counters[row]

    def drop(self, info: PodInfo) -> None:
        """Forgets a class that has no pods left."""
        self._memo.pop(info, None)

    def union_sizes(self, new: frozenset[str], rows: IntArray, deltas: Iterable[tuple[int, PodInfo, int]]) -> IntArray:
        """(n,) int64: how many ids row n would use with ``new`` on top; ``deltas`` are (row, class, ±1)."""
        out = np.full(len(rows), len(new), np.int64)
        changed: dict[int, Counter[str]] = {}
        for row, info, sign in deltas:
            counter = changed.setdefault(row, Counter(self._counters.get(row, ())))
            for name in self.of(info):
                counter[name] += sign
        counters = {**self._counters, **changed}
        position = {int(row): i for i, row in enumerate(rows)}
        for row in counters.keys() & position.keys():
            used = sum(1 for name, count in counters[row].items() if count > 0 and name not in new)
            out[position[row]] += used
        return out
