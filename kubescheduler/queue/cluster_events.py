"""Changes in a cluster, as 1.36 reports them to its queue: a resource, an action, the object before and after."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.objects import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from clusterstate.objects.resource import DeviceClass, ResourceClaim, ResourceSlice

if TYPE_CHECKING:
    from clusterstate.objects import (
        Container,
        Node,
        Pod,
    )
    from clusterstate.objects.base import ResourceList

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
    POD_GATES_ELIMINATED = enum.auto()
    POD_GENERATED_CLAIM = enum.auto()
    UPDATE = (1 << 13) - 4
    ALL = (1 << 13) - 1


ACTION_LABELS: dict[Action, str] = {
    Action.ADD: "Add",
    Action.DELETE: "Delete",
    Action.UPDATE: "Update",
    Action.NODE_ALLOCATABLE: "UpdateNodeAllocatable",
    Action.NODE_LABEL: "UpdateNodeLabel",
    Action.NODE_TAINT: "UpdateNodeTaint",
    Action.NODE_CONDITION: "UpdateNodeCondition",
    Action.NODE_ANNOTATION: "UpdateNodeAnnotation",
    Action.NODE_DECLARED_FEATURE: "UpdateNodeDeclaredFeature",
    Action.POD_LABEL: "UpdatePodLabel",
    Action.POD_SCALE_DOWN: "UpdatePodScaleDown",
    Action.POD_TOLERATION: "UpdatePodToleration",
    Action.POD_GATES_ELIMINATED: "UpdatePodSchedulingGatesEliminated",
    Action.POD_GENERATED_CLAIM: "UpdatePodGeneratedResourceClaim",
}
"""What upstream's labels of events end with."""


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


def object_event(old: Any, new: Any) -> ClusterEvent | None:
    """The event of an object that came (``old`` is None), changed or went (``new`` is None); None: of no interest."""
    resource = RESOURCES.get(type(old if new is None else new))
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
    found = {
        Action.POD_LABEL: old.metadata.labels != new.metadata.labels,
        Action.POD_SCALE_DOWN: _asks_for_less(old, new),
        Action.POD_GATES_ELIMINATED: bool(old.spec.scheduling_gates) and not new.spec.scheduling_gates,
        Action.POD_TOLERATION: len(old.spec.tolerations) != len(new.spec.tolerations),
        Action.POD_GENERATED_CLAIM: old.resource_claim_statuses != new.resource_claim_statuses,
    }
    return [action for action, happened in found.items() if happened] or [Action.UPDATE]


def _asks_for_less(old: Pod, new: Pod) -> bool:
    """Some request is lower, or gone. Containers are identified by their index: a pod's are never moved."""
    before, after = ([p.spec.resources, *(c.requests for c in _containers(p))] for p in (old, new))
    return any(_less(some, others) for some, others in zip(before, after, strict=False))


def _containers(pod: Pod) -> tuple[Container, ...]:
    return (*pod.spec.containers, *pod.spec.init_containers)


def _less(before: ResourceList, after: ResourceList) -> bool:
    return any(name not in after or after[name] < amount for name, amount in before.items())
