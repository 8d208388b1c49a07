"""DynamicResources: nodes that can give the pod the alternatives it would rather have score higher."""

from __future__ import annotations

import numpy as np

from clusterstate.changes import Reads
from clusterstate.devices.device_demand import Demand, outcomes
from clusterstate.devices.resource_claims import ClaimError, resolve_claims
from clusterstate.growable import IntArray
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from priorities.normalize import default_normalize
from priorities.types import PriorityConfig

READS = Reads.NODE | Reads.ALL_NODES | Reads.RESOURCES


def alternatives_map(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) Σ (8 - place of the alternative chosen) over the requests with firstAvailable. Upstream: 1.36."""
    try:
        claims = resolve_claims(pod.namespace, pod.spec.resource_claims, snapshot.objects)
    except ClaimError:
        return np.zeros(len(snapshot), np.int64)
    demand = Demand.of(pod, claims, snapshot)
    if not any(request.first_available for claim in demand.claims for request in claim.spec.requests):
        return np.zeros(len(snapshot), np.int64)
    return outcomes(demand, snapshot).scores


def no_claims(pod: PodInfo) -> int | None:
    """0 for a pod without claims: nothing it asks for has alternatives."""
    return None if pod.spec.resource_claims else 0


DYNAMIC_RESOURCES = PriorityConfig(
    "DynamicResources", alternatives_map, default_normalize, reads=READS, constant=no_claims, valuewise=True
)
