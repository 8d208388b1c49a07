"""What pods are placed among: nodes, storage, and what governs the pods of a namespace."""

from __future__ import annotations

import msgspec

from clusterstate.objects.base import (
    NO_LABELS,
    NO_RESOURCES,
    Labels,
    Manifested,
    ObjectMeta,
    ResourceList,
    amounts_text,
)
from clusterstate.objects.pod import LabelSelector, NodeSelectorTerm, Requirement, Taint, VolumeSource


class NodeCondition(msgspec.Struct, frozen=True):
    """An entry of ``status.conditions``; status is True, False or Unknown."""

    type: str
    status: str


class ContainerImage(msgspec.Struct, frozen=True):
    """An image that a node has, under all its names."""

    names: tuple[str, ...]
    size_bytes: int


class Node(Manifested, frozen=True, eq=False):
    """A node."""

    metadata: ObjectMeta
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    allocatable: ResourceList = NO_RESOURCES
    capacity: ResourceList = NO_RESOURCES
    conditions: tuple[NodeCondition, ...] = ()
    images: tuple[ContainerImage, ...] = ()
    declared_features: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """``metadata.name``."""
        return self.metadata.name

    def __str__(self) -> str:
        taints = [f"{each.key}={each.value}:{each.effect}".replace("=:", ":") for each in self.taints]
        parts = [amounts_text(self.allocatable), *taints, "unschedulable" if self.unschedulable else ""]
        return f"Node {self.name}: {', '.join(filter(None, parts))}"


class Service(msgspec.Struct, frozen=True):
    """A v1 Service."""

    metadata: ObjectMeta
    selector: Labels | None = None
    """None when absent: a service without a selector selects no pod."""


class ReplicationController(msgspec.Struct, frozen=True):
    """What is read of a v1 ReplicationController."""

    metadata: ObjectMeta
    selector: Labels = NO_LABELS
    replicas: int = 1


class ReplicaSet(msgspec.Struct, frozen=True):
    """What is read of an apps/v1 ReplicaSet."""

    metadata: ObjectMeta
    selector: LabelSelector | None = None
    replicas: int = 1


class StatefulSet(msgspec.Struct, frozen=True):
    """What is read of an apps/v1 StatefulSet."""

    metadata: ObjectMeta
    selector: LabelSelector | None = None
    replicas: int = 1


class PriorityClass(msgspec.Struct, frozen=True):
    """The priority that pods get by its name."""

    metadata: ObjectMeta
    value: int = 0
    global_default: bool = False
    preemption_policy: str | None = None


class PodDisruptionBudget(msgspec.Struct, frozen=True):
    """``disruptions_allowed`` is status.disruptionsAllowed; absent = 0. Schedulers read no more than the status.

    ``min_available`` and ``max_unavailable`` are a number or a share ("50%"), None when absent. A selector that selects
    no pod, as an empty one of policy/v1beta1 does, is None.
    """

    metadata: ObjectMeta
    selector: LabelSelector | None = None
    disruptions_allowed: int = 0
    disrupted_pods: tuple[str, ...] = ()
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    unhealthy_pod_eviction_policy: str = ""


class Namespace(msgspec.Struct, frozen=True):
    """A namespace; its labels are what namespace selectors match."""

    metadata: ObjectMeta


class ClaimReference(msgspec.Struct, frozen=True):
    """The claim that a PersistentVolume is bound to."""

    namespace: str
    name: str
    uid: str = ""


class PersistentVolume(msgspec.Struct, frozen=True):
    """A PersistentVolume."""

    metadata: ObjectMeta
    source: VolumeSource | None = None
    storage: int = 0
    """``capacity.storage`` in thousandths of a byte."""
    access_modes: tuple[str, ...] = ()
    storage_class_name: str = ""
    volume_mode: str | None = None
    claim_ref: ClaimReference | None = None
    node_affinity: tuple[NodeSelectorTerm, ...] | None = None
    """None when absent."""
    phase: str = ""
    volume_attributes_class_name: str = ""
    """Empty for none; read by 1.36."""


class PersistentVolumeClaim(msgspec.Struct, frozen=True):
    """A PersistentVolumeClaim."""

    metadata: ObjectMeta
    volume_name: str = ""
    storage: int = 0
    """The request in thousandths of a byte."""
    access_modes: tuple[str, ...] = ()
    storage_class_name: str | None = None
    volume_mode: str | None = None
    selector: LabelSelector | None = None
    phase: str = ""
    volume_attributes_class_name: str = ""
    """Empty for none; read by 1.36."""


class StorageClass(msgspec.Struct, frozen=True):
    """``allowed_topologies`` has one tuple of (key, values) per term."""

    metadata: ObjectMeta
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[tuple[Requirement, ...], ...] = ()


class CSINodeDriver(msgspec.Struct, frozen=True):
    """A CSI driver on a node."""

    name: str
    node_id: str = ""
    topology_keys: tuple[str, ...] = ()
    count: int | None = None
    """``allocatable.count``, None when absent."""


class CSINode(msgspec.Struct, frozen=True):
    """The CSI drivers that a node has, with their limits."""

    metadata: ObjectMeta
    drivers: tuple[CSINodeDriver, ...] = ()


class CSIDriver(msgspec.Struct, frozen=True):
    """A CSI driver of the cluster."""

    metadata: ObjectMeta
    attach_required: bool = True
    storage_capacity: bool = False
    prevent_pod_scheduling_if_missing: bool = False
    """Read by 1.36."""


class CSIStorageCapacity(msgspec.Struct, frozen=True):
    """What a storage class can still provision for the nodes that ``node_topology`` selects; read by 1.36.

    ``capacity`` and ``maximum_volume_size`` in thousandths of a byte, None when absent.
    """

    metadata: ObjectMeta
    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    capacity: int | None = None
    maximum_volume_size: int | None = None


class VolumeAttachment(msgspec.Struct, frozen=True):
    """A volume that a driver attaches to a node; ``volume_name`` is empty for an inline volume. Read by 1.36."""

    metadata: ObjectMeta
    attacher: str = ""
    node_name: str = ""
    volume_name: str = ""
