"""Many nodes at once, each as it would be without some of its pods."""

from __future__ import annotations

import numpy as np

from clusterstate.counting.tally import Tally
from clusterstate.errors import ClusterStateError
from clusterstate.growable import IntArray, Mask
from clusterstate.hypothetical.pods_by_importance import NOBODY, PodsByImportance
from clusterstate.snapshot import Snapshot


class RowOverlay(Snapshot):
    """A snapshot over rows in which some places of the roster are empty.

    Every row is a what-if of its own: amounts, the number of pods and counts by node are those of the pods that are
    left. All else is as of the cluster with all its pods, and for predicates whose ``by_row`` says that this is enough.
    empty: (K, n) bool, the places whose pods are hypothetically removed; changed by ``take_away`` and ``put_back``.
    """

    __slots__ = ("_away", "_codes", "_count", "_infos", "_there", "_used", "empty")

    def __init__(self, base: Snapshot, rows: IntArray, roster: PodsByImportance) -> None:
        super().__init__(base._columns, base.objects, rows)
        self._codes = roster.codes[:, rows]
        self._infos = roster.infos
        self._used = roster.used(len(base.resources))
        self._there = super().requested, super().pod_count
        self._away: IntArray = np.zeros((len(self._used), len(rows)), np.int64)
        self._count: IntArray = np.zeros(len(rows), np.int64)
        self.empty: Mask = np.zeros(self._codes.shape, np.bool_)

    def take_away(self, place: int, where: Mask) -> None:
        """Empties a place on the rows where the mask is True."""
        self.empty[place] |= where
        self._move(place, where, 1)

    def put_back(self, place: int, where: Mask) -> None:
        """Fills a place again on the rows where the mask is True."""
        self.empty[place] &= ~where
        self._move(place, where, -1)

    def _move(self, place: int, where: Mask, sign: int) -> None:
        codes = self._codes[place]
        if not where.all():
            codes = codes * where
        moved = self._used[:, codes]
        if sign > 0:
            self._away, self._count = self._away + moved, self._count + (codes != NOBODY)
        else:
            self._away, self._count = self._away - moved, self._count - (codes != NOBODY)

    @property
    def requested(self) -> IntArray:
        """(R, n) what the pods that are left take."""
        out: IntArray = self._there[0] - self._away
        return out

    @property
    def nonzero(self) -> IntArray:
        """(2, n) millicores and bytes that the pods that are left request, defaults filled in."""
        amounts = np.zeros((2, len(self._infos)), np.int64)
        for code in np.unique(self._codes[self.empty]).tolist():
            info = self._infos[code]
            amounts[:, code] = 0 if info is None else info.usage.nonzero
        away = np.where(self.empty, amounts[:, self._codes], 0).sum(axis=1)
        out: IntArray = super().nonzero - away
        return out

    @property
    def pod_count(self) -> IntArray:
        """(n,) pods that are left."""
        out: IntArray = self._there[1] - self._count
        return out

    def counts(self, tally: Tally, *, nominated: bool = True) -> IntArray:
        """(n,) a tally by node, of the pods that are left. A tally over a topology is refused."""
        if tally.column is not None:
            raise ClusterStateError("an overlay knows each row by itself: a topology cannot be counted over it")
        weights = np.zeros(len(self._infos), np.int64)
        weights[self._codes] = 1
        for code in np.flatnonzero(weights).tolist():
            info = self._infos[code]
            weights[code] = 0 if info is None else tally.weight(info)
        away = np.where(self.empty, weights[self._codes], 0).sum(axis=0)
        out: IntArray = super().counts(tally, nominated=nominated) - away
        return out
