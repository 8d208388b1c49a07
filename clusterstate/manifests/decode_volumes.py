"""Volumes of pods and the storage kinds."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from clusterstate.manifests.decode_meta import decode_label_selector, decode_metadata, decode_node_selector
from clusterstate.manifests.fields import Fields
from clusterstate.objects import (
    CSI,
    ISCSI,
    RBD,
    AWSElasticBlockStore,
    AzureDisk,
    Cinder,
    ClaimReference,
    ClaimVolume,
    CSIDriver,
    CSINode,
    CSINodeDriver,
    CSIStorageCapacity,
    EphemeralVolume,
    GCEPersistentDisk,
    ImageVolume,
    PersistentVolume,
    PersistentVolumeClaim,
    PortworxVolume,
    Requirement,
    StorageClass,
    VolumeAttachment,
    VolumeSource,
)

SOURCES: dict[str, Callable[[Fields], VolumeSource]] = {
    "gcePersistentDisk": lambda f: GCEPersistentDisk(f.text("pdName"), f.flag("readOnly")),
    "awsElasticBlockStore": lambda f: AWSElasticBlockStore(f.text("volumeID"), f.flag("readOnly")),
    "rbd": lambda f: RBD(f.texts("monitors"), f.text("image"), f.text("pool", "rbd"), f.flag("readOnly")),
    "iscsi": lambda f: ISCSI(f.text("iqn"), f.flag("readOnly")),
    "azureDisk": lambda f: AzureDisk(f.text("diskName"), f.text("diskURI")),
    "cinder": lambda f: Cinder(f.text("volumeID")),
    "portworxVolume": lambda f: PortworxVolume(f.text("volumeID")),
    "csi": lambda f: CSI(f.text("driver"), f.text("volumeHandle")),
}
"""Field of a pod's volume or of a PersistentVolume's spec → how to read it."""

LONG_EBS_ID = "aws://"
"""How an id begins that also names the zone."""

POD_SOURCES = (*SOURCES, "persistentVolumeClaim", "ephemeral", "image")


def _source(fields: Fields) -> VolumeSource | None:
    for key, read in SOURCES.items():
        if fields.has(key):
            found = fields.child(key)
            return None if found is None else read(found)
    return None


def decode_pod_volume(volume: Fields) -> VolumeSource | None:
    """One entry of ``spec.volumes``; None for a type that scheduling does not read."""
    claim = volume.child("persistentVolumeClaim")
    if claim is not None:
        return ClaimVolume(claim.text("claimName"), claim.flag("readOnly"))
    if volume.child("ephemeral") is not None:
        return EphemeralVolume(volume.text("name"))
    image = volume.child("image")
    if image is not None:
        return ImageVolume(image.text("reference"))
    source = _source(volume)
    if isinstance(source, AWSElasticBlockStore) and source.volume_id.startswith(LONG_EBS_ID):
        return msgspec.structs.replace(source, volume_name=volume.text("name"))
    return source


def decode_persistent_volume(manifest: Fields) -> PersistentVolume:
    """A v1 PersistentVolume."""
    spec = manifest.inside("spec")
    affinity = spec.child("nodeAffinity")
    return PersistentVolume(
        metadata=decode_metadata(manifest),
        source=_source(spec),
        storage=spec.inside("capacity").quantity("storage"),
        access_modes=spec.texts("accessModes"),
        storage_class_name=spec.text("storageClassName"),
        volume_mode=spec.text_or_none("volumeMode"),
        claim_ref=_claim_reference(spec.child("claimRef")),
        node_affinity=None if affinity is None else decode_node_selector(affinity, "required"),
        phase=manifest.inside("status").text("phase"),
        volume_attributes_class_name=spec.text("volumeAttributesClassName"),
    )


def _claim_reference(reference: Fields | None) -> ClaimReference | None:
    if reference is None:
        return None
    return ClaimReference(reference.text("namespace"), reference.text("name"), reference.text("uid"))


def decode_persistent_volume_claim(manifest: Fields) -> PersistentVolumeClaim:
    """A v1 PersistentVolumeClaim."""
    spec = manifest.inside("spec")
    return PersistentVolumeClaim(
        metadata=decode_metadata(manifest),
        volume_name=spec.text("volumeName"),
        storage=spec.inside("resources").inside("requests").quantity("storage"),
        access_modes=spec.texts("accessModes"),
        storage_class_name=spec.text_or_none("storageClassName"),
        volume_mode=spec.text_or_none("volumeMode"),
        selector=decode_label_selector(spec, "selector"),
        phase=manifest.inside("status").text("phase"),
        volume_attributes_class_name=spec.text("volumeAttributesClassName"),
    )


def decode_storage_class(manifest: Fields) -> StorageClass:
    """A storage.k8s.io/v1 StorageClass."""
    return StorageClass(
        metadata=decode_metadata(manifest),
        provisioner=manifest.text("provisioner"),
        volume_binding_mode=manifest.text_or_none("volumeBindingMode"),
        allowed_topologies=tuple(_topology(term) for term in manifest.children("allowedTopologies")),
    )


def _topology(term: Fields) -> tuple[Requirement, ...]:
    return tuple(Requirement(e.text("key"), "In", e.texts("values")) for e in term.children("matchLabelExpressions"))


def decode_csi_node(manifest: Fields) -> CSINode:
    """A storage.k8s.io/v1 CSINode."""
    return CSINode(
        metadata=decode_metadata(manifest),
        drivers=tuple(_driver(driver) for driver in manifest.inside("spec").children("drivers")),
    )


def _driver(driver: Fields) -> CSINodeDriver:
    return CSINodeDriver(
        name=driver.text("name"),
        node_id=driver.text("nodeID"),
        topology_keys=driver.texts("topologyKeys"),
        count=driver.inside("allocatable").integer_or_none("count"),
    )


def decode_csi_driver(manifest: Fields) -> CSIDriver:
    """A storage.k8s.io/v1 CSIDriver."""
    spec = manifest.inside("spec")
    return CSIDriver(
        metadata=decode_metadata(manifest),
        attach_required=spec.flag("attachRequired", default=True),
        storage_capacity=spec.flag("storageCapacity"),
        prevent_pod_scheduling_if_missing=spec.flag("preventPodSchedulingIfMissing"),
    )


def decode_csi_storage_capacity(manifest: Fields) -> CSIStorageCapacity:
    """A storage.k8s.io/v1 CSIStorageCapacity."""
    return CSIStorageCapacity(
        metadata=decode_metadata(manifest),
        storage_class_name=manifest.text("storageClassName"),
        node_topology=decode_label_selector(manifest, "nodeTopology"),
        capacity=_quantity_or_none(manifest, "capacity"),
        maximum_volume_size=_quantity_or_none(manifest, "maximumVolumeSize"),
    )


def _quantity_or_none(fields: Fields, key: str) -> int | None:
    return fields.quantity(key) if fields.has(key) else None


def decode_volume_attachment(manifest: Fields) -> VolumeAttachment:
    """A storage.k8s.io/v1 VolumeAttachment."""
    spec = manifest.inside("spec")
    return VolumeAttachment(
        metadata=decode_metadata(manifest),
        attacher=spec.text("attacher"),
        node_name=spec.text("nodeName"),
        volume_name=spec.inside("source").text("persistentVolumeName"),
    )
