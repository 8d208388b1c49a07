"""HostName and MatchNodeSelector: the nodes that a pod names or selects."""

from __future__ import annotations

from collections.abc import Iterable

from clusterstate.manifests.annotations_1_4 import affinity_error
from clusterstate.objects import NodeSelectorTerm, Requirement
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
