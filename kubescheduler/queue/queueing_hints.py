"""Changes in a cluster as queues learn of them, and which of them let plugins hope that a pod they rejected fits now.

What each plugin registers stands with the plugin. Hints are coarser than the release's where telling exactly needs the
whole cluster: they hope too often rather than too seldom.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from clusterstate.objects import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    DeviceClass,
    LabelSelector,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    ResourceClaim,
    ResourceSlice,
    StorageClass,
    VolumeAttachment,
)
from clusterstate.selectors.matching import SelectorError, compile_label_selector

if TYPE_CHECKING:
    from kubescheduler.queue.entry import Place, QueueEntry


ANYTHING = "*"
POD, ASSIGNED_POD, UNSCHEDULABLE_POD, NODE = "Pod", "AssignedPod", "UnschedulablePod", "Node"
PV, PVC, STORAGE_CLASS = "PersistentVolume", "PersistentVolumeClaim", "StorageClass"
CSI_NODE, CSI_DRIVER, CSI_CAPACITY = "storage.k8s.io/CSINode", "storage.k8s.io/CSIDriver", "CSIStorageCapacity"
ATTACHMENT = "VolumeAttachment"
RESOURCE_CLAIM, RESOURCE_SLICE, DEVICE_CLASS = "ResourceClaim", "ResourceSlice", "DeviceClass"


RESOURCES: dict[type, str] = {
    PersistentVolume: PV,
    PersistentVolumeClaim: PVC,
    StorageClass: STORAGE_CLASS,
    CSINode: CSI_NODE,
    CSIDriver: CSI_DRIVER,
    CSIStorageCapacity: CSI_CAPACITY,
    VolumeAttachment: ATTACHMENT,
    ResourceClaim: RESOURCE_CLAIM,
    ResourceSlice: RESOURCE_SLICE,
    DeviceClass: DEVICE_CLASS,
}
"""Kinds other than pods and nodes whose events plugins register."""


class Action(enum.IntFlag):
    """What was done; the order of the bits counts. Upstream: 1.36 ActionType."""

    ADD = enum.auto()
    DELETE = enum.auto()
    NODE_ALLOCATABLE = enum.auto()
    NODE_LABEL = enum.auto()
    NODE_TAINT = enum.auto()
    NODE_CONDITION = enum.auto()
    NODE_ANNOTATION = enum.auto()
    NODE_DECLARED_FEATURE = enum.auto()
    POD_LABEL = enum.auto()
    POD_SCALE_DOWN = enum.auto()
    POD_TOLERATION = enum.auto()
    POD_SCHEDULING_GATES_ELIMINATED = enum.auto()
    POD_GENERATED_RESOURCE_CLAIM = enum.auto()
    UPDATE = (1 << 13) - 4  # of the 13 above
    ALL = (1 << 13) - 1


ACTION_LABELS = {
    action: "Update" * ("_" in name) + name.title().replace("_", "") for name, action in Action.__members__.items()
}
"""What upstream's labels of events end with: ``UpdateNodeTaint``."""


class ClusterEvent(msgspec.Struct, frozen=True, eq=False):
    """A change of one object."""

    resource: str
    action: Action
    old: Any = None
    """The object before the change; None when it is new."""
    new: Any = None
    """The object after the change; None when it is gone."""
    own: str = ""
    """The key of the only pod that it concerns; empty for all."""
    up_to: int | None = None
    """The highest priority of pods that it concerns; None: all."""

    @property
    def label(self) -> str:
        """As metrics name it. Upstream: 1.36 ClusterEvent.Label."""
        return "UnschedulableTimeout" if self.everything else self.resource + ACTION_LABELS[self.action]

    @property
    def everything(self) -> bool:
        """It matches whatever is registered."""
        return self.resource == ANYTHING and self.action is Action.ALL

    def concerns(self, pod: Pod) -> bool:
        """Whether the event can matter to this pod."""
        if self.own:
            return self.own == pod.key
        return self.up_to is None or pod.priority <= self.up_to


TIMEOUT = ClusterEvent(ANYTHING, Action.ALL)
"""Upstream: UnschedulableTimeout."""

Event = ClusterEvent | str
"""Why pods move: a change of the cluster, or its label as upstream's metrics have it."""


def object_event(old: Any, new: Any, resources: Mapping[type, str] = RESOURCES) -> ClusterEvent | None:
    """The event of an object that came (``old`` is None), changed or went (``new`` is None); None: of no interest."""
    resource = resources.get(type(old if new is None else new))
    if resource is None:
        return None
    action = Action.ADD if old is None else Action.DELETE if new is None else Action.UPDATE
    return ClusterEvent(resource, action, old, new)


def matches(resource: str, action: Action, event: ClusterEvent) -> bool:
    """Whether what is registered covers an event."""
    if resource == ANYTHING and action is Action.ALL:
        return True
    alike = resource in (event.resource, ANYTHING) or (
        resource == POD and event.resource in (ASSIGNED_POD, UNSCHEDULABLE_POD)
    )
    return alike and bool(action & event.action) and event.action <= action


def node_actions(old: Node, new: Node) -> Iterator[Action]:
    """What an update of a node does, each on its own."""
    if old.unschedulable and not new.unschedulable:
        yield Action.NODE_TAINT
    if old.allocatable != new.allocatable:
        yield Action.NODE_ALLOCATABLE
    if old.metadata.labels != new.metadata.labels:
        yield Action.NODE_LABEL
    if old.taints != new.taints:
        yield Action.NODE_TAINT
    if {c.type: c.status for c in old.conditions} != {c.type: c.status for c in new.conditions}:
        yield Action.NODE_CONDITION
    if old.metadata.annotations != new.metadata.annotations:
        yield Action.NODE_ANNOTATION
    if old.declared_features != new.declared_features:
        yield Action.NODE_DECLARED_FEATURE


def pod_actions(old: Pod, new: Pod) -> list[Action]:
    """What an update of a pod does, each on its own; UPDATE when it is nothing of these."""
    changes = {
        Action.POD_LABEL: old.metadata.labels != new.metadata.labels,
        Action.POD_SCALE_DOWN: _asks_for_less(old, new),
        Action.POD_SCHEDULING_GATES_ELIMINATED: bool(old.spec.scheduling_gates) and not new.spec.scheduling_gates,
        Action.POD_TOLERATION: len(old.spec.tolerations) != len(new.spec.tolerations),
        Action.POD_GENERATED_RESOURCE_CLAIM: old.resource_claim_statuses != new.resource_claim_statuses,
    }
    return [action for action, happened in changes.items() if happened] or [Action.UPDATE]


def _asks_for_less(old: Pod, new: Pod) -> bool:
    """Some request is lower, or gone. Containers are identified by their index: a pod's are never moved."""
    before, after = (
        [pod.spec.resources, *(c.requests for c in (*pod.spec.containers, *pod.spec.init_containers))]
        for pod in (old, new)
    )
    return any(
        name not in others or others[name] < amount
        for some, others in zip(before, after, strict=False)
        for name, amount in some.items()
    )


# --- what plugins register -------------------------------------------------------------------

Hint = Callable[[Pod, ClusterEvent], bool]
"""Of (the pod that waits, an event that matches): whether the pod may fit now."""


class Registered(msgspec.Struct, frozen=True, eq=False):
    """Events after which a plugin hopes that a pod it rejected fits."""

    resource: str
    """What the event is about, ``*`` for anything."""
    action: Action
    """What was done to it, any of these."""
    hint: Hint | None = None
    """Whether a single event may help; None: each of them."""
    own: bool = False
    """Only events of the waiting pod itself."""


EVERYTHING = (Registered("*", Action.ALL),)
"""Of extenders, and of plugins that register nothing."""


# --- what several plugins register -----------------------------------------------------------

NEW_OR_LABELLED = Registered(NODE, Action.ADD | Action.NODE_LABEL)
"""A node that is new or has other labels."""
OWN_TOLERATIONS = Registered(POD, Action.POD_TOLERATION, own=True)
"""The waiting pod tolerates other taints."""


def may_be_claimed(waiting: Pod, event: ClusterEvent) -> bool:
    """Whether the claim is in the namespace of the pod, which uses volumes: it may be the pod's."""
    return bool(waiting.spec.volumes) and waiting.metadata.namespace == event.new.metadata.namespace


def picks(selector: LabelSelector | None, pod: Pod) -> bool:
    """Whether a selector picks a pod; one that cannot be read picks none."""
    try:
        return compile_label_selector(selector)(pod.metadata.labels)
    except SelectorError:
        return False


# --- whether an event may help ---------------------------------------------------------------


class QueueingHint(enum.IntEnum):
    """What an event does for a pod: nothing, has it tried after its back-off, or at once."""

    SKIP = 0
    QUEUE = 1
    IMMEDIATELY = 2


class QueueListener(Protocol):
    """Told of what happens in a queue, by whoever holds its lock."""

    def came(self, place: Place, event: Event) -> None:
        """A pod came into a part of the queue."""
        ...

    def now(self) -> float:
        """Seconds since any fixed moment."""
        ...

    def hinted(self, plugin: str, event: ClusterEvent, queues: bool, seconds: float) -> None:
        """A plugin was asked whether an event may help a pod (1.36)."""
        ...


class QueueingHints:
    """What an event does for a pod that some plugins rejected."""

    def __init__(self, events: Mapping[str, tuple[Registered, ...]]) -> None:
        """events: plugin → what it registers; every event may help a pod that any other plugin rejected."""
        self._events = {plugin: tuple(_with_taints(registered)) for plugin, registered in events.items()}
        self.listener: QueueListener | None = None
        """What is told of each plugin that is asked."""

    def of(self, entry: QueueEntry, event: ClusterEvent) -> QueueingHint:
        """A pod that is held back is looked at anew only for the plugin that does it."""
        if not event.concerns(entry.pod):
            return QueueingHint.SKIP
        if event.everything:
            return QueueingHint.QUEUE
        if self.any(entry.pod, entry.pending, event):
            return QueueingHint.IMMEDIATELY
        rejectors = entry.rejectors if entry.gate is None else {entry.gated_by}
        return QueueingHint.QUEUE if self.any(entry.pod, rejectors, event) else QueueingHint.SKIP

    def any(self, pod: Pod, rejectors: Collection[str], event: ClusterEvent) -> bool:
        """Whether any of the plugins that rejected a pod hopes that it fits now."""
        return any(
            self._hopes(plugin, registered, pod, event)
            for plugin in rejectors
            for registered in self._events.get(plugin, EVERYTHING)
        )

    def _hopes(self, plugin: str, registered: Registered, pod: Pod, event: ClusterEvent) -> bool:
        if not matches(registered.resource, registered.action, event):
            return False
        if registered.own and event.own != pod.key:
            return False
        if self.listener is None:
            return _asked(registered, pod, event)
        started = self.listener.now()
        queues = _asked(registered, pod, event)
        self.listener.hinted(plugin, event, queues, self.listener.now() - started)
        return queues


def _asked(registered: Registered, pod: Pod, event: ClusterEvent) -> bool:
    if registered.hint is None or event.own == pod.key:
        return True
    about_pods = registered.resource != POD or event.resource == ASSIGNED_POD
    return about_pods and registered.hint(pod, event)


def _with_taints(registered: tuple[Registered, ...]) -> Iterator[Registered]:
    """A plugin that registers for new nodes gets changed taints too: they may have kept a node from it."""
    yield from registered
    nodes = [r for r in registered if r.resource == NODE]
    if any(r.action & Action.ADD for r in nodes) and not any(r.action & Action.NODE_TAINT for r in nodes):
        yield Registered(NODE, Action.NODE_TAINT)


# --- what plugins register in 1.21 to 1.31 -------------------------------------------------------
#
# Events matter as such there, without a look at the objects; since 1.32 each plugin's own record says more. A plugin
# that is not listed registers nothing, so every event counts.

Events = Mapping[str, tuple[Registered, ...]]
"""Plugin → what it registers."""

NEW_OR_CHANGED = Action.ADD | Action.UPDATE
NEW_NODE = Registered(NODE, Action.ADD)
POD_LEFT = Registered(POD, Action.DELETE)
NODE_OR_LABELS = Registered(NODE, Action.ADD | Action.NODE_LABEL)
NODE_OR_TAINTS = Registered(NODE, Action.ADD | Action.NODE_TAINT)
NODE_OR_AMOUNTS = Registered(NODE, Action.ADD | Action.NODE_ALLOCATABLE)
ANY_NODE = Registered(NODE, NEW_OR_CHANGED)
"""A new node, or any update of one."""

EVENTS_1_21: Events = {"NodeResourcesFit": (POD_LEFT, NODE_OR_AMOUNTS)}

_DISKS = dict.fromkeys(("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits"), (NEW_NODE, POD_LEFT))
EVENTS_1_22: Events = {
    **_DISKS,
    "InterPodAffinity": (Registered(POD, Action.ALL), NODE_OR_LABELS),
    "NodeAffinity": (NODE_OR_LABELS,),
    "NodeLabel": (NODE_OR_LABELS,),
    "NodeName": (NEW_NODE,),
    "NodePorts": (POD_LEFT, NEW_NODE),
    "NodeResourcesFit": (POD_LEFT, NODE_OR_AMOUNTS),
    "NodeUnschedulable": (NODE_OR_TAINTS,),
    "NodeVolumeLimits": (Registered(CSI_NODE, Action.ADD), POD_LEFT),
    "PodTopologySpread": (
        Registered(POD, Action.ALL),
        Registered(NODE, Action.ADD | Action.DELETE | Action.NODE_LABEL),
    ),
    "TaintToleration": (NODE_OR_TAINTS,),
    "VolumeBinding": (
        *(Registered(kind, NEW_OR_CHANGED) for kind in (STORAGE_CLASS, PVC, PV, NODE, CSI_NODE)),
        *(Registered(kind, NEW_OR_CHANGED) for kind in (CSI_DRIVER, CSI_CAPACITY)),
    ),
    "VolumeRestrictions": (POD_LEFT, NEW_NODE, Registered(PVC, NEW_OR_CHANGED)),
    "VolumeZone": (
        Registered(STORAGE_CLASS, Action.ADD),
        NODE_OR_LABELS,
        Registered(PVC, Action.ADD),
        Registered(PV, NEW_OR_CHANGED),
    ),
}

EVENTS_1_23: Events = {
    **EVENTS_1_22,
    "VolumeBinding": (
        *(Registered(kind, NEW_OR_CHANGED) for kind in (STORAGE_CLASS, PVC, PV, CSI_NODE, CSI_DRIVER, CSI_CAPACITY)),
        NODE_OR_LABELS,
    ),
}

EVENTS_1_24: Events = {
    **EVENTS_1_23,
    "NodeAffinity": (ANY_NODE,),
    "NodeName": (ANY_NODE,),
    "NodePorts": (POD_LEFT, ANY_NODE),
    "NodeResourcesFit": (POD_LEFT, ANY_NODE),
    "TaintToleration": (ANY_NODE,),
}
