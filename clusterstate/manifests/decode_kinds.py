"""The kinds a scheduler reads, their API groups, and how each is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import msgspec

from clusterstate.manifests.decode_meta import decode_label_selector, decode_labels, decode_metadata
from clusterstate.manifests.decode_pod import decode_pod_spec
from clusterstate.manifests.decode_pod_status import decode_claim_statuses, decode_conditions, decode_grants
from clusterstate.manifests.decode_resource import (
    decode_device_class,
    decode_pod_group,
    decode_resource_claim,
    decode_resource_claim_template,
    decode_resource_slice,
)
from clusterstate.manifests.decode_volumes import (
    decode_csi_driver,
    decode_csi_node,
    decode_csi_storage_capacity,
    decode_persistent_volume,
    decode_persistent_volume_claim,
    decode_storage_class,
    decode_volume_attachment,
)
from clusterstate.manifests.fields import Fields
from clusterstate.objects import (
    ClusterObject,
    ContainerImage,
    Namespace,
    Node,
    NodeCondition,
    Pod,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    Taint,
)


class ManifestKind(msgspec.Struct, frozen=True):
    """``groups`` are the API groups that have had the kind; the first is where it lives today."""

    name: str
    decode: Callable[[Fields], ClusterObject]
    groups: tuple[str, ...]
    version: str = "v1"
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """Today's apiVersion."""
        return f"{self.groups[0]}/{self.version}" if self.groups[0] else self.version

    def in_group(self, api_version: str) -> bool:
        """Whether an apiVersion, any version of it, can hold this kind; an absent one can."""
        return not api_version or (api_version.rpartition("/")[0] in self.groups)


def decode_pod(manifest: Fields) -> Pod:
    """A v1 Pod."""
    status, spec = manifest.inside("status"), manifest.inside("spec")
    return Pod(
        metadata=decode_metadata(manifest),
        spec=decode_pod_spec(spec),
        node_name=spec.text("nodeName"),
        phase=status.text("phase"),
        nominated_node_name=status.text("nominatedNodeName"),
        start_time=status.text_or_none("startTime"),
        conditions=decode_conditions(status),
        grants=decode_grants(status),
        resource_claim_statuses=decode_claim_statuses(status),
    )


def decode_node(manifest: Fields) -> Node:
    """A v1 Node."""
    spec, status = manifest.inside("spec"), manifest.inside("status")
    return Node(
        metadata=decode_metadata(manifest),
        unschedulable=spec.flag("unschedulable"),
        taints=tuple(Taint(t.text("key"), t.text("value"), t.text("effect")) for t in spec.children("taints")),
        allocatable=status.resources("allocatable"),
        capacity=status.resources("capacity"),
        conditions=tuple(NodeCondition(c.text("type"), c.text("status")) for c in status.children("conditions")),
        images=_images(status),
        declared_features=status.texts("declaredFeatures"),
    )


class _Image(msgspec.Struct, rename="camel"):
    names: tuple[str, ...] = ()
    size_bytes: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] = 0


def _images(status: Fields) -> tuple[ContainerImage, ...]:
    """The images of a node. There are many, so they are read one by one only when one is not as it should be."""
    try:
        images = msgspec.convert(status.sequence("images"), list[_Image])
    except msgspec.ValidationError:
        return tuple(ContainerImage(i.texts("names"), i.integer("sizeBytes")) for i in status.children("images"))
    return tuple(ContainerImage(image.names, image.size_bytes) for image in images)


def decode_service(manifest: Fields) -> Service:
    """A v1 Service."""
    spec = manifest.inside("spec")
    selector = decode_labels(spec, "selector") if spec.has("selector") else None
    return Service(decode_metadata(manifest), selector)


def decode_replication_controller(manifest: Fields) -> ReplicationController:
    """A v1 ReplicationController."""
    spec = manifest.inside("spec")
    return ReplicationController(
        decode_metadata(manifest), decode_labels(spec, "selector"), spec.integer("replicas", 1)
    )


def decode_replica_set(manifest: Fields) -> ReplicaSet:
    """An apps/v1 ReplicaSet."""
    spec = manifest.inside("spec")
    return ReplicaSet(decode_metadata(manifest), decode_label_selector(spec, "selector"), spec.integer("replicas", 1))


def decode_stateful_set(manifest: Fields) -> StatefulSet:
    """An apps/v1 StatefulSet."""
    spec = manifest.inside("spec")
    return StatefulSet(decode_metadata(manifest), decode_label_selector(spec, "selector"), spec.integer("replicas", 1))


def decode_priority_class(manifest: Fields) -> PriorityClass:
    """A scheduling.k8s.io/v1 PriorityClass."""
    return PriorityClass(
        metadata=decode_metadata(manifest),
        value=manifest.integer("value"),
        global_default=manifest.flag("globalDefault"),
        preemption_policy=manifest.text_or_none("preemptionPolicy"),
    )


def decode_pod_disruption_budget(manifest: Fields) -> PodDisruptionBudget:
    """A policy/v1 PodDisruptionBudget."""
    status = manifest.inside("status")
    return PodDisruptionBudget(
        metadata=decode_metadata(manifest),
        selector=decode_label_selector(manifest.inside("spec"), "selector"),
        disruptions_allowed=status.integer("disruptionsAllowed"),
        disrupted_pods=tuple(sorted(map(str, status.inside("disruptedPods").data))),
    )


def decode_namespace(manifest: Fields) -> Namespace:
    """A v1 Namespace."""
    return Namespace(decode_metadata(manifest))


_STORAGE = ("storage.k8s.io",)
_RESOURCE = ("resource.k8s.io",)

KINDS: dict[str, ManifestKind] = {
    kind.name: kind
    for kind in (
        ManifestKind("Pod", decode_pod, ("",)),
        ManifestKind("Node", decode_node, ("",), namespaced=False),
        ManifestKind("Service", decode_service, ("",)),
        ManifestKind("ReplicationController", decode_replication_controller, ("",)),
        ManifestKind("ReplicaSet", decode_replica_set, ("apps", "extensions")),
        ManifestKind("StatefulSet", decode_stateful_set, ("apps",)),
        ManifestKind("PersistentVolume", decode_persistent_volume, ("",), namespaced=False),
        ManifestKind("PersistentVolumeClaim", decode_persistent_volume_claim, ("",)),
        ManifestKind("StorageClass", decode_storage_class, _STORAGE, namespaced=False),
        ManifestKind("CSINode", decode_csi_node, _STORAGE, namespaced=False),
        ManifestKind("CSIDriver", decode_csi_driver, _STORAGE, namespaced=False),
        ManifestKind("CSIStorageCapacity", decode_csi_storage_capacity, _STORAGE),
        ManifestKind("VolumeAttachment", decode_volume_attachment, _STORAGE, namespaced=False),
        ManifestKind("PriorityClass", decode_priority_class, ("scheduling.k8s.io",), namespaced=False),
        ManifestKind("PodDisruptionBudget", decode_pod_disruption_budget, ("policy",)),
        ManifestKind("Namespace", decode_namespace, ("",), namespaced=False),
        ManifestKind("ResourceClaim", decode_resource_claim, _RESOURCE),
        ManifestKind("ResourceClaimTemplate", decode_resource_claim_template, _RESOURCE),
        ManifestKind("ResourceSlice", decode_resource_slice, _RESOURCE, namespaced=False),
        ManifestKind("DeviceClass", decode_device_class, _RESOURCE, namespaced=False),
        ManifestKind("PodGroup", decode_pod_group, ("scheduling.k8s.io",), version="v1alpha2"),
    )
}
"""API kind → how to read it."""
