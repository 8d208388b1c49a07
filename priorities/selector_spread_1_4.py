"""SelectorSpreadPriority and ServiceSpreadingPriority as release 1.4 computes them, in single precision.

Pods count that any of the selectors matches. A zoned node's score is not a number, and so the lowest of all, when
none of those pods is on a zoned node.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterstate.changes import LOCAL, Reads
from clusterstate.footprint import Footprint
from clusterstate.growable import ABSENT, IntArray, constant_row
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.pod_owners import Kinds, Selector, count_matching_any, selectors_of
from clusterstate.snapshot import Snapshot
from priorities.score_evidence import Calculation, pods_evidence, priority_evidence, zone_text
from priorities.selector_spread import rows_scored, zone_of
from priorities.types import (
    MAX_NODE_SCORE,
    MAX_PRIORITY,
    PriorityArgs,
    PriorityConfig,
    PriorityConfigFactory,
    ScoreRows,
)

ZONE_WEIGHT = np.float32(2 / 3)
NODE_WEIGHT = np.float32(1 / 3)
NOT_A_NUMBER = np.int64(-(2**63))
"""What a float that is not a number becomes as an integer."""

SPREADING = Kinds.SERVICES | Kinds.REPLICATION_CONTROLLERS | Kinds.REPLICA_SETS
"""What selects the pods that SelectorSpreadPriority counts."""


def spread_scores_1_4(selected: bool, snapshot: Snapshot, counts: IntArray, best: int = MAX_PRIORITY) -> IntArray:
    """(n,) from the counts of all feasible rows: 0–``best``, or -2^63. Upstream: 1.4 CalculateSpreadPriority.

    selected: whether the pod has any selectors; without them nothing is counted. best: of the release 10.
    """
    if not selected:
        return constant_row(best, len(counts))
    most = counts.max(initial=0)
    scores = _part(counts, most, best) if most else np.full(len(counts), np.float32(best))
    codes, zones = snapshot.property_codes(zone_of)
    zoned = codes != ABSENT
    if not zoned.any():
        return scores.astype(np.int64)
    per_zone = _by_zone(counts, codes, zones)
    most = per_zone.max()
    if not most:
        return np.where(zoned, NOT_A_NUMBER, scores.astype(np.int64))
    mixed = scores * NODE_WEIGHT + ZONE_WEIGHT * _part(per_zone, most, best)[codes]
    return np.where(zoned, mixed, scores).astype(np.int64)


def spread_scores_of_100_1_4(pod: PodInfo, snapshot: Snapshot, counts: IntArray, kinds: Kinds) -> IntArray:
    """(n,) 0–100, or -2^63: the scores of the release in finer steps. kinds: of what selects the pods that count."""
    return spread_scores_1_4(bool(selectors_of(pod, snapshot, kinds)), snapshot, counts, MAX_NODE_SCORE)


def _part(counts: IntArray, most: np.int64, best: int) -> NDArray[np.float32]:
    """(n,) float32 0–``best``, higher where less is counted."""
    return np.float32(best) * ((most - counts).astype(np.float32) / np.float32(most))


def explain_spread_1_4(selected: bool, snapshot: Snapshot, counts: IntArray, at: int) -> Calculation:
    """Of ``spread_scores_1_4``."""
    if not selected:
        return Calculation(str(MAX_PRIORITY), {"selectors": "none"})
    most, here = int(counts.max(initial=0)), int(counts[at])
    inputs: dict[str, Any] = {"pods on the node": here, "most on a node": most}
    part = _part_formula(here, most) if most else f"float32({MAX_PRIORITY})"
    codes, zones = snapshot.property_codes(zone_of)
    if codes[at] == ABSENT:
        return Calculation(f"trunc({part})", inputs | {"zone": "none"})
    per_zone = _by_zone(counts, codes, zones)
    in_zone, most = int(per_zone[codes[at]]), int(per_zone.max())
    inputs |= {"zone": zone_text(zones[codes[at]]), "pods in the zone": in_zone, "most in a zone": most}
    zoned = _part_formula(in_zone, most)
    return Calculation(f"trunc({part} * float32(1 / 3) + float32(2 / 3) * ({zoned}))", inputs)


def _part_formula(count: int, most: int) -> str:
    """Of ``_part``; not a number where the most is 0."""
    return f"float32({MAX_PRIORITY}) * (float32({most} - {count}) / float32({most}))"


def _by_zone(counts: IntArray, codes: IntArray, zones: list[Any]) -> IntArray:
    """(Z,) the counts added up per zone code, 0 for no zone."""
    per_zone = np.bincount(codes, weights=counts, minlength=len(zones)).astype(np.int64)
    per_zone[ABSENT] = 0
    return per_zone


def _named(name: str, kinds: Kinds) -> PriorityConfig:
    def count(pod: PodInfo, snapshot: Snapshot) -> IntArray:
        return count_matching_any(pod.namespace, selectors_of(pod, snapshot, kinds))(snapshot)

    def score(pod: PodInfo, snapshot: Snapshot, counts: IntArray) -> IntArray:
        return spread_scores_1_4(bool(selectors_of(pod, snapshot, kinds)), snapshot, counts)

    def prepare(pod: PodInfo, whole: Snapshot) -> ScoreRows:
        picking = selectors_of(pod, whole, kinds)
        return rows_scored(
            count_matching_any(pod.namespace, picking),
            lambda view, counts: spread_scores_1_4(bool(picking), view, counts),
        )

    def selectors(pod: PodInfo, snapshot: Snapshot) -> tuple[Selector, ...]:
        return selectors_of(pod, snapshot, kinds)

    def is_unselected(pod: PodInfo, snapshot: Snapshot) -> bool:
        return not selectors(pod, snapshot)

    def explain(pod: PodInfo, snapshot: Snapshot, counts: IntArray, at: int) -> Calculation:
        return explain_spread_1_4(bool(selectors(pod, snapshot)), snapshot, counts, at)

    evidence = priority_evidence(name, pods_evidence(count, selectors), explain)
    return PriorityConfig(
        name,
        count,
        score,
        Footprint(LOCAL | Reads.SERVICES, pod_key=selectors, unaffected_by_pods=is_unselected),
        evidence=evidence,
        prepare=prepare,
    )


def make_selector_spread_1_4(_: PriorityArgs) -> PriorityConfig:
    """StatefulSets are not asked; a pod counts if at least one selector matches. In single precision. Where no pod
    counts on any node with a zone, nodes with a zone get -9223372036854775808.

    Upstream: 1.4 CalculateSpreadPriority.
    """
    return _named("SelectorSpreadPriority", SPREADING)


def make_service_spreading_1_4(_: PriorityArgs) -> PriorityConfig:
    """Asks services only.

    Upstream: 1.4 ServiceSpreadingPriority.
    """
    return _named("ServiceSpreadingPriority", Kinds.SERVICES)


SELECTOR_SPREAD_1_4: dict[str, PriorityConfigFactory] = {
    "SelectorSpreadPriority": PriorityConfigFactory(make_selector_spread_1_4),
    "ServiceSpreadingPriority": PriorityConfigFactory(make_service_spreading_1_4),
}
