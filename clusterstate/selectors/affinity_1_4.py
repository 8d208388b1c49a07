"""Node and pod affinity and tolerations where release 1.4 matches them differently from 1.16.

Two nodes share a topology when both carry its label with the same value, which must not be empty; an empty topology
key stands for any of the failure domains.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from clusterstate.growable import ABSENT, IntArray, Mask
from clusterstate.manifests.annotations_1_4 import affinity_error
from clusterstate.objects import (
    NodeSelectorTerm,
    PodAffinityTerm,
    PreferredSchedulingTerm,
    Requirement,
    Taint,
    Toleration,
)
from clusterstate.podinfo import PodInfo, Reach, Use
from clusterstate.selectors.matching import (
    NOTHING,
    Matcher,
    SelectorError,
    compile_label_selector,
    compile_requirements,
)
from clusterstate.selectors.node_selection import node_selector_mask, preferred_weights_of, requirements_mask
from clusterstate.selectors.pod_affinity import HARD, REPEL, SOFT, domain_tally, terms_of
from clusterstate.snapshot import Snapshot
from kubecel.api_names import go_quote, label_value_errors, qualified_name_errors

if TYPE_CHECKING:
    from clusterstate.pod_counts import Weight


VALUE_RULE = (
    "must match the regex (([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])? (e.g. 'MyValue' or 'my_value' or '12345')"
)


# --- node affinity -------------------------------------------------------------------------


@lru_cache(maxsize=8192)
def _compile(term: NodeSelectorTerm) -> Matcher | str:
    """A term's matcher, or the text of its first fault."""
    try:
        return compile_requirements(term.match_expressions)
    except SelectorError as error:
        return next((text for r in term.match_expressions if (text := value_error_1_4(r))), str(error))


def value_error_1_4(requirement: Requirement) -> str | None:
    """The text for a requirement whose only fault is a value that no label can have.

    Upstream: 1.4 validateLabelValue.
    """
    if qualified_name_errors(requirement.key):
        return None
    wrong = next((value for value in requirement.values if label_value_errors(value)), None)
    return None if wrong is None else f"invalid label value: {go_quote(wrong)}: {VALUE_RULE}"


def selects_nodes_1_4(pod: PodInfo) -> bool:
    """Whether the pod has a nodeSelector, a required node affinity, or an affinity that cannot be read."""
    spec = pod.spec
    return bool(spec.node_selector) or spec.required_nodes is not None or affinity_error(spec) is not None


def pod_matches_nodes_1_4(pod: PodInfo, snapshot: Snapshot) -> Mask:
    """(n,) bool: the rows that the pod's nodeSelector and its required node affinity both pick.

    The terms count in order up to the first invalid one; an affinity that cannot be read picks no row.
    Upstream: 1.4 podMatchesNodeLabels.
    """
    if affinity_error(pod.spec) is not None:
        return np.zeros(len(snapshot), np.bool_)
    terms, pairs = pod.spec.required_nodes, pod.spec.node_selector
    if terms is None:
        return node_selector_mask(snapshot, pairs)
    out: Mask = np.zeros(len(snapshot), np.bool_)
    for requirements in valid_terms_1_4(terms):
        out = out | requirements_mask(snapshot, requirements)
    return out & node_selector_mask(snapshot, pairs) if pairs else out


def valid_terms_1_4(terms: Iterable[NodeSelectorTerm]) -> Iterator[tuple[Requirement, ...]]:
    """The requirements of each term that can pick a node, up to the first invalid term."""
    for term in terms:
        matcher = _compile(term)
        if isinstance(matcher, str):
            return
        if not matcher.never:
            yield matcher.requirements


def preferred_weights_1_4(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) int64: Σ weight of the pod's preferred node affinity terms that the row meets.

    Terms of weight 0 are passed over, one without matchExpressions picks no row.
    Raises SelectorError with the text of the first invalid expression. Upstream: 1.4 CalculateNodeAffinityPriority.
    """
    return preferred_weights_of_1_4(pod.spec.preferred_nodes, snapshot)


def preferred_weights_of_1_4(terms: Iterable[PreferredSchedulingTerm], snapshot: Snapshot) -> IntArray:
    """The same of some preferred terms."""
    return preferred_weights_of(terms, snapshot, _compiled)


def _compiled(term: NodeSelectorTerm) -> Matcher:
    matcher = _compile(term)
    if isinstance(matcher, str):
        raise SelectorError(matcher)
    return matcher


# --- pod affinity terms --------------------------------------------------------------------


class TermMatcher14(msgspec.Struct, frozen=True):
    """The test whether a pod class is one that a term picks."""

    namespaces: frozenset[str] | None
    """None for all namespaces."""
    labels: Matcher
    error: str | None = None
    """What is wrong with the selector; reported only for pods of the term's namespaces."""

    def __call__(self, pod: PodInfo) -> bool:
        return self.reaches(pod) and self.labels(pod.labels)

    def reaches(self, pod: PodInfo) -> bool:
        """The pod is in one of the namespaces."""
        return self.namespaces is None or pod.namespace in self.namespaces

    def errs(self, pod: PodInfo) -> bool:
        """Trying the term on the pod is an error."""
        return self.error is not None and self.reaches(pod)


@lru_cache(maxsize=16384)
def compile_term_1_4(term: PodAffinityTerm, owner_namespace: str) -> TermMatcher14:
    """The test of one term of a pod in ``owner_namespace``; an empty list of namespaces means all of them.

    Upstream: 1.4 PodMatchesPodAffinityTerm.
    """
    if term.namespaces is None:
        namespaces: frozenset[str] | None = frozenset((owner_namespace,))
    else:
        namespaces = frozenset(term.namespaces) or None
    try:
        return TermMatcher14(namespaces, compile_label_selector(term.label_selector))
    except SelectorError as error:
        return TermMatcher14(namespaces, NOTHING, str(error))


# --- tolerations ---------------------------------------------------------------------------


def tolerates_1_4(toleration: Toleration, taint: Taint) -> bool:
    """Whether a toleration covers a taint: keys have to be equal. Upstream: 1.4 TolerationToleratesTaint."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal") and toleration.value == taint.value:
        return True
    return toleration.operator == "Exists"


def any_tolerates_1_4(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Whether one of the tolerations covers the taint."""
    return any(tolerates_1_4(toleration, taint) for toleration in tolerations)


FAILURE_DOMAINS = (
    "kubernetes.io/hostname",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
)
"""What an empty topology key means unless a flag says otherwise."""


def affinity_uses_1_4(info: PodInfo) -> tuple[Use, ...]:
    """The distinct uses a class makes of topologies; (…, None) says that it has such terms at all.

    Of its required anti-affinity only the last term's key is ever used. Upstream: 1.4
    getMatchingAntiAffinityTermsOfExistingPod, which makes every record point at the one loop variable.
    """
    if not info.has_pod_affinity:
        return ()
    uses: dict[Use, None] = {}
    for sort in (REPEL, HARD, SOFT):
        terms = terms_of(info, sort)
        for term in terms[-1:] if sort == REPEL else terms:
            uses[sort, term.topology_key] = None
        if terms:
            uses[sort, None] = None
    return tuple(uses)


def used_keys(snapshot: Snapshot, *sorts: str) -> list[str]:
    """The distinct topology keys, the empty one too, that running pods' terms of these sorts use."""
    uses = snapshot.affinity_uses
    return list(dict.fromkeys(key for sort, key in uses if sort in sorts and key is not None))


def any_use(snapshot: Snapshot, *sorts: str) -> bool:
    """Whether any running pod has terms of these sorts."""
    return any(use[0] in sorts for use in snapshot.affinity_uses)


def topology_codes(snapshot: Snapshot, key: str) -> IntArray:
    """(n,) int64: each row's domain code of a topology key; 0 where the label is absent or empty."""
    codes, index = snapshot.label_codes(key)
    empty = index.get("")
    return codes if empty is None else np.where(codes == empty, ABSENT, codes)


def near(
    snapshot: Snapshot, rule: Hashable, weight: Weight, reach: Reach, key: str, failure_domains: Iterable[str]
) -> Mask | None:
    """(n,) bool: the rows that share the topology of ``key`` with a pod that ``weight`` counts.

    None: it counts no pod anywhere. ``rule`` is all that ``weight`` depends on. reach: see ``Snapshot.tally``.
    """
    out: Mask | None = None
    for domain in (key,) if key else failure_domains:
        sums = snapshot.domain_sums(domain_tally(snapshot, rule, domain, weight, reach))
        if not sums.any():
            return None
        occupied = sums > 0
        occupied[ABSENT] = False
        hit = occupied[topology_codes(snapshot, domain)]
        out = hit if out is None else out | hit
    return out


def sums_near(
    snapshot: Snapshot, rule: Hashable, weight: Weight, reach: Reach, key: str, failure_domains: Iterable[str]
) -> IntArray | None:
    """(n,) int64: Σ ``weight`` of the pods that share the topology of ``key`` with each row; None: 0 everywhere.

    Under an empty key a pod counts once for a row, however many failure domains they share. reach: see
    ``Snapshot.tally``.
    """
    if not key:
        amounts = snapshot.whole().counts(snapshot.tally((rule, None), None, weight, reach))
        return _sums_near_any(snapshot, amounts, tuple(failure_domains)) if amounts.any() else None
    sums = snapshot.domain_sums(domain_tally(snapshot, rule, key, weight, reach))
    if not sums.any():
        return None
    if sums[ABSENT]:
        sums = sums.copy()
        sums[ABSENT] = 0
    out: IntArray = sums[topology_codes(snapshot, key)]
    return out


def _sums_near_any(snapshot: Snapshot, amounts: IntArray, domains: tuple[str, ...]) -> IntArray:
    """(n,) int64: Σ of ``amounts`` (N,) over the rows that share some of the domains: inclusion and exclusion."""
    whole = snapshot.whole()
    out: IntArray = np.zeros(len(snapshot), np.int64)
    for size in range(1, len(domains) + 1):
        sign = 1 if size % 2 else -1
        for chosen in combinations(domains, size):
            codes = _together(whole, chosen)
            sums = np.zeros(int(codes.max(initial=0)) + 1, np.int64)
            np.add.at(sums, codes, amounts)
            sums[ABSENT] = 0
            here = sums[codes]
            out += sign * (here if snapshot.rows is None else here[snapshot.rows])
    return out


def _together(whole: Snapshot, keys: tuple[str, ...]) -> IntArray:
    """(N,) int64: a code for each combination of values of some topology keys; 0 where one of them is missing."""
    out = topology_codes(whole, keys[0])
    for key in keys[1:]:
        codes = topology_codes(whole, key)
        missing = (out == ABSENT) | (codes == ABSENT)
        both = np.where(missing, ABSENT, out * len(whole.label_values(key)) + codes)
        _, out = np.unique(np.append(both, ABSENT), return_inverse=True)
        out = out[:-1]
    return out
