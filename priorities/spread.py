"""EvenPodsSpreadPriority: fewer of the pods that a soft spread constraint counts in the node's domains is better.

With q = Σ over constraints of the pods in the node's domain, total = Σ q and low = min q of the nodes that carry every
key, the score is 10·(total - q)/(total - low), truncated; 10 where total = low.
"""

from __future__ import annotations

import numpy as np

from clusterstate.changes import LOCAL, Reads
from clusterstate.footprint import Footprint
from clusterstate.growable import IntArray
from clusterstate.nodecolumn import ABSENT
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.matching import SelectorError
from clusterstate.selectors.pod_keys import spread_labels
from clusterstate.snapshot import Snapshot
from clusterstate.topology.spread_counts import (
    SOFT,
    Constraints,
    DomainCounts,
    any_pods,
    carrying,
    constraints_of,
    domain_counters,
    spread_over,
)
from priorities.input_texts import domain_text
from priorities.score_evidence import Calculation, added, one_row, priority_evidence
from priorities.types import (
    MAX_NODE_SCORE,
    MAX_PRIORITY,
    PriorityArgs,
    PriorityConfig,
    PriorityConfigFactory,
    PriorityError,
    ScoreRows,
)

UNQUALIFIED = -1
"""Stands for a row that lacks a topology key; sums of pods are never negative."""


def spread_sums(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) int64: q of each row, UNQUALIFIED where the node lacks a key.

    Pods of every namespace count, on all nodes that carry every key and that the pod's node affinity picks,
    feasible or not. Raises PriorityError for an invalid selector that is tried on a pod.
    """
    constraints = constraints_of(pod, SOFT)
    out = np.zeros(len(snapshot), np.int64)
    if not constraints:
        return out
    spreads = _spreads(pod, snapshot, constraints)
    if spreads is not None:
        for constraint in constraints:
            out += spreads[constraint.topology_key].totals[snapshot.label_codes(constraint.topology_key)[0]]
    out[~carrying(snapshot, (constraint.topology_key for constraint in constraints))] = UNQUALIFIED
    return out


def _spreads(pod: PodInfo, snapshot: Snapshot, constraints: Constraints) -> dict[str, DomainCounts] | None:
    """Topology key → the counts per domain; None when nothing can be counted."""
    try:
        return spread_over(pod, snapshot, constraints, None)
    except SelectorError as error:
        if any_pods(pod, snapshot, constraints, None):
            raise PriorityError(str(error)) from None
        return None


def spread_scores(_: PodInfo, __: Snapshot, sums: IntArray) -> IntArray:
    """(n,) 0–10; 0 where the row is UNQUALIFIED. Upstream: 1.16 CalculateEvenPodsSpreadPriority."""
    return _scores(sums, MAX_PRIORITY)


def spread_scores_of_100(_: PodInfo, __: Snapshot, sums: IntArray) -> IntArray:
    """(n,) 0–100: ``spread_scores`` in finer steps."""
    return _scores(sums, MAX_NODE_SCORE)


def _scores(sums: IntArray, best: int) -> IntArray:
    """(n,) 0–``best``."""
    qualified = sums != UNQUALIFIED
    counted = sums[qualified]
    scores = np.zeros(len(sums), np.int64)
    if counted.size:
        scores[qualified] = _evened(counted, int(counted.sum()), int(counted.min()), best)
    return scores


def _evened(sums: IntArray, total: int, low: int, best: int) -> IntArray:
    """(n,) 0–``best``. total, low: the sum and the smallest of q over the rows that carry every key."""
    if total == low:
        return np.full(len(sums), best, np.int64)
    scores: IntArray = (best * ((total - sums) / (total - low))).astype(np.int64)
    return scores


def prepare(pod: PodInfo, whole: Snapshot) -> ScoreRows:
    """See ``PriorityConfig.prepare``; with one topology key that all feasible rows carry, by its domains."""

    def by_row(view: Snapshot) -> tuple[IntArray, IntArray]:
        sums = spread_sums(pod, view)
        return sums, spread_scores(pod, view, sums)

    constraints = constraints_of(pod, SOFT)
    counters = domain_counters(pod, whole, constraints, None) or {}
    if len(counters) != 1 or _spreads(pod, whole, constraints) is None:
        return by_row
    [(key, counter)] = counters.items()
    rows = np.bincount(whole.label_codes(key)[0], minlength=len(counter.present))

    def by_domain(view: Snapshot) -> tuple[IntArray, IntArray]:
        codes = view.label_codes(key)[0]
        sizes = rows if view.rows is None else np.bincount(codes, minlength=len(rows))
        if sizes[ABSENT] or not len(codes):
            return by_row(view)
        sums = len(constraints) * counter.totals(view.whole())
        scores = _evened(sums, int((sums * sizes).sum()), int(sums[sizes > 0].min()), MAX_PRIORITY)
        return sums[codes], scores[codes]

    return by_domain


def _constant(pod: PodInfo) -> int | None:
    return None if pod.spec.topology_spread_constraints and constraints_of(pod, SOFT) else 0


def explain_sums(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
    """Of ``spread_sums``."""
    constraints = constraints_of(pod, SOFT)
    if not constraints:
        return Calculation("0", {"soft constraints": "none"})
    row = one_row(snapshot, at)
    domains = {c.topology_key: domain_text(row, c.topology_key, 0) for c in constraints}
    if not carrying(row, domains)[0]:
        return Calculation(
            str(UNQUALIFIED), {"domains": list(domains.values()), "left out": "a topology key is missing"}
        )
    spreads = _spreads(pod, snapshot, constraints)
    if spreads is None:
        return Calculation("0", {"domains": list(domains.values()), "pods counted": "none"})
    counts = {key: int(spread.totals[row.label_codes(key)[0][0]]) for key, spread in spreads.items()}
    terms = [str(counts[constraint.topology_key]) for constraint in constraints]
    return Calculation(added(terms), {f"pods where {domains[key]}": count for key, count in counts.items()})


def explain_scores(pod: PodInfo, _: Snapshot, sums: IntArray, at: int) -> Calculation:
    """Of ``spread_scores``."""
    here = int(sums[at])
    if not constraints_of(pod, SOFT) or here == UNQUALIFIED:
        return Calculation("0")
    counted = sums[sums != UNQUALIFIED]
    total, low = int(counted.sum()), int(counted.min())
    inputs = {"sum over the nodes": total, "lowest": low}
    if total == low:
        return Calculation(str(MAX_PRIORITY), inputs)
    return Calculation(f"trunc({MAX_PRIORITY} * (({total} - {here}) / ({total} - {low})))", inputs)


def make_even_pods_spread(_: PriorityArgs) -> PriorityConfig:
    """For the pod's `topologySpreadConstraints` with ScheduleAnyway: q is the number of matching pods in the node's
    domains, added up over the constraints; total and low are the sum and the smallest of q over the nodes that fit and
    carry all keys. The score is 10·(total - q)/(total - low), truncated; 10 if all are alike, 0 without the keys.

    Upstream: 1.16 CalculateEvenPodsSpreadPriority.
    """
    reads = LOCAL | Reads.ALL_NODES | Reads.ALL_PODS
    evidence = priority_evidence("EvenPodsSpreadPriority", explain_sums, explain_scores)
    return PriorityConfig(
        "EvenPodsSpreadPriority",
        spread_sums,
        spread_scores,
        Footprint(reads, pod_key=spread_labels),
        _constant,
        evidence=evidence,
        prepare=prepare,
    )


SPREAD: dict[str, PriorityConfigFactory] = {"EvenPodsSpreadPriority": PriorityConfigFactory(make_even_pods_spread)}
