"""Which events let the plugins of 1.36 hope that a pod they rejected fits now."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

import attrs

from clusterstate.objects import LabelSelector, Pod
from clusterstate.selectors.matching import SelectorError, compile_label_selector, term_namespaces
from kubescheduler.queue.cluster_events import (
    ASSIGNED_POD,
    ATTACHMENT,
    CSI_CAPACITY,
    CSI_DRIVER,
    CSI_NODE,
    DEVICE_CLASS,
    NODE,
    POD,
    PV,
    PVC,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    STORAGE_CLASS,
    Action,
    ClusterEvent,
    matches,
)

Hint = Callable[[Pod, ClusterEvent], bool]
"""Of (the pod that waits, an event that matches): whether the pod may fit now."""


@attrs.frozen(eq=False)
class Registered:
    """What a plugin wants to be told. hint: None: it always hopes. own: of the waiting pod itself only."""

    resource: str
    action: Action
    hint: Hint | None = None
    own: bool = False


# --- hints -----------------------------------------------------------------------------------


def never(_: Pod, __: ClusterEvent) -> bool:
    return False


def has_ports(_: Pod, event: ClusterEvent) -> bool:
    """The pod that left held a host port."""
    return any(port.host_port for container in event.old.spec.containers for port in container.ports)


def has_volumes(_: Pod, event: ClusterEvent) -> bool:
    return bool(event.old.spec.volumes)


def same_namespace(waiting: Pod, event: ClusterEvent) -> bool:
    return bool(waiting.metadata.namespace == event.old.metadata.namespace and event.old.spec.volumes)


def claim_of(waiting: Pod, event: ClusterEvent) -> bool:
    """A claim in the pod's namespace; the pod that uses volumes may use it."""
    return bool(waiting.spec.volumes) and waiting.metadata.namespace == event.new.metadata.namespace


def schedulable(_: Pod, event: ClusterEvent) -> bool:
    return not event.new.unschedulable


def counts_for_spread(waiting: Pod, event: ClusterEvent) -> bool:
    """Some constraint counts the pod that came, went or got other labels."""
    pods = [pod for pod in (event.old, event.new) if pod is not None]
    if waiting.key == pods[0].key:
        return True
    if waiting.metadata.namespace != pods[0].metadata.namespace:
        return False
    constraints = waiting.spec.topology_spread_constraints
    if not constraints:
        return True  # those of the plugin's args count
    return any(_picks(c.label_selector, pod) for c in constraints for pod in pods)


def near_enough(waiting: Pod, event: ClusterEvent) -> bool:
    """The new pod is one that all required affinity terms pick; other labels or a pod less always give hope."""
    if event.action is not Action.ADD:
        return True
    affinity = waiting.spec.affinity
    terms = () if affinity is None or affinity.pod_affinity is None else affinity.pod_affinity.required
    namespace = event.new.metadata.namespace
    return bool(terms) and all(
        (term.namespace_selector is not None or namespace in term_namespaces(term, waiting.metadata.namespace))
        and _picks(term.label_selector, event.new)
        for term in terms
    )


def _picks(selector: LabelSelector | None, pod: Pod) -> bool:
    try:
        return compile_label_selector(selector)(pod.metadata.labels)
    except SelectorError:
        return False


# --- what plugins register -------------------------------------------------------------------

_ADD, _DELETE = Action.ADD, Action.DELETE
_NEW_OR_LABELLED = Registered(NODE, _ADD | Action.NODE_LABEL)
_OWN_TOLERATIONS = Registered(POD, Action.POD_TOLERATION, own=True)

EVERYTHING = (Registered("*", Action.ALL),)
"""Of extenders, and of plugins that are not in the table."""

EVENTS_1_36: dict[str, tuple[Registered, ...]] = {
    "NodeResourcesFit": (
        Registered(POD, _DELETE),
        Registered(POD, Action.POD_SCALE_DOWN),
        Registered(NODE, _ADD | Action.NODE_ALLOCATABLE),
        Registered(DEVICE_CLASS, _ADD | Action.UPDATE),
    ),
    "NodeName": (Registered(NODE, _ADD),),
    "NodePorts": (Registered(POD, _DELETE, has_ports), Registered(NODE, _ADD)),
    "NodeUnschedulable": (Registered(NODE, _ADD | Action.NODE_TAINT, schedulable), _OWN_TOLERATIONS),
    "NodeAffinity": (_NEW_OR_LABELLED,),
    "TaintToleration": (Registered(NODE, _ADD | Action.NODE_TAINT), _OWN_TOLERATIONS),
    "PodTopologySpread": (
        Registered(POD, _ADD | Action.POD_LABEL | _DELETE, counts_for_spread),
        _OWN_TOLERATIONS,
        Registered(NODE, _ADD | _DELETE | Action.NODE_LABEL | Action.NODE_TAINT),
    ),
    "InterPodAffinity": (Registered(POD, _ADD | Action.POD_LABEL | _DELETE, near_enough), _NEW_OR_LABELLED),
    "VolumeRestrictions": (
        Registered(POD, _DELETE, same_namespace),
        Registered(NODE, _ADD),
        Registered(PVC, _ADD, claim_of),
    ),
    "NodeVolumeLimits": (
        Registered(CSI_NODE, _ADD | Action.UPDATE),
        Registered(POD, _DELETE, has_volumes),
        Registered(PVC, _ADD, claim_of),
        Registered(ATTACHMENT, _DELETE),
    ),
    "VolumeBinding": (
        Registered(STORAGE_CLASS, _ADD | Action.UPDATE),
        Registered(PVC, _ADD | Action.UPDATE, claim_of),
        Registered(PV, _ADD | Action.UPDATE),
        _NEW_OR_LABELLED,
        Registered(CSI_NODE, _ADD | Action.UPDATE),
        Registered(CSI_DRIVER, Action.UPDATE),
        Registered(CSI_CAPACITY, _ADD | Action.UPDATE),
    ),
    "VolumeZone": (
        Registered(STORAGE_CLASS, _ADD),
        _NEW_OR_LABELLED,
        Registered(PVC, _ADD | Action.UPDATE, claim_of),
        Registered(PV, _ADD | Action.UPDATE),
    ),
    "SchedulingGates": (Registered(POD, Action.POD_GATES_ELIMINATED, own=True),),
    "DefaultPreemption": (Registered(POD, _DELETE, never),),
    "DynamicResources": (
        Registered(NODE, _ADD | Action.NODE_LABEL | Action.NODE_ALLOCATABLE),
        Registered(DEVICE_CLASS, _ADD | Action.UPDATE),
        Registered(RESOURCE_SLICE, _ADD | Action.UPDATE),
        Registered(RESOURCE_CLAIM, _ADD | Action.UPDATE),
        Registered(POD, Action.POD_GENERATED_CLAIM, own=True),
    ),
    "NodeDeclaredFeatures": (Registered(NODE, _ADD | Action.NODE_DECLARED_FEATURE),),
}
"""Plugin → the events that it registers with the gates' defaults. Hints are coarser than the release's where telling
exactly needs the whole cluster: they hope too often rather than too seldom."""


class Hopes:
    """Whether an event may help a pod that some plugins rejected."""

    def __init__(self, events: Mapping[str, tuple[Registered, ...]] = EVENTS_1_36) -> None:
        self._events = {plugin: tuple(_with_taints(registered)) for plugin, registered in events.items()}

    def any(self, pod: Pod, rejectors: Collection[str], event: ClusterEvent) -> bool:
        """rejectors: plugins; one that registers nothing hopes for everything."""
        return any(
            self._hopes(registered, pod, event)
            for plugin in rejectors
            for registered in self._events.get(plugin, EVERYTHING)
        )

    def _hopes(self, registered: Registered, pod: Pod, event: ClusterEvent) -> bool:
        if not matches(registered.resource, registered.action, event):
            return False
        if registered.own and event.own != pod.key:
            return False
        if registered.hint is None or event.own == pod.key:
            return True
        about_pods = registered.resource != POD or event.resource == ASSIGNED_POD
        return about_pods and registered.hint(pod, event)


def _with_taints(registered: tuple[Registered, ...]) -> Iterator[Registered]:
    """A plugin that wants to know new nodes is told of changed taints too: they may have kept a node from it."""
    yield from registered
    nodes = [r for r in registered if r.resource == NODE]
    if any(r.action & Action.ADD for r in nodes) and not any(r.action & Action.NODE_TAINT for r in nodes):
        yield Registered(NODE, Action.NODE_TAINT)
