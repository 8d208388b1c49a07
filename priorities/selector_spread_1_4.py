"""SelectorSpreadPriority and ServiceSpreadingPriority as release 1.4 computes them, in single precision.

Pods count that any of the selectors matches. A zoned node's score is not a number, and so the lowest of all, when
none of those pods is on a zoned node.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clusterstate.changes import LOCAL, Reads
from clusterstate.growable import IntArray, constant_row
from clusterstate.nodecolumn import ABSENT
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.pod_owners import Kinds, count_matching_any, selectors_of
from clusterstate.snapshot import Snapshot
from priorities.selector_spread import zone_of
from priorities.types import MAX_PRIORITY, PriorityArgs, PriorityConfig, PriorityConfigFactory

ZONE_WEIGHT = np.float32(2 / 3)
NODE_WEIGHT = np.float32(1 / 3)
TEN = np.float32(MAX_PRIORITY)
NOT_A_NUMBER = np.int64(-(2**63))
"""What a float that is not a number becomes as an integer."""

SPREADING = Kinds.SERVICES | Kinds.REPLICATION_CONTROLLERS | Kinds.REPLICA_SETS


def spread_scores_1_4(selected: bool, snapshot: Snapshot, counts: IntArray) -> IntArray:
    """(n,) from the counts of all feasible rows: 0–10, or -2^63. Upstream: 1.4 CalculateSpreadPriority.

    selected: whether the pod has any selectors; without them nothing is counted.
    """
    if not selected:
        return constant_row(MAX_PRIORITY, len(counts))
    most = counts.max(initial=0)
    scores = _part(counts, most) if most else np.full(len(counts), TEN)
    codes, zones = snapshot.property_codes(zone_of)
    zoned = codes != ABSENT
    if not zoned.any():
        return scores.astype(np.int64)
    per_zone = np.bincount(codes, weights=counts, minlength=len(zones)).astype(np.int64)
    per_zone[ABSENT] = 0
    most = per_zone.max()
    if not most:
        return np.where(zoned, NOT_A_NUMBER, scores.astype(np.int64))
    mixed = scores * NODE_WEIGHT + ZONE_WEIGHT * _part(per_zone, most)[codes]
    return np.where(zoned, mixed, scores).astype(np.int64)


def _part(counts: IntArray, most: np.int64) -> NDArray[np.float32]:
    """(n,) float32 0–10, higher where less is counted."""
    return TEN * ((most - counts).astype(np.float32) / np.float32(most))


def _named(name: str, kinds: Kinds) -> PriorityConfigFactory:
    def count(pod: PodInfo, snapshot: Snapshot) -> IntArray:
        return count_matching_any(pod.namespace, selectors_of(pod, snapshot, kinds), snapshot)

    def score(pod: PodInfo, snapshot: Snapshot, counts: IntArray) -> IntArray:
        return spread_scores_1_4(bool(selectors_of(pod, snapshot, kinds)), snapshot, counts)

    def make(_: PriorityArgs) -> PriorityConfig:
        return PriorityConfig(name, count, score, LOCAL | Reads.SERVICES)

    return PriorityConfigFactory(make)


SELECTOR_SPREAD_1_4: dict[str, PriorityConfigFactory] = {
    "SelectorSpreadPriority": _named("SelectorSpreadPriority", SPREADING),
    "ServiceSpreadingPriority": _named("ServiceSpreadingPriority", Kinds.SERVICES),
}
