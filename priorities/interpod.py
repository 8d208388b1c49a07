"""InterPodAffinityPriority: near the pods that are liked, far from those that are not, in both directions.

Each running pod adds a signed weight to all nodes of its domain of a term's topology key; with lo = min(0, lowest)
and hi = max(0, highest) the score is 10·(sum - lo)/(hi - lo), truncated.
"""

from __future__ import annotations

import numpy as np

from clusterstate.changes import LOCAL, Reads
from clusterstate.growable import IntArray, constant_row
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.tally import Weight
from clusterstate.topology.pod_affinity import (
    HARD,
    SOFT,
    affinity_reads,
    compile_term,
    domain_tally,
    first_error,
    running_error,
    topology_keys,
)
from priorities.types import MAX_PRIORITY, PriorityArgs, PriorityConfig, PriorityConfigFactory, PriorityError


def affinity_sums(hard_weight: int, pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) int64: Σ of the weights that running pods add to each row.

    A running pod counts by the pod's preferred terms that pick it, by its own preferred terms that pick the pod, and
    by its own required affinity terms that do, with ``hard_weight`` each. Pods on unknown nodes do not count.
    Raises PriorityError for an invalid selector. Upstream: 1.16 CalculateInterPodAffinityPriority.
    """
    sorts = (HARD, SOFT) if hard_weight > 0 else (SOFT,)
    own = [(w.term, w.weight) for w in pod.preferred_affinity]
    own += [(w.term, -w.weight) for w in pod.preferred_anti_affinity]
    if error := _error(pod, snapshot, sorts):
        raise PriorityError(error)
    rule = ("affinity sums", hard_weight, pod.namespace, pod.labels, tuple(own))
    out: IntArray | None = None
    for key in dict.fromkeys((*(term.topology_key for term, _ in own), *topology_keys(snapshot, *sorts))):
        tally = domain_tally(snapshot, rule, key, _weight(pod, hard_weight, key))
        if snapshot.domain_sums(tally).any():
            counts = snapshot.counts(tally)
            out = counts if out is None else out + counts
    return constant_row(0, len(snapshot)) if out is None else out


def _error(pod: PodInfo, snapshot: Snapshot, sorts: tuple[str, ...]) -> str | None:
    """An invalid selector's text: of a running pod, or of the pod itself once there is a pod to try it on."""
    terms = [weighted.term for weighted in (*pod.preferred_affinity, *pod.preferred_anti_affinity)]
    error = first_error(terms, pod.namespace) if terms else None
    if error and any(snapshot.node(row) for info in snapshot.running() for row in info.rows):
        return error
    return running_error(snapshot, *sorts)


def _weight(pod: PodInfo, hard_weight: int, key: str) -> Weight:
    """What one running pod adds to its domain of ``key``."""
    signed = [(w.term, w.weight) for w in pod.preferred_affinity]
    signed += [(w.term, -w.weight) for w in pod.preferred_anti_affinity]
    liked = [(compile_term(term, pod.namespace), w) for term, w in signed if term.topology_key == key]

    def weight(info: PodInfo) -> int:
        total = sum(w for matches, w in liked if matches(info))
        return total + _back(info, pod, hard_weight, key) if info.has_pod_affinity else total

    return weight


def _back(info: PodInfo, pod: PodInfo, hard_weight: int, key: str) -> int:
    """What a running pod's own terms for ``key`` say about the pod."""
    terms = [(term, hard_weight) for term in info.required_affinity] if hard_weight > 0 else []
    terms += [(w.term, w.weight) for w in info.preferred_affinity]
    terms += [(w.term, -w.weight) for w in info.preferred_anti_affinity]
    return sum(w for term, w in terms if term.topology_key == key and compile_term(term, info.namespace)(pod))


def normalize_sums(_: PodInfo, __: Snapshot, sums: IntArray) -> IntArray:
    """(n,) 0–10: ``sums`` stretched over the range from the lowest to the highest, 0 always being in it."""
    low = min(0, int(sums.min(initial=0)))
    high = max(0, int(sums.max(initial=0)))
    if low == high:
        return np.zeros(len(sums), np.int64)
    scores: IntArray = (MAX_PRIORITY * ((sums - low) / (high - low))).astype(np.int64)
    return scores


def _make(args: PriorityArgs) -> PriorityConfig:
    hard_weight = args.hard_pod_affinity_symmetric_weight

    def sums(pod: PodInfo, snapshot: Snapshot) -> IntArray:
        return affinity_sums(hard_weight, pod, snapshot)

    reads = LOCAL | Reads.ALL_NODES | Reads.ALL_PODS
    return PriorityConfig(
        "InterPodAffinityPriority", sums, normalize_sums, reads, valuewise=True, narrow=affinity_reads
    )


INTERPOD: dict[str, PriorityConfigFactory] = {"InterPodAffinityPriority": PriorityConfigFactory(_make)}
