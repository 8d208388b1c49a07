"""DynamicResources: the node can use the devices that the pod's claims hold, and has those they still lack."""

from __future__ import annotations

import numpy as np

from clusterstate.changes import Reads
from clusterstate.cluster_objects import ClusterObjects
from clusterstate.devices.device_demand import Demand, Timer, outcomes, unlimited
from clusterstate.devices.extended_resources import classes_by_resource, device_resources
from clusterstate.devices.resource_claims import (
    ClaimError,
    OwnClaim,
    binding_failed,
    is_usable_by,
    resolve_claims,
)
from clusterstate.growable import Mask
from clusterstate.objects.resource import ResourceClaim
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.node_selection import node_affinity_mask
from clusterstate.snapshot import Snapshot
from predicates.types import GO_ON, PASS, SKIP, FitPredicate, NodeError, PreFiltered, Verdict, always

IN_USE = "resourceclaim in use"
NOT_AVAILABLE = "resourceclaim not available on the node"
CANNOT_ALLOCATE = "cannot allocate all claims"
CANNOT_FIT = "cannot fit resource"

READS = Reads.NODE | Reads.ALL_NODES | Reads.RESOURCES


def may_need_devices(pod: PodInfo) -> bool:
    """The pod has claims, or asks for something that a DeviceClass may provide."""
    return bool(pod.spec.resource_claims) or bool(device_resources(pod))


def needs_devices(pod: PodInfo, snapshot: Snapshot) -> bool:
    if pod.spec.resource_claims:
        return True
    classes = classes_by_resource(snapshot)
    return any(name in classes for name in device_resources(pod))


def claims_of(pod: PodInfo, snapshot: Snapshot) -> tuple[ResourceClaim, ...]:
    """Raises ClaimError for a claim that cannot be used."""
    return resolve_claims(pod.namespace, pod.spec.resource_claims, snapshot.objects)


def _uid(pod: PodInfo) -> str:
    return next((entry.pod_uid for entry in pod.spec.resource_claims if isinstance(entry, OwnClaim)), "")


# --- before nodes are looked at ------------------------------------------------------------


def pre_filter(pod: PodInfo, snapshot: Snapshot) -> PreFiltered:
    """Refuses claims that are not there, in use or under way, and requests of missing classes. Upstream: 1.36."""
    if not needs_devices(pod, snapshot):
        return SKIP
    try:
        claims = claims_of(pod, snapshot)
    except ClaimError as error:
        return PreFiltered(reasons=(str(error),))
    uid = _uid(pod)
    reasons = (_refusal(claim, uid, snapshot.objects) for claim in claims)
    refusal = next((reason for reason in reasons if reason is not None), None)
    return GO_ON if refusal is None else PreFiltered(reasons=(refusal,))


def _refusal(claim: ResourceClaim, uid: str, objects: ClusterObjects) -> str | None:
    if claim.allocation is not None:
        return None if is_usable_by(claim, uid) else IN_USE
    if (claim.metadata.namespace, claim.metadata.name) in objects.pending_allocations:
        return f"resource claim {claim.key} is in the process of being allocated"
    for request in claim.spec.requests:
        for name, ask in request.alternatives():
            if ask.device_class_name not in objects.device_classes:
                return f"request {name}: device class {ask.device_class_name} does not exist"
    return None


# --- node by node --------------------------------------------------------------------------


def unavailable_on(claim: ResourceClaim, snapshot: Snapshot) -> Mask:
    """(n,) bool: the rows that cannot use what is allocated to a claim."""
    if claim.allocation is None:
        return np.zeros(len(snapshot), np.bool_)
    if binding_failed(claim):
        return np.ones(len(snapshot), np.bool_)
    terms = claim.allocation.node_selector
    return np.zeros(len(snapshot), np.bool_) if terms is None else ~node_affinity_mask(snapshot, terms)


def check_devices(pod: PodInfo, snapshot: Snapshot, timer: Timer = unlimited) -> Verdict:
    """Fails where an allocated claim cannot be used, or devices for the others cannot be had. Upstream: 1.36."""
    if not needs_devices(pod, snapshot):
        return PASS
    try:
        claims = claims_of(pod, snapshot)
    except ClaimError as error:
        return {str(error): np.ones(len(snapshot), np.bool_)}
    unavailable = np.zeros(len(snapshot), np.bool_)
    for claim in claims:
        unavailable |= unavailable_on(claim, snapshot)
    demand = Demand.of(pod, claims, snapshot)
    missing = demand.missing(snapshot) & ~unavailable
    verdict: Verdict = {NOT_AVAILABLE: unavailable, CANNOT_FIT: missing}
    if demand.claims or demand.delegated:
        found = outcomes(demand, snapshot, timer)
        left = ~unavailable & ~missing
        verdict[CANNOT_ALLOCATE] = left & ~found.fits
        for text, rows in _errors(found.late, found.errors, snapshot):
            verdict[CANNOT_ALLOCATE] &= ~rows
            verdict[NodeError(text)] = rows & left
    return verdict


def _errors(late: Mask, errors: dict[str, Mask], snapshot: Snapshot) -> list[tuple[str, Mask]]:
    out = list(errors.items())
    names = snapshot.names
    for at in np.flatnonzero(late).tolist():
        out.append((f"node {names[at]}: timed out trying to allocate devices", np.arange(len(snapshot)) == at))
    return out


def _row_by_row(_: PodInfo, __: Snapshot) -> bool:
    """Devices stay with the claims when pods leave."""
    return True


def dynamic_resources(timer: Timer = unlimited) -> FitPredicate:
    """The rule; ``timer`` limits the time for one node."""

    def check(pod: PodInfo, snapshot: Snapshot) -> Verdict:
        return check_devices(pod, snapshot, timer)

    return FitPredicate(
        "DynamicResources",
        check,
        reads=READS,
        applies=may_need_devices,
        alone=_row_by_row,
        pre_filter=pre_filter,
        pre_reads=Reads.RESOURCES,
        unresolvable=always,
    )
