"""Judgements beside nominated pods, remembered for pods that are alike and brought up to date row by row."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.growable import IntArray, Mask
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import PodChange
from kubescheduler.core.class_states import ClassState
from kubescheduler.core.nominated.nominated_judging import Found, NominatedJudgement, judge_rows, nominated_beside
from kubescheduler.core.nominated.row_watch import RowWatch, local_to_rows
from kubescheduler.core.status import Code
from predicates.types import FitPredicate, NodeError

MOST_STATES = 256
"""Classes of pods of which judgements are remembered."""


class Beside(msgspec.Struct, frozen=True, eq=False):
    """The rows where a pod does not fit beside the pods nominated there."""

    found: Mapping[int, Found] = msgspec.field(default_factory=dict)
    """Row → why."""
    codes: Mapping[int, Code] = msgspec.field(default_factory=dict)
    """Row → with which code."""
    error: tuple[str, NodeError] | None = None
    """(predicate, error) of the first row where one errs, in the order of nominations; nothing else counts then."""


def apart_from(rows: IntArray, found: Mapping[int, Found], size: int) -> IntArray:
    """The rows, all below ``size``, without those found, in the same order."""
    if not len(rows):
        return rows
    left = np.ones(size, np.bool_)
    left[np.fromiter(found, np.int64, len(found))] = False
    return rows[left[rows]]


class KeptBeside:
    """What is remembered for pods of one class."""

    __slots__ = ("_beside", "_cache", "_erring", "_texts", "_todo", "_watch")

    def __init__(self, cache: ClusterCache) -> None:
        self._cache = cache
        self._watch = RowWatch(cache)
        self._todo: set[int] = set()
        self._texts: dict[Found, Found] = {}
        self._beside = Beside()
        self._erring: dict[int, tuple[str, NodeError]] = {}

    def judge(
        self, pod: Pod, info: PodInfo, predicates: Sequence[FitPredicate], rows: Mask | None, *, every: bool
    ) -> Beside | None:
        """The rows of those given, (N,) bool, or all, where the pod does not fit; None: predicates look further than
        one row, and nothing can be remembered."""
        self._notice(self._watch.changed(info, predicates, (pod.priority, every)))
        row_of, nominations = self._cache.columns.row_of, self._cache.nominations
        mine = row_of.get(nominations.node_of(pod.metadata.uid) or "")
        if mine is not None:
            self._todo.add(mine)
        if self._todo and not self._settle(pod, info, predicates, rows, every=every):
            self._watch.forget()
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
            self._beside, self._erring, self._texts = Beside(), {}, {}
        else:
            self._todo.update(changed)

    def _settle(
        self, pod: Pod, info: PodInfo, predicates: Sequence[FitPredicate], rows: Mask | None, *, every: bool
    ) -> bool:
        """Judges what is to be judged of the rows; whether that was possible."""
        nodes = self._cache.columns.nodes
        now = [row for row in self._todo if nodes[row] is not None and (rows is None or rows[row])]
        beside = {row: changes for row in sorted(now) if (changes := nominated_beside(pod, row, self._cache))}
        judged: dict[int, NominatedJudgement | None] = dict.fromkeys(now)
        judged.update((row, None) for row in self._todo if nodes[row] is None)
        if beside:
            added: list[PodChange] = [change for changes in beside.values() for change in changes]
            snapshot = self._cache.snapshot()
            if not local_to_rows(info, snapshot.what_if(added), predicates):
                return False
            there = snapshot.take(np.array(list(beside), np.int64)).what_if(added)
            judged.update(zip(beside, judge_rows(info, there, predicates, every=every), strict=True))
        self._todo.difference_update(judged)
        self._take(judged)
        return True

    def _take(self, judged: Mapping[int, NominatedJudgement | None]) -> None:
        """None: the pod fits there, or nobody else waits for the row."""
        found, codes = dict(self._beside.found), dict(self._beside.codes)
        for row, judgement in judged.items():
            found.pop(row, None)
            codes.pop(row, None)
            self._erring.pop(row, None)
            if judgement is not None and judgement.error is not None:
                self._erring[row] = judgement.error
            elif judgement is not None and judgement.found:
                found[row] = self._texts.setdefault(judgement.found, judgement.found)
                codes[row] = judgement.code
        self._beside = Beside(found, codes)

    def _within(self, rows: Mask | None) -> Beside:
        erring = {row: error for row, error in self._erring.items() if rows is None or rows[row]}
        if erring:
            order = map(self._cache.columns.row_of.get, self._cache.nominated())
            return Beside(error=next(erring[row] for row in order if row in erring))
        found, codes = self._beside.found, self._beside.codes
        if rows is None or not found:
            return self._beside
        kept = [row for row, there in zip(found, rows[list(found)].tolist(), strict=True) if there]
        if len(kept) == len(found):
            return self._beside
        return Beside({row: found[row] for row in kept}, {row: codes[row] for row in kept})


class NominatedMemory:
    """What is remembered for every class of pods, those least recently decided forgotten first."""

    def __init__(self, cache: ClusterCache) -> None:
        self._cache = cache
        self._kept: OrderedDict[ClassState, KeptBeside] = OrderedDict()

    def of(self, state: ClassState) -> KeptBeside:
        """What is remembered for pods of one class."""
        kept = self._kept.get(state)
        if kept is None:
            kept = self._kept[state] = KeptBeside(self._cache)
            if len(self._kept) > MOST_STATES:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(state)
        return kept
