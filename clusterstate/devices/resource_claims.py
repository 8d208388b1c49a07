"""Which ResourceClaims a pod uses, and who else does. Release 1.36."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import attrs
import msgspec

from clusterstate.cluster_objects import ClusterObjects
from clusterstate.errors import SchedulingError
from clusterstate.objects import Pod, PodResourceClaim, PodSpec
from clusterstate.objects.resource import AllocatedDevice, ConsumerReference, DeviceStatus, ResourceClaim
from clusterstate.podinfo import controller_of
from kubecel.api_names import go_quote

MOST_CONSUMERS = 256
"""Pods that one claim can be reserved for."""


class ClaimError(SchedulingError):
    """A claim of a pod that is not there, or not for it; upstream's text."""


class OwnClaim(PodResourceClaim, frozen=True):
    """An entry of a pod's ``resourceClaims`` that knows whose it is."""

    pod_name: str = ""
    pod_uid: str = ""
    settled: bool = False
    """Whether the pod's status has an entry for it."""
    made: str | None = None
    """The claim named there; None when none is needed."""


def own_claims(pod: Pod) -> tuple[OwnClaim, ...]:
    """The entries of a pod, from its spec and its status."""
    made = {status.name: status.resource_claim_name for status in pod.resource_claim_statuses}
    return tuple(
        OwnClaim(
            entry.name,
            entry.resource_claim_name,
            entry.resource_claim_template_name,
            pod.metadata.name,
            pod.metadata.uid,
            entry.name in made,
            made.get(entry.name),
        )
        for entry in pod.spec.resource_claims
    )


def with_own_claims(spec: PodSpec, pod: Pod) -> PodSpec:
    """A pod's spec as rules that look at claims need it: claims are one pod's own, so such pods are never replicas."""
    return msgspec.structs.replace(spec, resource_claims=own_claims(pod)) if spec.resource_claims else spec


def resolve_claims(
    namespace: str, entries: Iterable[PodResourceClaim], objects: ClusterObjects
) -> tuple[ResourceClaim, ...]:
    """The claims that a pod's entries stand for. Raises ClaimError for the first that cannot be used."""
    found = (_resolve(namespace, entry, objects) for entry in entries)
    return tuple(claim for claim in found if claim is not None)


def _resolve(namespace: str, entry: PodResourceClaim, objects: ClusterObjects) -> ResourceClaim | None:
    own = entry if isinstance(entry, OwnClaim) else OwnClaim(*msgspec.structs.astuple(entry))
    name = own.resource_claim_name
    if name is None:
        if not own.settled:
            raise ClaimError(f'pod "{namespace}/{own.pod_name}": ResourceClaim not created yet')
        name = own.made
        if name is None:
            return None
    claim = objects.resource_claims.get((namespace, name))
    if claim is None:
        raise ClaimError(f'could not find ResourceClaim "{namespace}/{name}"')
    if claim.metadata.deletion_timestamp is not None:
        raise ClaimError(f'resourceclaim "{name}" is being deleted')
    if own.resource_claim_name is None and not _belongs(claim, own.pod_uid):
        pod = f"{namespace}/{own.pod_name}"
        raise ClaimError(f"ResourceClaim {claim.key} was not created for Pod {pod} (Pod is not owner)")
    return claim


def _belongs(claim: ResourceClaim, pod_uid: str) -> bool:
    controller = controller_of(claim.metadata)
    return controller is not None and controller[1] == pod_uid


def consumer(pod: Pod) -> ConsumerReference:
    """The pod as an entry of a claim's ``reservedFor``."""
    return ConsumerReference("pods", pod.metadata.name, pod.metadata.uid)


def is_reserved_for(claim: ResourceClaim, pod_uid: str) -> bool:
    """Whether the claim is reserved for the pod of this uid."""
    return any(entry.uid == pod_uid for entry in claim.reserved_for)


def without_consumer(claim: ResourceClaim, pod_uid: str) -> ResourceClaim:
    """The claim, not reserved for the pod of this uid."""
    return attrs.evolve(claim, reserved_for=tuple(entry for entry in claim.reserved_for if entry.uid != pod_uid))


def is_outdated(claim: ResourceClaim, objects: ClusterObjects) -> bool:
    """Whether a newer version of the claim is known already, or that it is being deleted: an event may come after the
    answer to a later write.

    Versions that are no numbers say nothing. Upstream: 1.36 AssumeCache.
    """
    if claim.metadata.uid in objects.deleted_claims:
        return True
    known = objects.resource_claims.get((claim.metadata.namespace, claim.metadata.name))
    if known is None:
        return False
    mine, newest = claim.resource_version, known.resource_version
    return mine.isdecimal() and newest.isdecimal() and int(mine) < int(newest)


def is_usable_by(claim: ResourceClaim, pod_uid: str) -> bool:
    """The claim is reserved for the pod, or can be."""
    return len(claim.reserved_for) < MOST_CONSUMERS or is_reserved_for(claim, pod_uid)


def has_to_be_given_up(claim: ResourceClaim, now: float, binding_timeout: float) -> bool:
    """The devices of the claim will not get ready: one has failed, or their time is over.

    now: seconds since the epoch. binding_timeout: seconds from the allocation on. Upstream: 1.36
    isClaimReadyForBinding and isClaimTimeout.
    """
    ready = is_ready_for_binding(claim)
    return ready is None or (not ready and is_binding_over(claim, now, binding_timeout))


def is_ready_for_binding(claim: ResourceClaim) -> bool | None:
    """Whether every binding condition of the claim's devices is met; None when a device reports a failure.

    Devices after the first that is not ready are not looked at.
    """
    for device in claim.allocation.devices if claim.allocation is not None else ():
        if not device.binding_conditions:
            continue
        status = _status_of(claim, device)
        if status is None:
            return False
        met = {kind for kind, value in status.conditions if value == "True"}
        if not met.isdisjoint(device.binding_failure_conditions):
            return None
        if not met.issuperset(device.binding_conditions):
            return False
    return True


def binding_failure(claim: ResourceClaim) -> str | None:
    """The text of the failure that a device of the claim reports; None when none does. Upstream: 1.36
    isClaimReadyForBinding."""
    for device in claim.allocation.devices if claim.allocation is not None else ():
        status = _status_of(claim, device) if device.binding_conditions else None
        if status is None:
            continue
        details = status.details or (("", ""),) * len(status.conditions)
        given = {kind: said for (kind, value), said in zip(status.conditions, details, strict=True) if value == "True"}
        for kind in device.binding_failure_conditions:
            if kind in given:
                reason, message = given[kind]
                return f"claim {claim.metadata.name} binding failed: reason={reason}, message={go_quote(message)}"
    return None


def waits_for_binding(claim: ResourceClaim) -> bool:
    """Whether some device of the claim has conditions that have to be met before its pod is bound."""
    return claim.allocation is not None and any(device.binding_conditions for device in claim.allocation.devices)


def _status_of(claim: ResourceClaim, device: AllocatedDevice) -> DeviceStatus | None:
    mine = (device.driver, device.pool, device.device)
    return next((s for s in claim.device_statuses if (s.driver, s.pool, s.device) == mine), None)


def is_binding_over(claim: ResourceClaim, now: float, binding_timeout: float) -> bool:
    """Whether the time for binding that began with the allocation is over; times as in ``has_to_be_given_up``."""
    end = binding_end(claim, binding_timeout)
    return end is not None and end < now


def binding_end(claim: ResourceClaim, binding_timeout: float) -> float | None:
    """When the time for binding ends, in seconds since the epoch; None for a claim that was not allocated in time."""
    allocation = claim.allocation
    if allocation is None or allocation.timestamp is None:
        return None
    return datetime.fromisoformat(allocation.timestamp).timestamp() + binding_timeout
