"""The objects of a cluster that are neither nodes nor pods, by kind and name, and which volumes changed since when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

import attrs

from clusterstate.changes import Log, Reads
from clusterstate.objects import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    DeviceClass,
    Namespace,
    PendingAllocation,
    PersistentVolume,
    PersistentVolumeClaim,
    PodDisruptionBudget,
    PodGroup,
    ReplicaSet,
    ReplicationController,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
    Service,
    StatefulSet,
    StorageClass,
    VolumeAttachment,
)

MOST_REMEMBERED = 1 << 14


class VolumeLog(Log[str]):
    """The names of volumes that changed.

    arrivals: volume → a number that grows in the order in which the volumes came; replacing one keeps its number.
    """

    __slots__ = ("_arrived", "arrivals")

    def __init__(self) -> None:
        super().__init__(MOST_REMEMBERED)
        self.arrivals: dict[str, int] = {}
        self._arrived = 0

    def note_volume(self, name: str, *, there: bool) -> None:
        """A volume was added or replaced, or (not there) removed."""
        if not there:
            self.arrivals.pop(name, None)
        elif name not in self.arrivals:
            self.arrivals[name] = self._arrived
            self._arrived += 1
        self.note(name)


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
    namespaces: dict[str, Namespace] = attrs.field(factory=dict)
    resource_claims: dict[Name, ResourceClaim] = attrs.field(factory=dict)
    resource_claim_templates: dict[Name, ResourceClaimTemplate] = attrs.field(factory=dict)
    resource_slices: dict[str, ResourceSlice] = attrs.field(factory=dict)
    device_classes: dict[str, DeviceClass] = attrs.field(factory=dict)
    pending_allocations: dict[Name, PendingAllocation] = attrs.field(factory=dict)
    pod_groups: dict[Name, PodGroup] = attrs.field(factory=dict)
    deleted_claims: set[str] = attrs.field(factory=set)
    """Uids of ResourceClaims that the scheduler deletes at the API, until an event says that they are gone."""
    volume_log: VolumeLog = attrs.field(factory=VolumeLog, eq=False, repr=False)
    """Which volumes changed."""
    _attachments_of: Counter[str] = attrs.field(factory=Counter, eq=False, repr=False)
    """Volume → how many volume attachments name it."""
    _claims_of: dict[str, dict[Name, None]] = attrs.field(factory=dict, eq=False, repr=False)
    """Volume → the claims that name it."""

    def put(self, obj: Any) -> Reads:
        """Adds or replaces an object; what reads it."""
        table, reads = self._table(obj)
        name = _name(obj)
        reads |= self._note(table.get(name), obj)
        table[name] = obj
        return reads

    def take(self, obj: Any) -> Reads:
        """Removes an object (by its name; absent is fine); what reads it."""
        table, reads = self._table(obj)
        return reads | self._note(table.pop(_name(obj), None), None)

    def _note(self, old: Any, new: Any) -> Reads:
        """Keeps what is known about volumes and their claims besides the tables; what else changes with the object.

        None: there is no object.
        """
        if isinstance(old, PersistentVolumeClaim) and old.volume_name:
            claims = self._claims_of[old.volume_name]
            del claims[old.metadata.namespace, old.metadata.name]
            if not claims:
                del self._claims_of[old.volume_name]
        if isinstance(new, PersistentVolumeClaim) and new.volume_name:
            self._claims_of.setdefault(new.volume_name, {})[new.metadata.namespace, new.metadata.name] = None
        if isinstance(new or old, PersistentVolume):
            name = (new or old).metadata.name
            self.volume_log.note_volume(name, there=new is not None)
            if name in self._attachments_of and (old is None or new is None or old.source != new.source):
                return Reads.ATTACHMENTS
        if isinstance(old, VolumeAttachment):
            self._attachments_of[old.volume_name] -= 1
            if not self._attachments_of[old.volume_name]:
                del self._attachments_of[old.volume_name]
        if isinstance(new, VolumeAttachment):
            self._attachments_of[new.volume_name] += 1
        return Reads(0)

    def claims_led_elsewhere(self, obj: Any) -> Collection[Name]:
        """The claims that may lead to something else because a claim or volume of that name changed."""
        if isinstance(obj, PersistentVolumeClaim):
            return ((obj.metadata.namespace, obj.metadata.name),)
        return self._claims_of.get(obj.metadata.name, ()) if isinstance(obj, PersistentVolume) else ()

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
    PersistentVolumeClaim: ("persistent_volume_claims", Reads.CLAIMS),
    PersistentVolume: ("persistent_volumes", Reads.CLAIMS),
    StorageClass: ("storage_classes", Reads.STORAGE_CLASSES),
    CSINode: ("csi_nodes", Reads.CSI_NODES),
    CSIDriver: ("csi_drivers", Reads.STORAGE_CLASSES),
    CSIStorageCapacity: ("csi_storage_capacities", Reads.STORAGE_CLASSES),
    VolumeAttachment: ("volume_attachments", Reads.ATTACHMENTS),
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
