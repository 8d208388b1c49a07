"""ServiceAntiAffinity: away from the label values where most pods of the pod's first service run.

With k pods of the service on the feasible nodes and c of them on nodes with the node's value of the label, the score
is 10·((k - c)/k) in float64, truncated; 10 if k = 0, and 0 without the label.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterstate.changes import LOCAL, Reads
from clusterstate.footprint import Footprint
from clusterstate.growable import ABSENT, IntArray
from clusterstate.objects import Labels
from clusterstate.pod_counts import Tally
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.matching import compile_map
from clusterstate.selectors.pod_owners import Selector, count_matching, services_of
from clusterstate.snapshot import Snapshot
from priorities.score_evidence import (
    Calculation,
    ExplainReduce,
    RuleEvidence,
    added,
    domain_text,
    formula,
    plugin_evidence,
    pods_evidence,
    priority_page,
    traced,
)
from priorities.types import MAX_NODE_SCORE, MAX_PRIORITY, Map, PriorityArgs, PriorityConfig, PriorityFactory, Reduce

HEADING = "selectors of the service"
UPSTREAM, PAGE = "ServiceAntiAffinity", priority_page("argument-serviceantiaffinity")


def service_pods(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) int64: pods of the pod's first service there, not being deleted; 0 everywhere without a service.

    Upstream: 1.16 CalculateAntiAffinityPriorityMap.
    """
    return count_matching(snapshot, pod.namespace, _selectors(pod, snapshot))


def _selectors(pod: PodInfo, snapshot: Snapshot) -> tuple[Selector, ...]:
    return tuple(s.selector for s in services_of(pod, snapshot)[:1] if s.selector is not None)


def anti_affinity_scores(label: str, snapshot: Snapshot, counts: IntArray) -> IntArray:
    """(n,) 0–10 from the counts of all feasible rows. Upstream: 1.16 CalculateAntiAffinityPriorityReduce."""
    codes, index = snapshot.label_codes(label)
    total = int(counts.sum())
    per_value = np.bincount(codes, weights=counts, minlength=len(index) + 1)
    table = _away(per_value, total, MAX_PRIORITY).astype(np.int64)
    table[ABSENT] = 0
    scores: IntArray = table[codes]
    return scores


def _away(here: NDArray[Any], total: int, best: int) -> NDArray[Any]:
    """(m,) 0–``best``, lower where more of all pods are."""
    return best * ((total - here) / total) if total else np.full(len(here), best)


# --- 1.4 -----------------------------------------------------------------------------------


def service_pods_1_4(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) int64: pods of the pod's first service there, those that are being deleted too."""
    return snapshot.counts(_service_tally(pod, snapshot))


def _everywhere(pod: PodInfo, snapshot: Snapshot) -> int:
    """The pods of the first service on all nodes."""
    return int(snapshot.domain_sums(_service_tally(pod, snapshot)).sum())


def _first_selectors_1_4(pod: PodInfo, snapshot: Snapshot) -> tuple[Labels | None, ...]:
    return tuple(s.selector for s in services_of(pod, snapshot)[:1])


def _service_tally(pod: PodInfo, snapshot: Snapshot) -> Tally:
    """Counts the pods of the first service; none without a service."""
    selectors = _first_selectors_1_4(pod, snapshot)
    matchers = [compile_map(selector) for selector in selectors]

    def weight(info: PodInfo) -> int:
        return sum(info.namespace == pod.namespace and matches(info.labels) for matches in matchers)

    return snapshot.tally(("ServiceAntiAffinity 1.4", pod.namespace, selectors), None, weight)


def anti_affinity_scores_1_4(label: str, pod: PodInfo, snapshot: Snapshot, counts: IntArray) -> IntArray:
    """(n,) 0–10 in float32 from the counts of all feasible rows; the service's pods count wherever they are.

    Every row gets its own score, where upstream adds them in an arbitrary order of the labelled nodes.
    Upstream: 1.4 CalculateAntiAffinityPriority.
    """
    codes, index = snapshot.label_codes(label)
    total = _everywhere(pod, snapshot)
    table = np.full(len(index) + 1, MAX_PRIORITY, np.int64)
    if total:
        per_value = np.bincount(codes, weights=counts, minlength=len(table)).astype(np.int64)
        parts = (total - per_value).astype(np.float32) / np.float32(total)
        table = (np.float32(MAX_PRIORITY) * parts).astype(np.int64)
    table[ABSENT] = 0
    scores: IntArray = table[codes]
    return scores


# --- 1.20 ----------------------------------------------------------------------------------


def service_pods_1_20(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) int64: pods of the pod's first service there, not being deleted; 0 everywhere if it selects all pods.

    Upstream: 1.20 ServiceAffinity.
    """
    return count_matching(snapshot, pod.namespace, _selectors_1_20(pod, snapshot))


def _selectors_1_20(pod: PodInfo, snapshot: Snapshot) -> tuple[Selector, ...]:
    return tuple(s.selector for s in services_of(pod, snapshot)[:1] if s.selector)


def anti_affinity_scores_1_20(labels: tuple[str, ...], snapshot: Snapshot, counts: IntArray) -> IntArray:
    """(n,) 0–100 from the counts of all feasible rows: the mean over ``labels`` of 100·((k - c)/k), 0 without the
    label, in float64, truncated at the end. Upstream: 1.20 ServiceAffinity NormalizeScore.
    """
    total = int(counts.sum())
    sums = np.zeros(len(counts), np.float64)
    for label in labels:
        codes, index = snapshot.label_codes(label)
        per_value = np.bincount(codes, weights=counts, minlength=len(index) + 1)
        table = _away(per_value, total, MAX_NODE_SCORE)
        table[ABSENT] = 0
        sums += table[codes] / len(labels)
    return sums.astype(np.int64)


# --- evidence ------------------------------------------------------------------------------


def _shared(label: str, snapshot: Snapshot, counts: IntArray, at: int) -> tuple[bool, int, dict[str, Any]]:
    """(whether the row has the label, the pods on feasible rows with its value, both as inputs)."""
    codes, _ = snapshot.label_codes(label)
    here = int(counts[codes == codes[at]].sum())
    domain = domain_text(snapshot, label, at)
    return bool(codes[at] != ABSENT), here, {f"pods where {domain}": here}


def _explain_scores(label: str) -> ExplainReduce:
    """Of ``anti_affinity_scores``."""

    def explain(_: PodInfo, snapshot: Snapshot, counts: IntArray, at: int) -> Calculation:
        has, here, inputs = _shared(label, snapshot, counts, at)
        total = int(counts.sum())
        inputs |= {"pods of the service on feasible nodes": total}
        score = _away(traced(np.array([here])), total, MAX_PRIORITY).astype(np.int64)[0]
        return Calculation(formula(score) if has else "0", inputs)

    return explain


def _explain_scores_1_4(label: str) -> ExplainReduce:
    """Of ``anti_affinity_scores_1_4``."""

    def explain(pod: PodInfo, snapshot: Snapshot, counts: IntArray, at: int) -> Calculation:
        has, here, inputs = _shared(label, snapshot, counts, at)
        total = _everywhere(pod, snapshot)
        inputs |= {"pods of the service anywhere": total}
        if not has:
            return Calculation("0", inputs)
        part = f"float32({total} - {here}) / float32({total})"
        return Calculation(f"trunc(float32({MAX_PRIORITY}) * ({part}))" if total else str(MAX_PRIORITY), inputs)

    return explain


def _explain_mean_1_20(labels: tuple[str, ...]) -> ExplainReduce:
    """Of ``anti_affinity_scores_1_20``."""

    def explain(_: PodInfo, snapshot: Snapshot, counts: IntArray, at: int) -> Calculation:
        total = int(counts.sum())
        inputs: dict[str, Any] = {"pods of the service on feasible nodes": total}
        parts = []
        for label in labels:
            has, here, counted = _shared(label, snapshot, counts, at)
            inputs |= counted
            part = formula(_away(traced(np.array([here])), total, MAX_NODE_SCORE)[0]) if has else "0"
            parts.append(f"{part} / {len(labels)}")
        return Calculation(f"trunc({added(parts)})", inputs)

    return explain


def service_evidence_1_20(labels: tuple[str, ...]) -> RuleEvidence:
    """Of ``service_pods_1_20`` with ``anti_affinity_scores_1_20``."""
    return plugin_evidence(
        "ServiceAffinity", pods_evidence(service_pods_1_20, _selectors_1_20, HEADING), _explain_mean_1_20(labels)
    )


# --- factories -----------------------------------------------------------------------------


def service_anti_affinity_factory(name: str, label: str) -> PriorityFactory:
    """With k the pods of the pod's service on nodes that fit and c those of them on nodes with the same value of the
    label: 10·(k - c)/k, truncated; 10 if k is 0, and 0 on nodes without the label.

    Upstream: 1.16 NewServiceAntiAffinityPriority. name: that of the policy's entry.
    """

    def reduce(_: PodInfo, snapshot: Snapshot, counts: IntArray) -> IntArray:
        return anti_affinity_scores(label, snapshot, counts)

    return _apart(name, service_pods, _selectors, reduce, _explain_scores(label))


def service_anti_affinity_factory_1_4(name: str, label: str) -> PriorityFactory:
    """k counts the pods of the service anywhere, on nodes that do not fit too, and those that are being deleted. In
    single precision.

    Upstream: 1.4 NewServiceAntiAffinityPriority. The arguments are those of ``service_anti_affinity_factory``.
    """

    return _apart(
        name,
        service_pods_1_4,
        _first_selectors_1_4,
        partial(anti_affinity_scores_1_4, label),
        _explain_scores_1_4(label),
    )


def _apart(
    name: str,
    count: Map,
    selectors: Callable[[PodInfo, Snapshot], tuple[Selector | None, ...]],
    reduce: Reduce,
    explain: ExplainReduce,
) -> PriorityFactory:
    evidence = RuleEvidence(UPSTREAM, PAGE, pods_evidence(count, selectors, HEADING), explain)

    def make(_: PriorityArgs) -> PriorityConfig:
        return PriorityConfig(name, count, reduce, Footprint(LOCAL | Reads.SERVICES), evidence=evidence)

    return make
