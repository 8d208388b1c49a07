"""What is to happen in a simulation, in order of time, and what is told of it; nodes and objects that come and go.

What a cluster recorded of objects holds what its own scheduler chose: the node of a claim, the volume that was made for
it there, allocated devices, attached volumes. A simulation chooses by itself, so that these are left as they are in it.
"""

from __future__ import annotations

import enum
import heapq
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
from clusterstate.volumes.claims import claim_class, waits_for_consumer
from kubescheduler.releases.daemon_controllers import target_node
from kubescheduler.simulation.pod_claims import CHOSEN
from kubescheduler.simulation.pods_to_place import daemon_set_of
from kubescheduler.simulation.workload import NodeArrival, ObjectUpdate
from kubescheduler.sources.untrusted import json_text

LEAVING, NODES, ARRIVING = 0, 1, 2
"""The order of events of one moment: room is made before it is filled."""

PATIENCE = 30 * 60.0
"""Seconds after the last thing that lasted: a gang that never gets complete is tried no longer, and the run ends."""
SPINS = 10
"""Attempts of one moment beside three a pending pod: if nothing comes of further ones, they wait for a while."""
SPIN_PAUSE = 10.0
"""How long they wait, in seconds."""

Action = Callable[[], None]

Event = tuple[float, int, int, Action]
"""(time in seconds, kind, number, what happens)."""


class Events:
    """Events by time, then by kind, then in the order in which they were noted."""

    def __init__(self) -> None:
        self._known: list[Event] = []
        self._heap: list[Event] = []
        self._begun = False
        self.noted = 0
        self.done = 0

    def at(self, time: float, kind: int, action: Action) -> None:
        """Has an action happen at a time, in seconds; at the same time by kind, then in the order they were noted."""
        self.noted += 1
        event = (time, kind, self.noted, action)
        if self._begun:
            heapq.heappush(self._heap, event)
        else:
            self._known.append(event)

    @property
    def next(self) -> float | None:
        """The time of the first event; None when nothing is to happen."""
        known, heap = self._begin(), self._heap
        if known and not (heap and heap[0] < known[-1]):
            return known[-1][0]
        return heap[0][0] if heap else None

    def run(self, moment: float) -> None:
        """Everything that is due by now. What it causes for the same moment is left for the next call."""
        due, known, heap = [], self._begin(), self._heap
        while known and known[-1][0] <= moment:
            due.append(known.pop())
        while heap and heap[0][0] <= moment:
            due.append(heapq.heappop(heap))
        due.sort()
        for _, _, _, action in due:
            action()
        self.done += len(due)

    def _begin(self) -> list[Event]:
        """What was noted before anything was asked for, the first event last."""
        if not self._begun:
            self._begun = True
            self._known.sort(reverse=True)
        return self._known


class Kind(enum.Enum):
    """What happened; the values are the names in the stream."""

    ENQUEUED = "enqueued"
    """A pod came and is to be tried."""
    GATED = "gated"
    """A pod came, or its attempt failed, and a PreEnqueue plugin holds it back: ``message``."""
    IGNORED = "ignored"
    """A pod came that another scheduler is to place."""
    ATTEMPTED = "attempted"
    """A pod was tried: ``node`` was chosen, or ``message`` says why none was."""
    ERROR = "error"
    """An error ended the attempt of a pod, so that nobody knows where it would go: ``message``."""
    RETRIED = "retried"
    """While nothing changed, a pod was tried ``attempts`` times, in vain as before."""
    WAITING = "waiting"
    """Permit plugins hold a pod; its place on ``node`` is kept."""
    BINDING_FAILED = "binding-failed"
    """A pod gave its place on ``node`` back: ``message``."""
    ACTIVE = "active"
    """A pod whose attempt failed is tried again in its turn."""
    BACKED_OFF = "backed-off"
    """A pod whose attempt failed waits out a back-off."""
    UNSCHEDULABLE = "unschedulable"
    """A pod whose attempt failed waits for an event that may help it."""
    NOMINATED = "nominated"
    """A pod waits for room on ``node``."""
    NOMINATION_CLEARED = "nomination-cleared"
    """A pod no longer waits for room on ``node``."""
    EVICTED = "evicted"
    """A pod on ``node`` is asked to leave, for the pod ``by``."""
    BOUND = "bound"
    """A pod is on ``node``."""
    LEFT = "left"
    """A pod is gone, from ``node`` if it was on one: ``outcome``."""
    NODE_ADDED = "node-added"
    NODE_CHANGED = "node-changed"
    NODE_REMOVED = "node-removed"
    NOTE = "note"
    """Nothing happened; ``message`` is what a reader has to know of the whole run. First in the stream."""


class RunEvent(msgspec.Struct, frozen=True):
    """One event of a run."""

    time: float
    """Seconds after the start."""
    kind: Kind
    pod: str = ""
    """namespace/name; empty for events of nodes."""
    node: str = ""
    message: str = ""
    by: str = ""
    outcome: str = ""
    attempts: int = 0

    def to_dict(self) -> dict[str, Any]:
        """``time``, ``kind`` and what the kind has besides."""
        rest = {
            key: value for key, value in msgspec.structs.asdict(self).items() if value and key not in ("time", "kind")
        }
        return {"time": self.time, "kind": self.kind.value, **rest}

    def to_json(self) -> str:
        """One line, without its end."""
        return json_text(self.to_dict())


Listen = Callable[[RunEvent], None]
"""Told of every event, as it happens."""


PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
"""Annotation of a volume that was made for a claim."""


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
        old = self.cache.node(node.name)
        self.report(old, node)
        self.changed(node, Kind.NODE_ADDED if old is None else Kind.NODE_CHANGED)
        if arrival.leaves_at is not None:
            self.events.at(max(arrival.leaves_at, arrival.at), NODES, partial(self.leaves, node))

    def leaves(self, node: Node) -> None:
        """The node goes, unless a newer manifest came; then the pods on it are collected."""
        if self.cache.node(node.name) is not node:
            return
        there = list(self._bound_to(node.name))
        self.report(node, None)
        self.changed(node, Kind.NODE_REMOVED)
        for pod in (*there, *(pod for pod in self.pending() if is_daemon_for(pod, node.name))):
            self.lost(pod)

    def _bound_to(self, node_name: str) -> Iterator[Pod]:
        """The pods on a node but those that are held on their way there."""
        columns = self.cache.columns
        for pod in columns.pods[columns.row_of[node_name]].values():
            if not self.cache.is_assumed(pod):
                yield pod


def is_daemon_for(pod: Pod, node_name: str) -> bool:
    """Whether a pod is a DaemonSet's for this node."""
    return daemon_set_of(pod) is not None and target_node(pod) == node_name
