"""InterPodAffinityPriority as release 1.4 sums: over its topologies, and with its errors."""

from __future__ import annotations

from itertools import chain

import numpy as np

from clusterstate.growable import ABSENT, IntArray, Mask, constant_row
from clusterstate.manifests.annotations_1_4 import affinity_error
from clusterstate.objects import PodAffinityTerm
from clusterstate.pod_counts import Weight
from clusterstate.podinfo import AsPicked, PodInfo, Reach, any_of
from clusterstate.selectors.affinity_1_4 import any_use, compile_term_1_4, sums_near, topology_codes, used_keys
from clusterstate.selectors.pod_affinity import HARD, SOFT
from clusterstate.snapshot import Snapshot
from priorities.interpod import explain_normalized_sums, explain_sums, normalize_sums, signed_terms, sums_config
from priorities.score_evidence import Calculation, Explain, domain_text
from priorities.types import PriorityArgs, PriorityConfig, PriorityConfigFactory, PriorityError

Domains = tuple[str, ...]


def affinity_sums_1_4(hard_weight: int, failure_domains: Domains, pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) int64: Σ of the weights that running pods add to each row, in both directions.

    Raises PriorityError for what cannot be read, for an invalid selector that is tried on a pod, and for a pod that
    counts on a node that is not known. Upstream: 1.4 CalculateInterPodAffinityPriority.
    """
    if error := affinity_error(pod.spec) or _error(hard_weight, pod, snapshot):
        raise PriorityError(error)
    sorts = (HARD, SOFT) if hard_weight > 0 else (SOFT,)
    signed = signed_terms(pod)
    picked = pod.as_picked(snapshot.term_keys)
    rule = ("affinity sums 1.4", hard_weight, pod.namespace, picked.labels, tuple(signed))
    out: IntArray | None = None
    for key in _keys(pod, snapshot, sorts):
        weight, reach = _weight(pod, hard_weight, key), _reach(pod, picked, key)
        sums = sums_near(snapshot, (rule, key), weight, reach, key, failure_domains)
        if sums is not None:
            out = sums if out is None else out + sums
    return constant_row(0, len(snapshot)) if out is None else out


def _keys(pod: PodInfo, snapshot: Snapshot, sorts: tuple[str, ...]) -> list[str]:
    """The distinct topology keys, the empty one too, that terms of either side have."""
    return list(dict.fromkeys((*(term.topology_key for term, _ in signed_terms(pod)), *used_keys(snapshot, *sorts))))


def _back(info: PodInfo, hard_weight: int) -> list[tuple[PodAffinityTerm, int]]:
    """A running pod's own terms that count."""
    hard = [(term, hard_weight) for term in info.required_affinity] if hard_weight > 0 else []
    return hard + signed_terms(info)


def _weight(pod: PodInfo, hard_weight: int, key: str) -> Weight:
    """What one running pod adds to its topology of ``key``."""
    liked = [(compile_term_1_4(term, pod.namespace), w) for term, w in signed_terms(pod) if term.topology_key == key]

    def weight(info: PodInfo) -> int:
        total = sum(w for matches, w in liked if matches(info))
        if info.has_pod_affinity:
            own = (entry for entry in _back(info, hard_weight) if entry[0].topology_key == key)
            total += sum(w for term, w in own if compile_term_1_4(term, info.namespace)(pod))
        return total

    return weight


def _reach(pod: PodInfo, picked: AsPicked, key: str) -> Reach:
    """Of which classes ``_weight`` may be other than 0."""
    liked = (
        compile_term_1_4(term, pod.namespace).labels.marks for term, _ in signed_terms(pod) if term.topology_key == key
    )
    return any_of(picked.by, *liked)


# --- errors --------------------------------------------------------------------------------


def _error(hard_weight: int, pod: PodInfo, snapshot: Snapshot) -> str | None:
    """The text of an error that upstream meets on a running pod, None when it meets none."""
    compiled = [(term, compile_term_1_4(term, pod.namespace)) for term, _ in signed_terms(pod)]
    own = {term: matches for term, matches in compiled if matches.error is not None}
    everyone = pod.has_pod_affinity
    if not everyone and not any_use(snapshot, HARD, SOFT) and snapshot.whole().has_node.all():
        return None

    def fault(info: PodInfo) -> str | None:
        if not everyone and not info.has_pod_affinity:
            return None
        if everyone and (text := affinity_error(info.spec)):
            return text
        tried = (matches.error for matches in own.values() if matches.errs(info))
        backs = (compile_term_1_4(term, info.namespace) for term, _ in _back(info, hard_weight))
        return next(chain(tried, (back.error for back in backs if back.errs(pod))), None)

    def counts(info: PodInfo) -> int:
        return int(everyone or info.has_pod_affinity)

    whole = snapshot.whole()
    if not whole.has_node.all():
        there = whole.counts(snapshot.tally(("counting pods 1.4", everyone), None, counts))
        astray = np.flatnonzero(~whole.has_node & (there > 0))
        if astray.size:
            return f"node '{whole.names[int(astray[0])]}' not found"
    rule = ("faults 1.4", hard_weight, pod.namespace, everyone, tuple(own))
    tally = snapshot.tally(rule, None, lambda info: int(fault(info) is not None))
    if not snapshot.domain_sums(tally).any():
        return None
    return next(text for info in snapshot.running() if (text := fault(info)) is not None)


# --- evidence ------------------------------------------------------------------------------


def _near(snapshot: Snapshot, at: int, key: str, failure_domains: Domains) -> tuple[str, Mask]:
    """(a row's domains of a topology key as a text, (N,) bool: the rows that share one of them)."""
    domains = (key,) if key else failure_domains
    rows = np.zeros(len(snapshot.whole()), np.bool_)
    for domain in domains:
        code = topology_codes(snapshot, domain)[at]
        rows |= (topology_codes(snapshot.whole(), domain) == code) & (code != ABSENT)
    return " or ".join(domain_text(snapshot, domain, at) for domain in domains), rows


def _explain(hard_weight: int, failure_domains: Domains) -> Explain:
    sorts = (HARD, SOFT) if hard_weight > 0 else (SOFT,)

    def explain(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        picked = pod.as_picked(snapshot.term_keys)
        domains = (
            (*_near(snapshot, at, key, failure_domains), _weight(pod, hard_weight, key), _reach(pod, picked, key))
            for key in _keys(pod, snapshot, sorts)
        )
        return explain_sums(domains, snapshot)

    return explain


def make_inter_pod_affinity_1_4(args: PriorityArgs) -> PriorityConfig:
    """An empty topologyKey stands for any of `--failure-domains`; empty label values are no topology. A running pod on
    an unknown node is an error if it counts.

    Upstream: 1.4 CalculateInterPodAffinityPriority.
    """
    hard_weight, failure_domains = args.hard_pod_affinity_symmetric_weight, args.failure_domains

    def sums(hard_weight: int, pod: PodInfo, snapshot: Snapshot) -> IntArray:
        return affinity_sums_1_4(hard_weight, failure_domains, pod, snapshot)

    explain = _explain(hard_weight, failure_domains)
    return sums_config(args, sums, normalize_sums, explain, explain_normalized_sums)


INTERPOD_1_4: dict[str, PriorityConfigFactory] = {
    "InterPodAffinityPriority": PriorityConfigFactory(make_inter_pod_affinity_1_4)
}
