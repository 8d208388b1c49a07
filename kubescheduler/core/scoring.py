"""Which nodes are best: weighted priorities over the nodes that fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
import numpy as np

from clusterstate.changes import ChangeLog
from clusterstate.growable import NO_NUMBERS, IntArray
from clusterstate.objects import FrozenMap
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.usage import wrap
from kubescheduler.core.algorithm import Algorithm
from kubescheduler.core.answers import ScoreState
from kubescheduler.core.extender_calls import SeenNodes
from kubescheduler.core.filtering import Filtered
from kubescheduler.core.lazy_results import Scores, one_for_all
from kubescheduler.core.pod_classes import ClassState
from priorities.types import PriorityConfig

FIRST_ROW: IntArray = np.zeros(1, np.int64)


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
