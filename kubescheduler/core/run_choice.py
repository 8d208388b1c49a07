"""Where equal pods go one after another: the best node again and again, by what each totals after it has taken some."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
import numpy as np

from clusterstate.changes import Reads
from clusterstate.growable import IntArray, Mask
from clusterstate.hypothetical import AddedPods, BeyondRowsError, ClassesOfRun
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.usage import wrap
from kubescheduler.core.algorithm import WeightedPriority
from kubescheduler.core.pod_classes import ClassState
from predicates.types import FitPredicate, NodeError, failing
from priorities.types import PriorityConfig, PriorityError

# --- what a node totals after it has taken some of the pods ----------------------------------------

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
    likes: ClassesOfRun
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
            ClassesOfRun([info]),
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
        self.totals = self._base + self._normalised(rows)

    def stand_without(self, at: int) -> bool:
        """Whether the totals stay as they are for the rows that are left, now that the one at a position is gone."""
        self._there[at] = False
        if not self._others:
            return True
        rows = self._rows[self._there]
        return bool((self._base[self._there] + self._normalised(rows) == self.totals[self._there]).all())

    def _normalised(self, rows: IntArray) -> IntArray:
        """Raises RunOverError for what a release reports as an error."""
        sums = np.zeros(len(rows), np.int64)
        view = self._rules.snapshot.only(rows)
        for score in self._others:
            try:
                _, finals = score.config.raw_and_final(self._rules.info, view, score.raw[rows])
            except PriorityError:
                raise RunOverError from None
            sums += np.int64(score.weight) * finals
        return sums


def _is_constant(state: ClassState, priority: WeightedPriority) -> bool:
    return priority.config.name in state.constants


def _depends_on_others(config: PriorityConfig) -> bool:
    """Whether a node's score depends on the other nodes that fit."""
    return config.reduce is not None or config.settle is not None


# --- the best node again and again -----------------------------------------------------------------

FULL = None
"""Stands in place of the next total of a node that takes no more."""
DEEPEST = 512
"""For how many more pods on a node totals are worked out at a time, at most."""

Choose = Callable[[IntArray, IntArray], int]
"""Of (n,) rows and (n,) what they total: the position of the one that is taken."""


def first_of_best(_: IntArray, totals: IntArray) -> int:
    """The first of those with the highest total."""
    return int(totals.argmax())


class Placings(msgspec.Struct, eq=False):
    """Where the pods of a run went."""

    rows: IntArray
    """(k,) the row of each."""
    totals: IntArray
    """(k,) what it totalled."""
    fits: int
    """How many nodes fitted the first."""
    filled: list[int]
    """The positions of the pods that filled their node, ascending."""
    left: IntArray
    """(m,) the rows that still fit, ascending."""
    left_totals: IntArray
    """(m,) what they total now."""

    @classmethod
    def none(cls) -> Placings:
        """No pod went anywhere."""
        nothing = np.zeros(0, np.int64)
        return cls(nothing, nothing, 0, [], nothing, nothing)


class RunOfPods:
    """Places pods one after another, as long as each follows from those before it by its node's next total.

    Positions are those of ``rows``. The pods are counted by nobody else until the run is over.
    """

    def __init__(self, rules: RunRules, rows: IntArray, count: int) -> None:
        """rows: (n,) those that fit, in the order in which a rule is shown them. count: pods. Raises RunOverError."""
        self._rules = rules
        self._rows = rows
        self._count = count
        self._still = StillScores(rules, rows)
        self._totals = self._still.totals + rules.now(rows)
        self._later: list[list[int | None]] = [[] for _ in range(len(rows))]
        self._depth = 0
        self._known = np.zeros(len(rows), np.int64)
        self._taken: list[int] = []
        self._taken_totals: list[int] = []
        self._filled: list[int] = []
        self._gone: list[int] = []

    def place(self, choose: Choose) -> Placings:
        """choose: how a node is taken."""
        shown = np.arange(len(self._rows))
        if choose is first_of_best and self._count < len(shown):  # the others' turn does not come
            shown = np.sort(np.argsort(~self._totals, kind="stable")[: self._count + 1])
        rows, totals, stands = self._rows[shown], self._totals[shown], True
        while len(self._taken) < self._count and stands:
            spot = choose(rows, totals)
            at = shown.item(spot)
            self._taken.append(at)
            self._taken_totals.append(totals.item(spot))
            later = self._later[at]
            if not later:
                try:
                    self._look_ahead(at, shown, totals)
                except RunOverError:
                    break  # the rule has chosen, and may not be asked twice: this pod is the last
            following = later.pop()
            if following is FULL:
                stands = self._fills(at)
                shown, rows, totals = np.delete(shown, spot), np.delete(rows, spot), np.delete(totals, spot)
            else:
                totals[spot] = following
        self._totals[shown] = totals
        return self._placings()

    def _fills(self, at: int) -> bool:
        """A node is full; whether the run goes on: more than one is left, and their totals stand."""
        self._filled.append(len(self._taken) - 1)
        self._gone.append(at)
        return self._still.stand_without(at) and len(self._rows) - len(self._gone) > 1

    def _look_ahead(self, at: int, shown: IntArray, totals: IntArray) -> None:
        """Works out the next totals of a node, and those of the best ones besides, so that it is seldom done.

        shown: (m,) the positions that are left. totals: (m,) theirs. Raises RunOverError.
        """
        left = self._count - len(self._taken)
        depth = self._depth = min(max(2 * self._depth, 1 + left // len(self._rows)), DEEPEST)
        best = shown[np.argsort(~totals)[: 1 + 2 * left // depth]].tolist()
        others = [one for one in best if one != at and len(self._later[one]) < depth]
        where = [at, *(one for one in others if not self._later[one] or self._later[one][0] is not FULL)]
        positions = np.array(where, np.int64)
        extra = (self._known[positions][:, None] + np.arange(1, depth + 1)).ravel()
        fits, sums = self._rules.look(np.repeat(self._rows[positions], depth), extra)
        then = (np.repeat(self._still.totals[positions], depth) + sums).reshape(-1, depth)
        fits = fits.reshape(-1, depth)
        enough = np.where(fits.all(axis=1), depth, fits.argmin(axis=1)).tolist()
        self._known[positions] += depth
        for one, row_totals, many in zip(where, then[:, ::-1].tolist(), enough, strict=True):
            new: list[int | None] = row_totals[depth - many :]
            if many < depth:
                new.insert(0, FULL)
            self._later[one][:0] = new

    def _placings(self) -> Placings:
        left = np.delete(np.arange(len(self._rows)), self._gone)
        left = left[self._rows[left].argsort()]
        return Placings(
            self._rows[np.array(self._taken, np.int64)],
            np.array(self._taken_totals, np.int64),
            len(self._rows),
            self._filled,
            self._rows[left],
            self._totals[left],
        )
