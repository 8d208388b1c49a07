"""Which nodes a selector picks: label selectors as masks over the rows of a snapshot.

A requirement reads one label column: ``In`` compares codes, ``Gt`` and ``Lt`` judge each distinct value once.
Rows without a node object have no labels. Release 1.16.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from clusterstate.growable import ABSENT, IntArray, Mask
from clusterstate.objects import NodeSelectorTerm, PreferredSchedulingTerm, Requirement
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.matching import (
    Matcher,
    SelectorError,
    compile_map,
    compile_requirement,
    compile_requirements,
    counts_as_preferred,
    term_error,
)
from clusterstate.snapshot import Snapshot

NAME_FIELD = "metadata.name"
"""The only field of a node that matchFields can read; every other reads as the empty string."""


# --- requirements --------------------------------------------------------------------------


def requirement_mask(snapshot: Snapshot, requirement: Requirement) -> Mask:
    """(n,) bool: the rows whose label meets one requirement, which must be valid."""
    operator = requirement.operator
    hit: Mask
    if operator in ("Gt", "Lt"):
        hit = snapshot.spread_label(requirement.key, compile_requirement(requirement))
        return hit
    codes, index = snapshot.label_codes(requirement.key)
    if operator in ("Exists", "DoesNotExist"):
        hit = codes != ABSENT
    else:
        hit = _among(codes, [index[value] for value in requirement.values if value in index], len(index))
    return ~hit if operator in ("NotIn", "DoesNotExist") else hit


def _among(codes: IntArray, wanted: list[int], largest: int) -> Mask:
    """(n,) bool: which of ``codes``, none above ``largest``, are wanted."""
    out: Mask
    if len(wanted) == 1:
        out = codes == wanted[0]
    else:
        table = np.zeros(largest + 1, np.bool_)
        table[wanted] = True
        out = table[codes]
    return out


def requirements_mask(snapshot: Snapshot, requirements: Iterable[Requirement]) -> Mask:
    """(n,) bool: the rows that meet all of these valid requirements; without any, every row."""
    out: Mask | None = None
    for requirement in requirements:
        hit = requirement_mask(snapshot, requirement)
        out = hit if out is None else out & hit
    return np.ones(len(snapshot), np.bool_) if out is None else out


def node_selector_mask(snapshot: Snapshot, node_selector: Mapping[str, str]) -> Mask:
    """(n,) bool: the rows whose labels hold every pair of a plain map.

    An empty map picks every row, and so does a map with one invalid key or value.
    Upstream: 1.16 ``labels.SelectorFromSet``.
    """
    return requirements_mask(snapshot, compile_map(node_selector).requirements)


def labelled_mask(snapshot: Snapshot, pairs: Mapping[str, str]) -> Mask:
    """(n,) bool: the rows whose labels hold every pair as it is written, valid or not; without any, every row.

    Upstream: 1.20 and 1.36 ``labels.SelectorFromSet``.
    """
    return requirements_mask(snapshot, (Requirement(key, "In", (value,)) for key, value in pairs.items()))


# --- node selector terms -------------------------------------------------------------------


def term_mask(snapshot: Snapshot, term: NodeSelectorTerm, *, fields: bool = True) -> Mask:
    """(n,) bool: the rows that meet all of a term; a term without any requirement picks no row.

    fields: False where the release compares matchFields with nothing, so that they all read as the empty string.
    Raises SelectorError with the text of the first fault.
    """
    if error := term_error(term):
        raise SelectorError(error)
    if not term.match_expressions and not term.match_fields:
        return np.zeros(len(snapshot), np.bool_)
    out = requirements_mask(snapshot, term.match_expressions)
    for requirement in term.match_fields:
        out = out & _field_mask(snapshot, requirement, fields)
    return out


def _field_mask(snapshot: Snapshot, requirement: Requirement, fields: bool) -> Mask:
    value = requirement.values[0]
    if fields and requirement.key == NAME_FIELD:
        hit = named_mask(snapshot, value)
    else:
        hit = np.full(len(snapshot), value == "")
    return ~hit if requirement.operator == "NotIn" else hit


def named_mask(snapshot: Snapshot, name: str) -> Mask:
    """(n,) bool: the row of the node of that name."""
    row = snapshot.row_of(name)
    out: Mask = np.zeros(len(snapshot), np.bool_) if row is None else snapshot.row_numbers == row
    return out


# --- node affinity -------------------------------------------------------------------------


def node_affinity_mask(snapshot: Snapshot, terms: Iterable[NodeSelectorTerm], *, fields: bool = True) -> Mask:
    """(n,) bool: the rows that meet at least one of the terms; invalid terms are skipped, no term picks no row.

    fields: as in ``term_mask``. Upstream: 1.16 ``MatchNodeSelectorTerms``.
    """
    out: Mask | None = None
    for term in terms:
        if term_error(term) is None:
            hit = term_mask(snapshot, term, fields=fields)
            out = hit if out is None else out | hit
    return np.zeros(len(snapshot), np.bool_) if out is None else out


def selects_nodes(pod: PodInfo) -> bool:
    """Whether the pod has a nodeSelector or a required node affinity at all."""
    return bool(pod.spec.node_selector) or pod.spec.required_nodes is not None


def pod_matches_nodes(pod: PodInfo, snapshot: Snapshot) -> Mask:
    """(n,) bool: the rows that the pod's nodeSelector and its required node affinity both pick.

    Upstream: 1.16 ``PodMatchesNodeSelectorAndAffinityTerms``.
    """
    return _picked(pod, snapshot, node_selector_mask)


def pod_matches_nodes_1_20(pod: PodInfo, snapshot: Snapshot) -> Mask:
    """(n,) bool: the rows that the pod's nodeSelector and its required node affinity both pick.

    Upstream: 1.20 ``PodMatchesNodeSelectorAndAffinityTerms`` and 1.36 ``RequiredNodeAffinity.Match``.
    """
    return _picked(pod, snapshot, labelled_mask)


def _picked(pod: PodInfo, snapshot: Snapshot, labelled: Callable[[Snapshot, Mapping[str, str]], Mask]) -> Mask:
    """labelled: the rows that a nodeSelector picks."""
    terms, pairs = pod.spec.required_nodes, pod.spec.node_selector
    if terms is None:
        return labelled(snapshot, pairs)
    out = node_affinity_mask(snapshot, terms)
    return out & labelled(snapshot, pairs) if pairs else out


def preferred_weights(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) int64: Σ weight of the pod's preferred node affinity terms whose matchExpressions the row meets.

    Terms of weight 0 are passed over, a term without matchExpressions picks no row, matchFields are not read.
    Raises SelectorError with the text of the first invalid expression. Upstream: 1.16 CalculateNodeAffinityPriorityMap.
    """
    return preferred_weights_of(pod.spec.preferred_nodes, snapshot)


def _compiled(term: NodeSelectorTerm) -> Matcher:
    return compile_requirements(term.match_expressions)


def preferred_weights_of(
    terms: Iterable[PreferredSchedulingTerm],
    snapshot: Snapshot,
    compiled: Callable[[NodeSelectorTerm], Matcher] = _compiled,
) -> IntArray:
    """The same of some preferred terms. compiled: a term as the release matches it; may raise SelectorError."""
    out = np.zeros(len(snapshot), np.int64)
    for preferred in terms:
        if preferred.weight:
            matcher = compiled(preferred.preference)
            if not matcher.never:
                out += preferred.weight * requirements_mask(snapshot, matcher.requirements)
    return out


def preferred_term_weights(snapshot: Snapshot, terms: Iterable[PreferredSchedulingTerm]) -> IntArray:
    """(n,) int64: Σ weight of the terms that the row meets, matchFields included; empty terms are passed over.

    Raises SelectorError with the text of the first fault. Upstream: 1.20 and 1.36 PreferredSchedulingTerms.Score.
    """
    out = np.zeros(len(snapshot), np.int64)
    for term in terms:
        if counts_as_preferred(term):
            out += term.weight * term_mask(snapshot, term.preference)
    return out


def volume_affinity_mask(snapshot: Snapshot, terms: Iterable[NodeSelectorTerm] | None) -> Mask:
    """(n,) bool: the rows a persistent volume with this node affinity can be used from; None: every row.

    Nodes have no fields here. Upstream: 1.16 ``CheckNodeAffinity``.
    """
    if terms is None:
        return np.ones(len(snapshot), np.bool_)
    return node_affinity_mask(snapshot, terms, fields=False)
