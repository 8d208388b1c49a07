"""The rules of a run of pods that no rule can tell apart: what a node totals after it has taken some of them.

A rule is still where what it says of a node does not depend on the pods that run there; then it is asked once. A rule
that looks at the node's own pods is asked over nodes as they would be with one, two, … more of the pods. Where a rule
looks at pods of other nodes, a run is no use.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import numpy as np

from clusterstate.changes import Reads
from clusterstate.growable import IntArray, Mask
from clusterstate.hypothetical.added_pods import AddedPods, BeyondRowsError, EquivalentClasses
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.usage import wrap
from kubescheduler.core.algorithm import WeightedPriority
from kubescheduler.core.class_states import ClassState
from kubescheduler.core.node_scores import final_scores
from predicates.types import FitPredicate, NodeError
from predicates.verdict_masks import failing
from priorities.types import PriorityConfig, PriorityError

PODS_OF_ROWS = Reads.PODS | Reads.ALL_PODS
"""What changes when a node takes a pod of a run; pods with terms of affinity or claims are in no run, so the flags that
these change are not among them."""


class RunOverError(Exception):
    """What holds for one pod does not hold for the next: pods have to be decided one by one from here on."""


class WeightedRule(msgspec.Struct, frozen=True, eq=False):
    """A rule that scores."""

    config: PriorityConfig
    weight: int
    raw: IntArray
    """(N,) its numbers as the cluster is now."""


class RunRules(msgspec.Struct, frozen=True, eq=False):
    """What is asked for the pods of a run."""

    info: PodInfo
    """The class that stands for all."""
    likes: EquivalentClasses
    """The classes of the run's pods."""
    snapshot: Snapshot
    """The cluster before the run."""
    constant: int
    """What every node has."""
    checks: tuple[FitPredicate, ...]
    """The checks that look at the pods of a node."""
    moving: tuple[WeightedRule, ...]
    """The scores that look at the pods of a node."""
    still: tuple[WeightedRule, ...]
    """The other scores, and those of ``moving`` that depend on which nodes fit: as long as their numbers do not move,
    their scores change only when a node is full."""

    @classmethod
    def of(
        cls,
        state: ClassState,
        priorities: Iterable[WeightedPriority],
        snapshot: Snapshot,
        nothing_scores: int,
    ) -> RunRules | None:
        """From what is remembered of the class, brought up to date; None: pods have to be decided one by one.

        priorities: those that score. nothing_scores: what a node has when there are none.
        """
        info = state.info
        if info.may_have_affinity or any(
            check.erring or check.predicate.footprint.moment is not None for check in state.checks
        ):
            return None
        checks = [check.predicate for check in state.checks if not check.skipped]
        weighted = list(priorities)
        constants = [(one.weight, state.constants[one.config.name]) for one in weighted if _is_constant(state, one)]
        scores = [
            WeightedRule(one.config, one.weight, state.scores[one.config.name].raw)
            for one in weighted
            if not _is_constant(state, one)
        ]
        try:
            if not all(check.footprint.ignores_pods_elsewhere(info, snapshot) for check in checks):
                return None
            if not all(score.config.footprint.ignores_pods_elsewhere(info, snapshot) for score in scores):
                return None
        except PriorityError:
            return None
        moving = tuple(score for score in scores if score.config.footprint.reads_for(info) & PODS_OF_ROWS)
        return cls(
            info,
            EquivalentClasses([info]),
            snapshot,
            sum(weight * score for weight, score in constants) if weighted else nothing_scores,
            tuple(check for check in checks if check.footprint.reads_for(info) & PODS_OF_ROWS),
            moving,
            tuple(score for score in scores if score not in moving or _depends_on_others(score.config)),
        )

    def look(self, rows: IntArray, extra: IntArray) -> tuple[Mask, IntArray]:
        """((n,) bool whether a row takes one more, (n,) int64 what it then has of the scores that move), each entry of
        ``rows`` with ``extra`` more pods than there are.

        Raises RunOverError where that is not all that counts.
        """
        there = AddedPods(self.snapshot, rows, extra, self.likes)
        fits = np.ones(len(rows), np.bool_)
        sums = np.zeros(len(rows), np.int64)
        try:
            for check in self.checks:
                verdict = check.check(self.info, there)
                if any(isinstance(reason, NodeError) and mask.any() for reason, mask in verdict.items()):
                    raise RunOverError
                refused = failing(verdict)
                if refused is not None:
                    fits &= ~refused
            for score in self.moving:
                numbers = score.config.map(self.info, there)
                if not _depends_on_others(score.config):
                    sums += np.int64(score.weight) * numbers
                elif (numbers != score.raw[rows]).any():
                    raise RunOverError
        except (BeyondRowsError, PriorityError):
            raise RunOverError from None
        return fits, sums

    def now(self, rows: IntArray) -> IntArray:
        """(n,) what the rows have of the scores that move as the cluster is now."""
        sums = np.zeros(len(rows), np.int64)
        for score in self.moving:
            if not _depends_on_others(score.config):
                sums += np.int64(score.weight) * score.raw[rows]
        return sums


class StillScores:
    """What the rows that fit have of the scores that do not move, and whether that stands when one is full.

    totals: (n,) int64, with the constant part.
    """

    def __init__(self, rules: RunRules, rows: IntArray) -> None:
        self._rules = rules
        self._rows = rows
        self._there = np.ones(len(rows), np.bool_)
        plain = [score for score in rules.still if not _depends_on_others(score.config)]
        self._others = [score for score in rules.still if _depends_on_others(score.config)]
        self._base: IntArray = np.full(len(rows), wrap(rules.constant), np.int64)
        for score in plain:
            self._base = self._base + np.int64(score.weight) * score.raw[rows]
        self._left = [_numbers_left(score, rows) for score in self._others]
        self.totals = self._base + self._normalised(rows)

    def stand_without(self, at: int) -> bool:
        """Whether the totals stay as they are for the rows that are left, now that the one at a position is gone."""
        self._there[at] = False
        if not self._others:
            return True
        gone = [self._one_less(left, score, at) for left, score in zip(self._left, self._others, strict=True)]
        if not any(gone):
            return True
        rows = self._rows[self._there]
        return bool((self._base[self._there] + self._normalised(rows) == self.totals[self._there]).all())

    def _one_less(self, left: dict[int, int] | None, score: WeightedRule, at: int) -> bool:
        """Whether scores may change: the last row with a number is gone, or more than the numbers count."""
        if left is None:
            return True
        number = int(score.raw[self._rows[at]])
        left[number] -= 1
        return not left[number]

    def _normalised(self, rows: IntArray) -> IntArray:
        """Raises RunOverError for what a release reports as an error."""
        sums = np.zeros(len(rows), np.int64)
        view = self._rules.snapshot.only(rows)
        for score in self._others:
            try:
                found = final_scores(score.config, self._rules.info, view, score.raw[rows])
            except PriorityError:
                raise RunOverError from None
            sums += np.int64(score.weight) * found
        return sums


def _is_constant(state: ClassState, priority: WeightedPriority) -> bool:
    return priority.config.name in state.constants


def _depends_on_others(config: PriorityConfig) -> bool:
    """Whether a node's score depends on the other nodes that fit."""
    return config.reduce is not None or config.settle is not None


def _numbers_left(score: WeightedRule, rows: IntArray) -> dict[int, int] | None:
    """Number → how many rows have it; None where scores follow from more than the numbers."""
    if not score.config.valuewise or score.config.settle is not None:
        return None
    values, counts = np.unique(score.raw[rows], return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))
