"""SelectorSpreadPriority and ServiceSpreadingPriority: away from the pods of the same services and controllers.

With the count of those pods on a node and in its zone, and the maximum m of either over the feasible nodes:

    part = 10·((m - count)/m), 10 if m = 0        score = node part·(1 - 2/3) + 2/3·zone part

in float64, truncated; a node without a zone has its node part.

First the rule of 1.16 and later, below it that of 1.4.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterstate.changes import LOCAL, Reads
from clusterstate.footprint import Footprint
from clusterstate.growable import ABSENT, IntArray, constant_row
from clusterstate.node_order import zone_key_stable
from clusterstate.objects import Node
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.matching import Matcher
from clusterstate.selectors.pod_owners import (
    Kinds,
    Selector,
    count_matching,
    count_matching_any,
    default_selector_1_20,
    selectors_of,
)
from clusterstate.snapshot import Snapshot
from priorities.score_evidence import (
    Calculation,
    ExplainReduce,
    RuleEvidence,
    formula,
    plugin_evidence,
    pods_evidence,
    priority_evidence,
    traced,
    zone_text,
)
from priorities.types import MAX_NODE_SCORE, MAX_PRIORITY, Map, PriorityArgs, PriorityConfig, PriorityConfigFactory

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
    return count_matching(snapshot, pod.namespace, selectors_of(pod, snapshot))


def matching_pods_1_13(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) int64: the same of pods that any of the pod's selectors matches.

    Upstream: 1.13 CalculateSpreadPriorityMap.
    """
    return count_matching_any(snapshot, pod.namespace, selectors_of(pod, snapshot))


def is_unselected(pod: PodInfo, snapshot: Snapshot) -> bool:
    """No service and no controller selects the pod."""
    return not selectors_of(pod, snapshot)


def spread_scores(_: PodInfo, snapshot: Snapshot, counts: IntArray, best: int = MAX_PRIORITY) -> IntArray:
    """(n,) 0–``best`` from the counts of all feasible rows. Upstream: 1.16 CalculateSpreadPriorityReduce, with 10."""
    return _scores(counts, snapshot, zone_of, best)


def _scores(counts: IntArray, snapshot: Snapshot, zone: Callable[[Node], Hashable | None], best: int) -> IntArray:
    """(n,) 0–``best``."""
    if not counts.any():
        return constant_row(best, len(counts))
    scores = _part(counts, counts.max(), best)
    codes, zones = snapshot.property_codes(zone)
    if codes.any():
        per_zone = _by_zone(counts, codes, zones)
        zoned = scores * (1.0 - ZONE_WEIGHT) + (ZONE_WEIGHT * _part(per_zone, per_zone.max(), best))[codes]
        scores = np.where(codes != ABSENT, zoned, scores)
    return scores.astype(np.int64)


def _by_zone(counts: IntArray, codes: IntArray, zones: list[Any]) -> NDArray[Any]:
    """(Z,) float64, the counts added up per zone code, 0 for no zone."""
    per_zone: NDArray[Any] = np.bincount(codes, weights=counts, minlength=len(zones))
    per_zone[ABSENT] = 0
    return per_zone


def _part(counts: NDArray[Any], most: float, best: int) -> NDArray[Any]:
    """(n,) 0–``best``, higher where less of the most is counted."""
    return best * ((most - counts) / most) if most else np.full(len(counts), best)


# --- 1.20 ----------------------------------------------------------------------------------


def spreads_by_itself(pod: PodInfo) -> bool:
    """A pod with topology spread constraints of its own is not spread by this rule."""
    return bool(pod.spec.topology_spread_constraints)


FindSelector = Callable[[PodInfo, Snapshot], Matcher | None]
"""The default selector of a pod; None without any."""


def matching_pods_1_20(pod: PodInfo, snapshot: Snapshot, find: FindSelector = default_selector_1_20) -> IntArray:
    """(n,) int64: pods of the namespace there, not being deleted, that the pod's default selector matches.

    Upstream: 1.20 SelectorSpread.
    """
    matcher = _matcher_1_20(pod, snapshot, find)
    if matcher is None:
        return constant_row(0, len(snapshot))

    def weight(info: PodInfo) -> int:
        return int(info.namespace == pod.namespace and not info.terminating and matcher(info.labels))

    key = "SelectorSpread", pod.namespace, matcher
    return snapshot.counts(snapshot.tally(key, None, weight, matcher.marks)).copy()


def is_unselected_1_20(pod: PodInfo, snapshot: Snapshot, find: FindSelector = default_selector_1_20) -> bool:
    """The pod has no default selector."""
    return _matcher_1_20(pod, snapshot, find) is None


def _matcher_1_20(pod: PodInfo, snapshot: Snapshot, find: FindSelector) -> Matcher | None:
    return None if spreads_by_itself(pod) else find(pod, snapshot)


def spread_scores_1_20(pod: PodInfo, snapshot: Snapshot, counts: IntArray) -> IntArray:
    """(n,) 0–100 from the counts of all feasible rows; the counts of a pod that spreads by itself stay as they are.

    Upstream: 1.20 SelectorSpread NormalizeScore.
    """
    return counts if spreads_by_itself(pod) else _scores(counts, snapshot, zone_key_stable, MAX_NODE_SCORE)


def not_spread(pod: PodInfo) -> int | None:
    """0 for a pod that spreads by itself."""
    return 0 if spreads_by_itself(pod) else None


# --- evidence ------------------------------------------------------------------------------


def _explain_spread(zone: Callable[[Node], Hashable | None], best: int) -> ExplainReduce:
    """Of ``_scores``."""

    def explain(_: PodInfo, snapshot: Snapshot, counts: IntArray, at: int) -> Calculation:
        most, here = int(counts.max(initial=0)), int(counts[at])
        inputs: dict[str, Any] = {"pods on the node": here, "most on a node": most}
        if not most:
            return Calculation(str(best), inputs)
        part = _shown(here, most, best)
        codes, zones = snapshot.property_codes(zone)
        if codes[at] == ABSENT:
            return Calculation(f"trunc({part})", inputs | {"zone": "none"})
        per_zone = _by_zone(counts, codes, zones)
        in_zone, most = int(per_zone[codes[at]]), int(per_zone.max())
        inputs |= {"zone": zone_text(zones[codes[at]]), "pods in the zone": in_zone, "most in a zone": most}
        zoned = _shown(in_zone, most, best)
        return Calculation(f"trunc({part} * (1.0 - 2.0 / 3.0) + 2.0 / 3.0 * ({zoned}))", inputs)

    return explain


def _shown(count: int, most: int, best: int) -> str:
    return formula(_part(traced(np.array([count])), most, best)[0])


def _selectors_1_20(find: FindSelector, pod: PodInfo, snapshot: Snapshot) -> list[Matcher]:
    matcher = _matcher_1_20(pod, snapshot, find)
    return [] if matcher is None else [matcher]


def _explain_spread_1_20(pod: PodInfo, snapshot: Snapshot, counts: IntArray, at: int) -> Calculation:
    """Of ``spread_scores_1_20``."""
    if spreads_by_itself(pod):
        return Calculation(str(int(counts[at])), {"topology spread constraints": "the pod has some of its own"})
    return _explain_spread(zone_key_stable, MAX_NODE_SCORE)(pod, snapshot, counts, at)


def selector_spread_evidence_1_20(find: FindSelector = default_selector_1_20) -> RuleEvidence:
    """Of ``matching_pods_1_20`` and ``spread_scores_1_20``."""
    counts = pods_evidence(partial(matching_pods_1_20, find=find), partial(_selectors_1_20, find))
    return plugin_evidence("SelectorSpread", counts, _explain_spread_1_20)


# --- maps ----------------------------------------------------------------------------------


def _named(name: str, count: Map = matching_pods) -> PriorityConfig:
    evidence = priority_evidence(name, pods_evidence(count, selectors_of), _explain_spread(zone_of, MAX_PRIORITY))
    return PriorityConfig(
        name,
        count,
        spread_scores,
        Footprint(LOCAL | Reads.SERVICES, pod_key=selectors_of, unaffected_by_pods=is_unselected),
        evidence=evidence,
        reduce_to_100=partial(spread_scores, best=MAX_NODE_SCORE),
    )


def make_selector_spread(_: PriorityArgs) -> PriorityConfig:
    """Away from the pods of the same services, ReplicationControllers, ReplicaSets and StatefulSets. Pods of the
    namespace that match all of their selectors are counted per node and per zone; with m the largest count among the
    nodes that fit:

        part = 10·((m - count) / m), 10 if m is 0
        score = part of the node·(1 - 2/3) + 2/3·part of its zone, truncated

    A node without zone and region labels (`failure-domain.beta.kubernetes.io/…`) has its node part.

    Upstream: 1.16 SelectorSpread.
    """
    return _named("SelectorSpreadPriority")


def make_service_spreading(_: PriorityArgs) -> PriorityConfig:
    """In 1.16 exactly SelectorSpreadPriority under another name, controllers included.

    Upstream: 1.16 ServiceSpreadingPriority.
    """
    return _named("ServiceSpreadingPriority")


def make_selector_spread_1_13(_: PriorityArgs) -> PriorityConfig:
    """Pods that match any of the selectors are counted.

    Upstream: 1.13 SelectorSpread.
    """
    return _named("SelectorSpreadPriority", matching_pods_1_13)


def make_service_spreading_1_13(_: PriorityArgs) -> PriorityConfig:
    """Exactly SelectorSpreadPriority under another name, controllers included.

    Upstream: 1.13 ServiceSpreadingPriority.
    """
    return _named("ServiceSpreadingPriority", matching_pods_1_13)


SELECTOR_SPREAD: dict[str, PriorityConfigFactory] = {
    "SelectorSpreadPriority": PriorityConfigFactory(make_selector_spread),
    "ServiceSpreadingPriority": PriorityConfigFactory(make_service_spreading),
}
SELECTOR_SPREAD_1_13: dict[str, PriorityConfigFactory] = {
    "SelectorSpreadPriority": PriorityConfigFactory(make_selector_spread_1_13),
    "ServiceSpreadingPriority": PriorityConfigFactory(make_service_spreading_1_13),
}


ZONE_WEIGHT_1_4 = np.float32(2 / 3)
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
    scores = _part_1_4(counts, most, best) if most else np.full(len(counts), np.float32(best))
    codes, zones = snapshot.property_codes(zone_of)
    zoned = codes != ABSENT
    if not zoned.any():
        return scores.astype(np.int64)
    per_zone = _by_zone_1_4(counts, codes, zones)
    most = per_zone.max()
    if not most:
        return np.where(zoned, NOT_A_NUMBER, scores.astype(np.int64))
    mixed = scores * NODE_WEIGHT + ZONE_WEIGHT_1_4 * _part_1_4(per_zone, most, best)[codes]
    return np.where(zoned, mixed, scores).astype(np.int64)


def _part_1_4(counts: IntArray, most: np.int64, best: int) -> NDArray[np.float32]:
    """(n,) float32 0–``best``, higher where less is counted."""
    return np.float32(best) * ((most - counts).astype(np.float32) / np.float32(most))


def explain_spread_1_4(selected: bool, snapshot: Snapshot, counts: IntArray, at: int) -> Calculation:
    """Of ``spread_scores_1_4``."""
    if not selected:
        return Calculation(str(MAX_PRIORITY), {"selectors": "none"})
    most, here = int(counts.max(initial=0)), int(counts[at])
    inputs: dict[str, Any] = {"pods on the node": here, "most on a node": most}
    part = _part_formula_1_4(here, most) if most else f"float32({MAX_PRIORITY})"
    codes, zones = snapshot.property_codes(zone_of)
    if codes[at] == ABSENT:
        return Calculation(f"trunc({part})", inputs | {"zone": "none"})
    per_zone = _by_zone_1_4(counts, codes, zones)
    in_zone, most = int(per_zone[codes[at]]), int(per_zone.max())
    inputs |= {"zone": zone_text(zones[codes[at]]), "pods in the zone": in_zone, "most in a zone": most}
    zoned = _part_formula_1_4(in_zone, most)
    return Calculation(f"trunc({part} * float32(1 / 3) + float32(2 / 3) * ({zoned}))", inputs)


def _part_formula_1_4(count: int, most: int) -> str:
    """Of ``_part_1_4``; not a number where the most is 0."""
    return f"float32({MAX_PRIORITY}) * (float32({most} - {count}) / float32({most}))"


def _by_zone_1_4(counts: IntArray, codes: IntArray, zones: list[Any]) -> IntArray:
    """(Z,) the counts added up per zone code, 0 for no zone."""
    per_zone = np.bincount(codes, weights=counts, minlength=len(zones)).astype(np.int64)
    per_zone[ABSENT] = 0
    return per_zone


def _named_1_4(name: str, kinds: Kinds) -> PriorityConfig:
    def count(pod: PodInfo, snapshot: Snapshot) -> IntArray:
        return count_matching_any(snapshot, pod.namespace, selectors_of(pod, snapshot, kinds))

    def score(pod: PodInfo, snapshot: Snapshot, counts: IntArray, best: int = MAX_PRIORITY) -> IntArray:
        return spread_scores_1_4(bool(selectors_of(pod, snapshot, kinds)), snapshot, counts, best)

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
        reduce_to_100=partial(score, best=MAX_NODE_SCORE),
    )


def make_selector_spread_1_4(_: PriorityArgs) -> PriorityConfig:
    """StatefulSets are not asked; a pod counts if at least one selector matches. In single precision. Where no pod
    counts on any node with a zone, nodes with a zone get -9223372036854775808.

    Upstream: 1.4 CalculateSpreadPriority.
    """
    return _named_1_4("SelectorSpreadPriority", SPREADING)


def make_service_spreading_1_4(_: PriorityArgs) -> PriorityConfig:
    """Asks services only.

    Upstream: 1.4 ServiceSpreadingPriority.
    """
    return _named_1_4("ServiceSpreadingPriority", Kinds.SERVICES)


SELECTOR_SPREAD_1_4: dict[str, PriorityConfigFactory] = {
    "SelectorSpreadPriority": PriorityConfigFactory(make_selector_spread_1_4),
    "ServiceSpreadingPriority": PriorityConfigFactory(make_service_spreading_1_4),
}
