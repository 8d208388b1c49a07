"""DefaultPreemption of 1.20 and 1.36: which node hurts least, what extenders make of it, and the texts."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.objects import Pod
from kubescheduler import Cluster, Scheduler
from kubescheduler.core.decision import Decision
from tests.support.deciders import Answered, FakeExtender, refusing
from tests.support.preemption_worlds import (
    PREEMPTING,
    WEB,
    budget,
    chosen,
    cpu_of,
    node_named,
    pod_at,
    preempted,
    told,
    victims,
    wants,
)

BOTH = pytest.mark.parametrize("release", ["1.20", "1.36"])

# --- which node ----------------------------------------------------------------------------------


@pytest.mark.parametrize("release", PREEMPTING)
@pytest.mark.parametrize(
    ("first", "second", "best"),
    [
        ([pod_at("a", label=WEB)], [pod_at("b", "n1", priority=9)], ["n1"]),
        ([pod_at("a", priority=5)], [pod_at("b", "n1", priority=4)], ["n1"]),
        (
            [pod_at("a", priority=5), pod_at("a2", priority=2)],
            [pod_at("b", "n1", priority=5), pod_at("b2", "n1", priority=1)],
            ["n1"],
        ),
        (
            [pod_at("a", priority=5), pod_at("a2", priority=-2147483648)],
            [pod_at("b", "n1", priority=5, cpu=2000)],
            ["n1"],
        ),
        ([pod_at("a", start=5)], [pod_at("b", "n1", start=9)], ["n1"]),
        (
            [pod_at("a", priority=2, start=5), pod_at("a2", priority=1, start=1)],
            [pod_at("b", "n1", priority=2, start=4), pod_at("b2", "n1", priority=1, start=9)],
            ["n0"],
        ),
        ([pod_at("a", start=5)], [pod_at("b", "n1", start=5)], ["n0", "n1"]),
    ],
    ids=["violations", "first victim", "sum", "count", "start", "start of the highest", "equal"],
)
def test_where_it_hurts_least(release: str, first: list[Pod], second: list[Pod], best: list[str]) -> None:
    """One criterion after the other, until one node is left."""
    nodes = [node_named(name, sum(map(cpu_of, pods))) for name, pods in (("n0", first), ("n1", second))]
    most = max(sum(map(cpu_of, pods)) for pods in (first, second))
    decision = preempted(release, [*nodes, *first, *second, budget(0)], wants(most))
    assert chosen(decision) == best


@pytest.mark.parametrize(("release", "first", "best"), [("1.20", "web", "n0"), ("1.36", "top", "n1")])
def test_the_first_victim_is_not_always_the_most_important(release: str, first: str, best: str) -> None:
    """1.20 compares the first of its list, where violating pods come first; 1.36 the most important one."""
    cluster = [
        *(node_named(name, 2000) for name in ("n0", "n1")),
        *(pod_at("web", priority=1, label=WEB), pod_at("top", priority=9)),
        *(pod_at("web2", "n1", priority=2, label=WEB), pod_at("mid", "n1", priority=5)),
        budget(0),
    ]
    decision = preempted(release, cluster, wants(2000))
    assert victims(decision)["n0"][0] == first
    assert chosen(decision) == [best]


def silent(release: str, *names: str, **fields: Any) -> Decision:
    """Nodes where the pod fits but for an extender."""
    extender = FakeExtender(filtered=Answered((), dict.fromkeys(names, "no")))
    cluster = [*(node_named(name) for name in names), *(pod_at(f"low-{name}", name) for name in names)]
    return preempted(release, cluster, wants(), extenders=[extender], **fields)


def test_nodes_that_need_no_victims_in_1_20() -> None:
    """A single one is chosen and nobody leaves; among several the process ends."""
    decision = silent("1.20", "n0")
    assert (victims(decision), chosen(decision)) == ({"n0": []}, ["n0"])
    crash = "panic: runtime error: index out of range [0] with length 0 (a node needs no victims)"
    assert silent("1.20", "n0", "n1").error == crash
    assert silent("1.20", "n0", "n1", thorough=True).error == crash


def test_nodes_that_need_no_victims_in_1_16() -> None:
    """They are candidates even without a lower pod, and so is what an extender answers that nobody knows."""
    extender = FakeExtender(filtered=Answered((), {"n0": "no"}))
    for release, found in (("1.16", ["n0"]), ("1.20", [])):
        assert [*victims(preempted(release, [node_named("n0")], wants(), extenders=[extender]))] == found
    decision = preempted("1.16", TWO, wants(), extenders=[FakeExtender(kept={"ghost": ((), 0)})])
    assert (victims(decision), chosen(decision)) == ({"ghost": []}, ["ghost"])


def test_a_node_that_needs_no_victims_in_1_20_beside_one_that_violates_a_budget() -> None:
    """The fewest violations are looked at first, and leave one node."""
    extender = FakeExtender(filtered=Answered((), {"n0": "no"}))
    cluster = [node_named("n0"), pod_at("a"), node_named("n1"), pod_at("b", "n1", cpu=3000, label=WEB), budget(0)]
    decision = preempted("1.20", cluster, wants(), extenders=[extender])
    assert victims(decision) == {"n0": [], "n1": ["b"]}
    assert chosen(decision) == ["n0"]


def test_nodes_that_need_no_victims_in_1_36() -> None:
    """They are errors; with other candidates those are taken."""
    text = 'preemption: expected at least one victim pod on node "n0"'
    assert silent("1.36", "n0").message == f"0/1 nodes are available: 1 no. {text}"
    assert silent("1.36", "n0", thorough=True).error == text
    both = f'preemption: [{text.removeprefix("preemption: ")}, expected at least one victim pod on node "n1"]'
    assert silent("1.36", "n0", "n1", thorough=True).error == both
    extender = FakeExtender(filtered=Answered((), {"n0": "no"}))
    cluster = [node_named("n0"), pod_at("a"), node_named("n1"), pod_at("b", "n1", cpu=3000)]
    decision = preempted("1.36", cluster, wants(), extenders=[extender])
    assert victims(decision) == {"n1": ["b"]}


# --- extenders -----------------------------------------------------------------------------------

TWO = [node_named("n0"), node_named("n1"), pod_at("a", cpu=3000), pod_at("b", "n1", cpu=3000, priority=1)]


@pytest.mark.parametrize("release", PREEMPTING)
def test_extenders_have_their_say(release: str) -> None:
    """They keep some candidates, with their own victims and counts."""
    extender = FakeExtender(kept={"n1": (("default/b",), 2)})
    decision = preempted(release, TWO, wants(), extenders=[extender])
    assert (victims(decision), chosen(decision)) == ({"n1": ["b"]}, ["n1"])
    assert decision.preemption.candidates["n1"].violations == 2


@BOTH
def test_extenders_that_keep_nobody(release: str) -> None:
    """There is no candidate, and in 1.36 nothing is said of the nomination."""
    decision = preempted(release, TWO, wants(nominated="n9"), extenders=[FakeExtender(kept={})])
    assert (victims(decision), decision.nominated) == ({}, None)
    text = "preemption: no candidate node for preemption"
    assert decision.message == told(release, 2, "2 Insufficient cpu", text)


@BOTH
@pytest.mark.parametrize(
    ("kept", "text"),
    [
        ("down", "down"),
        ({"ghost": ((), 0)}, 'nodeinfo not found for node name "ghost"'),
        (
            {"n0": (("u",), 0)},
            "extender: http://x claims to preempt pod (UID: &{u}) on node: n0, but the pod is not found on that node",
        ),
    ],
    ids=["fails", "an unknown node", "an unknown pod"],
)
@pytest.mark.parametrize("ignorable", [True, False])
def test_extenders_that_fail(release: str, kept: Any, text: str, ignorable: bool) -> None:
    """One that can be ignored changes nothing, another ends it."""
    decision = preempted(release, TWO, wants(), extenders=[FakeExtender(kept=kept, ignorable=ignorable)], thorough=True)
    if ignorable:
        assert decision.error is None
        assert victims(decision) == {"n0": ["a"], "n1": ["b"]}
    else:
        assert decision.error == text


@pytest.mark.parametrize("ignorable", [True, False])
def test_extenders_that_keep_nodes_without_victims(ignorable: bool) -> None:
    """1.36 drops them when the extender can be ignored, and takes it for an error otherwise."""
    kept = {"n0": ((), 0), "n1": (("default/b",), 0)}
    extender = FakeExtender(kept=kept, ignorable=ignorable)
    decision = preempted("1.36", TWO, wants(), extenders=[extender], thorough=True)
    if ignorable:
        assert victims(decision) == {"n1": ["b"]}
    else:
        assert decision.error == 'expected at least one victim pod on node "n0"'
    assert victims(preempted("1.20", TWO, wants(), extenders=[FakeExtender(kept={"n0": ((), 0)})])) == {"n0": []}


@pytest.mark.parametrize("release", PREEMPTING)
def test_extenders_are_asked_one_after_the_other(release: str) -> None:
    """Until no candidate is left; those without the verb or without interest are not."""
    extenders = [
        FakeExtender(kept={"n1": (("default/b",), 0)}),
        FakeExtender(),
        FakeExtender(kept={"n0": (("default/a",), 0)}, interested=False),
        FakeExtender(preempts=True),
    ]
    assert victims(preempted(release, TWO, wants(), extenders=extenders)) == {"n1": ["b"]}


# --- texts ---------------------------------------------------------------------------------------


def test_why_there_is_no_candidate() -> None:
    """1.36 tells of every node what stands in the way; 1.20 nothing."""
    cluster = [
        *(node_named(f"n{at}", 1000) for at in range(4)),
        pod_at("top", "n0", priority=99),
        pod_at("low", "n1", priority=1, cpu=500),
        pod_at("high", "n1", priority=99, cpu=500),
        pod_at("low2", "n3", cpu=1000),
    ]
    decision = preempted("1.36", cluster, wants(1000), refusing("F", n2="hopeless", n3="hopeless"))
    assert decision.message == (
        "0/4 nodes are available: 2 Insufficient cpu, 2 hopeless. preemption: 0/4 nodes are available: "
        "1 Insufficient cpu, 1 No preemption victims found for incoming pod, "
        "2 Preemption is not helpful for scheduling."
    )
    assert decision.nominated == ""
    decision = preempted("1.20", cluster, wants(1000), refusing("F", n2="hopeless", n3="hopeless"))
    assert decision.message == "0/4 nodes are available: 2 Insufficient cpu, 2 hopeless."


def test_1_20_takes_back_a_nomination_that_no_node_can_keep() -> None:
    """When preemption can help nowhere."""
    for nominated, cleared in (("n9", ["in"]), ("", [])):
        decision = preempted("1.20", [node_named("n0")], wants(nominated=nominated), refusing("F", n0="hopeless"))
        assert [p.metadata.name for p in decision.preemption.cleared] == cleared


# --- checks that err -----------------------------------------------------------------------------


def claimed(name: str) -> list[dict[str, Any]]:
    """A bound claim, which no pod owns, and its volume."""
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "sc"}
    named = {"name": name, "uid": name, "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    csi, ref = {"driver": "d", "volumeHandle": name}, {"namespace": "default", "name": name, "uid": name}
    volume = {**spec, "capacity": {"storage": "1Gi"}, "csi": csi, "claimRef": ref}
    wanted = {**spec, "volumeName": f"pv-{name}", "resources": {"requests": {"storage": "1Gi"}}}
    status = {"phase": "Bound"}
    return [
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": named, "spec": wanted, "status": status},
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"pv-{name}"}, "spec": volume},
    ]


def with_volume(name: str, priority: int, volume: dict[str, Any] | None, node: str | None = None) -> dict[str, Any]:
    """A pod of one CPU."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    volumes = [{"name": "v", **volume}] if volume else []
    spec = {"priority": priority, "nodeName": node, "containers": [container], "volumes": volumes}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "uid": name}, "spec": spec}


def test_a_filter_that_errs_without_the_victims() -> None:
    """No node is a candidate, and the release says which plugin failed."""
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    drivers = [{"name": "d", "nodeID": "n", "allocatable": {"count": 5}}]
    amounts = {"cpu": "2", "memory": "1Gi", "pods": "9"}
    storage = "storage.k8s.io/v1"
    cluster = Cluster(
        [
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": amounts}},
            {"apiVersion": storage, "kind": "CSINode", "metadata": {"name": "n"}, "spec": {"drivers": drivers}},
            {"apiVersion": storage, "kind": "StorageClass", "metadata": {"name": "sc"}, "provisioner": "d"},
            *claimed("kept-v"),
            *claimed("mine"),
            with_volume("kept", 5, {"ephemeral": {"volumeClaimTemplate": template}}, "n"),
            with_volume("low", -1, None, "n"),
        ],
        release="1.28",
    )
    pod = with_volume("new", 0, {"persistentVolumeClaim": {"claimName": "mine"}})
    assert Scheduler(cluster).decide(pod, preempt=True).message == (
        '0/1 nodes are available: 1 Insufficient cpu. preemption: running "NodeVolumeLimits" filter plugin: '
        "PVC default/kept-v was not created for pod default/kept (pod is not owner)"
    )
