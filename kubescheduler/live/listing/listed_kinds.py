"""Every kind that some release reads while it schedules, and where API servers have it."""

from __future__ import annotations

import msgspec

CORE = "/api/v1"
NEEDED = frozenset({"Node", "Pod"})
"""Kinds without which there is nothing to decide."""


class ListedKind(msgspec.Struct, frozen=True):
    """One kind of object that is read whole."""

    kind: str
    """As objects say it: Pod."""
    plural: str
    """As paths say it: pods."""
    groups: tuple[str, ...] = (CORE,)
    """Paths of its API group with a version, the preferred one first."""

    def path(self, group: str) -> str:
        """Where a group's objects of the kind are, of all namespaces."""
        return f"{group}/{self.plural}"


def api_version(group: str) -> str:
    """``apiVersion`` of the objects below a group's path."""
    return group.removeprefix("/apis/").removeprefix("/api/")


_APPS = ("/apis/apps/v1", "/apis/apps/v1beta2", "/apis/extensions/v1beta1")
_STORAGE = ("/apis/storage.k8s.io/v1", "/apis/storage.k8s.io/v1beta1")
_RESOURCE = ("/apis/resource.k8s.io/v1", "/apis/resource.k8s.io/v1beta2", "/apis/resource.k8s.io/v1beta1")

LISTED_KINDS = (
    ListedKind("Node", "nodes"),
    ListedKind("Pod", "pods"),
    ListedKind("Namespace", "namespaces"),
    ListedKind("Service", "services"),
    ListedKind("ReplicationController", "replicationcontrollers"),
    ListedKind("ReplicaSet", "replicasets", _APPS),
    ListedKind("StatefulSet", "statefulsets", _APPS),
    ListedKind("PersistentVolume", "persistentvolumes"),
    ListedKind("PersistentVolumeClaim", "persistentvolumeclaims"),
    ListedKind("StorageClass", "storageclasses", _STORAGE),
    ListedKind("CSINode", "csinodes", _STORAGE),
    ListedKind("CSIDriver", "csidrivers", _STORAGE),
    ListedKind("CSIStorageCapacity", "csistoragecapacities", _STORAGE),
    ListedKind("VolumeAttachment", "volumeattachments", _STORAGE),
    ListedKind("PriorityClass", "priorityclasses", ("/apis/scheduling.k8s.io/v1", "/apis/scheduling.k8s.io/v1beta1")),
    ListedKind("PodDisruptionBudget", "poddisruptionbudgets", ("/apis/policy/v1", "/apis/policy/v1beta1")),
    ListedKind("DeviceClass", "deviceclasses", _RESOURCE),
    ListedKind("ResourceClaim", "resourceclaims", _RESOURCE),
    ListedKind("ResourceClaimTemplate", "resourceclaimtemplates", _RESOURCE),
    ListedKind("ResourceSlice", "resourceslices", _RESOURCE),
    ListedKind("PodGroup", "podgroups", ("/apis/scheduling.k8s.io/v1alpha2",)),
)
"""Nodes come first: their version is the one at which everything else is asked for."""
