"""Which nodes are best: weighted priorities over the nodes that fit."""

from __future__ import annotations

import attrs
import numpy as np

from clusterstate.changes import ChangeLog
from clusterstate.growable import IntArray
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.algorithm import Algorithm
from kubescheduler.core.decision import Scores
from kubescheduler.core.verdicts import ClassState, ScoreState


@attrs.define(eq=False)
class Scored:
    """See Decision for the fields."""

    totals: IntArray = attrs.field(factory=lambda: np.zeros(0, np.int64))
    scores: dict[str, Scores] = attrs.field(factory=dict)


def prioritize(
    info: PodInfo,
    state: ClassState,
    snapshot: Snapshot,
    feasible: IntArray,
    algorithm: Algorithm,
    log: ChangeLog,
) -> Scored:
    """Scores of every priority and their weighted sum, wrapping at 64 bits, over the feasible rows.

    Without any priority every node scores 1, or 0 when extenders follow. Upstream: 1.16 PrioritizeNodes.
    """
    state.score(snapshot, log)
    scored = Scored()
    constant = 0 if algorithm.priorities or algorithm.extenders else 1
    totals = np.zeros(len(feasible), np.int64)
    everywhere = len(feasible) == len(snapshot) and bool((feasible[1:] > feasible[:-1]).all())
    view = snapshot if everywhere else snapshot.take(feasible)
    for priority in algorithm.priorities:
        name, weight = priority.config.name, priority.weight
        if name in state.constants:
            scores: Scores = state.constants[name]
        else:
            scores = _reduced(info, state.scores[name], view, feasible, everywhere)
        scored.scores[name] = scores
        if isinstance(scores, int):
            constant += weight * scores
        else:
            totals += scores if weight == 1 else np.int64(weight) * scores
    scored.totals = totals + np.int64(wrap(constant))
    return scored


def _reduced(info: PodInfo, score: ScoreState, view: Snapshot, feasible: IntArray, everywhere: bool) -> Scores:
    config = score.config
    if config.reduce is None:
        return score.raw if everywhere else score.raw[feasible]
    if score.uniform is None:
        return config.reduce(info, view, score.raw if everywhere else score.raw[feasible])
    value = score.reduced.get(score.uniform)
    if value is None:
        one = view.take(feasible[:1])
        value = int(config.reduce(info, one, np.array([score.uniform], np.int64))[0])
        score.reduced[score.uniform] = value
    return value


def wrap(value: int) -> int:
    """The value modulo 2^64 as a signed 64-bit integer."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
