"""Nodes that take no more pods or go, and pods that have to leave: what becomes of them."""

from __future__ import annotations

import pytest

import kubescheduler as ks
from kubescheduler.api.engine_choice import engine_spec
from kubescheduler.planning.departures import Fate
from kubescheduler.planning.rehearsal import Rehearsal
from tests.support.evictions import owned
from tests.support.releases_tried import RELEASES_TRIED


def _rehearsal(cluster: ks.Cluster) -> Rehearsal:
    return Rehearsal(engine_spec(cluster.release).engine(lambda _: None), cluster.objects)


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_pods_come_back_elsewhere(release: str) -> None:
    """A controller's pods are placed by the scheduler, on nodes that take pods; nobody makes a bare one anew."""
    pods = [owned("ReplicaSet", "web", f"web-{at}", node="a", cpu="500m") for at in range(3)]
    cluster = ks.Cluster(release=release).node("a", cpu=8).node("b", cpu=2).node("c", cpu=2)
    rehearsal = _rehearsal(cluster.add([*pods, ks.pod("bare", node="a")]))
    rehearsal.cordon(["a"])
    rehearsal.evict(rehearsal.pods_on("a"))
    rehearsal.settle()
    assert not rehearsal.pods_on("a")
    assert {moved.pod.metadata.name: moved.node != "" for moved in rehearsal.moved} == {
        "bare": False,
        "web-0": True,
        "web-1": True,
        "web-2": True,
    }
    assert [moved.fate for moved in rehearsal.moved if moved.now is None] == [Fate.BARE]
    assert {pod.node_name for pod in rehearsal.cache.pods()} <= {"b", "c"}
    again = ks.Cluster(rehearsal.objects(), release=release)
    assert {pod.key: pod.node_name for pod in again.pods} == {pod.key: pod.node_name for pod in rehearsal.cache.pods()}


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet"])
def test_two_pods_preempt_the_same_one(kind: str) -> None:
    """It leaves once, for the first of them; what comes in its place waits, or goes elsewhere."""
    low = owned(kind, "low", "low-0", node="b", cpu=3)
    high = [owned("ReplicaSet", "high", f"high-{at}", node="a", cpu=2, priority=5) for at in range(2)]
    cluster = ks.Cluster(release="1.36").node("a", cpu=4).node("b", cpu=4).add([low, *high])
    result = ks.drain(cluster, "a")
    assert [moved.node for moved in result.moved] == ["b", "b", ""]
    [why] = result.moved[2].left
    assert why.startswith("preempted by default/high-")
    assert len(ks.outage(cluster, "a").nowhere) == 1


def test_a_pod_that_fits_nowhere_has_message_evidence_and_hint() -> None:
    """All three are of the cluster as it is then."""
    cluster = ks.Cluster(release="1.36").node("a", cpu=4).node("b", cpu=2)
    rehearsal = _rehearsal(cluster.add(owned("ReplicaSet", "web", "web-1", node="a", cpu=3)))
    rehearsal.cordon(["a"])
    rehearsal.evict(rehearsal.pods_on("a"))
    rehearsal.settle()
    [moved] = rehearsal.moved
    assert moved.nowhere
    assert moved.message.startswith("0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable.")
    assert moved.decision is not None
    assert moved.now is not None
    assert moved.decision.reasons()["b"] == ["Insufficient cpu"]
    smallest, node = rehearsal.hints([moved.now])[moved.now.key]
    assert smallest.text == "ask for 2 cpu instead of 3"
    assert node.text == "add one more node like a"


def test_what_preemption_evicts_comes_back_as_well() -> None:
    """The pod of a lower priority makes room, and is tried again; so is a pod that waited before."""
    cluster = ks.Cluster(release="1.36").node("a", cpu=4).node("b", cpu=4).node("c", cpu=1)
    high = owned("StatefulSet", "high", "high-0", node="a", cpu=4, priority=9)
    low = owned("ReplicaSet", "low", "low-1", node="b", cpu=1, priority=1)
    rehearsal = _rehearsal(cluster.add([high, low, owned("ReplicaSet", "big", "big-1", cpu=9)]))
    rehearsal.cordon(["a"])
    rehearsal.evict(rehearsal.pods_on("a"))
    rehearsal.settle()
    assert [(moved.pod.key, moved.left, moved.node) for moved in rehearsal.moved] == [
        ("default/high-0", ["evicted"], "b"),
        ("default/low-1", ["preempted by default/high-0"], "c"),
    ]
    [waiting] = rehearsal.waiting
    record = rehearsal.record(waiting)
    assert record is not None
    assert record.node == ""


def test_nodes_that_go_take_their_pods_with_them() -> None:
    """Pods of DaemonSets go with the node; others come back, later ones when earlier ones have their place."""
    cluster = ks.Cluster(release="1.36").node("a", cpu=8).node("b", cpu=2)
    pods = [owned("ReplicaSet", name, f"{name}-1", node="a", cpu=2) for name in ("early", "late")]
    rehearsal = _rehearsal(cluster.add([*pods, owned("DaemonSet", "agent", "agent-a", node="a")]))
    rehearsal.remove(["a"], after=lambda pod: 300.0 if pod.metadata.name == "early-1" else 0.0)
    rehearsal.settle()
    assert rehearsal.node("a") is None
    assert {moved.pod.metadata.name: (moved.fate, moved.node) for moved in rehearsal.moved} == {
        "agent-a": (Fate.DAEMON, ""),
        "early-1": (Fate.REMADE, ""),
        "late-1": (Fate.REMADE, "b"),
    }


def test_a_pod_that_has_to_leave_again_is_followed() -> None:
    """One pod of the start has one entry, however often it moves."""
    cluster = ks.Cluster(release="1.36").node("a").node("b").node("c", unschedulable=True)
    rehearsal = _rehearsal(cluster.add(owned("ReplicaSet", "web", "web-1", node="a")))
    for node in ("a", "b"):
        rehearsal.cordon([node])
        if node == "b":
            rehearsal.cordon(["c"], on=False)
        rehearsal.evict(rehearsal.pods_on(node))
        rehearsal.settle()
    [moved] = rehearsal.moved
    assert (moved.pod.key, moved.left, moved.node) == ("default/web-1", ["evicted", "evicted"], "c")
