"""The objects of a cluster that are neither nodes nor pods, by kind and name."""

from __future__ import annotations

from typing import Any

import attrs

from clusterstate.changes import Reads
from clusterstate.objects import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    Namespace,
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
from clusterstate.objects.resource import (
    DeviceClass,
    PendingAllocation,
    PodGroup,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)

Name = tuple[str, str]
"""(namespace, name)."""


@attrs.define
class ClusterObjects:
    """Namespaced kinds by (namespace, name), the others by name; all in order of arrival."""

    services: dict[Name, Service] = attrs.field(factory=dict)
    replication_controllers: dict[Name, ReplicationController] = attrs.field(factory=dict)
    replica_sets: dict[Name, ReplicaSet] = attrs.field(factory=dict)
    stateful_sets: dict[Name, StatefulSet] = attrs.field(factory=dict)
    persistent_volume_claims: dict[Name, PersistentVolumeClaim] = attrs.field(factory=dict)
    pod_disruption_budgets: dict[Name, PodDisruptionBudget] = attrs.field(factory=dict)
    persistent_volumes: dict[str, PersistentVolume] = attrs.field(factory=dict)
    storage_classes: dict[str, StorageClass] = attrs.field(factory=dict)
    csi_nodes: dict[str, CSINode] = attrs.field(factory=dict)
    csi_drivers: dict[str, CSIDriver] = attrs.field(factory=dict)
    csi_storage_capacities: dict[Name, CSIStorageCapacity] = attrs.field(factory=dict)
    volume_attachments: dict[str, VolumeAttachment] = attrs.field(factory=dict)
    priority_classes: dict[str, PriorityClass] = attrs.field(factory=dict)
    namespaces: dict[str, Namespace] = attrs.field(factory=dict)
    resource_claims: dict[Name, ResourceClaim] = attrs.field(factory=dict)
    resource_claim_templates: dict[Name, ResourceClaimTemplate] = attrs.field(factory=dict)
    resource_slices: dict[str, ResourceSlice] = attrs.field(factory=dict)
    device_classes: dict[str, DeviceClass] = attrs.field(factory=dict)
    pending_allocations: dict[Name, PendingAllocation] = attrs.field(factory=dict)
    pod_groups: dict[Name, PodGroup] = attrs.field(factory=dict)

    def put(self, obj: Any) -> Reads:
        """Adds or replaces an object; what reads it."""
        table, reads = self._table(obj)
        table[_name(obj)] = obj
        return reads

    def take(self, obj: Any) -> Reads:
        """Removes an object (by its name; absent is fine); what reads it."""
        table, reads = self._table(obj)
        table.pop(_name(obj), None)
        return reads

    def current(self, obj: Any) -> Any:
        """The object of that kind and name as it is now; None when there is none."""
        return self._table(obj)[0].get(_name(obj))

    def _table(self, obj: Any) -> tuple[dict[Any, Any], Reads]:
        attribute, reads = KEPT[type(obj)]
        table: dict[Any, Any] = getattr(self, attribute)
        return table, reads


NAMESPACED = (
    Service,
    ReplicationController,
    ReplicaSet,
    StatefulSet,
    PersistentVolumeClaim,
    PodDisruptionBudget,
    CSIStorageCapacity,
    ResourceClaim,
    ResourceClaimTemplate,
    PendingAllocation,
    PodGroup,
)


def _name(obj: Any) -> Name | str:
    name: str = obj.metadata.name
    return (obj.metadata.namespace, name) if isinstance(obj, NAMESPACED) else name


KEPT: dict[type[Any], tuple[str, Reads]] = {
    Service: ("services", Reads.SERVICES),
    ReplicationController: ("replication_controllers", Reads.SERVICES),
    ReplicaSet: ("replica_sets", Reads.SERVICES),
    StatefulSet: ("stateful_sets", Reads.SERVICES),
    PersistentVolumeClaim: ("persistent_volume_claims", Reads.STORAGE),
    PersistentVolume: ("persistent_volumes", Reads.STORAGE),
    StorageClass: ("storage_classes", Reads.STORAGE),
    CSINode: ("csi_nodes", Reads.STORAGE),
    CSIDriver: ("csi_drivers", Reads.STORAGE),
    CSIStorageCapacity: ("csi_storage_capacities", Reads.STORAGE),
    VolumeAttachment: ("volume_attachments", Reads.STORAGE),
    PriorityClass: ("priority_classes", Reads.NAMESPACES),
    PodDisruptionBudget: ("pod_disruption_budgets", Reads.NAMESPACES),
    Namespace: ("namespaces", Reads.NAMESPACES),
    ResourceClaim: ("resource_claims", Reads.RESOURCES),
    ResourceClaimTemplate: ("resource_claim_templates", Reads.RESOURCES),
    ResourceSlice: ("resource_slices", Reads.RESOURCES),
    DeviceClass: ("device_classes", Reads.RESOURCES),
    PendingAllocation: ("pending_allocations", Reads.RESOURCES),
    PodGroup: ("pod_groups", Reads.RESOURCES),
}
"""Class → the table it is kept in, and what a rule that looks at it has to declare."""
