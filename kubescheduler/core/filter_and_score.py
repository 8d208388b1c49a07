"""Which nodes fit, by all predicates in order, and which are best, by weighted priorities over those that fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.changes import ChangeLog
from clusterstate.errors import SchedulingError
from clusterstate.growable import NO_NUMBERS, IntArray, Mask
from clusterstate.objects import FrozenMap, Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.usage import wrap
from kubescheduler.core.algorithm import Algorithm
from kubescheduler.core.extender_calls import SeenNodes
from kubescheduler.core.filter_results import NO_VALUES, RowValues
from kubescheduler.core.nominated import Found, apart_from, judge, judged_one_by_one, judgements_of
from kubescheduler.core.pod_classes import ClassState, ScoreState
from kubescheduler.core.status import Code
from predicates.types import NodeError, Verdict
from priorities.types import PriorityConfig


class Filtered(msgspec.Struct, eq=False):
    """See Decision for the fields."""

    listed: Mask
    feasible: IntArray = NO_NUMBERS
    everywhere: bool = False
    """``feasible`` are all rows there are, in order."""
    verdicts: tuple[tuple[str, Verdict], ...] = ()
    unresolvable: Mapping[str, Mask] = FrozenMap()
    pending: Mapping[str, Mask] = FrozenMap()
    with_nominated: RowValues[Found] = NO_VALUES
    nominated_codes: RowValues[Code] = NO_VALUES


def find_feasible(pod: Pod, state: ClassState, cache: ClusterCache, algorithm: Algorithm) -> Filtered:
    """Judges every node.

    Raises SchedulingError with the aggregated texts when a predicate erred on a node.

    Upstream: 1.16 findNodesThatFit and podFitsOnNode.
    """
    _, listed = cache.columns.published
    state.check(cache.snapshot(), cache.columns.log, listed)
    feasible, everywhere = state.feasible, state.everywhere
    nominated: RowValues[Found] = NO_VALUES
    codes: RowValues[Code] = NO_VALUES
    if algorithm.behaviour.nominates and cache.nominated():
        nominated, codes = _judge_nominated(pod, state, cache, every=algorithm.always_check_all_predicates)
    if nominated:
        feasible, everywhere = apart_from(feasible, nominated, len(cache.columns)), False
    if algorithm.percentage_of_nodes_to_score < 100:
        enough = algorithm.behaviour.enough(cache.columns.node_count, algorithm.percentage_of_nodes_to_score)
        feasible, listed = _sample(cache, feasible, enough)
        everywhere = False
    if any(check.erring for check in state.checks):
        _raise_errors(pod, state, listed, nominated, algorithm)
    verdicts = tuple([(check.predicate.name, check.verdict) for check in state.checks])
    beyond = {c.predicate.name: c.unresolvable for c in state.checks if c.unresolvable is not None}
    return Filtered(listed, feasible, everywhere, verdicts, beyond, with_nominated=nominated, nominated_codes=codes)


def _raise_errors(pod: Pod, state: ClassState, listed: Mask, nominated: RowValues[Found], algorithm: Algorithm) -> None:
    """Errors count where no earlier predicate has refused the node, or everywhere if all predicates always run."""
    alive = listed.copy()
    alive[nominated.rows] = False
    errors: Counter[str] = Counter()
    for check in state.checks:
        for reason, mask in check.verdict.items():
            if isinstance(reason, NodeError):
                hit = mask & alive
                errors[reason.about(pod.key)] += int(hit.sum())
                alive = alive & ~hit
        if check.failing is not None and not algorithm.always_check_all_predicates:
            alive = alive & ~check.failing
    errors = +errors
    if errors:
        raise SchedulingError(algorithm.behaviour.predicate_errors(errors))


def _judge_nominated(
    pod: Pod, state: ClassState, cache: ClusterCache, *, every: bool
) -> tuple[RowValues[Found], RowValues[Code]]:
    """The rows where the pod does not fit with the pods that are nominated there, and why.

    Those of at least its priority count, itself excepted. Upstream: 1.16 podFitsOnNode, first pass.
    """
    refusals = judgements_of(state, cache).judge(pod, state.info, state.checks, None, every=every)
    if refusals is None:
        predicates = [check.predicate for check in state.checks]

        def judge_row(there: Snapshot) -> tuple[Found, Code]:
            found = judge(pod, state.info, there, predicates, every=every)
            by_name = {predicate.name: predicate for predicate in predicates}
            hopeless = any(by_name[name].unresolvable(reason) for name, reasons in found for reason in reasons)
            return found, Code.UnschedulableAndUnresolvable if hopeless else Code.Unschedulable

        refusals = judged_one_by_one(pod, cache, None, judge_row)
    if refusals.error is not None:
        raise SchedulingError(refusals.error[1].about(pod.key))
    return refusals.found, refusals.codes


def _sample(cache: ClusterCache, fitting: IntArray, enough: int) -> tuple[IntArray, Mask]:
    """(the fitting rows met first, in tree order; the rows looked at). Upstream: 1.16 findNodesThatFit."""
    row_of, total = cache.columns.row_of, cache.columns.node_count
    feasible: list[int] = []
    seen = np.zeros(len(cache.columns), np.bool_)
    fits = np.zeros(len(seen), np.bool_)
    fits[fitting] = True
    for _ in range(total):
        row = row_of[cache.tree.next()]
        if fits[row]:
            if len(feasible) == enough:
                break
            feasible.append(row)
        seen[row] = True
    return np.array(feasible, np.int64), seen


FIRST_ROW: IntArray = np.zeros(1, np.int64)


Scores: TypeAlias = IntArray | int
"""One priority's score of every feasible node, in the order of ``Decision.feasible``; an int stands for all."""


def one_for_all(scores: IntArray) -> Scores:
    """Scores, or the one number that they all are if they are laid out as one."""
    return int(scores[0]) if len(scores) and scores.strides[0] == 0 else scores


class ScoreTable(Mapping[str, Scores]):
    """Priority → its scores of the nodes that fit, (n,) int64, or the one score that all of them have."""

    __slots__ = ("by_priority", "feasible", "names")

    def __init__(self, by_priority: Mapping[str, Scores], names: tuple[str, ...], feasible: IntArray) -> None:
        """names: of all rows. feasible: (n,) int64, the rows that fit, in list order."""
        self.by_priority = by_priority
        self.names = names
        self.feasible = feasible

    def __getitem__(self, priority: str) -> Scores:
        return self.by_priority[priority]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_priority)

    def __len__(self) -> int:
        return len(self.by_priority)

    def to_dict(self) -> dict[str, dict[str, int]]:
        """Priority → node → score, before the weight; empty when nothing was scored, as when just one node fits."""
        return {name: self.by_node(scores) for name, scores in self.by_priority.items()}

    def by_node(self, scores: Scores) -> dict[str, int]:
        """Node → its number among those of the feasible rows."""
        values = [scores] * len(self.feasible) if isinstance(scores, int) else scores.tolist()
        return {self.names[row]: value for row, value in zip(self.feasible.tolist(), values, strict=True)}


class Scored(msgspec.Struct, eq=False):
    """See Decision for the fields."""

    totals: IntArray = NO_NUMBERS
    scores: dict[str, Scores] = msgspec.field(default_factory=dict)
    raws: dict[str, Scores] = msgspec.field(default_factory=dict)
    """Before they were normalised, where the release keeps these."""


def weighted_sum(given: Iterable[tuple[Scores, int]], size: int, constant: int = 0) -> IntArray:
    """(n,) int64: the sum of scores times their weights, and a constant, wrapping at 64 bits."""
    totals: IntArray | None = None
    for scores, weight in given:
        if isinstance(scores, int):
            constant += weight * scores
        else:
            weighted = scores if weight == 1 else np.int64(weight) * scores
            totals = weighted if totals is None else totals + weighted
    if totals is None:
        totals = np.zeros(size, np.int64)
    return totals + np.int64(wrap(constant))


def prioritize(
    state: ClassState,
    snapshot: Snapshot,
    filtered: Filtered,
    algorithm: Algorithm,
    log: ChangeLog,
    views: Mapping[str, SeenNodes] = FrozenMap(),
) -> Scored:
    """Scores of every priority and their weighted sum, wrapping at 64 bits, over the feasible rows.

    Without any priority every node scores 1, or 0 when extenders follow. views: priority → the feasible nodes as it
    reads them, where ``snapshot`` has them otherwise. Upstream: 1.16 PrioritizeNodes.
    """
    state.score(snapshot, log)
    feasible = None if filtered.everywhere else filtered.feasible
    view = snapshot if feasible is None else snapshot.take(feasible)
    scored, given = Scored(), []
    for priority in algorithm.priorities:
        name = priority.config.name
        scores: Scores | None = state.constants.get(name)
        if name in views and scores is None:
            pod, nodes = views[name]
            scores = priority.config.raw_and_final(pod, nodes, priority.config.map(pod, nodes))[1]
        if scores is None:
            scores = reduced(state.info, state.scores[name], view, feasible)
        scored.scores[name] = scores
        given.append((scores, priority.weight))
    scored.totals = weighted_sum(given, len(view), 0 if algorithm.priorities or algorithm.extenders else 1)
    return scored


RawAndReduced = tuple[Scores, Scores]
"""A rule's scores of the rows that fit before they were normalised, and after."""


def raw_and_reduced(info: PodInfo, score: ScoreState, view: Snapshot, feasible: IntArray | None) -> RawAndReduced:
    """One rule's scores of the feasible rows (None: all). view: over exactly those rows. Raises PriorityError."""
    if score.uniform is not None and score.config.settle is None:
        return score.uniform, reduced(info, score, view, feasible)
    return normalised(score.config, info, view, score.raw if feasible is None else score.raw[feasible])


def normalised(config: PriorityConfig, info: PodInfo, view: Snapshot, mapped: IntArray) -> RawAndReduced:
    """The same of (n,) what ``map`` gave for exactly the rows of the view."""
    raw, final = config.raw_and_final(info, view, mapped)
    shared = one_for_all(raw)
    return shared, shared if final is raw else one_for_all(final)


def reduced(info: PodInfo, score: ScoreState, view: Snapshot, feasible: IntArray | None) -> Scores:
    """One priority's scores of the feasible rows (None: all), or the one score that all of them have."""
    reduce, uniform = score.config.reduce, score.uniform
    if uniform is None:
        raw = score.raw if feasible is None else score.raw[feasible]
        scores = raw if reduce is None else reduce(info, view, raw)
        return one_for_all(scores)
    if reduce is None:
        return uniform
    value = score.reduced.get(uniform)
    if value is None:
        one = view.take(FIRST_ROW if view.rows is None else view.rows[:1])
        value = score.reduced[uniform] = int(reduce(info, one, np.array([uniform], np.int64))[0])
    return value
