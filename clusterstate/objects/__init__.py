"""The API objects a scheduler reads, frozen, with just the fields it reads.

Shapes follow v1 of the Kubernetes API, in snake_case. Resource amounts are exact: every list of
resources maps a name to thousandths of its unit (``clusterstate.quantity``). Values that many
objects share (label sets, pod specs) compare and hash by content, and remember their hash.
"""

from __future__ import annotations

from typing import Any

from clusterstate.objects.base import (
    NO_LABELS,
    NO_RESOURCES,
    FrozenMap,
    Labels,
    ObjectMeta,
    OwnerReference,
    ResourceList,
)
from clusterstate.objects.cluster import (
    ClaimReference,
    ContainerImage,
    CSIDriver,
    CSINode,
    CSINodeDriver,
    CSIStorageCapacity,
    Namespace,
    Node,
    NodeCondition,
    PersistentVolume,
    PersistentVolumeClaim,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    StorageClass,
    VolumeAttachment,
)
from clusterstate.objects.pod import (
    CSI,
    ISCSI,
    RBD,
    Affinity,
    AWSElasticBlockStore,
    AzureDisk,
    Cinder,
    ClaimVolume,
    Container,
    ContainerPort,
    EphemeralClaim,
    EphemeralVolume,
    GCEPersistentDisk,
    Grant,
    ImageVolume,
    LabelSelector,
    NodeAffinity,
    NodeSelectorTerm,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodCondition,
    PodGrants,
    PodResourceClaim,
    PodSpec,
    PortworxVolume,
    PreferredSchedulingTerm,
    RequestsInUse,
    Requirement,
    ResourceClaimStatus,
    Taint,
    Toleration,
    TopologySpreadConstraint,
    VolumeSource,
    WeightedPodAffinityTerm,
)
from clusterstate.objects.resource import DeviceClass, PodGroup, ResourceClaim, ResourceClaimTemplate, ResourceSlice

__all__ = [
    "CSI",
    "ISCSI",
    "KINDS",
    "NO_LABELS",
    "NO_RESOURCES",
    "RBD",
    "AWSElasticBlockStore",
    "Affinity",
    "AzureDisk",
    "CSIDriver",
    "CSINode",
    "CSINodeDriver",
    "CSIStorageCapacity",
    "Cinder",
    "ClaimReference",
    "ClaimVolume",
    "ClusterObject",
    "Container",
    "ContainerImage",
    "ContainerPort",
    "DeviceClass",
    "EphemeralClaim",
    "EphemeralVolume",
    "FrozenMap",
    "GCEPersistentDisk",
    "Grant",
    "ImageVolume",
    "LabelSelector",
    "Labels",
    "Namespace",
    "Node",
    "NodeAffinity",
    "NodeCondition",
    "NodeSelectorTerm",
    "ObjectMeta",
    "OwnerReference",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "PodAffinity",
    "PodAffinityTerm",
    "PodCondition",
    "PodDisruptionBudget",
    "PodGrants",
    "PodGroup",
    "PodResourceClaim",
    "PodSpec",
    "PortworxVolume",
    "PreferredSchedulingTerm",
    "PriorityClass",
    "ReplicaSet",
    "ReplicationController",
    "RequestsInUse",
    "Requirement",
    "ResourceClaim",
    "ResourceClaimStatus",
    "ResourceClaimTemplate",
    "ResourceList",
    "ResourceSlice",
    "Service",
    "StatefulSet",
    "StorageClass",
    "Taint",
    "Toleration",
    "TopologySpreadConstraint",
    "VolumeAttachment",
    "VolumeSource",
    "WeightedPodAffinityTerm",
]

ClusterObject = (
    Pod
    | Node
    | Service
    | ReplicationController
    | ReplicaSet
    | StatefulSet
    | PersistentVolume
    | PersistentVolumeClaim
    | StorageClass
    | CSINode
    | CSIDriver
    | CSIStorageCapacity
    | VolumeAttachment
    | PriorityClass
    | PodDisruptionBudget
    | Namespace
    | ResourceClaim
    | ResourceClaimTemplate
    | ResourceSlice
    | DeviceClass
    | PodGroup
)

KINDS: dict[str, type[Any]] = {cls.__name__: cls for cls in ClusterObject.__args__}
"""API kind → class."""
