"""SelectorSpreadPriority and ServiceSpreadingPriority: away from the pods of the same services and controllers.

With the count of those pods on a node and in its zone, and the maximum m of either over the feasible nodes:

    part = 10·((m - count)/m), 10 if m = 0        score = node part·(1 - 2/3) + 2/3·zone part

in float64, truncated; a node without a zone has its node part.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clusterstate.changes import LOCAL, Reads
from clusterstate.growable import IntArray, constant_row
from clusterstate.nodecolumn import ABSENT
from clusterstate.objects import Node
from clusterstate.podinfo import PodInfo
from clusterstate.services import count_matching, selectors_of
from clusterstate.snapshot import Snapshot
from priorities.types import MAX_PRIORITY, PriorityArgs, PriorityConfig, PriorityConfigFactory

REGION = "failure-domain.beta.kubernetes.io/region"
ZONE = "failure-domain.beta.kubernetes.io/zone"
ZONE_WEIGHT = 2.0 / 3.0


def zone_of(node: Node) -> tuple[str, str] | None:
    """(region, zone) of a node, absent labels being empty; None when both are. Upstream: 1.16 GetZoneKey."""
    labels = node.metadata.labels
    key = (labels.get(REGION, ""), labels.get(ZONE, ""))
    return key if any(key) else None


def matching_pods(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) int64: pods of the namespace there, not being deleted, that all of the pod's selectors match.

    Upstream: 1.16 CalculateSpreadPriorityMap.
    """
    return count_matching(pod.namespace, selectors_of(pod, snapshot), snapshot)


def spread_scores(_: PodInfo, snapshot: Snapshot, counts: IntArray) -> IntArray:
    """(n,) 0–10 from the counts of all feasible rows. Upstream: 1.16 CalculateSpreadPriorityReduce."""
    if not counts.any():
        return constant_row(MAX_PRIORITY, len(counts))
    scores = _part(counts)
    codes, zones = snapshot.property_codes(zone_of)
    if codes.any():
        per_zone = np.bincount(codes, weights=counts, minlength=len(zones))
        per_zone[ABSENT] = 0
        zoned = scores * (1.0 - ZONE_WEIGHT) + (ZONE_WEIGHT * _part(per_zone))[codes]
        scores = np.where(codes != ABSENT, zoned, scores)
    return scores.astype(np.int64)


def _part(counts: IntArray | NDArray[np.float64]) -> NDArray[np.float64]:
    """(n,) float64 0–10, higher where less is counted."""
    most = counts.max()
    if not most:
        return np.full(len(counts), float(MAX_PRIORITY))
    part: NDArray[np.float64] = MAX_PRIORITY * ((most - counts) / most)
    return part


def _named(name: str) -> PriorityConfigFactory:
    def make(_: PriorityArgs) -> PriorityConfig:
        return PriorityConfig(name, matching_pods, spread_scores, LOCAL | Reads.SERVICES)

    return PriorityConfigFactory(make)


SELECTOR_SPREAD: dict[str, PriorityConfigFactory] = {
    "SelectorSpreadPriority": _named("SelectorSpreadPriority"),
    "ServiceSpreadingPriority": _named("ServiceSpreadingPriority"),
}
