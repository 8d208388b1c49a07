"""What happens when nodes are drained, and versions of kubelets with which they come back."""

from __future__ import annotations

from typing import Any

import pytest

import kubescheduler as ks
from clusterstate.errors import ConfigError, InputError
from kubescheduler.api.engine_choice import engine_spec
from kubescheduler.planning.drain import KubeletUpgrade
from kubescheduler.planning.rehearsal import Rehearsal
from tests.support.evictions import budget, owned
from tests.support.releases_tried import RELEASES_TRIED

EMPTY_DIR = {"volumes": [{"name": "scratch", "emptyDir": {}}]}


def _with_empty_dir(pod: dict[str, Any]) -> dict[str, Any]:
    return {**pod, "spec": {**pod["spec"], **EMPTY_DIR}}


def _cluster(*things: Any, release: str = "1.36") -> ks.Cluster:
    cluster = ks.Cluster(release=release).node("a", cpu=4, labels={"pool": "old"}).node("b", cpu=4).node("c", cpu=4)
    return cluster.add(list(things)) if things else cluster


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_every_pod_is_accounted_for(release: str) -> None:
    """What leaves, what stays, what is lost, what is gone."""
    result = ks.drain(
        _cluster(
            owned("ReplicaSet", "web", "web-1", node="a", cpu=1),
            owned("StatefulSet", "db", "db-0", node="a", cpu=1),
            owned("DaemonSet", "agent", "agent-a", node="a"),
            owned("Node", "a", "proxy-a", node="a"),
            owned("Job", "sum", "sum-x", node="a", status={"phase": "Succeeded"}),
            ks.pod("bare", node="a"),
            ks.pod("elsewhere", node="b"),
            release=release,
        ),
        selector="pool=old",
        ignore_daemonsets=True,
        force=True,
    )
    assert result.nodes == ("a",)
    assert {moved.pod.metadata.name: moved.node in ("b", "c") for moved in result.moved} == {
        "web-1": True,
        "db-0": True,
        "bare": False,
    }
    assert [moved.pod.metadata.name for moved in result.lost] == ["bare"]
    assert [(stays.pod.metadata.name, stays.why) for stays in result.stays] == [
        ("agent-a", "of a DaemonSet"),
        ("proxy-a", "static"),
    ]
    assert result.fine
    assert result.counts() == {
        "evicted": 3,
        "preempted": 0,
        "running": 2,
        "nowhere": 0,
        "lost": 1,
        "blocked": 0,
        "stay": 2,
    }


@pytest.mark.parametrize(
    ("pod", "flags", "said"),
    [
        (
            owned("DaemonSet", "agent", "agent-a", node="a"),
            {},
            "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore): default/agent-a",
        ),
        (
            _with_empty_dir(owned("ReplicaSet", "web", "web-1", node="a")),
            {},
            "cannot delete Pods with local storage (use --delete-emptydir-data to override): default/web-1",
        ),
        (
            _with_empty_dir(ks.pod("bare", node="a")),
            {"delete_emptydir_data": True},
            "cannot delete Pods that declare no controller (use --force to override): default/bare",
        ),
        (_with_empty_dir(ks.pod("bare", node="a")), {"delete_emptydir_data": True, "force": True}, ""),
        (owned("DaemonSet", "agent", "agent-a", node="a"), {"ignore_daemonsets": True}, ""),
        (_with_empty_dir(owned("Node", "a", "proxy-a", node="a")), {}, ""),
        (_with_empty_dir(owned("Job", "j", "j-x", node="a", status={"phase": "Failed"})), {}, ""),
        (ks.pod("bare", node="a"), {"pod_selector": "app=web"}, ""),
        (_with_empty_dir(owned("ReplicaSet", "web", "web-1", node="b")), {}, ""),
    ],
)
def test_missing_flags(pod: dict[str, Any], flags: dict[str, Any], said: str) -> None:
    """kubectl's filters, in their order and words."""
    if not said:
        ks.drain(_cluster(pod), "a", **flags)
        return
    with pytest.raises(InputError) as error:
        ks.drain(_cluster(pod), "a", **flags)
    assert error.value.problems == (f"node a: {said}",)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"nodes": ["x"]}, "there is no node x in the cluster"),
        ({"nodes": []}, "say which nodes: their names, or a label selector"),
        ({"nodes": [], "selector": "pool=new"}, "no node of the cluster has the labels pool=new"),
        ({"nodes": [], "selector": "pool in"}, "pool in is no label selector"),
        ({"nodes": ["a"], "pod_selector": "=,"}, "=, is no label selector"),
        ({"nodes": ["a"], "batch": 0}, "batch: expected 1 or more, found 0"),
    ],
)
def test_wrong_input(asked: dict[str, Any], said: str) -> None:
    """One clear text."""
    with pytest.raises(InputError, match=said.replace("(", r"\(")):
        ks.drain(_cluster(), *asked.pop("nodes"), **asked)


def test_a_budget_opens_when_pods_run_elsewhere() -> None:
    """With minAvailable 2 of 3 on one node, one leaves after the other; none of the evictions breaks it."""
    pods = [owned("ReplicaSet", "web", f"web-{at}", node="a", cpu=1, labels={"app": "web"}) for at in range(3)]
    result = ks.drain(_cluster(*pods, budget("web", "web", minAvailable=2)), "a")
    assert result.fine
    assert result.counts()["running"] == 3


@pytest.mark.parametrize(
    ("budgets", "opens"),
    [
        ([budget("web", "web", minAvailable=2)], "1 more replica of its pods"),
        ([budget("web", "web", minAvailable="100%")], "minAvailable: 1"),
        ([budget("web", "web", maxUnavailable=0)], "maxUnavailable: 1"),
        ([budget("web", "web")], "maxUnavailable: 1"),
        (
            [budget("web", "web", minAvailable=1), budget("all", "web", minAvailable=0)],
            "select it by one of them alone",
        ),
    ],
)
def test_a_budget_that_never_opens_is_named(budgets: list[dict[str, Any]], opens: str) -> None:
    """With what would open it; its pods stay, others leave; when pods are deleted no budget counts."""
    pods = [owned("ReplicaSet", "web", f"web-{at}", node="ab"[at], cpu=1, labels={"app": "web"}) for at in range(2)]
    cluster = _cluster(*pods, *budgets, owned("ReplicaSet", "api", "api-1", node="a"))
    result = ks.drain(cluster, "a")
    [blocked] = result.blocked
    assert blocked.pod.key == "default/web-0"
    assert blocked.refusal.budgets == tuple(f"default/{each['metadata']['name']}" for each in budgets)
    assert blocked.opens == opens
    assert not result.fine
    assert [moved.pod.key for moved in result.moved] == ["default/api-1"]
    assert ks.drain(cluster, "a", disable_eviction=True).fine


@pytest.mark.parametrize("said", [{"maxUnavailable": 1}, {"minAvailable": "50%"}, {}], ids=str)
def test_a_budget_of_pods_without_controllers_opens_by_a_number(said: dict[str, Any]) -> None:
    """Replicas do not open it: only a whole minAvailable counts such pods, which is what is said and what does."""
    cluster = _cluster(*(ks.pod(f"web-{node}", node=node, labels={"app": "web"}) for node in "ab"))
    for order in (False, True):
        result = ks.drain(cluster.add(budget("web", "web", **said)), "a", force=True, order=order)
        found = result.blocked[0].opens if result.order is None else result.order.obstacles[0].opens
        assert found == "minAvailable: 1"
        assert "even if all its pods are ready" not in str(result)
    assert ks.drain(cluster.add(budget("web", "web", minAvailable=1)), "a", force=True, order=True).fine


def test_what_fits_nowhere_keeps_its_budget_closed() -> None:
    """The pod that has no node is what the budget waits for."""
    pods = [owned("ReplicaSet", "web", f"web-{at}", node="a", cpu=2, labels={"app": "web"}) for at in range(2)]
    full = [owned("ReplicaSet", "api", f"api-{at}", node="bc"[at], cpu=4) for at in range(2)]
    result = ks.drain(_cluster(*pods, *full, budget("web", "web", minAvailable=1)), "a")
    [nowhere], [blocked] = result.nowhere, result.blocked
    assert blocked.why == f"{nowhere.now.key} is not ready"
    evidence = result.evidence(nowhere.pod.key)
    assert evidence.reasons()["b"] == ["Insufficient cpu"]
    assert "add one more node like b" in [hint.text for hint in result.hints[nowhere.now.key]]
    text = str(result)
    assert "<nowhere>" in text
    assert "<blocked>" in text


def test_what_preemption_evicts_is_told() -> None:
    """With what it does to a budget."""
    high = owned("StatefulSet", "high", "high-0", node="a", cpu=4, priority=9)
    low = [owned("ReplicaSet", "low", f"low-{at}", node=at, cpu=3, labels={"app": "low"}) for at in "bc"]
    result = ks.drain(_cluster(high, *low, budget("low", "low", minAvailable=2)), "a")
    by_name = {moved.pod.metadata.name: moved for moved in result.moved}
    assert by_name["high-0"].node in ("b", "c")
    [victim] = result.nowhere
    assert victim.left == ["preempted by default/high-0"]
    assert list(result.below) == ["default/low"]
    assert [str(each) for each in result.violations] == [
        f"default/high-0 preempts {victim.pod.key} against budget default/low"
    ]
    assert result.to_dict()["belowBudget"] == {"default/low": {"healthy": 1, "desired": 2}}
    assert result.counts()["preempted"] == 1


def test_pods_that_waited_are_told_apart() -> None:
    """They are no fault of the drain."""
    result = ks.drain(_cluster(ks.pod("huge", cpu=99), ks.pod("small", cpu=1)), "a")
    assert {pod.metadata.name: node for pod, node in result.waiting} == {"huge": "", "small": "b"}
    assert result.fine


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


def test_a_pod_that_has_to_leave_again_is_followed() -> None:
    """One pod of the start has one entry, however often it moves."""
    cluster = ks.Cluster(release="1.36").node("a").node("b").node("c", unschedulable=True)
    cluster = cluster.add(owned("ReplicaSet", "web", "web-1", node="a"))
    rehearsal = Rehearsal(engine_spec(cluster.release).engine(lambda _: None), cluster.objects)
    for node in ("a", "b"):
        rehearsal.cordon([node])
        if node == "b":
            rehearsal.cordon(["c"], on=False)
        rehearsal.evict(rehearsal.pods_on(node))
        rehearsal.settle()
    [moved] = rehearsal.moved
    assert (moved.pod.key, moved.left, moved.node) == ("default/web-1", ["evicted", "evicted"], "c")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("1.31", 'found "1.31"'),
        ("1.30:1.31:1.32", 'found "1.30:1.31:1.32"'),
        ("", 'found ""'),
        ("1.x:one", 'no version: "1.x", "one"'),
        ("1.31:1.30", "1.30 is not later than 1.31"),
        ("1.31:1.31", "1.31 is not later than 1.31"),
        ("1.31.4:1.31", "1.31 is not later than 1.31.4"),
        ("1.9:1.10", ""),
        ("v1.30.4-gke.1 : v1.30.5+k3s1", ""),
        ("1.30:1.30.4", ""),
    ],
)
def test_versions(text: str, fault: str) -> None:
    """One message with what is wrong."""
    if not fault:
        KubeletUpgrade.parse(text, "it")
        return
    with pytest.raises(ConfigError) as error:
        KubeletUpgrade.parse(text, "it")
    [problem] = error.value.problems
    assert problem.startswith("it: expected two versions of the kubelet")
    assert problem.endswith(fault)


@pytest.mark.parametrize(
    ("text", "running", "release", "said"),
    [
        ("1.33:1.34", "v1.33.1", "1.34", []),
        ("1.31:1.32", "v1.31.0-eks-1", "1.34", []),
        ("1.34.3:1.34.4", "v1.34.3", "1.34", []),
        ("1.34.1:1.34.2", "v1.34.3", "1.34", ["another kubelet than 1.34.1 is run by a (v1.34.3)"]),
        ("1.35:1.36", "soon", "1.36", ["another kubelet than 1.35 is run by a (soon)"]),
        (
            "1.30:1.34",
            "v1.30.9",
            "1.34",
            ["1.30 is 4 minor releases older than the control plane, release 1.34: at most 3"],
        ),
        (
            "1.24:1.25",
            "v1.24.0",
            "1.27",
            ["1.24 is 3 minor releases older than the control plane, release 1.27: at most 2"],
        ),
        ("1.34:1.35", "v1.34.0", "1.34~a change", ["1.35 is newer than the control plane, release 1.34"]),
    ],
)
def test_notes(text: str, running: str, release: str, said: list[str]) -> None:
    """What runs another kubelet than was said, and what is not supported beside the control plane."""
    node = ks.node("a")
    node["status"]["nodeInfo"] = {"kubeletVersion": running}
    notes = list(KubeletUpgrade.parse(text, "it").notes(ks.Cluster().add(node).nodes, release))
    assert len(notes) == len(said)
    assert all(part in note for part, note in zip(said, notes, strict=True))


def test_nodes_that_do_not_say() -> None:
    """Which kubelet they run is not made up."""
    nodes = ks.Cluster().node("a").node("b").nodes
    notes = list(KubeletUpgrade.parse("1.35:1.36", "it").notes(nodes, "1.36"))
    assert notes == ["which kubelet they run is not said by a, b"]
