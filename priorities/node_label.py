"""EqualPriority, and NodeLabel: 10 on nodes that have, or that lack, a label."""

from __future__ import annotations

import numpy as np

from clusterstate.changes import Reads
from clusterstate.growable import IntArray
from clusterstate.nodecolumn import ABSENT
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from priorities.types import (
    MAX_NODE_SCORE,
    MAX_PRIORITY,
    PriorityArgs,
    PriorityConfig,
    PriorityConfigFactory,
    PriorityFactory,
)

EQUAL_SCORE = 1


def equal_priority(_: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) 1 everywhere. Upstream: 1.4 and 1.16 EqualPriority."""
    return np.full(len(snapshot), EQUAL_SCORE, np.int64)


def _always_equal(_: PodInfo) -> int | None:
    return EQUAL_SCORE


def _make_equal(_: PriorityArgs) -> PriorityConfig:
    return PriorityConfig("EqualPriority", equal_priority, reads=Reads.NODE, constant=_always_equal)


def node_label(label: str, presence: bool, snapshot: Snapshot) -> IntArray:
    """(n,) 10 where the label exists (presence) or is absent (not presence), otherwise 0; an empty value exists.

    Upstream: 1.4 and 1.16 CalculateNodeLabelPriority.
    """
    codes, _ = snapshot.label_codes(label)
    scores: IntArray = ((codes != ABSENT) == presence) * np.int64(MAX_PRIORITY)
    return scores


def node_label_factory(name: str, label: str, presence: bool) -> PriorityFactory:
    """The priority that a policy entry with ``labelPreference`` builds under its own name."""

    def score(_: PodInfo, snapshot: Snapshot) -> IntArray:
        return node_label(label, presence, snapshot)

    def make(_: PriorityArgs) -> PriorityConfig:
        return PriorityConfig(name, score, reads=Reads.NODE)

    return make


def node_label_preference(present: tuple[str, ...], absent: tuple[str, ...], snapshot: Snapshot) -> IntArray:
    """(n,) 0–100: the share of preferences that the row meets, labels of ``present`` it has and of ``absent`` it lacks.

    0 without preferences, where upstream's process ends. Upstream: 1.20 NodeLabel.
    """
    met = np.zeros(len(snapshot), np.int64)
    for label in present:
        met += snapshot.label_codes(label)[0] != ABSENT
    for label in absent:
        met += snapshot.label_codes(label)[0] == ABSENT
    return MAX_NODE_SCORE * met // max(1, len(present) + len(absent))


NODE_LABEL: dict[str, PriorityConfigFactory] = {"EqualPriority": PriorityConfigFactory(_make_equal)}
