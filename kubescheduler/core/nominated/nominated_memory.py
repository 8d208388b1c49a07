"""Judgements of nodes with nominated pods, remembered for equivalent pods and brought up to date row by row."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

import msgspec

from clusterstate.cache import ClusterCache
from clusterstate.growable import Growable, IntArray, Mask
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from kubescheduler.core.class_states import ClassState
from kubescheduler.core.holding.row_values import NO_VALUES, RowValues
from kubescheduler.core.nominated.nominated_judging import (
    FITS,
    Found,
    NominatedJudgement,
    judge_with_added,
    nominated_changes,
)
from kubescheduler.core.nominated.row_watch import RowWatch
from kubescheduler.core.status import Code
from kubescheduler.core.verdicts import CheckState
from predicates.types import NodeError

MOST_STATES = 256
"""Classes of pods of which judgements are remembered."""


class NominatedRefusals(msgspec.Struct, frozen=True, eq=False):
    """The rows where a pod does not fit with the pods nominated there."""

    found: RowValues[Found] = NO_VALUES
    """Row → why."""
    codes: RowValues[Code] = NO_VALUES
    """Row → with which code."""
    error: tuple[str, NodeError] | None = None
    """(predicate, error) of the first row where one errs, in the order of nominations; nothing else counts then."""


def apart_from(rows: IntArray, found: RowValues[Found], size: int) -> IntArray:
    """The rows, all below ``size``, without those found, in the same order."""
    return rows[~found.mask(size)[rows]] if len(rows) else rows


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
        self, pod: Pod, info: PodInfo, checks: Sequence[CheckState], rows: Mask | None, *, every: bool
    ) -> NominatedRefusals | None:
        """The rows of those given, (N,) bool, or all, where the pod does not fit; None: checks look further than
        one row, and nothing can be remembered. checks: up to date. every: all are run, not just until one fails; the
        same each time."""
        predicates = [check.predicate for check in checks]
        self._notice(self._watch.changed(info, predicates))
        self._watch.noted()
        if not self._watch.by_row:
            return None
        row_of, nominations = self._cache.columns.row_of, self._cache.nominations
        mine = row_of.get(nominations.node_of(pod.metadata.uid) or "")
        if mine is not None:
            self._todo.add(mine)
        if self._todo and not self._settle(pod, info, checks, rows, every=every):
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

    def _settle(self, pod: Pod, info: PodInfo, checks: Sequence[CheckState], rows: Mask | None, *, every: bool) -> bool:
        """Judges what is to be judged of the rows; whether that was possible."""
        nodes = self._cache.columns.nodes
        now = [row for row in self._todo if nodes[row] is not None and (rows is None or rows[row])]
        added = {row: changes for row in sorted(now) if (changes := nominated_changes(pod, row, self._cache))}
        judged: dict[int, NominatedJudgement] = dict.fromkeys(now, FITS)
        judged.update((row, FITS) for row in self._todo if nodes[row] is None)
        if added:
            found = judge_with_added(info, self._cache.snapshot(), added, checks, every)
            if found is None:
                return False
            judged.update(zip(added, found, strict=True))
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

    def _within(self, rows: Mask | None) -> NominatedRefusals:
        erring = {row: error for row, error in self._erring.items() if rows is None or rows[row]}
        if erring:
            order = map(self._cache.columns.row_of.get, self._cache.nominated())
            return NominatedRefusals(error=next(erring[row] for row in order if row in erring))
        which: IntArray = self._which.view
        refused: Mask = which > 0
        (at,) = (refused if rows is None else refused & rows).nonzero()
        numbers = which[at]
        return NominatedRefusals(RowValues(at, numbers, self._found), RowValues(at, numbers, self._codes))


class NominatedMemory:
    """What is remembered for every class of pods, those least recently decided forgotten first."""

    def __init__(self, cache: ClusterCache) -> None:
        self._cache = cache
        self._kept: OrderedDict[ClassState, KeptJudgements] = OrderedDict()

    def of(self, state: ClassState) -> KeptJudgements:
        """What is remembered for pods of one class."""
        kept = self._kept.get(state)
        if kept is None:
            kept = self._kept[state] = KeptJudgements(self._cache)
            if len(self._kept) > MOST_STATES:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(state)
        return kept
