"""Events of 1.36: which registered ones they match, what updates come to, and which plugins hope."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clusterstate.objects import (
    Affinity,
    Container,
    ContainerPort,
    LabelSelector,
    Node,
    NodeCondition,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    Taint,
    Toleration,
    TopologySpreadConstraint,
)
from kubescheduler.framework.plugins.plugin_record import events_by_plugin
from kubescheduler.queue.queueing_hints import (
    ASSIGNED_POD,
    NODE,
    POD,
    PVC,
    TIMEOUT,
    UNSCHEDULABLE_POD,
    Action,
    ClusterEvent,
    QueueingHints,
    matches,
    node_actions,
    pod_actions,
)
from kubescheduler.releases import v1_36
from tests.support.build import labels, make_node, make_pod, resources


@pytest.mark.parametrize(
    ("resource", "action", "event", "matching"),
    [
        (NODE, Action.ADD | Action.NODE_LABEL, ClusterEvent(NODE, Action.NODE_LABEL), True),
        (NODE, Action.ADD | Action.NODE_LABEL, ClusterEvent(NODE, Action.NODE_TAINT), False),
        (NODE, Action.ADD, ClusterEvent(ASSIGNED_POD, Action.ADD), False),
        (POD, Action.DELETE, ClusterEvent(ASSIGNED_POD, Action.DELETE), True),
        (POD, Action.DELETE, ClusterEvent(UNSCHEDULABLE_POD, Action.DELETE), True),
        (ASSIGNED_POD, Action.DELETE, ClusterEvent(UNSCHEDULABLE_POD, Action.DELETE), False),
        (POD, Action.POD_LABEL, ClusterEvent(ASSIGNED_POD, Action.UPDATE), False),
        (PVC, Action.ADD | Action.UPDATE, ClusterEvent(PVC, Action.UPDATE), True),
        ("*", Action.ALL, ClusterEvent(NODE, Action.NODE_ANNOTATION), True),
        ("*", Action.ADD, ClusterEvent(NODE, Action.ADD), True),
        ("*", Action.ADD, ClusterEvent(NODE, Action.DELETE), False),
    ],
)
def test_what_events_match(resource: str, action: Action, event: ClusterEvent, matching: bool) -> None:
    """The resource, or one it stands for, and an action that is among those registered."""
    assert matches(resource, action, event) is matching


def test_actions() -> None:
    """All is all there are, an update all but a new or deleted object; labels are upstream's."""
    assert (sum(Action), Action.ALL - Action.ADD - Action.DELETE) == (Action.ALL, Action.UPDATE)
    labels = [ClusterEvent("", action).label for action in (Action.ADD, Action.UPDATE, Action.POD_SCALE_DOWN)]
    assert labels == ["Add", "Update", "UpdatePodScaleDown"]


@pytest.mark.parametrize(
    ("new", "actions"),
    [
        (make_node("n"), []),
        (make_node("n", {"a": "b"}), [Action.NODE_LABEL]),
        (make_node("n", None, {"a": "b"}), [Action.NODE_ANNOTATION]),
        (make_node("n", allocatable=resources(cpu=1)), [Action.NODE_ALLOCATABLE]),
        (make_node("n", conditions=(NodeCondition("Ready", "True"),)), [Action.NODE_CONDITION]),
        (make_node("n", declared_features=("x",)), [Action.NODE_DECLARED_FEATURE]),
        (make_node("n", {"a": "b"}, taints=(Taint("t", "", "NoSchedule"),)), [Action.NODE_LABEL, Action.NODE_TAINT]),
        (make_node("n", unschedulable=True), []),
    ],
)
def test_what_a_nodes_update_does(new: Node, actions: list[Action]) -> None:
    """Each thing on its own; that it becomes unschedulable is nothing."""
    assert list(node_actions(make_node("n"), new)) == actions


def test_a_node_that_is_schedulable_again_lost_a_taint() -> None:
    """So it is told to those who look at taints."""
    assert list(node_actions(make_node("n", unschedulable=True), make_node("n"))) == [Action.NODE_TAINT]


@pytest.mark.parametrize(
    ("old", "new", "actions"),
    [
        (make_pod(), make_pod(nominated="n"), [Action.UPDATE]),
        (make_pod(), make_pod(label={"a": "b"}), [Action.POD_LABEL]),
        (make_pod(requests=resources(cpu=2)), make_pod(requests=resources(cpu=1)), [Action.POD_SCALE_DOWN]),
        (make_pod(requests=resources(cpu=2)), make_pod(requests=resources(cpu=3)), [Action.UPDATE]),
        (make_pod(requests=resources(cpu=2)), make_pod(), [Action.POD_SCALE_DOWN]),
        (make_pod(scheduling_gates=("x", "y")), make_pod(scheduling_gates=("x",)), [Action.UPDATE]),
        (make_pod(scheduling_gates=("x",)), make_pod(), [Action.POD_SCHEDULING_GATES_ELIMINATED]),
        (make_pod(), make_pod(tolerations=(Toleration("k"),)), [Action.POD_TOLERATION]),
    ],
)
def test_what_a_pods_update_does(old: Pod, new: Pod, actions: list[Action]) -> None:
    """Each thing on its own, and if it is nothing that counts, just an update."""
    assert pod_actions(old, new) == actions


def test_every_plugin_that_can_reject_a_pod_registers_events() -> None:
    """One that registered nothing would be tried again for everything."""
    silent = {"PrioritySort", "DefaultBinder", "ImageLocality", "NodeResourcesBalancedAllocation"}
    placing = {"GangScheduling", "TopologyPlacementGenerator", "PodGroupPodsCount"}
    assert {name for name, plugin in v1_36.PLUGINS.items() if plugin.events is None} == silent | placing


def hope(plugin: str, pod: Pod, event: ClusterEvent) -> bool:
    return QueueingHints(events_by_plugin(v1_36.PLUGINS)).any(pod, {plugin}, event)


def gone(pod: Pod) -> ClusterEvent:
    return ClusterEvent(ASSIGNED_POD, Action.DELETE, pod)


def placed(pod: Pod) -> ClusterEvent:
    return ClusterEvent(ASSIGNED_POD, Action.ADD, None, pod)


PORT = make_pod("port", containers=(Container("c", ports=(ContainerPort(host_port=80),)),))


def spread(**selector: str) -> Pod:
    constraint = TopologySpreadConstraint(1, "zone", "DoNotSchedule", LabelSelector(labels(selector)))
    return make_pod("waiting", topology_spread_constraints=(constraint,))


def near(*apps: str, **term: Any) -> Pod:
    terms = tuple(PodAffinityTerm("zone", LabelSelector(labels({"app": app})), **term) for app in apps)
    return make_pod("waiting", affinity=Affinity(pod_affinity=PodAffinity(terms)))


@pytest.mark.parametrize(
    ("plugin", "pod", "event", "hopes"),
    [
        ("NodePorts", PORT, gone(PORT), True),
        ("NodePorts", PORT, gone(make_pod("plain")), False),
        ("NodeResourcesFit", make_pod(), placed(make_pod("new")), False),
        ("PodTopologySpread", spread(app="web"), placed(make_pod("new", {"app": "web"})), True),
        ("PodTopologySpread", spread(app="web"), placed(make_pod("new", {"app": "db"})), False),
        ("PodTopologySpread", spread(app="web"), gone(make_pod("new", {"app": "web"}, namespace="other")), False),
        ("PodTopologySpread", make_pod(), gone(make_pod("new")), True),
        ("InterPodAffinity", near("web"), placed(make_pod("new", {"app": "web"})), True),
        ("InterPodAffinity", near("web", "db"), placed(make_pod("new", {"app": "web"})), False),
        ("InterPodAffinity", near("web"), placed(make_pod("new", {"app": "web"}, namespace="other")), False),
        ("InterPodAffinity", make_pod(), placed(make_pod("new")), False),
        ("InterPodAffinity", make_pod(), gone(make_pod("new")), True),
        ("NodeUnschedulable", make_pod(), ClusterEvent(NODE, Action.ADD, None, make_node("n")), True),
        (
            "NodeUnschedulable",
            make_pod(),
            ClusterEvent(NODE, Action.ADD, None, make_node("n", unschedulable=True)),
            False,
        ),
        ("DefaultPreemption", make_pod(), gone(make_pod("gone")), False),
        ("Extender", make_pod(), ClusterEvent(NODE, Action.DELETE, make_node("n")), True),
    ],
)
def test_hints(plugin: str, pod: Pod, event: ClusterEvent, hopes: bool) -> None:
    """Whether a plugin that rejected the pod hopes that it fits now."""
    assert hope(plugin, pod, event) is hopes


def test_a_pods_own_updates_concern_no_other() -> None:
    """Its tolerations give hope to itself alone."""
    pod = make_pod("a", tolerations=(Toleration("k"),))
    event = ClusterEvent(UNSCHEDULABLE_POD, Action.POD_TOLERATION, make_pod("a"), pod, own=pod.key)
    assert hope("TaintToleration", pod, event)
    assert not hope("TaintToleration", make_pod("b"), event)
    assert event.concerns(pod)
    assert not event.concerns(make_pod("b"))


def test_time_matches_everything() -> None:
    """Whoever rejected the pod."""
    assert TIMEOUT.everything
    assert not msgspec.structs.replace(TIMEOUT, action=Action.ADD).everything
