"""NodeAffinityPriority: the weights of the preferred node affinity terms that a node meets, ·10 / the best node's;
NodeLabel: 10 on nodes that have, or that lack, a label; EqualPriority.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clusterstate.changes import Reads
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.growable import ABSENT, IntArray
from clusterstate.manifests.annotations_1_4 import affinity_error
from clusterstate.objects import PreferredSchedulingTerm
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.affinity_1_4 import preferred_weights_1_4, preferred_weights_of_1_4
from clusterstate.selectors.matching import (
    SelectorError,
    counts_as_preferred,
    preferred_error_1_20,
    preferred_error_1_36,
)
from clusterstate.selectors.node_selection import preferred_term_weights, preferred_weights, preferred_weights_of
from clusterstate.snapshot import Snapshot
from priorities.score_evidence import (
    Calculation,
    Explain,
    RuleEvidence,
    added,
    number,
    one_row,
    plugin_evidence,
    priority_evidence,
    priority_page,
    term_text,
)
from priorities.types import (
    MAX_NODE_SCORE,
    MAX_PRIORITY,
    PriorityArgs,
    PriorityConfig,
    PriorityConfigFactory,
    PriorityError,
    PriorityFactory,
    default_normalize,
    node_priority,
    normalize,
    share_evidence,
    stretched_evidence,
)

Terms = tuple[PreferredSchedulingTerm, ...]


def _preferred(pod: PodInfo) -> Terms:
    return pod.spec.preferred_nodes


def no_preference(pod: PodInfo) -> int | None:
    """0 for a pod without a preferred term that weighs anything."""
    return None if any(term.weight for term in _preferred(pod)) else 0


def _explain(terms_of: Callable[[PodInfo], Terms], weights: Callable[[Terms, Snapshot], IntArray]) -> Explain:
    """The weights of the terms that a row meets; weights: (n,) of some terms."""

    def explain(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        row = one_row(snapshot, at)
        met: list[str] = []
        inputs: dict[str, list[str]] = {"terms met": [], "terms not met": []}
        for term in terms_of(pod):
            points = number(weights((term,), row))
            met += [str(points)] if points else []
            inputs["terms met" if points else "terms not met"].append(f"{term_text(term.preference)}: {term.weight}")
        return Calculation(added(met), inputs)

    return explain


def make_node_affinity(_: PriorityArgs) -> PriorityConfig:
    """The weights of the preferred node affinity terms that match the node, added up; then 10·sum / highest sum, in
    integers. A term without matchExpressions matches nothing.

    Upstream: 1.16 CalculateNodeAffinityPriorityMap and its reduce function.
    """
    explain = _explain(_preferred, preferred_weights_of)
    evidence = priority_evidence("NodeAffinityPriority", explain, stretched_evidence(MAX_PRIORITY))
    return node_priority(
        "NodeAffinityPriority",
        preferred_weights,
        normalize,
        evidence,
        constant=no_preference,
        reduce_to_100=default_normalize,
    )


# --- 1.4 -----------------------------------------------------------------------------------


def preferred_sums_1_4(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) int64: Σ weight of the preferred terms that the row meets.

    Raises PriorityError for an affinity that cannot be read and for an invalid expression.
    """
    if error := affinity_error(pod.spec):
        raise PriorityError(error, per_node=True)
    try:
        return preferred_weights_1_4(pod, snapshot)
    except SelectorError as error:
        raise PriorityError(str(error), per_node=True) from None


def normalize_1_4(_: PodInfo, __: Snapshot, raw: IntArray) -> IntArray:
    """(n,) 10·(raw / the largest raw) in float64, truncated; 0 when none is above 0."""
    return _share_1_4(raw, int(raw.max(initial=0)))


def _share_1_4(raw: IntArray, most: int) -> IntArray:
    if not most:
        return np.zeros(len(raw), np.int64)
    scores: IntArray = (MAX_PRIORITY * (raw / most)).astype(np.int64)
    return scores


def no_preference_1_4(pod: PodInfo) -> int | None:
    """0 for a pod without a preferred term that weighs anything."""
    return None if affinity_error(pod.spec) is not None else no_preference(pod)


def make_node_affinity_1_4(_: PriorityArgs) -> PriorityConfig:
    """10·(sum / highest sum) in floating point, truncated.

    Upstream: 1.4 CalculateNodeAffinityPriority.
    """
    explain = _explain(_preferred, preferred_weights_of_1_4)
    name = "NodeAffinityPriority"
    evidence = priority_evidence(name, explain, share_evidence(_share_1_4))
    return node_priority(
        name, preferred_sums_1_4, normalize_1_4, evidence, constant=no_preference_1_4, reduce_to_100=default_normalize
    )


# --- 1.20 and 1.36 -------------------------------------------------------------------------


def preferred_sums_1_20(added: Terms, pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) int64: Σ weight of the preferred terms, the scheduler's and the pod's, that the row meets.

    Raises PriorityError for terms of the pod that cannot be parsed. Upstream: 1.20 NodeAffinity.
    """
    terms = _preferred(pod)
    if error := preferred_error_1_20(terms):
        raise PriorityError(error)
    return preferred_term_weights(snapshot, (*added, *terms))


def preferred_sums_1_36(added: Terms, pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """The same rule. Upstream: 1.36 NodeAffinity."""
    has_preference(added, pod)
    return preferred_term_weights(snapshot, (*added, *_preferred(pod)))


def has_preference(added: Terms, pod: PodInfo) -> bool:
    """Whether the scheduler or the pod prefers anything at all, be it without weight.

    Raises PriorityError for terms of the pod that cannot be parsed. Upstream: 1.36 NodeAffinity PreScore.
    """
    terms = _preferred(pod)
    if error := preferred_error_1_36(terms):
        raise PriorityError(error)
    return bool(added or terms)


def preference_evidence_1_18() -> RuleEvidence:
    """What plugin NodeAffinity can say of its scores before pods of a profile share preferences."""
    return plugin_evidence(
        "NodeAffinity", _explain(_preferred, preferred_weights_of), stretched_evidence(MAX_NODE_SCORE)
    )


def added_preference_evidence(added: Terms) -> RuleEvidence:
    """Of ``preferred_sums_1_20`` and ``preferred_sums_1_36``."""

    def terms_of(pod: PodInfo) -> Terms:
        return (*added, *_preferred(pod))

    def weights(terms: Terms, snapshot: Snapshot) -> IntArray:
        return preferred_term_weights(snapshot, terms)

    return plugin_evidence("NodeAffinity", _explain(terms_of, weights), stretched_evidence(MAX_NODE_SCORE))


def no_term_counts(added: Terms, pod: PodInfo) -> int | None:
    """0 where no preferred term is looked at."""
    return None if any(map(counts_as_preferred, (*added, *_preferred(pod)))) else 0


# --- maps ----------------------------------------------------------------------------------

NODE_AFFINITY: dict[str, PriorityConfigFactory] = {"NodeAffinityPriority": PriorityConfigFactory(make_node_affinity)}
NODE_AFFINITY_1_4: dict[str, PriorityConfigFactory] = {
    "NodeAffinityPriority": PriorityConfigFactory(make_node_affinity_1_4)
}


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
