"""Which nodes can go: the Cluster Autoscaler's reasons, and a plan that holds when it is played by ``drain``."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kubescheduler as ks

SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
LOCAL = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"


def pod(name: str, node: str, cpu: Any = 1, kind: str = "ReplicaSet", **fields: Any) -> dict[str, Any]:
    """A running pod of a controller; of none for an empty kind."""
    made = ks.pod(name, node=node, cpu=cpu, labels={"app": "web"}, **fields)
    if kind:
        owner = {"apiVersion": "apps/v1", "kind": kind, "name": "web", "uid": "1", "controller": True}
        made["metadata"]["ownerReferences"] = [owner]
    return made


def world(*pods: dict[str, Any], **node: Any) -> ks.Cluster:
    """Node a, which is asked about, and two that are used too much, of which one has room."""
    cluster = ks.Cluster(release="1.36").node("a", cpu=4, **node).node("b", cpu=4).node("c", cpu=8)
    return cluster.add(pod("full", "b", 4), pod("more", "c", 5), *pods)


def made_at(time: str, made: dict[str, Any]) -> dict[str, Any]:
    """A pod with the time at which it was made."""
    made["metadata"]["creationTimestamp"] = time
    return made


def volume(**source: Any) -> dict[str, Any]:
    """A pod's spec with a volume."""
    return {"volumes": [{"name": "data", **source}]}


BUDGET = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web", "namespace": "default"}}
TIGHT = {**BUDGET, "spec": {"minAvailable": 3, "selector": {"matchLabels": {"app": "web"}}}}
LOOSE = {**BUDGET, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}}

CASES: dict[str, tuple[ks.Cluster, str, str]] = {
    "empty": (world(), "", ""),
    "moves": (world(pod("x", "a")), "", ""),
    "daemon-set": (world(pod("x", "a", kind="DaemonSet")), "", ""),
    "mirror": (world(pod("x", "a", kind="", annotations={"kubernetes.io/config.mirror": "1"})), "", ""),
    "half": (world(pod("x", "a", 2)), "", ""),
    "used": (world(pod("x", "a", "2001m")), "NotUnderutilized", "50% is asked for, more than 50%"),
    "gpu": (
        world(pod("x", "a", resources={"amd.com/gpu": 2}), resources={"amd.com/gpu": 3}),
        *("NotUnderutilized", "67%"),
    ),
    "gpu-idle": (world(pod("x", "a", 2), resources={"nvidia.com/gpu": 2}), "", ""),
    "disabled": (
        world(annotations={"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}),
        *("ScaleDownDisabledAnnotation", "it has the annotation"),
    ),
    "naked": (world(pod("x", "a", kind="")), "NotReplicated", "default/x is not replicated"),
    "naked-safe": (world(pod("x", "a", kind="", annotations={SAFE: "true"})), "", ""),
    "custom": (world(pod("x", "a", kind="Foo")), "NotReplicated", "default/x is not replicated"),
    "system": (world(pod("x", "a", namespace="kube-system")), "UnmovableKubeSystemPod", "kube-system pod present: x"),
    "system-old": (world(made_at("2020-01-31T12:00:00Z", pod("x", "a", namespace="kube-system"))), "", ""),
    "system-new": (
        world(made_at("2920-01-31T12:00:00Z", pod("x", "a", namespace="kube-system"))),
        *("UnmovableKubeSystemPod", "kube-system pod present: x"),
    ),
    "on-completion": (world(pod("x", "a", kind="", annotations={SAFE: "on-completion"})), "", ""),
    "not-safe": (world(pod("x", "a", annotations={SAFE: "false"})), "NotSafeToEvictAnnotation", "not safe to evict"),
    "empty-dir": (world(pod("x", "a", spec=volume(emptyDir={}))), "LocalStorageRequested", "local storage present: x"),
    "host-path": (world(pod("x", "a", spec=volume(hostPath={"path": "/x"}))), "LocalStorageRequested", "local storage"),
    "in-memory": (world(pod("x", "a", spec=volume(emptyDir={"medium": "Memory"}))), "", ""),
    "safe-volume": (world(pod("x", "a", annotations={LOCAL: "data"}, spec=volume(emptyDir={}))), "", ""),
    "budget": (world(pod("x", "a")).add(TIGHT), "NotEnoughPdb", "not enough pod disruption budget to move default/x"),
    "budget-open": (world(pod("x", "a")).add(LOOSE), "", ""),
    "no-place": (
        world(pod("x", "a", 1, spec={"nodeSelector": {"kubernetes.io/hostname": "a"}})),
        *("NoPlaceToMovePods", "didn't match Pod's node affinity/selector"),
    ),
    "waits": (world().pod("wants", cpu=3), "NotUnderutilized", "75%"),
}
"""The cases of simulator/drainability/rules/*/rule_test.go, simulator/utilization/info_test.go and core/scaledown/
eligibility/eligibility_test.go of 1.36.1, as far as they hold by the defaults of the flags; what the scheduler adds."""


@pytest.mark.parametrize(("cluster", "reason", "text"), CASES.values(), ids=CASES)
def test_reasons(cluster: ks.Cluster, reason: str, text: str) -> None:
    """A node goes, or stays by upstream's reason; those that are used too much stay in any case."""
    found = ks.removable_nodes(cluster)
    kept = {each.node: each for each in found.kept}
    assert (kept["b"].reason, kept["c"].reason) == ("NotUnderutilized", "NotUnderutilized")
    assert [each.node for each in found.freed] == ([] if reason else ["a"])
    if reason:
        assert kept["a"].reason == reason
        assert text in kept["a"].text


def test_threshold() -> None:
    """With another threshold fuller nodes go as well, as long as there is room."""
    found = ks.removable_nodes(world(pod("x", "a", 3)), threshold=0.9)
    assert ([each.node for each in found.freed], found.moves[0].to_node) == (["a"], "c")


def test_what_waits_and_preempts_keeps_no_node() -> None:
    """What it evicts as things are is said, and laid at no node's door."""
    waits = pod("waits", "", 5, priority=9)
    waits["spec"].pop("nodeName", None)
    found = ks.removable_nodes(world(waits))
    assert [each.node for each in found.freed] == ["a"]
    assert found.notes[0].endswith("as things are, which is not counted: of default/more")


def test_a_pod_without_a_place_is_the_reason_and_not_the_budget_that_it_closes() -> None:
    """One pod fits nowhere, so that the budget refuses the next one."""
    found = ks.removable_nodes(world(pod("x", "a", "3500m"), pod("y", "a", "500m"), TIGHT), threshold=1)
    [kept] = [each for each in found.kept if each.node == "a"]
    assert (kept.reason, kept.pod) == ("NoPlaceToMovePods", "default/x")
    assert kept.text.startswith("0/3 nodes are available")


def test_words() -> None:
    """A node from which nothing moves, and a cluster without nodes."""
    assert ks.removable_nodes(world()).sentences() == ["1 of 3 nodes can go: a. No pod moves."]
    assert ks.removable_nodes(ks.Cluster(release="1.36")).sentences() == ["The cluster has no nodes."]


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(1, 3)), max_size=8), st.booleans())
@settings(max_examples=15)
def test_the_plan_holds(pods: list[tuple[str, int]], budget: bool) -> None:
    """The nodes that go, drained as kubectl does it, leave no pod without a node and break no budget."""
    cluster = ks.Cluster(release="1.36")
    for name in "abcd":
        cluster = cluster.node(name, cpu=6)
    cluster = (
        cluster.add(*(pod(f"web-{at}", node, cpu) for at, (node, cpu) in enumerate(pods) if pods)) if pods else cluster
    )
    cluster = cluster.add(LOOSE) if budget else cluster
    found = ks.removable_nodes(cluster)
    if found.freed:
        names = [each.node for each in found.freed]
        result = ks.drain(cluster, *names, ignore_daemonsets=True, force=True, delete_emptydir_data=True)
        assert result.fine
        assert {move.pod: move.to_node for move in found.moves} == {each.pod.key: each.node for each in result.moved}


def test_waiting_pods_of_another_scheduler_are_left_out() -> None:
    """Nobody has tried them, so they are not said to fit nowhere."""
    theirs = ks.pod("theirs", cpu=1, spec={"schedulerName": "volcano"})
    notes = ks.removable_nodes(world(theirs)).notes
    assert [note.split(",")[0] for note in notes if "left out" in note] == ["left out: default/theirs"]
    assert not any("nowhere" in note for note in notes)
