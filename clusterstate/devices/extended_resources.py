"""Extended resources that a DeviceClass provides: devices are allocated for them as if they had been claimed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from clusterstate.changes import Reads
from clusterstate.cluster_objects import ClusterObjects
from clusterstate.objects import Container, FrozenMap, Labels, ObjectMeta, Pod, PodResourceClaim, PodSpec
from clusterstate.objects.resource import ClaimSpec, DeviceAsk, DeviceClass, DeviceRequest, ResourceClaim
from clusterstate.podinfo import PodInfo, controller_of
from clusterstate.resource_names import is_extended_resource
from clusterstate.snapshot import Snapshot

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
        controller = controller_of(claim.metadata) if is_extended(claim) else None
        if controller is not None:
            found.setdefault(controller[1], claim)
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


def is_extended(claim: ResourceClaim) -> bool:
    """Whether a claim stands for extended resources."""
    return claim.metadata.annotations.items() >= EXTENDED_CLAIM.items()
