"""Volumes, claims, classes and CSI."""

from __future__ import annotations

import msgspec

from clusterstate.objects.base import ObjectMeta
from clusterstate.objects.constraints import LabelSelector, NodeSelectorTerm, Requirement
from clusterstate.objects.volumes import VolumeSource


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
