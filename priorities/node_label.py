"""EqualPriority, and NodeLabel: 10 on nodes that have, or that lack, a label."""

from __future__ import annotations

import numpy as np

from clusterstate.changes import Reads
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.growable import ABSENT, IntArray
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from priorities.score_evidence import Calculation, RuleEvidence, plugin_evidence, priority_evidence, priority_page
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


def make_equal(_: PriorityArgs) -> PriorityConfig:
    """1 for every node (not 10).

    Upstream: 1.4 and 1.16 EqualPriority.
    """
    evidence = priority_evidence("EqualPriority", explain_equal)
    return PriorityConfig(
        "EqualPriority",
        equal_priority,
        footprint=Footprint(Reads.NODE, pod_key=spec_alone),
        constant=_always_equal,
        evidence=evidence,
    )


def explain_equal(_: PodInfo, __: Snapshot, ___: int) -> Calculation:
    """Of ``equal_priority``."""
    return Calculation(str(EQUAL_SCORE))


def node_label(label: str, presence: bool, snapshot: Snapshot) -> IntArray:
    """(n,) 10 where the label exists (presence) or is absent (not presence), otherwise 0; an empty value exists.

    Upstream: 1.4 and 1.16 CalculateNodeLabelPriority.
    """
    codes, _ = snapshot.label_codes(label)
    scores: IntArray = ((codes != ABSENT) == presence) * np.int64(MAX_PRIORITY)
    return scores


def node_label_factory(name: str, label: str, presence: bool) -> PriorityFactory:
    """10 where the label exists (`presence: true`) or is absent (`presence: false`), otherwise 0.

    Upstream: 1.4 and 1.16 NewNodeLabelPriority. name: that of the policy's entry.
    """

    def score(_: PodInfo, snapshot: Snapshot) -> IntArray:
        return node_label(label, presence, snapshot)

    def explain(_: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        has, value = label_at(snapshot, label, at)
        return Calculation(f"{MAX_PRIORITY} * {int(has == presence)}", {f"wanted {_wish(presence)}": {label: value}})

    evidence = RuleEvidence("CalculateNodeLabelPriority", priority_page("argument-labelpreference"), explain)

    def make(_: PriorityArgs) -> PriorityConfig:
        return PriorityConfig(name, score, footprint=Footprint(Reads.NODE, pod_key=spec_alone), evidence=evidence)

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


# --- evidence ------------------------------------------------------------------------------


def label_at(snapshot: Snapshot, label: str, at: int) -> tuple[bool, str]:
    """(whether a row has a label, its value or that it is absent)."""
    code = int(snapshot.label_codes(label)[0][at])
    return code != ABSENT, "absent" if code == ABSENT else snapshot.label_values(label)[code]


def _wish(presence: bool) -> str:
    return "present" if presence else "absent"


def node_label_preference_evidence(present: tuple[str, ...], absent: tuple[str, ...]) -> RuleEvidence:
    """Of ``node_label_preference``."""

    def explain(_: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        here = {label: label_at(snapshot, label, at) for label in (*present, *absent)}
        met = sum(here[label][0] for label in present) + sum(not here[label][0] for label in absent)
        inputs = {
            f"wanted {_wish(presence)}": {label: here[label][1] for label in labels}
            for presence, labels in ((True, present), (False, absent))
        }
        return Calculation(f"{MAX_NODE_SCORE} * {met} // {max(1, len(present) + len(absent))}", inputs)

    return plugin_evidence("NodeLabel", explain)


NODE_LABEL: dict[str, PriorityConfigFactory] = {"EqualPriority": PriorityConfigFactory(make_equal)}
