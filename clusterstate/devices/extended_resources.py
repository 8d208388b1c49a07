"""Extended resources that a DeviceClass provides: devices are allocated for them as if they had been claimed."""

from __future__ import annotations

from collections.abc import Mapping

from clusterstate.api_names import is_extended_resource
from clusterstate.changes import Reads
from clusterstate.cluster_objects import ClusterObjects
from clusterstate.objects import FrozenMap, Labels, ObjectMeta
from clusterstate.objects.resource import ClaimSpec, DeviceAsk, DeviceClass, DeviceRequest, ResourceClaim
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot

CLASS_PREFIX = "deviceclass.resource.kubernetes.io/"
"""Every DeviceClass provides the resource of this prefix and its name."""

EXTENDED_CLAIM: Labels = FrozenMap({"resource.kubernetes.io/extended-resource-claim": "true"})
"""Annotations of a claim that stands for extended resources."""


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


def extended_claim(namespace: str, pod_name: str, asked: Mapping[str, tuple[str, int]]) -> ResourceClaim:
    """The claim for resources: name → (DeviceClass, number of devices). It is in no API until the pod is bound."""
    requests = tuple(
        DeviceRequest(f"request-{index}", exactly=DeviceAsk(class_name, count=count))
        for index, (class_name, count) in enumerate(asked.values())
    )
    name = f"{pod_name}-extended-resources"
    return ResourceClaim(ObjectMeta(name, namespace, annotations=EXTENDED_CLAIM), ClaimSpec(requests))


def is_extended(claim: ResourceClaim) -> bool:
    """Whether a claim stands for extended resources."""
    return claim.metadata.annotations.items() >= EXTENDED_CLAIM.items()
