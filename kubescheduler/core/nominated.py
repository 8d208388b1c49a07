"""Judging nodes with the pods that are nominated to them, and what is remembered of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.changes import BY_ROW, Reads, flags_of
from clusterstate.growable import Growable, IntArray, Mask
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import PodChange, Snapshot
from clusterstate.volumes.claims import has_claims
from kubescheduler.core.filter_results import NO_VALUES, RowValues, row_values
from kubescheduler.core.status import Code
from predicates.types import FitPredicate, NodeError, Verdict, failing, unresolvable

# --- which rows to look at again -------------------------------------------------------------------


class RowWatch:
    """Notices what has changed since the last time: rows, nominations to them, and what is bound to no row.

    For predicates whose verdict on a row depends, within what is bound to rows, on that row alone.
    """

    __slots__ = ("_cache", "_far", "_latest", "_nominations", "_position", "_predicates", "_stamp", "by_row")

    def __init__(self, cache: ClusterCache) -> None:
        self._cache = cache
        self._predicates: tuple[FitPredicate, ...] | None = None
        self._far: tuple[int, ...] = ()
        self._stamp: Any = None
        self._position = self._nominations = -1
        self._latest: tuple[Any, int, int] = None, -1, -1
        self.by_row = False
        """Whether that was so for all predicates of the last call; see ``Footprint.is_row_local``."""

    def changed(self, info: PodInfo, predicates: Sequence[FitPredicate], also: Any = None) -> Collection[int] | None:
        """The rows that changed since the last call that was followed by ``noted``; None: look at every row again.

        also: anything else that what is remembered was worked out from; it is compared with that of that call.
        """
        cache, log = self._cache, self._cache.columns.log
        given = tuple(predicates)
        if given != self._predicates:
            self._predicates = given
            self._far = flags_of(_far(info, given))
        snapshot = cache.snapshot()
        moments = [p.footprint.moment(info, snapshot) for p in given if p.footprint.moment is not None]
        stamp = (given, log.version_of(self._far), moments, also)
        position, nominations = self._position, self._nominations
        self._latest = stamp, log.position, cache.nominations.changed.position
        if stamp != self._stamp or position < 0:
            self.by_row = all([p.footprint.is_row_local(info, snapshot) for p in given])  # noqa: C419
            return None
        recent, names = log.since(position), cache.nominations.changed.since(nominations)
        if recent is None or names is None:
            return None
        rows = {row for row, _ in recent}
        if names:
            row_of = cache.columns.row_of
            rows.update(row for name in names if (row := row_of.get(name)) is not None)
        return rows

    def noted(self) -> None:
        """What ``changed`` gave was noted: it is not given again."""
        self._stamp, self._position, self._nominations = self._latest


def _far(info: PodInfo, predicates: Sequence[FitPredicate]) -> Reads:
    reads = Reads(0)
    for predicate in predicates:
        reads |= predicate.footprint.reads_for(info)
    return reads & ~BY_ROW


def stay_on_their_rows(added: Iterable[PodChange]) -> bool:
    """Whether rules that look at one row alone (``Footprint.is_row_local``) still do when these pods are added."""
    infos = [change.info for change in added]  # pods without terms of affinity that claim nothing
    return not any([i.may_have_affinity or i.spec.resource_claims or has_claims(i) for i in infos])  # noqa: C419


Found = tuple[tuple[str, tuple[str, ...]], ...]
"""(predicate, its reasons) of one node."""


# --- judging ---------------------------------------------------------------------------------------


def nominated_changes(pod: Pod, row: int, cache: ClusterCache) -> list[PodChange]:
    """The pods nominated to a row that ``pod`` has to leave room for, as changes: those of at least its priority."""
    waiting = cache.nominated().get(cache.columns.names[row], ())
    return [
        PodChange(row, cache.info(p), 1, nominated=True, pod=p)
        for p in waiting
        if p.priority >= pod.priority and p.metadata.uid != pod.metadata.uid
    ]


class NominatedJudgement(msgspec.Struct, frozen=True):
    """What predicates say of one row."""

    found: Found = ()
    """The first failing predicate and its reasons, or all of them; empty where the pod fits."""
    code: Code = Code.Success
    """The worst code of those that refuse it."""
    error: tuple[str, NodeError] | None = None
    """(predicate, error) of the first that errs; nothing after it counts."""

    @property
    def fits(self) -> bool:
        """Whether no predicate refuses the row, or errs."""
        return not self.found and self.error is None


FITS = NominatedJudgement()

CodesOf = Callable[[FitPredicate, PodInfo, Snapshot, Verdict, Mask], Mapping[int, Code]]
"""Of (predicate, pod, snapshot, what it said, (n,) bool the rows that it refuses): position of a refused row → the
code."""


def refusal_codes(
    predicate: FitPredicate, info: PodInfo, snapshot: Snapshot, verdict: Verdict, refused: Mask
) -> Mapping[int, Code]:
    """With which code a predicate over columns refuses rows; see CodesOf."""
    beyond = unresolvable(predicate, info, snapshot, verdict, refused)
    hopeless = refused & False if beyond is None else beyond
    codes = Code.Unschedulable, Code.UnschedulableAndUnresolvable
    return {at: codes[hopeless.item(at)] for at in refused.nonzero()[0].tolist()}


def judge(
    info: PodInfo,
    snapshot: Snapshot,
    predicates: Iterable[FitPredicate],
    *,
    every: bool = False,
    codes_of: CodesOf = refusal_codes,
) -> list[NominatedJudgement]:
    """Of every row of a snapshot: of one row, or of several by predicates that look at no other row. every: all are
    run, not just until one fails."""
    out = [FITS] * len(snapshot)
    left = np.ones(len(out), np.bool_)
    for predicate in predicates:
        if not left.any():
            break
        verdict = predicate.check(info, snapshot)
        refused = failing(verdict)
        if refused is None or not (refused & left).any():
            continue
        codes = codes_of(predicate, info, snapshot, verdict, refused)
        for at in (refused & left).nonzero()[0].tolist():
            reasons = tuple([reason for reason, mask in verdict.items() if mask[at]])
            error = next((reason for reason in reasons if isinstance(reason, NodeError)), None)
            before, left[at] = out[at], every and error is None
            if error is not None:
                out[at] = NominatedJudgement(error=(predicate.name, error))
            else:
                found = (*before.found, (predicate.name, reasons))
                out[at] = NominatedJudgement(found, max(codes[at], before.code))
    return out


# --- what is remembered ----------------------------------------------------------------------------


class NominatedRefusals(msgspec.Struct, frozen=True, eq=False):
    """The rows where a pod does not fit with the pods nominated there."""

    found: RowValues[Found] = NO_VALUES
    """Row → why."""
    codes: RowValues[Code] = NO_VALUES
    """Row → with which code."""
    error: tuple[str, NodeError] | None = None
    """(predicate, error) of the first row where one errs, in the order of nominations; nothing else counts then."""


def judged_one_by_one(
    pod: Pod, cache: ClusterCache, rows: Mask, judge_row: Callable[[Snapshot], NominatedJudgement]
) -> NominatedRefusals:
    """The same of the rows given, (N,) bool, where rules look further than one row. judge_row: of a snapshot of one."""
    refusals: dict[int, Found] = {}
    codes: dict[int, Code] = {}
    for name in cache.nominated():
        row = cache.columns.row_of.get(name)
        if row is None or cache.columns.nodes[row] is None or not rows[row]:
            continue
        if changes := nominated_changes(pod, row, cache):
            judgement = judge_row(cache.snapshot().take(np.array([row])).what_if(changes))
            if judgement.error is not None:
                return NominatedRefusals(error=judgement.error)
            if judgement.found:
                refusals[row], codes[row] = judgement.found, judgement.code
    return NominatedRefusals(row_values(refusals), row_values(codes))


def apart_from(rows: IntArray, refused: RowValues[Found], size: int) -> IntArray:
    """The rows, all below ``size``, without those found, in the same order."""
    return rows[~refused.mask(size)[rows]] if len(rows) else rows


class KeptJudgements:
    """What is remembered for pods of one class."""

    __slots__ = ("_cache", "_codes", "_erring", "_found", "_number_of", "_todo", "_watch", "_which")

    def __init__(self, cache: ClusterCache) -> None:
        self._cache = cache
        self._watch = RowWatch(cache)
        self._todo: set[int] = set()
        self._which = Growable((0,))
        self._erring: dict[int, tuple[str, NodeError]] = {}
        self._forget()

    def _forget(self) -> None:
        self._which.resize(len(self._cache.columns))
        self._which.data[:] = 0
        self._erring = {}
        self._found: list[Found] = [()]
        self._codes: list[Code] = [Code.Success]
        self._number_of: dict[tuple[Found, Code], int] = {}

    def judge(
        self, pod: Pod, info: PodInfo, predicates: Sequence[FitPredicate], rows: Mask, *, every: bool
    ) -> NominatedRefusals | None:
        """The rows of those given, (N,) bool, where the pod does not fit; None: predicates look further than one row,
        and nothing can be remembered. every: all are run, not just until one fails; the same each time."""
        self._notice(self._watch.changed(info, predicates))
        self._watch.noted()
        if not self._watch.by_row:
            return None
        row_of, nominations = self._cache.columns.row_of, self._cache.nominations
        mine = row_of.get(nominations.node_of(pod.metadata.uid) or "")
        if mine is not None:
            self._todo.add(mine)
        if self._todo and not self._settle(pod, info, predicates, rows, every=every):
            return None
        if mine is not None:
            self._todo.add(mine)
        return self._within(rows)

    def _notice(self, changed: Iterable[int] | None) -> None:
        """Notes the rows that are to be judged again."""
        if changed is None:
            row_of = self._cache.columns.row_of
            rows = (row_of.get(name) for name in self._cache.nominated())
            self._todo = {row for row in rows if row is not None}
            self._forget()
        else:
            self._which.resize(len(self._cache.columns))
            self._todo.update(changed)

    def _settle(self, pod: Pod, info: PodInfo, predicates: Sequence[FitPredicate], rows: Mask, *, every: bool) -> bool:
        """Judges what is to be judged of the rows; whether that was possible."""
        nodes = self._cache.columns.nodes
        now = [row for row in self._todo if nodes[row] is not None and rows[row]]
        added = {row: changes for row in sorted(now) if (changes := nominated_changes(pod, row, self._cache))}
        judged: dict[int, NominatedJudgement] = dict.fromkeys(now, FITS)
        judged.update((row, FITS) for row in self._todo if nodes[row] is None)
        if added:
            every_change = [change for changes in added.values() for change in changes]
            if not stay_on_their_rows(every_change):
                return False
            there = self._cache.snapshot().take(np.array(list(added), np.int64)).what_if(every_change)
            judged.update(zip(added, judge(info, there, predicates, every=every), strict=True))
        for row, judgement in judged.items():
            self._take(row, judgement)
        self._todo.difference_update(judged)
        return True

    def _take(self, row: int, judgement: NominatedJudgement) -> None:
        if judgement.error is not None:
            self._erring[row] = judgement.error
        else:
            self._erring.pop(row, None)
        self._which.data[row] = 0 if judgement.error is not None else self._number(judgement)

    def _number(self, judgement: NominatedJudgement) -> int:
        """The place of what was found, and its code, among those that are remembered; 0: the pod fits."""
        if not judgement.found:
            return 0
        key = judgement.found, judgement.code
        number = self._number_of.get(key)
        if number is None:
            number = self._number_of[key] = len(self._found)
            self._found.append(judgement.found)
            self._codes.append(judgement.code)
        return number

    def _within(self, rows: Mask) -> NominatedRefusals:
        erring = {row: error for row, error in self._erring.items() if rows[row]}
        if erring:
            order = map(self._cache.columns.row_of.get, self._cache.nominated())
            return NominatedRefusals(error=next(erring[row] for row in order if row in erring))
        which: IntArray = self._which.view
        (at,) = ((which > 0) & rows).nonzero()
        numbers = which[at]
        return NominatedRefusals(RowValues(at, numbers, self._found), RowValues(at, numbers, self._codes))
