"""Trying a pod on nodes without some of the pods there, and which of these would have to go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.changes import PODS
from clusterstate.errors import SchedulingError
from clusterstate.growable import IntArray, Mask
from clusterstate.hypothetical import PodsByImportance, RowOverlay
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import PodChange, Snapshot
from kubescheduler.core.algorithm import joined
from kubescheduler.core.nominated import FITS, NominatedJudgement, judge, nominated_changes
from kubescheduler.core.preemption_rules import PreemptionRules
from kubescheduler.core.status import filter_failed_1_36
from predicates.types import FitPredicate, failing


class PreemptionAttempt(msgspec.Struct, frozen=True, eq=False):
    """The pod that is tried, and by what."""

    pod: Pod
    info: PodInfo
    predicates: Sequence[FitPredicate]
    """Those that apply to it."""
    cache: ClusterCache
    roster: PodsByImportance

    def by(self, predicates: Sequence[FitPredicate]) -> PreemptionAttempt:
        """The same pod, tried by these predicates."""
        return PreemptionAttempt(self.pod, self.info, predicates, self.cache, self.roster)

    def lower(self, rows: IntArray) -> Mask:
        """(K, n) bool, the places of rows with a pod of lower priority."""
        out: Mask = (self.roster.codes[:, rows] > 0) & (self.roster.priorities[:, rows] < self.pod.priority)
        return out


class BatchTrial:
    """Rows with places of the roster emptied, all in one go; for predicates that look at nothing but the row.

    Those that do not look at its pods either are asked once. ``take_away`` and ``put_back``: see RowOverlay.
    """

    def __init__(self, attempt: PreemptionAttempt, rows: IntArray) -> None:
        self._info = attempt.info
        self._all = attempt.predicates
        self._overlay = RowOverlay(attempt.cache.snapshot(), rows, attempt.roster)
        self.take_away = self._overlay.take_away
        self.put_back = self._overlay.put_back
        self._moving, fixed = moving_and_fixed(attempt)
        self._allowed = self._passing(fixed, np.ones(len(rows), np.bool_))

    def _passing(self, predicates: Sequence[FitPredicate], rows: Mask) -> Mask:
        for predicate in predicates:
            refused = failing(predicate.check(self._info, self._overlay))
            if refused is not None:
                rows = rows & ~refused
        return rows

    def fits(self, where: Mask) -> Mask:  # noqa: ARG002
        """(n,) bool, whether the pod fits; only asked of the rows where the mask is True. Errors do not fit."""
        return self._passing(self._moving, self._allowed)

    def refusals(self) -> Counter[str]:
        """Reason → on how many rows the first predicate that refuses the pod gives it."""
        counts: Counter[str] = Counter()
        left = np.ones(len(self._overlay), np.bool_)
        for predicate in self._all:
            verdict = predicate.check(self._info, self._overlay)
            for reason, mask in verdict.items():
                counts[reason] += int((mask & left).sum())
            refused = failing(verdict)
            if refused is not None:
                left &= ~refused
        return +counts


class RowTrial:
    """Each row by itself, pods nominated there added in a first pass; for any predicates."""

    def __init__(self, attempt: PreemptionAttempt, rows: IntArray) -> None:
        self._attempt = attempt
        self._rows = rows.tolist()
        self._changes: list[list[PodChange]] = [[] for _ in self._rows]
        self._nominated = [nominated_changes(attempt.pod, row, attempt.cache) for row in self._rows]

    def take_away(self, place: int, where: Mask) -> None:
        """Removes the pods of a place on the rows where the mask is True."""
        self._change(place, where, -1)

    def put_back(self, place: int, where: Mask) -> None:
        """Puts the pods of a place back on the rows where the mask is True."""
        self._change(place, where, 1)

    def _change(self, place: int, where: Mask, sign: int) -> None:
        for at in np.flatnonzero(where).tolist():
            row = self._rows[at]
            pod = self._attempt.roster.pods[row][place]
            self._changes[at].append(PodChange(row, self._attempt.cache.info(pod), sign, pod=pod))

    def fits(self, where: Mask) -> Mask:
        """See BatchTrial; row by row."""
        out = np.zeros(len(self._rows), np.bool_)
        snapshot = self._attempt.cache.snapshot()
        for at in np.flatnonzero(where).tolist():
            here = snapshot.take(np.array([self._rows[at]]))
            out[at] = self._judged(here, self._changes[at], self._nominated[at]).fits
        return out

    def _judged(
        self, here: Snapshot, changes: Sequence[PodChange], nominated: Sequence[PodChange]
    ) -> NominatedJudgement:
        info, predicates = self._attempt.info, self._attempt.predicates
        judged = judge(info, here.what_if((*changes, *nominated)), predicates)[0] if nominated else FITS
        return judge(info, here.what_if(changes), predicates)[0] if judged.fits else judged

    def refusals(self) -> Counter[str]:
        """See BatchTrial. Raises SchedulingError with the errors of the rows where a predicate errs."""
        counts: Counter[str] = Counter()
        errors: list[str] = []
        snapshot = self._attempt.cache.snapshot()
        for at, row in enumerate(self._rows):
            here = snapshot.take(np.array([row]))
            judged = self._judged(here, self._changes[at], self._nominated[at])
            if judged.error is not None:
                name, error = judged.error
                pod = self._attempt.pod
                errors.append(filter_failed_1_36(name, pod.metadata.name, error.about(pod.key)))
            for _, reasons in judged.found:
                counts.update(reasons)
        if errors:
            raise SchedulingError(f"preemption: {joined(list(dict.fromkeys(errors)))}")
        return counts


def reads_pods(predicate: FitPredicate, info: PodInfo) -> bool:
    """Whether its verdict on a row may change with the pods of that row alone."""
    reads = predicate.footprint.reads_for(info)
    return bool(reads.value & PODS)


def moving_and_fixed(attempt: PreemptionAttempt) -> tuple[list[FitPredicate], list[FitPredicate]]:
    """(the predicates whose verdict on a row moves with its pods, the others)."""
    moving: list[FitPredicate] = []
    fixed: list[FitPredicate] = []
    for predicate in attempt.predicates:
        (moving if reads_pods(predicate, attempt.info) else fixed).append(predicate)
    return moving, fixed


Part = tuple[IntArray, BatchTrial | RowTrial]
"""(n,) rows, and what they are tried together by."""


def trials(attempt: PreemptionAttempt, rows: IntArray) -> list[Part]:
    """Trials of all of ``rows``: as many as can be at once, the others one by one."""
    snapshot = attempt.cache.snapshot()
    if not all(p.footprint.is_row_local(attempt.info, snapshot) for p in attempt.predicates):
        return [(rows, RowTrial(attempt, rows))]
    alone = _with_nominations(attempt.cache, rows)
    together = rows[~alone]
    parts: list[Part] = []
    if len(together):
        parts.append((together, BatchTrial(attempt, together)))
    if alone.any():
        count = any(nominated_changes(attempt.pod, row, attempt.cache) for row in rows[alone].tolist())
        parts.append((rows[alone], (RowTrial if count else BatchTrial)(attempt, rows[alone])))
    return parts


def _with_nominations(cache: ClusterCache, rows: IntArray) -> Mask:
    """(n,) bool: some pod is nominated to the row."""
    nominated, columns = cache.nominated(), cache.columns
    if len(rows) < len(nominated):
        return np.array([columns.names[row] in nominated for row in rows.tolist()], np.bool_)
    there = np.zeros(len(columns), np.bool_)
    there[[row for name in nominated if (row := columns.row_of.get(name)) is not None]] = True
    out: Mask = there[rows]
    return out


FoundVictims = tuple[Mask, Mask, Mask]
"""(n,) bool, the rows where the pod would fit; (K, n) bool, the victims, and the places that a budget protects: see
Candidates."""


def find_victims(attempt: PreemptionAttempt, part: Part, rules: PreemptionRules) -> FoundVictims:
    """Every lower pod is removed hypothetically; each is put back, those that a budget protects first, the important
    before the others, and stays if the pod still fits. Upstream: 1.16 selectVictimsOnNode.
    """
    roster, (rows, trial) = attempt.roster, part
    victims = attempt.lower(rows)
    lower: Mask = np.asarray(victims.any(axis=0)) if rules.lower_only else np.ones(len(rows), np.bool_)
    places = np.flatnonzero(victims.any(axis=1)).tolist()
    for place in places:
        trial.take_away(place, victims[place])
    fits = lower & trial.fits(lower)
    protected = rules.violating(attempt.cache.objects, roster, rows, victims)
    victims &= fits
    for first in (protected, ~protected) if protected.any() else (~protected,):
        for place in places:
            back = victims[place] & first[place]
            if back.any():
                trial.put_back(place, back)
                leaves = back & ~trial.fits(back)
                if leaves.any():
                    trial.take_away(place, leaves)
                victims[place] = (victims[place] & ~back) | leaves
    return fits, victims, protected
