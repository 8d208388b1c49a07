"""EvenPodsSpread: no domain of a topology gets too far ahead of the emptiest.

pods in the domain + 1 if the pod counts itself - pods in the emptiest domain <= maxSkew
"""

from __future__ import annotations

import numpy as np

from clusterstate.changes import LOCAL, Reads
from clusterstate.footprint import Footprint
from clusterstate.growable import Mask
from clusterstate.nodecolumn import ABSENT
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.matching import SelectorError, compile_label_selector
from clusterstate.selectors.pod_keys import spread_labels
from clusterstate.snapshot import Snapshot
from clusterstate.topology.pod_affinity import REPEL, first_error, running_error
from clusterstate.topology.spread_counts import HARD, Constraints, any_pods, constraints_of, spread_over
from predicates.refusal_evidence import AnyOf, Refusal, Uneven, label_of, predicate_evidence
from predicates.types import PASS, FitPredicate, FitPredicateFactory, NodeError, PredicateArgs, Verdict

NOT_SPREAD = "node(s) didn't match pod topology spread constraints"
NO_METADATA = "metadata not pre-computed for EvenPodsSpreadPredicate"


def even_pods_spread(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Fails where a hard constraint's maxSkew would be exceeded, or the node lacks its topology key.

    Only nodes count that carry every key and that the pod's node affinity picks; where there are none, every
    node passes. An invalid selector, also of a required pod affinity, is an error. Upstream: 1.16 EvenPodsSpread.
    """
    constraints = constraints_of(pod, HARD)
    if not constraints:
        return PASS
    if _affinity_is_invalid(pod, snapshot):
        return _error(NO_METADATA, snapshot)
    try:
        spreads = spread_over(pod, snapshot, constraints, pod.namespace)
    except SelectorError as error:
        tried = any_pods(pod, snapshot, constraints, pod.namespace)
        return _error(NO_METADATA if tried else str(error), snapshot)
    if spreads is None:
        return PASS
    fails: Mask | None = None
    for constraint in constraints:
        spread = spreads[constraint.topology_key]
        own = compile_label_selector(constraint.label_selector)(pod.labels)
        too_full = spread.totals + (int(own) - spread.totals[spread.present].min()) > constraint.max_skew
        too_full[ABSENT] = True
        hit = too_full[snapshot.label_codes(constraint.topology_key)[0]]
        fails = hit if fails is None else fails | hit
    return PASS if fails is None else {NOT_SPREAD: fails}


def _affinity_is_invalid(pod: PodInfo, snapshot: Snapshot) -> bool:
    """Whether an invalid selector of some pod affinity left upstream without the attempt's metadata."""
    if running_error(snapshot, REPEL) or first_error(pod.required_affinity, pod.namespace):
        return True
    return bool(first_error(pod.required_anti_affinity, pod.namespace)) and bool(snapshot.running())


def _error(text: str, snapshot: Snapshot) -> Verdict:
    return {NodeError(text): np.ones(len(snapshot), np.bool_)}


def explain_spread(pod: PodInfo, snapshot: Snapshot, _: str) -> Refusal:
    """By constraint the pods of the node's domain and of the emptiest."""
    constraints = constraints_of(pod, HARD)
    spreads = spread_over(pod, snapshot, constraints, pod.namespace)
    parts = []
    for constraint in constraints if spreads is not None else ():
        assert spreads is not None
        key = constraint.topology_key
        spread, code = spreads[key], int(snapshot.label_codes(key)[0][0])
        own = int(compile_label_selector(constraint.label_selector)(pod.labels))
        least = int(spread.totals[spread.present].min())
        there = int(spread.totals[code])
        parts.append(Uneven(key, label_of(snapshot, key), there, own, least, constraint.max_skew))
    return AnyOf(tuple(parts))


def _applies(pod: PodInfo) -> bool:
    constraints: Constraints = pod.spec.topology_spread_constraints
    return bool(constraints) and bool(constraints_of(pod, HARD))


EVIDENCE = predicate_evidence("EvenPodsSpread", explain_spread)


def make_even_pods_spread(_: PredicateArgs) -> FitPredicate:
    """For each of the pod's `topologySpreadConstraints` with DoNotSchedule: pods that match in the node's domain, plus
    the pod itself if it matches, minus those in the emptiest domain, may not exceed maxSkew. Only nodes count that
    carry all topology keys and that the pod's node affinity picks. A node without the key fails.

    Upstream: 1.16 EvenPodsSpreadPredicate.
    """
    return FitPredicate(
        "EvenPodsSpread",
        even_pods_spread,
        Footprint(LOCAL | Reads.ALL_NODES | Reads.ALL_PODS, pod_key=spread_labels),
        _applies,
        evidence=EVIDENCE,
    )


SPREAD: dict[str, FitPredicateFactory] = {"EvenPodsSpread": make_even_pods_spread}
