"""The kinds that each release reads, and where the API server has them."""

from __future__ import annotations

import msgspec

NOT_ENDED = "status.phase!=Succeeded,status.phase!=Failed"
"""Pods that have ended are of no interest; a pod that ends arrives as deleted."""

NOT_ENDED_SORTED = "status.phase!=Failed,status.phase!=Succeeded"
"""The same, as 1.16 writes it."""


class InformerKind(msgspec.Struct, frozen=True):
    """One kind of object, read whole and watched."""

    kind: str
    """As objects say it: Pod."""
    paths: tuple[str, ...]
    """Where to ask, in order: the group of the release, then today's where that is gone."""
    field_selector: str = ""
    says_timeout: bool = True
    """Whether watches also say their time as ``timeout=``, not only as ``timeoutSeconds=``."""


def _of(kind: str, *paths: str) -> InformerKind:
    return InformerKind(kind, paths)


POLICY_V1BETA1 = "/apis/policy/v1beta1/poddisruptionbudgets"
POLICY_V1 = "/apis/policy/v1/poddisruptionbudgets"
CSI_NODES_V1BETA1 = "/apis/storage.k8s.io/v1beta1/csinodes"
CSI_NODES_V1 = "/apis/storage.k8s.io/v1/csinodes"

SINCE_1_16 = (
    _of("Node", "/api/v1/nodes"),
    _of("Service", "/api/v1/services"),
    _of("ReplicationController", "/api/v1/replicationcontrollers"),
    _of("ReplicaSet", "/apis/apps/v1/replicasets"),
    _of("StatefulSet", "/apis/apps/v1/statefulsets"),
    _of("PersistentVolume", "/api/v1/persistentvolumes"),
    _of("PersistentVolumeClaim", "/api/v1/persistentvolumeclaims"),
    _of("StorageClass", "/apis/storage.k8s.io/v1/storageclasses"),
)

KINDS_1_16 = (
    InformerKind("Pod", ("/api/v1/pods",), NOT_ENDED_SORTED, says_timeout=False),
    *SINCE_1_16,
    _of("CSINode", CSI_NODES_V1BETA1, CSI_NODES_V1),
    _of("PodDisruptionBudget", POLICY_V1BETA1, POLICY_V1),
)

KINDS_1_20 = (
    InformerKind("Pod", ("/api/v1/pods",), NOT_ENDED),
    *SINCE_1_16,
    _of("CSINode", CSI_NODES_V1),
    _of("PodDisruptionBudget", POLICY_V1BETA1, POLICY_V1),
)

KINDS_1_36 = (
    InformerKind("Pod", ("/api/v1/pods",), NOT_ENDED),
    _of("Namespace", "/api/v1/namespaces"),
    *SINCE_1_16,
    _of("CSINode", CSI_NODES_V1),
    _of("PodDisruptionBudget", POLICY_V1),
    _of("CSIDriver", "/apis/storage.k8s.io/v1/csidrivers"),
    _of("CSIStorageCapacity", "/apis/storage.k8s.io/v1/csistoragecapacities"),
    _of("VolumeAttachment", "/apis/storage.k8s.io/v1/volumeattachments"),
    _of("DeviceClass", "/apis/resource.k8s.io/v1/deviceclasses"),
    _of("ResourceClaim", "/apis/resource.k8s.io/v1/resourceclaims"),
    _of("ResourceSlice", "/apis/resource.k8s.io/v1/resourceslices"),
)
