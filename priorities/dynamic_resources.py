"""DynamicResources: nodes that can give the pod the alternatives it would rather have score higher."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from clusterstate.changes import Reads
from clusterstate.devices.device_demand import Demand, devices_on, outcomes
from clusterstate.devices.device_requests import EVERYTHING, DeviceError, DeviceFeatures
from clusterstate.devices.device_search import MOST_ALTERNATIVES, score
from clusterstate.devices.resource_claims import ClaimError, resolve_claims
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.growable import IntArray
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from priorities.score_evidence import Calculation, added, plugin_evidence
from priorities.types import MAX_NODE_SCORE, PriorityConfig, default_normalize, stretched_evidence

READS = Reads.NODE | Reads.ALL_NODES | Reads.RESOURCES


def alternatives_map(pod: PodInfo, snapshot: Snapshot, features: DeviceFeatures = EVERYTHING) -> IntArray:
    """(n,) Σ (8 - place of the alternative chosen) over the requests with firstAvailable.

    Claims that have their devices count beside those that get them; alone they do not. Upstream: 1.36 computeScore.
    """
    demand = _with_alternatives(pod, snapshot, features)
    if demand is None:
        return np.zeros(len(snapshot), np.int64)
    return outcomes(demand, snapshot).scores + score(rank for _, rank in _held(demand))


def _with_alternatives(pod: PodInfo, snapshot: Snapshot, features: DeviceFeatures) -> Demand | None:
    """What the pod needs devices for; None when it needs none, or none of its requests has alternatives."""
    try:
        claims = resolve_claims(pod.namespace, pod.spec.resource_claims, snapshot.objects)
    except ClaimError:
        return None
    demand = Demand.of(pod, claims, snapshot, features)
    ranked = any(request.first_available for claim in claims for request in claim.spec.requests)
    return demand if ranked and features.prioritized_list and (demand.claims or demand.delegated) else None


def _held(demand: Demand) -> Iterator[tuple[str, int]]:
    """(name, place) of the alternatives that claims with an allocation have devices of."""
    for claim in demand.allocated:
        names = set() if claim.allocation is None else {device.request for device in claim.allocation.devices}
        for request in claim.spec.requests:
            for rank, ask in enumerate(request.first_available):
                name = f"{request.name}/{ask.name}"
                if name in names:
                    yield name, rank


def no_claims(pod: PodInfo) -> int | None:
    """0 for a pod without claims: nothing it asks for has alternatives."""
    return None if pod.spec.resource_claims else 0


def explain_alternatives(
    pod: PodInfo, snapshot: Snapshot, at: int, features: DeviceFeatures = EVERYTHING
) -> Calculation:
    """Of ``alternatives_map``."""
    demand = _with_alternatives(pod, snapshot, features)
    if demand is None:
        return Calculation("0", {"requests with alternatives": "none"})
    inputs: dict[str, Any] = {}
    try:
        allocated = devices_on(demand, snapshot, int(snapshot.row_numbers[at]), "")
    except DeviceError as error:
        allocated, inputs = None, {"error": str(error)}
    chosen = {} if allocated is None else {id(p.want): (p.option.name, p.rank) for p in allocated[1] if p.want.ranked}
    ranks = [*chosen.values(), *_held(demand)]
    inputs["places of the alternatives chosen"] = [f"{name}: {rank}" for name, rank in ranks]
    return Calculation(added([f"({MOST_ALTERNATIVES} - {rank})" for _, rank in ranks]), inputs)


def dynamic_resources_score(features: DeviceFeatures = EVERYTHING) -> PriorityConfig:
    """The rule as the feature gates want it."""
    return PriorityConfig(
        "DynamicResources",
        partial(alternatives_map, features=features),
        default_normalize,
        Footprint(READS, pod_key=spec_alone),
        constant=no_claims,
        valuewise=True,
        evidence=plugin_evidence(
            "DynamicResources", partial(explain_alternatives, features=features), stretched_evidence(MAX_NODE_SCORE)
        ),
    )
