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
from clusterstate.objects.constraints import (
    Affinity,
    LabelSelector,
    NodeAffinity,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    PreferredSchedulingTerm,
    Requirement,
    Taint,
    Toleration,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from clusterstate.objects.node import ContainerImage, Node, NodeCondition
from clusterstate.objects.pod import Container, ContainerPort, Pod, PodSpec
from clusterstate.objects.storage import (
    ClaimReference,
    CSIDriver,
    CSINode,
    CSINodeDriver,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from clusterstate.objects.volumes import (
    CSI,
    ISCSI,
    RBD,
    AWSElasticBlockStore,
    AzureDisk,
    Cinder,
    ClaimVolume,
    EphemeralVolume,
    GCEPersistentDisk,
    VolumeSource,
)
from clusterstate.objects.workloads import (
    Namespace,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)

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
    "Cinder",
    "ClaimReference",
    "ClaimVolume",
    "ClusterObject",
    "Container",
    "ContainerImage",
    "ContainerPort",
    "EphemeralVolume",
    "FrozenMap",
    "GCEPersistentDisk",
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
    "PodDisruptionBudget",
    "PodSpec",
    "PreferredSchedulingTerm",
    "PriorityClass",
    "ReplicaSet",
    "ReplicationController",
    "Requirement",
    "ResourceList",
    "Service",
    "StatefulSet",
    "StorageClass",
    "Taint",
    "Toleration",
    "TopologySpreadConstraint",
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
    | PriorityClass
    | PodDisruptionBudget
    | Namespace
)

KINDS: dict[str, type[Any]] = {cls.__name__: cls for cls in ClusterObject.__args__}
"""API kind → class."""
