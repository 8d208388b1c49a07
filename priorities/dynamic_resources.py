"""DynamicResources: nodes that can give the pod the alternatives it would rather have score higher."""

from __future__ import annotations

import numpy as np

from clusterstate.changes import Reads
from clusterstate.devices.device_demand import Demand, devices_on, outcomes
from clusterstate.devices.device_requests import DeviceError
from clusterstate.devices.device_search import MOST_ALTERNATIVES
from clusterstate.devices.resource_claims import ClaimError, resolve_claims
from clusterstate.growable import IntArray
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from priorities.normalize import default_normalize, stretched_evidence
from priorities.score_evidence import Calculation, added, plugin_evidence
from priorities.types import MAX_NODE_SCORE, PriorityConfig

READS = Reads.NODE | Reads.ALL_NODES | Reads.RESOURCES


def alternatives_map(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) Σ (8 - place of the alternative chosen) over the requests with firstAvailable. Upstream: 1.36."""
    demand = _with_alternatives(pod, snapshot)
    return np.zeros(len(snapshot), np.int64) if demand is None else outcomes(demand, snapshot).scores


def _with_alternatives(pod: PodInfo, snapshot: Snapshot) -> Demand | None:
    """What the pod needs devices for; None when none of its requests has alternatives."""
    try:
        claims = resolve_claims(pod.namespace, pod.spec.resource_claims, snapshot.objects)
    except ClaimError:
        return None
    demand = Demand.of(pod, claims, snapshot)
    requests = (request for claim in demand.claims for request in claim.spec.requests)
    return demand if any(request.first_available for request in requests) else None


def no_claims(pod: PodInfo) -> int | None:
    """0 for a pod without claims: nothing it asks for has alternatives."""
    return None if pod.spec.resource_claims else 0


def explain_alternatives(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
    """Of ``alternatives_map``."""
    demand = _with_alternatives(pod, snapshot)
    if demand is None:
        return Calculation("0", {"requests with alternatives": "none"})
    try:
        found = devices_on(demand, snapshot, int(snapshot.row_numbers[at]), "")
    except DeviceError as error:
        return Calculation("0", {"error": str(error)})
    ranks = {} if found is None else {id(p.want): (p.option.name, p.rank) for p in found[1] if p.want.ranked}
    return Calculation(
        added([f"({MOST_ALTERNATIVES} - {rank})" for _, rank in ranks.values()]),
        {"place of the alternative chosen": dict(ranks.values())},
    )


DYNAMIC_RESOURCES = PriorityConfig(
    "DynamicResources",
    alternatives_map,
    default_normalize,
    reads=READS,
    constant=no_claims,
    valuewise=True,
    evidence=plugin_evidence("DynamicResources", explain_alternatives, stretched_evidence(MAX_NODE_SCORE)),
)
