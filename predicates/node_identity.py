"""What a node is: its name, the labels that a pod selects or a policy asks for, the features it declares."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from itertools import combinations

import numpy as np

from clusterstate.changes import Reads
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.growable import ABSENT, Mask
from clusterstate.manifests.annotations_1_4 import affinity_error
from clusterstate.objects import Node, NodeSelectorTerm, PodSpec, Requirement
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.affinity_1_4 import pod_matches_nodes_1_4, selects_nodes_1_4, valid_terms_1_4
from clusterstate.selectors.matching import compile_map, term_error
from clusterstate.selectors.node_selection import (
    NAME_FIELD,
    named_mask,
    node_affinity_mask,
    pod_matches_nodes,
    pod_matches_nodes_1_20,
    selects_nodes,
    term_mask,
)
from clusterstate.snapshot import Snapshot
from predicates.refusal_evidence import (
    Explain,
    Need,
    NotSelected,
    Refusal,
    Unmet,
    label_need,
    label_of,
    label_text,
    node_of,
    predicate_evidence,
    requirement_text,
)
from predicates.types import (
    GO_ON,
    PASS,
    FitPredicate,
    FitPredicateFactory,
    PredicateArgs,
    PreFiltered,
    Verdict,
    node_predicate,
)

WRONG_HOST = "node(s) didn't match the requested hostname"
NOT_SELECTED = "node(s) didn't match node selector"
WRONG_HOST_1_4 = "HostName"
NOT_SELECTED_1_4 = "MatchNodeSelector"
NOT_SELECTED_1_20 = "node(s) didn't match Pod's node affinity"
WRONG_HOST_1_36 = "node(s) didn't match the requested node name"
NOT_SELECTED_1_36 = "node(s) didn't match Pod's node affinity/selector"
NOT_ENFORCED = "node(s) didn't match scheduler-enforced node affinity"
CONFLICT = "pod affinity terms conflict"

Terms = tuple[NodeSelectorTerm, ...] | None
"""The terms of a node selector; None without one."""


def names_a_node(pod: PodInfo) -> bool:
    """Whether the pod has spec.nodeName."""
    return pod.node_name != ""


def pod_fits_host(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """A pod that names a node fits that node only; names count, not hostname labels.

    Upstream: 1.16 PodFitsHost and 1.20 NodeName.
    """
    if not names_a_node(pod):
        return PASS
    return {WRONG_HOST: ~named_mask(snapshot, pod.node_name)}


def pod_match_node_selector(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """The nodeSelector and the required node affinity both pick the node. Upstream: 1.16 PodMatchNodeSelector."""
    if not selects_nodes(pod):
        return PASS
    return {NOT_SELECTED: ~pod_matches_nodes(pod, snapshot)}


def pod_fits_host_1_4(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """The same rule. Upstream: 1.4 PodFitsHost."""
    return {WRONG_HOST_1_4: ~named_mask(snapshot, pod.node_name)} if names_a_node(pod) else PASS


def pod_match_node_selector_1_4(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """The nodeSelector and the required node affinity both pick the node. Upstream: 1.4 PodSelectorMatches."""
    if not selects_nodes_1_4(pod):
        return PASS
    return {NOT_SELECTED_1_4: ~pod_matches_nodes_1_4(pod, snapshot)}


# --- 1.20 and 1.36 -------------------------------------------------------------------------


def pod_fits_host_1_36(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """The same rule. Upstream: 1.36 NodeName."""
    return {WRONG_HOST_1_36: ~named_mask(snapshot, pod.node_name)} if names_a_node(pod) else PASS


def pod_match_node_selector_1_20(added: Terms, pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """The scheduler's own terms pick the node, and so do the pod's nodeSelector and required node affinity.

    Upstream: 1.20 NodeAffinity.
    """
    return _picks(NOT_SELECTED_1_20, added, pod, snapshot)


def pod_match_node_selector_1_36(added: Terms, pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """The same rule. Upstream: 1.36 NodeAffinity."""
    return _picks(NOT_SELECTED_1_36, added, pod, snapshot)


def _picks(reason: str, added: Terms, pod: PodInfo, snapshot: Snapshot) -> Verdict:
    if added is None:
        return {reason: ~pod_matches_nodes_1_20(pod, snapshot)} if selects_nodes(pod) else PASS
    enforced = node_affinity_mask(snapshot, added)
    verdict = {NOT_ENFORCED: ~enforced}
    if selects_nodes(pod):
        verdict[reason] = enforced & ~pod_matches_nodes_1_20(pod, snapshot)
    return verdict


def named_nodes_1_24(pod: PodInfo, _: Snapshot) -> PreFiltered:
    """The same; refused when the names of one term contradict one another. Upstream: 1.24 NodeAffinity PreFilter."""
    named = _named_by_term(pod)
    if named is None:
        return GO_ON
    return PreFiltered(nodes=frozenset[str]().union(*named)) if all(named) else PreFiltered(reasons=(CONFLICT,))


def named_nodes(pod: PodInfo, _: Snapshot) -> PreFiltered:
    """The nodes that the pod's required terms name, when every term names some; refused when the names of each term
    contradict one another. Upstream: 1.36 NodeAffinity PreFilter.
    """
    named = _named_by_term(pod)
    if named is None:
        return GO_ON
    nodes = frozenset[str]().union(*named)
    return PreFiltered(nodes=nodes) if nodes else PreFiltered(reasons=(CONFLICT,))


def _named_by_term(pod: PodInfo) -> list[frozenset[str]] | None:
    """The nodes that each required term names; None without terms, or where one names none."""
    out = []
    for term in _terms_of(pod) or ():
        named = [frozenset(r.values) for r in term.match_fields if r.key == NAME_FIELD and r.operator == "In"]
        if not named:
            return None
        out.append(frozenset.intersection(*named))
    return out or None


# --- evidence ------------------------------------------------------------------------------


def explain_host(pod: PodInfo, snapshot: Snapshot, _: str) -> Refusal:
    """The node that the pod names, and this one."""
    name = snapshot.names[0]
    return Unmet((Need(f"node {pod.node_name}", name, name == pod.node_name),))


def _terms_of(pod: PodInfo) -> Terms:
    return pod.spec.required_nodes


def _term_needs(snapshot: Snapshot, terms: Iterable[NodeSelectorTerm]) -> tuple[tuple[Need, ...], ...]:
    """The needs of each valid term."""
    return tuple(
        (
            *(label_need(snapshot, requirement) for requirement in term.match_expressions),
            *(_field_need(snapshot, requirement) for requirement in term.match_fields),
        )
        for term in terms
        if term_error(term) is None
    )


def _field_need(snapshot: Snapshot, requirement: Requirement) -> Need:
    met = bool(term_mask(snapshot, NodeSelectorTerm(match_fields=(requirement,)))[0])
    found = snapshot.names[0] if requirement.key == NAME_FIELD else "nothing"
    return Need(requirement_text(requirement), found, met)


def explain_selection(pod: PodInfo, snapshot: Snapshot, _: str) -> Refusal:
    """What of the nodeSelector and of each required term the node meets."""
    pairs = compile_map(pod.spec.node_selector).requirements
    terms = _terms_of(pod)
    needs = tuple(label_need(snapshot, requirement) for requirement in pairs)
    return NotSelected(needs, None if terms is None else _term_needs(snapshot, terms))


def explain_selection_1_4(pod: PodInfo, snapshot: Snapshot, _: str) -> Refusal:
    """The same; terms count up to the first invalid one."""
    needs = tuple(label_need(snapshot, r) for r in compile_map(pod.spec.node_selector).requirements)
    terms = _terms_of(pod)
    if affinity_error(pod.spec) is not None:
        return NotSelected(needs, None, unreadable=True)
    if terms is None:
        return NotSelected(needs, None)
    asked = [tuple(label_need(snapshot, r) for r in requirements) for requirements in valid_terms_1_4(terms)]
    return NotSelected(needs, tuple(asked))


def explain_selection_framework(added: Terms) -> Explain:
    """What of the scheduler's own terms, of the nodeSelector and of each required term the node meets."""

    def explain(pod: PodInfo, snapshot: Snapshot, reason: str) -> Refusal:
        if reason == NOT_ENFORCED:
            return NotSelected((), _term_needs(snapshot, added or ()))
        pairs = (Requirement(key, "In", (value,)) for key, value in pod.spec.node_selector.items())
        terms = _terms_of(pod)
        needs = tuple(label_need(snapshot, requirement) for requirement in pairs)
        return NotSelected(needs, None if terms is None else _term_needs(snapshot, terms))

    return explain


# --- maps ----------------------------------------------------------------------------------


def make_host_name(_: PredicateArgs) -> FitPredicate:
    """A pod whose manifest names a node (`spec.nodeName`) fits only the node of that name. Hostname labels do not
    count.

    Upstream: 1.16 PodFitsHost.
    """
    return node_predicate("HostName", pod_fits_host, names_a_node, explain_host)


def make_match_node_selector(_: PredicateArgs) -> FitPredicate:
    """Passes where all of `spec.nodeSelector` and at least one term of the required node affinity match. A term without
    expressions matches nothing; a term that is invalid is passed over. The only field for `matchFields` is
    `metadata.name`.

    Upstream: 1.16 PodMatchNodeSelector.
    """
    return node_predicate("MatchNodeSelector", pod_match_node_selector, selects_nodes, explain_selection)


def make_host_name_1_4(_: PredicateArgs) -> FitPredicate:
    """The rule is the same; its reason is its name.

    Upstream: 1.4 PodFitsHost.
    """
    return node_predicate("HostName", pod_fits_host_1_4, names_a_node, explain_host)


def make_match_node_selector_1_4(_: PredicateArgs) -> FitPredicate:
    """Affinity is an annotation. One that cannot be read makes the predicate fail.

    Upstream: 1.4 PodSelectorMatches.
    """
    return node_predicate("MatchNodeSelector", pod_match_node_selector_1_4, selects_nodes_1_4, explain_selection_1_4)


NODE_IDENTITY: dict[str, FitPredicateFactory] = {
    "HostName": make_host_name,
    "MatchNodeSelector": make_match_node_selector,
}
NODE_IDENTITY_1_4: dict[str, FitPredicateFactory] = {
    "HostName": make_host_name_1_4,
    "MatchNodeSelector": make_match_node_selector_1_4,
}


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


FEATURES_MISSING = "node(s) didn't match Pod's required features"
FEATURES_MISSING_1_35 = "node declared features check failed - unsatisfied requirements: "
"""Before their names."""

RESTART_ALL = "RestartAllContainersOnContainerExits"
HOST_NETWORK_USERS = "UserNamespacesHostNetworkSupport"
RESTART_ALL_ACTION = "RestartAllContainers"


@lru_cache(maxsize=8192)
def needed_features(spec: PodSpec) -> frozenset[str]:
    """The features that a pod needs of its node, as far as scheduling infers them.

    Upstream: 1.36 InferForPodScheduling.
    """
    features = set()
    if any(RESTART_ALL_ACTION in c.restart_rule_actions for c in (*spec.containers, *spec.init_containers)):
        features.add(RESTART_ALL)
    if spec.host_network and spec.host_users is False:
        features.add(HOST_NETWORK_USERS)
    return frozenset(features)


def needs_features(pod: PodInfo) -> bool:
    """Whether the pod needs a feature that a node has to declare."""
    return bool(needed_features(pod.spec))


def declared(node: Node) -> frozenset[str] | None:
    """The features that a node declares; None without any."""
    return frozenset(node.declared_features) or None


def check_declared_features(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Fails where some needed feature is not declared. Upstream: 1.36 NodeDeclaredFeatures."""
    needed = needed_features(pod.spec)
    if not needed:
        return PASS
    return {FEATURES_MISSING: snapshot.spread(declared, lambda there: there is None or not needed <= there)}


def check_declared_features_1_35(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """The same, with the features that a node lacks in its reason. Upstream: 1.35 NodeDeclaredFeatures."""
    needed = needed_features(pod.spec)
    verdict = {}
    for count in range(1, len(needed) + 1):
        for lacking in combinations(sorted(needed), count):
            lacks = partial(_lacks, needed, frozenset(lacking))
            verdict[f"{FEATURES_MISSING_1_35}{', '.join(lacking)}"] = snapshot.spread(declared, lacks)
    return verdict or PASS


def _lacks(needed: frozenset[str], lacking: frozenset[str], there: frozenset[str] | None) -> bool:
    return needed - (there or frozenset()) == lacking


def explain_features(pod: PodInfo, snapshot: Snapshot, _: str) -> Refusal:
    """By needed feature whether the node declares it."""
    node = node_of(snapshot)
    there = (None if node is None else declared(node)) or frozenset()
    said = ", ".join(sorted(there)) or "none"
    return Unmet(tuple(Need(feature, said, feature in there) for feature in sorted(needed_features(pod.spec))))
