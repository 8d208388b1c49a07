"""Which changes of the cluster are worth trying pods again for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterstate.objects import CSINode, PersistentVolume, PersistentVolumeClaim, Service, StorageClass
from clusterstate.selectors.matching import SelectorError, compile_label_selector, term_namespaces

if TYPE_CHECKING:
    from clusterstate.objects import Node, Pod

WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"


def node_update_moves(old: Node, new: Node) -> bool:
    """Whether a node's update may let a pod in: schedulable again, or other amounts, labels, taints or conditions.

    Upstream: 1.16 nodeSchedulingPropertiesChanged.
    """
    return (
        (old.unschedulable and not new.unschedulable)
        or old.allocatable != new.allocatable
        or old.metadata.labels != new.metadata.labels
        or old.taints != new.taints
        or {c.type: c.status for c in old.conditions} != {c.type: c.status for c in new.conditions}
    )


def node_update_label(old: Node, new: Node) -> str:
    """What a node's update that moves pods is called in metrics. Upstream: 1.20 nodeSchedulingPropertiesChange."""
    if old.unschedulable and not new.unschedulable:
        return "NodeSpecUnschedulableChange"
    if old.allocatable != new.allocatable:
        return "NodeAllocatableChange"
    if old.metadata.labels != new.metadata.labels:
        return "NodeLabelChange"
    return "NodeTaintChange" if old.taints != new.taints else "NodeConditionChange"


KIND_LABELS: dict[type, str] = {
    PersistentVolume: "Pv",
    PersistentVolumeClaim: "Pvc",
    StorageClass: "StorageClass",
    Service: "Service",
    CSINode: "CSINode",
}
"""What 1.20's metrics call kinds other than pods and nodes."""


def object_change_label(old: Any, new: Any) -> str:
    """What another object's coming, change or going is called in metrics. Upstream: 1.20 events.go."""
    kind = KIND_LABELS[type(old if new is None else new)]
    return kind + ("Add" if old is None else "Delete" if new is None else "Update")


def storage_class_moves(added: StorageClass) -> bool:
    """Whether a new storage class may let a pod in. Upstream: 1.16 onStorageClassAdd."""
    return added.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER


def object_change_moves(old: Any, new: Any) -> bool:
    """Whether an object that came (``old`` is None), changed or went (``new`` is None) may let a pod in.

    Upstream: 1.16 and 1.20 AddAllEventHandlers.
    """
    if isinstance(new, StorageClass):
        return old is None and storage_class_moves(new)
    if isinstance(old, Service) or isinstance(new, Service):
        return True
    return isinstance(new, (PersistentVolume, PersistentVolumeClaim, CSINode))


def wants_to_be_near(waiting: Pod, placed: Pod) -> bool:
    """Whether a required pod-affinity term of ``waiting`` picks ``placed``. An invalid term picks nothing.

    Upstream: 1.16 getUnschedulablePodsWithMatchingAffinityTerm.
    """
    affinity = waiting.spec.affinity
    if affinity is None or affinity.pod_affinity is None:
        return False
    for term in affinity.pod_affinity.required:
        if placed.metadata.namespace not in term_namespaces(term, waiting.metadata.namespace):
            continue
        try:
            if compile_label_selector(term.label_selector)(placed.metadata.labels):
                return True
        except SelectorError:
            continue
    return False
