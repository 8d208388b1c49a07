"""Which ResourceClaims a pod uses, and who else does. Release 1.36.

At the end: extended resources that a DeviceClass provides. Devices are allocated for them as if they had been claimed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

import attrs
import msgspec

from clusterstate.changes import Reads
from clusterstate.cluster_objects import ClusterObjects
from clusterstate.errors import SchedulingError
from clusterstate.objects import (
    AllocatedDevice,
    ClaimSpec,
    ConsumerReference,
    Container,
    DeviceAsk,
    DeviceClass,
    DeviceRequest,
    DeviceStatus,
    FrozenMap,
    Labels,
    ObjectMeta,
    Pod,
    PodResourceClaim,
    PodSpec,
    ResourceClaim,
)
from clusterstate.podinfo import PodInfo, controller_of
from clusterstate.snapshot import Snapshot
from clusterstate.usage import is_extended_resource
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


def made_ready(claim: ResourceClaim) -> ResourceClaim | None:
    """The claim with every binding condition of its devices met, as their drivers report; None when none is left to
    report on."""
    allocation = claim.allocation
    reported = {(status.driver, status.pool, status.device) for status in claim.device_statuses}
    statuses = tuple(
        DeviceStatus(d.driver, d.pool, d.device, tuple((kind, "True") for kind in d.binding_conditions))
        for d in (allocation.devices if allocation is not None else ())
        if d.binding_conditions and (d.driver, d.pool, d.device) not in reported
    )
    return attrs.evolve(claim, device_statuses=(*claim.device_statuses, *statuses)) if statuses else None


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


CLASS_PREFIX = "deviceclass.resource.kubernetes.io/"
"""Every DeviceClass provides the resource of this prefix and its name."""

EXTENDED_CLAIM: Labels = FrozenMap({"resource.kubernetes.io/extended-resource-claim": "true"})
"""Annotations of a claim that stands for extended resources."""

SIDECAR = "Always"
"""The restart policy of an init container that keeps running."""


def is_device_resource(name: str) -> bool:
    """A resource that some DeviceClass may provide."""
    return name.startswith(CLASS_PREFIX) or is_extended_resource(name)


def device_resources(pod: PodInfo) -> dict[str, int]:
    """Resource name → amount of what the pod asks for that devices may be."""
    return {name: amount for name, amount in pod.usage.request.items() if amount > 0 and is_device_resource(name)}


def classes_by_resource(snapshot: Snapshot) -> Mapping[str, str]:
    """Resource name → the DeviceClass that provides it; of several the newest, then the first by name."""
    return snapshot.derived("classes_by_resource", Reads.RESOURCES, lambda: _by_resource(snapshot.objects))


def _by_resource(objects: ClusterObjects) -> dict[str, str]:
    out = {}
    for cls in sorted(objects.device_classes.values(), key=_name, reverse=True):
        out[f"{CLASS_PREFIX}{cls.metadata.name}"] = cls.metadata.name
    by_age = sorted(sorted(objects.device_classes.values(), key=_name, reverse=True), key=_created)
    for cls in by_age:
        if cls.extended_resource_name is not None:
            out[cls.extended_resource_name] = cls.metadata.name
    return out


def _name(cls: DeviceClass) -> str:
    return cls.metadata.name


def _created(cls: DeviceClass) -> str:
    return cls.metadata.creation_timestamp or ""


def delegated_resources(snapshot: Snapshot) -> frozenset[str]:
    """The resources that some DeviceClass provides. What reads it declares Reads.RESOURCES."""
    return snapshot.derived("delegated_resources", Reads.RESOURCES, lambda: frozenset(classes_by_resource(snapshot)))


# --- the claim that stands for them --------------------------------------------------------


def extended_claim(namespace: str, pod_name: str, spec: PodSpec, asked: Mapping[str, str]) -> ResourceClaim:
    """The claim for some resources of a pod: name → DeviceClass. It is in no API until the pod is bound.

    Every container has a request of its own; init containers that end share one, for what the containers that run
    later do not ask for. Upstream: 1.36 createRequestsAndMappings.
    """
    requests = [request for name in sorted(asked) for request in _requests(spec, name, asked[name])]
    name = f"{pod_name}-extended-resources"
    spec_of_claim = ClaimSpec(tuple(sorted(requests, key=lambda request: request.name)))
    return ResourceClaim(ObjectMeta(name, namespace, annotations=EXTENDED_CLAIM), spec_of_claim)


def _requests(spec: PodSpec, resource: str, class_name: str) -> Iterator[DeviceRequest]:
    containers = (*spec.init_containers, *spec.containers)
    ending = [at for at, c in enumerate(spec.init_containers) if c.restart_policy != SIDECAR]
    lasting = {at: _amount(c, resource) for at, c in enumerate(containers) if at not in ending}
    most: tuple[int, int] | None = None
    for at in ending:
        missing = _amount(containers[at], resource) - _reusable(lasting, at, _amount(containers[at], resource))
        if missing > 0 and (most is None or most[1] < missing):
            most = at, missing
    for at, count in (*(() if most is None else (most,)), *lasting.items()):
        if count:
            yield DeviceRequest(_request_name(containers, at, resource), exactly=DeviceAsk(class_name, count=count))


def _reusable(lasting: Mapping[int, int], start: int, wanted: int) -> int:
    """How much of what containers from ``start`` on hold can serve one that ends before them."""
    return min(wanted, sum(count for at, count in lasting.items() if at >= start))


def _amount(container: Container, resource: str) -> int:
    """Whole devices; an amount that is not whole asks for none."""
    milli = container.requests.get(resource, 0)
    return milli // 1000 if milli > 0 and not milli % 1000 else 0


def _request_name(containers: Sequence[Container], at: int, resource: str) -> str:
    return f"container-{at}-request-{sorted(containers[at].requests).index(resource)}"


def request_mappings(spec: PodSpec, claim: ResourceClaim) -> list[dict[str, str]]:
    """Which requests of the claim for a pod's extended resources serve which container, as the pod's status has it.

    Init containers that end are served by what runs later, and then by the one request that they share. Upstream: 1.36
    createRequestsAndMappings.
    """
    containers = (*spec.init_containers, *spec.containers)
    names = {request.name for request in claim.spec.requests}
    found: dict[str, list[int]] = {}
    for at, container in enumerate(containers):
        for resource in container.requests:
            if _request_name(containers, at, resource) in names:
                found.setdefault(resource, []).append(at)
    return [mapping for name in sorted(found) for mapping in _mappings(containers, spec, name, found[name])]


def _mappings(
    containers: Sequence[Container], spec: PodSpec, resource: str, requesting: Sequence[int]
) -> Iterator[dict[str, str]]:
    """Of one resource. requesting: the containers that have a request of the claim."""

    def served(at: int, by: int) -> dict[str, str]:
        name = _request_name(containers, by, resource)
        return {"containerName": containers[at].name, "resourceName": resource, "requestName": name}

    ending = [at for at, c in enumerate(spec.init_containers) if c.restart_policy != SIDECAR]
    lasting = [at for at in requesting if at not in ending]
    shared = next((at for at in requesting if at in ending), None)
    yield from (served(at, at) for at in lasting)
    for at in ending:
        missing = _amount(containers[at], resource)
        for by in lasting:
            if by > at and missing > 0:
                yield served(at, by)
                missing -= _amount(containers[by], resource)
        if missing > 0 and shared is not None:
            yield served(at, shared)


LEFT_OVER = "<extended-resources>"
"""The entry by which a pod gets a claim that an earlier attempt left; no entry of a user's can be called so."""


def left_over_claims(snapshot: Snapshot) -> Mapping[str, ResourceClaim]:
    """Pod uid → the claim for its extended resources that is there already, the first that arrived. Upstream: 1.36
    findExtendedResourceClaim."""
    return snapshot.derived("left_over_claims", Reads.RESOURCES, lambda: _by_owner(snapshot.objects))


def _by_owner(objects: ClusterObjects) -> dict[str, ResourceClaim]:
    found: dict[str, ResourceClaim] = {}
    for claim in objects.resource_claims.values():
        if (owner := extended_claim_owner(claim)) is not None:
            found.setdefault(owner, claim)
    return found


def with_left_over(pod: Pod, snapshot: Snapshot) -> Pod:
    """A pod that waits for a node, using the claim for its extended resources that an earlier attempt left, if any."""
    if pod.node_name or not snapshot.objects.resource_claims:
        return pod
    claim = left_over_claims(snapshot).get(pod.metadata.uid)
    if claim is None or claim.metadata.namespace != pod.metadata.namespace:
        return pod
    entry = PodResourceClaim(LEFT_OVER, claim.metadata.name)
    return msgspec.structs.replace(
        pod, spec=msgspec.structs.replace(pod.spec, resource_claims=(*pod.spec.resource_claims, entry))
    )


def extended_claim_owner(obj: object) -> str | None:
    """The uid of the pod for whose extended resources a claim was made; None for anything else."""
    owner = controller_of(obj.metadata) if isinstance(obj, ResourceClaim) and is_extended(obj) else None
    return None if owner is None else owner[1]


def is_extended(claim: ResourceClaim) -> bool:
    """Whether a claim stands for extended resources."""
    return claim.metadata.annotations.items() >= EXTENDED_CLAIM.items()
