"""Objects besides nodes and pods that come, change and go while a simulation runs.

What a cluster recorded of them holds what its own scheduler chose: the node of a claim, the volume that was made for it
there, allocated devices, attached volumes. A simulation chooses by itself, so that these are left as they are in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import attrs
import msgspec

from clusterstate.cache import ClusterCache
from clusterstate.cluster_objects import KEPT, ClusterObjects
from clusterstate.errors import SchedulingError
from clusterstate.objects import (
    ClusterObject,
    FrozenMap,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    ResourceClaim,
    VolumeAttachment,
)
from clusterstate.volumes.claim_matching import SELECTED_NODE_ANNOTATION
from clusterstate.volumes.claims import BIND_COMPLETED_ANNOTATION, claim_class, waits_for_consumer
from kubescheduler.releases.daemon_controllers import target_node
from kubescheduler.simulation.pods_to_place import daemon_set_of
from kubescheduler.simulation.timeline import NODES, Events, Kind
from kubescheduler.simulation.workload import NodeArrival, ObjectUpdate

PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
"""Annotation of a volume that was made for a claim."""
CHOSEN = (SELECTED_NODE_ANNOTATION, BIND_COMPLETED_ANNOTATION)
"""Annotations of a claim that say what became of it."""


class ObjectTraffic(msgspec.Struct, frozen=True, eq=False):
    """The objects of a workload, as the API server reports them."""

    cache: ClusterCache
    """The scheduler's."""
    report: Callable[[Any, Any], None]
    """What the scheduler does about an object: of it before and after, None where there is none."""
    events: Events
    """What is to happen."""
    changed: Callable[[], None]
    """Notes that something is other than before."""

    def expect(self, updates: Iterable[ObjectUpdate]) -> None:
        """Has all of them happen in their time."""
        for update in updates:
            self.events.at(update.at, NODES, partial(self._happens, update))

    def _happens(self, update: ObjectUpdate) -> None:
        old, new = replayed(update, self.cache.objects)
        if old != new:
            self.report(old, new)
            self.changed()


def replayed(update: ObjectUpdate, objects: ClusterObjects) -> tuple[Any, Any]:
    """(an object as it is, as it is after an update); None where there is none."""
    current = objects.current(update.obj)
    if update.gone:
        return current, None
    keep = CHOICES.get(type(update.obj))
    return current, update.obj if keep is None else keep(update.obj, current, objects)


def came_later(updates: Iterable[ObjectUpdate], there: Iterable[ClusterObject]) -> list[ClusterObject]:
    """The objects that come to a cluster, each as it was first, for who looks at the cluster without its times."""
    objects, found = ClusterObjects(), list[ClusterObject]()
    for obj in there:
        if type(obj) in KEPT:
            objects.put(obj)
    for update in updates:
        old, new = (None, None) if update.gone else replayed(update, objects)
        if old is None and new is not None:
            objects.put(new)
            found.append(new)
    return found


# --- what a scheduler and those who follow it have chosen ---------------------------------------------


def _claim(
    new: PersistentVolumeClaim, current: PersistentVolumeClaim | None, objects: ClusterObjects
) -> PersistentVolumeClaim:
    """A claim that waits for its first consumer stays bound, or not, as it is."""
    if current is None or not _waits(new, objects):
        return new
    kept = {key: value for key, value in current.metadata.annotations.items() if key in CHOSEN}
    others = {key: value for key, value in new.metadata.annotations.items() if key not in CHOSEN}
    metadata = msgspec.structs.replace(new.metadata, annotations=FrozenMap({**others, **kept}))
    return msgspec.structs.replace(new, metadata=metadata, volume_name=current.volume_name, phase=current.phase)


def _volume(
    new: PersistentVolume, current: PersistentVolume | None, objects: ClusterObjects
) -> PersistentVolume | None:
    """A volume that was made for a claim which waits does not come; any other is given away as it is."""
    given = new.claim_ref
    claim = None if given is None else objects.persistent_volume_claims.get((given.namespace, given.name))
    if claim is None or not _waits(claim, objects):
        return new
    if current is None:
        return (
            None
            if PROVISIONED_BY in new.metadata.annotations
            else msgspec.structs.replace(new, claim_ref=None, phase="")
        )
    return msgspec.structs.replace(new, claim_ref=current.claim_ref, phase=current.phase)


def _resource_claim(new: ResourceClaim, current: ResourceClaim | None, _: ClusterObjects) -> ResourceClaim:
    """Devices are allocated as they are."""
    kept = ResourceClaim(new.metadata) if current is None else current
    return attrs.evolve(
        new, allocation=kept.allocation, reserved_for=kept.reserved_for, device_statuses=kept.device_statuses
    )


def _attachment(new: VolumeAttachment, current: VolumeAttachment | None, _: ClusterObjects) -> VolumeAttachment | None:
    """Volumes are attached to the nodes of pods; nobody does so here."""
    return None if current is None else new


CHOICES: dict[type[Any], Callable[[Any, Any, ClusterObjects], Any]] = {
    PersistentVolumeClaim: _claim,
    PersistentVolume: _volume,
    ResourceClaim: _resource_claim,
    VolumeAttachment: _attachment,
}
"""Kind → of the recorded object, the one that is there, and all others: what there is to be."""


def _waits(claim: PersistentVolumeClaim, objects: ClusterObjects) -> bool:
    """Whether a scheduler says where a claim is bound."""
    try:
        return waits_for_consumer(claim_class(claim), objects)
    except SchedulingError:
        return False


class NodeTraffic(msgspec.Struct, frozen=True, eq=False):
    """The nodes of a workload, as the API server reports them.

    With a node go the pods on it, and those that DaemonSets made for it and that no scheduler has bound yet, as
    upstream's controllers have it (podgc; getUnscheduledPodsWithoutNode of 1.16 to 1.36).
    """

    cache: ClusterCache
    """The scheduler's."""
    report: Callable[[Node | None, Node | None], None]
    """What the scheduler does about a node: of the object before and after, None where there is none."""
    events: Events
    """What is to happen."""
    changed: Callable[[Node, Kind], None]
    """Notes what happened to a node."""
    lost: Callable[[Pod], None]
    """Collects a pod of a node that is gone."""
    pending: Callable[[], Iterable[Pod]]
    """The pods that are bound to no node yet."""

    def expect(self, arrivals: Iterable[NodeArrival]) -> None:
        """Has all of them come in their time."""
        for arrival in arrivals:
            self.events.at(arrival.at, NODES, partial(self._comes, arrival))

    def _comes(self, arrival: NodeArrival) -> None:
        """A new node, or another manifest of one that is there."""
        node = arrival.node
        old = self._node(node.name)
        self.report(old, node)
        self.changed(node, Kind.NODE_ADDED if old is None else Kind.NODE_CHANGED)
        if arrival.leaves_at is not None:
            self.events.at(max(arrival.leaves_at, arrival.at), NODES, partial(self.leaves, node))

    def leaves(self, node: Node) -> None:
        """The node goes, unless a newer manifest came; then the pods on it are collected."""
        if self._node(node.name) is not node:
            return
        there = list(self._bound_to(node.name))
        self.report(node, None)
        self.changed(node, Kind.NODE_REMOVED)
        for pod in (*there, *(pod for pod in self.pending() if is_daemon_for(pod, node.name))):
            self.lost(pod)

    def _node(self, name: str) -> Node | None:
        row = self.cache.columns.row_of.get(name)
        return None if row is None else self.cache.columns.nodes[row]

    def _bound_to(self, node_name: str) -> Iterator[Pod]:
        """The pods on a node but those that are held on their way there."""
        columns = self.cache.columns
        for pod in columns.pods[columns.row_of[node_name]].values():
            if not self.cache.is_assumed(pod):
                yield pod


def is_daemon_for(pod: Pod, node_name: str) -> bool:
    """Whether a pod is a DaemonSet's for this node."""
    return daemon_set_of(pod) is not None and target_node(pod) == node_name
