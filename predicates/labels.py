"""CheckNodeLabelPresence: nodes must have, or must lack, all of the listed labels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clusterstate.changes import Reads
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.growable import ABSENT, Mask
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from predicates.refusal_evidence import Explain, Need, Refusal, Unmet, label_of, label_text, predicate_evidence
from predicates.types import FitPredicate, FitPredicateFactory, PredicateArgs, Verdict

LABEL_PRESENCE = "node(s) didn't have the requested labels"
LABEL_PRESENCE_1_4 = "CheckNodeLabelPresence"


def check_node_label_presence(labels: tuple[str, ...], presence: bool, snapshot: Snapshot) -> Verdict:
    """Fails where some listed label exists contrary to ``presence``; an empty value exists.

    Upstream: 1.16 CheckNodeLabelPresence.
    """
    return {LABEL_PRESENCE: _otherwise(labels, presence, snapshot)}


def _otherwise(labels: tuple[str, ...], presence: bool, snapshot: Snapshot) -> Mask:
    failing: Mask = np.zeros(len(snapshot), np.bool_)
    for label in labels:
        codes, _ = snapshot.label_codes(label)
        failing |= (codes == ABSENT) if presence else (codes != ABSENT)
    return failing


def check_node_label_presence_1_4(labels: tuple[str, ...], presence: bool, snapshot: Snapshot) -> Verdict:
    """The same rule. Upstream: 1.4 CheckNodeLabelPresence."""
    return {LABEL_PRESENCE_1_4: _otherwise(labels, presence, snapshot)}


def check_node_labels(present: tuple[str, ...], absent: tuple[str, ...], snapshot: Snapshot) -> Verdict:
    """Fails where some label of ``present`` is missing or some label of ``absent`` exists. Upstream: 1.20 NodeLabel."""
    return {LABEL_PRESENCE: _otherwise(present, True, snapshot) | _otherwise(absent, False, snapshot)}


def label_presence_factory(name: str, labels: tuple[str, ...], presence: bool) -> FitPredicateFactory:
    """From a policy's `labelsPresence` argument. With `presence: true` every listed label must exist on the node, with
    `presence: false` none may. Values do not matter.

    Upstream: 1.16 NewNodeLabelPredicate. name: that of the policy's entry.
    """
    return _factory(name, labels, presence, check_node_label_presence)


def label_presence_factory_1_4(name: str, labels: tuple[str, ...], presence: bool) -> FitPredicateFactory:
    """Any name works.

    Upstream: 1.4 NewNodeLabelPredicate. The arguments are those of ``label_presence_factory``.
    """
    return _factory(name, labels, presence, check_node_label_presence_1_4)


def explain_labels(present: tuple[str, ...], absent: tuple[str, ...]) -> Explain:
    """By label what the node has."""

    def explain(_: PodInfo, snapshot: Snapshot, __: str) -> Refusal:
        there = {label: label_of(snapshot, label) for label in (*present, *absent)}
        needs = [Need(f"{label} to exist", label_text(there[label]), there[label] is not None) for label in present]
        needs += [Need(f"{label} not to exist", label_text(there[label]), there[label] is None) for label in absent]
        return Unmet(tuple(needs))

    return explain


def _factory(
    name: str, labels: tuple[str, ...], presence: bool, rule: Callable[[tuple[str, ...], bool, Snapshot], Verdict]
) -> FitPredicateFactory:
    def check(_: PodInfo, snapshot: Snapshot) -> Verdict:
        return rule(labels, presence, snapshot)

    def applies(_: PodInfo) -> bool:
        return bool(labels)

    def make(_: PredicateArgs) -> FitPredicate:
        explain = explain_labels(labels, ()) if presence else explain_labels((), labels)
        evidence = predicate_evidence("CheckNodeLabelPresence", explain)
        return FitPredicate(name, check, Footprint(Reads.NODE, pod_key=spec_alone), applies, evidence=evidence)

    return make
