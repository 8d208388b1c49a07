"""Objects → manifests: what ``clusterstate.manifests.decode`` reads back as the same objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clusterstate.manifests.decode_kinds import KINDS
from clusterstate.manifests.encode_parts import (
    encode_label_selector,
    encode_metadata,
    encode_resources,
    encode_source,
    encode_terms,
    present,
)
from clusterstate.manifests.encode_pod import encode_pod_spec, encode_pod_status
from clusterstate.manifests.encode_resource import RESOURCE_KINDS
from clusterstate.objects import (
    ClusterObject,
    CSIDriver,
    CSINode,
    CSINodeDriver,
    CSIStorageCapacity,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    StorageClass,
    VolumeAttachment,
)
from clusterstate.quantity import format_quantity

_SOME_TIME = "1970-01-01T00:00:00Z"
"""When a pod's disruption began: not kept, but the API's map wants a value."""


def encode_object(obj: ClusterObject) -> dict[str, Any]:
    """The manifest of an object, with the fields that scheduling reads; ``obj.manifest`` is not looked at."""
    kind = type(obj).__name__
    body = _BY_KIND[kind](obj) if kind in _BY_KIND else {}
    return {
        "apiVersion": KINDS[kind].api_version,
        "kind": kind,
        "metadata": encode_metadata(obj.metadata),
        **present(body),
    }


def _pod(pod: Pod) -> dict[str, Any]:
    spec = {"nodeName": pod.node_name or None, **encode_pod_spec(pod.spec)}
    return {"spec": present(spec), "status": encode_pod_status(pod)}


def _node(node: Node) -> dict[str, Any]:
    taints = [present({"key": t.key, "value": t.value or None, "effect": t.effect or None}) for t in node.taints]
    status = {
        "allocatable": encode_resources(node.allocatable),
        "capacity": encode_resources(node.capacity),
        "conditions": [{"type": c.type, "status": c.status} for c in node.conditions] or None,
        "images": [{"names": list(i.names), "sizeBytes": i.size_bytes} for i in node.images] or None,
        "declaredFeatures": list(node.declared_features) or None,
    }
    spec = {"unschedulable": node.unschedulable or None, "taints": taints or None}
    return {"spec": present(spec), "status": present(status)}


def _service(service: Service) -> dict[str, Any]:
    return {"spec": present({"selector": None if service.selector is None else dict(service.selector)})}


def _controller(controller: ReplicationController) -> dict[str, Any]:
    return {"spec": present({"replicas": controller.replicas, "selector": dict(controller.selector) or None})}


def _set(owner: ReplicaSet | StatefulSet) -> dict[str, Any]:
    return {"spec": present({"replicas": owner.replicas, "selector": encode_label_selector(owner.selector)})}


def _volume(volume: PersistentVolume) -> dict[str, Any]:
    claim, terms = volume.claim_ref, volume.node_affinity
    reference = {"namespace": claim.namespace, "name": claim.name, "uid": claim.uid} if claim else None
    spec = {
        "capacity": {"storage": format_quantity(volume.storage, binary=True)} if volume.storage else None,
        "accessModes": list(volume.access_modes) or None,
        "storageClassName": volume.storage_class_name or None,
        "volumeMode": volume.volume_mode,
        "claimRef": reference,
        "nodeAffinity": None if terms is None else {"required": encode_terms(terms)},
        "volumeAttributesClassName": volume.volume_attributes_class_name or None,
        **(encode_source(volume.source) if volume.source is not None else {}),
    }
    return {"spec": present(spec), "status": _phase(volume.phase)}


def _claim(claim: PersistentVolumeClaim) -> dict[str, Any]:
    requests = {"requests": {"storage": format_quantity(claim.storage, binary=True)}}
    spec = {
        "volumeName": claim.volume_name or None,
        "resources": requests if claim.storage else None,
        "accessModes": list(claim.access_modes) or None,
        "storageClassName": claim.storage_class_name,
        "volumeMode": claim.volume_mode,
        "selector": encode_label_selector(claim.selector),
        "volumeAttributesClassName": claim.volume_attributes_class_name or None,
    }
    return {"spec": present(spec), "status": _phase(claim.phase)}


def _phase(phase: str) -> dict[str, str] | None:
    return {"phase": phase} if phase else None


def _storage_class(cls: StorageClass) -> dict[str, Any]:
    topologies = [
        {"matchLabelExpressions": [{"key": r.key, "values": list(r.values)} for r in term]}
        for term in cls.allowed_topologies
    ]
    return {
        "provisioner": cls.provisioner,
        "volumeBindingMode": cls.volume_binding_mode,
        "allowedTopologies": topologies or None,
    }


def _csi_node(node: CSINode) -> dict[str, Any]:
    return {"spec": {"drivers": [_csi_node_driver(driver) for driver in node.drivers]}}


def _csi_node_driver(driver: CSINodeDriver) -> Mapping[str, Any]:
    fields = {
        "name": driver.name,
        "nodeID": driver.node_id,
        "topologyKeys": list(driver.topology_keys) or None,
        "allocatable": None if driver.count is None else {"count": driver.count},
    }
    return present(fields)


def _csi_driver(driver: CSIDriver) -> dict[str, Any]:
    spec = {
        "attachRequired": driver.attach_required,
        "storageCapacity": driver.storage_capacity,
        "preventPodSchedulingIfMissing": driver.prevent_pod_scheduling_if_missing or None,
    }
    return {"spec": present(spec)}


def _csi_storage_capacity(capacity: CSIStorageCapacity) -> dict[str, Any]:
    return {
        "storageClassName": capacity.storage_class_name,
        "nodeTopology": encode_label_selector(capacity.node_topology),
        "capacity": _bytes(capacity.capacity),
        "maximumVolumeSize": _bytes(capacity.maximum_volume_size),
    }


def _bytes(thousandths: int | None) -> str | None:
    return None if thousandths is None else format_quantity(thousandths, binary=True)


def _volume_attachment(attachment: VolumeAttachment) -> dict[str, Any]:
    source = {"persistentVolumeName": attachment.volume_name or None}
    return {"spec": {"attacher": attachment.attacher, "nodeName": attachment.node_name, "source": present(source)}}


def _priority_class(cls: PriorityClass) -> dict[str, Any]:
    return {
        "value": cls.value,
        "globalDefault": cls.global_default or None,
        "preemptionPolicy": cls.preemption_policy,
    }


def _budget(budget: PodDisruptionBudget) -> dict[str, Any]:
    disrupted = dict.fromkeys(budget.disrupted_pods, _SOME_TIME)
    return {
        "spec": present({"selector": encode_label_selector(budget.selector)}),
        "status": present({"disruptionsAllowed": budget.disruptions_allowed, "disruptedPods": disrupted or None}),
    }


_BY_KIND: dict[str, Callable[[Any], dict[str, Any]]] = {
    "Pod": _pod,
    "Node": _node,
    "Service": _service,
    "ReplicationController": _controller,
    "ReplicaSet": _set,
    "StatefulSet": _set,
    "PersistentVolume": _volume,
    "PersistentVolumeClaim": _claim,
    "StorageClass": _storage_class,
    "CSINode": _csi_node,
    "CSIDriver": _csi_driver,
    "CSIStorageCapacity": _csi_storage_capacity,
    "VolumeAttachment": _volume_attachment,
    "PriorityClass": _priority_class,
    "PodDisruptionBudget": _budget,
    **RESOURCE_KINDS,
}
