"""Trying a pod on nodes without some of the pods there: many nodes at once, or one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import attrs
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.changes import LOCAL, Reads
from clusterstate.errors import SchedulingError
from clusterstate.growable import IntArray, Mask
from clusterstate.objects import Pod
from clusterstate.overlay import RowOverlay
from clusterstate.podinfo import PodInfo
from clusterstate.roster import Roster
from clusterstate.snapshot import PodChange, Snapshot
from kubescheduler.core.filtering import judge, nominated_beside
from kubescheduler.core.verdicts import failing
from predicates.types import FitPredicate


class Trial(Protocol):
    """Rows with places of the roster emptied; place and mask as in RowOverlay."""

    def take_away(self, place: int, where: Mask) -> None: ...
    def put_back(self, place: int, where: Mask) -> None: ...
    def fits(self, where: Mask) -> Mask:
        """(n,) bool, whether the pod fits; only asked of the rows where the mask is True. Errors do not fit."""


@attrs.frozen(eq=False)
class Attempt:
    """The pod that is tried, and by what."""

    pod: Pod
    info: PodInfo
    predicates: Sequence[FitPredicate]
    cache: ClusterCache
    roster: Roster


class BatchTrial:
    """All rows in one go; for predicates that look at nothing but the row.

    Those that do not look at its pods either are asked once.
    """

    def __init__(self, attempt: Attempt, rows: IntArray) -> None:
        self._info = attempt.info
        self._overlay = RowOverlay(attempt.cache.snapshot(), rows, attempt.roster)
        self.take_away = self._overlay.take_away
        self.put_back = self._overlay.put_back
        self._moving = [p for p in attempt.predicates if p.reads & Reads.PODS and not p.reads & ~LOCAL]
        fixed = [p for p in attempt.predicates if p not in self._moving]
        self._allowed = self._passing(fixed, np.ones(len(rows), np.bool_))

    def _passing(self, predicates: Sequence[FitPredicate], rows: Mask) -> Mask:
        for predicate in predicates:
            refused = failing(predicate.check(self._info, self._overlay))
            if refused is not None:
                rows = rows & ~refused
        return rows

    def fits(self, where: Mask) -> Mask:  # noqa: ARG002
        return self._passing(self._moving, self._allowed)


class RowTrial:
    """Each row by itself, pods nominated there added in a first pass; for any predicates."""

    def __init__(self, attempt: Attempt, rows: IntArray) -> None:
        self._attempt = attempt
        self._rows = rows.tolist()
        self._changes: list[list[PodChange]] = [[] for _ in self._rows]
        self._nominated = [nominated_beside(attempt.pod, row, attempt.cache) for row in self._rows]

    def take_away(self, place: int, where: Mask) -> None:
        self._change(place, where, -1)

    def put_back(self, place: int, where: Mask) -> None:
        self._change(place, where, 1)

    def _change(self, place: int, where: Mask, sign: int) -> None:
        for at in np.flatnonzero(where).tolist():
            row = self._rows[at]
            pod = self._attempt.roster.pods[row][place]
            self._changes[at].append(PodChange(row, self._attempt.cache.info(pod), sign, pod=pod))

    def fits(self, where: Mask) -> Mask:
        out = np.zeros(len(self._rows), np.bool_)
        snapshot = self._attempt.cache.snapshot()
        for at in np.flatnonzero(where).tolist():
            here = snapshot.take(np.array([self._rows[at]]))
            out[at] = self._fits(here, self._changes[at], self._nominated[at])
        return out

    def _fits(self, here: Snapshot, changes: Sequence[PodChange], nominated: Sequence[PodChange]) -> bool:
        pod, info, predicates = self._attempt.pod, self._attempt.info, self._attempt.predicates
        try:
            if nominated and judge(pod, info, here.what_if((*changes, *nominated)), predicates):
                return False
            return not judge(pod, info, here.what_if(changes), predicates)
        except SchedulingError:
            return False


def trials(attempt: Attempt, rows: IntArray) -> list[tuple[IntArray, Trial]]:
    """(rows, a trial of them) for all of ``rows``: as many as can be at once, the others one by one."""
    snapshot = attempt.cache.snapshot()
    predicates = [p for p in attempt.predicates if p.applies(attempt.info)]
    attempt = attrs.evolve(attempt, predicates=predicates)
    if not all(p.by_row(attempt.info, snapshot) for p in predicates):
        return [(rows, RowTrial(attempt, rows))]
    waiting = [attempt.cache.columns.row_of.get(name) for name in attempt.cache.nominated()]
    alone = np.isin(rows, [row for row in waiting if row is not None])
    parts: list[tuple[IntArray, Trial]] = [(rows[~alone], BatchTrial(attempt, rows[~alone]))]
    if alone.any():
        parts.append((rows[alone], RowTrial(attempt, rows[alone])))
    return parts
