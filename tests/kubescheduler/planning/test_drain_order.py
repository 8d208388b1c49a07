"""Orders in which nodes can be drained."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from typing import Any

import pytest
from msgspec.structs import replace

import kubescheduler as ks
from clusterstate.objects import Node
from kubescheduler.api.disruptions import flags_for
from kubescheduler.api.engine_choice import engine_spec
from kubescheduler.planning import drain_order
from kubescheduler.planning.drain import KubeletUpgrade, chosen, drained, kubelet_of
from kubescheduler.planning.rehearsal import Rehearsal
from tests.support.evictions import beside, budget, drained_cluster, owned


def _holds(cluster: ks.Cluster, nodes: list[str], batches: list[tuple[str, ...]], *, come_back: bool = False) -> bool:
    """Whether every budget holds and every pod runs again after every step; each step is played by itself.

    come_back: the nodes of a step are cordoned for it alone.
    """
    engine = engine_spec(cluster.release).engine(lambda _: None)
    objects = cluster.objects
    flags = flags_for(cluster, nodes, None, force=True, ignore_daemonsets=True)
    for batch in batches:
        rehearsal = Rehearsal(engine, objects)
        rehearsal.cordon(batch if come_back else nodes)
        rehearsal.settle()
        before = rehearsal.budgets.below()
        blocked = drained(rehearsal, chosen(rehearsal, batch, flags), flags)
        if blocked or rehearsal.nowhere() or rehearsal.violations or rehearsal.budgets.below().keys() - before.keys():
            return False
        assert not [pod for node in batch for pod in rehearsal.pods_on(node)]
        objects = rehearsal.objects()
        if come_back:
            objects = [replace(obj, unschedulable=False) if isinstance(obj, Node) else obj for obj in objects]
    return True


def test_an_order_holds_and_none_is_missed() -> None:
    """What is proposed holds step by step; where it is said that there is none, no order of all does."""
    found = Counter[bool]()
    for seed in range(24):
        cluster, nodes = drained_cluster(seed)
        order = ks.drain(cluster, nodes, order=True, force=True, ignore_daemonsets=True).order
        found[order.complete] += 1
        if order.complete:
            assert sorted(node for batch in order.batches for node in batch) == sorted(nodes)
            assert _holds(cluster, nodes, list(order.batches)), seed
        else:
            assert order.proven
            assert order.obstacles
            assert not any(_holds(cluster, nodes, [(node,) for node in each]) for each in permutations(nodes)), seed
    assert min(found[True], found[False]) > 4


def test_upgrades_hold_and_none_is_missed() -> None:
    """The same of nodes that come back, with a node that comes first or without."""
    shape = {"name": "more", "cpu": 4, "memory": "8Gi"}
    found = Counter[tuple[bool, bool]]()
    for seed in range(24):
        cluster, nodes = drained_cluster(seed)
        nodes, more = nodes[:3], seed % 2
        how: dict[str, Any] = {"order": True, "force": True, "kubernetes_upgrade": "1.35:1.36", "surge": more}
        result = ks.drain(cluster, nodes, shape=shape if more else None, **how)
        order = result.order
        found[bool(more), order.complete] += 1
        with_more = cluster.node("more-1", cpu=4, memory="8Gi") if more else cluster
        if order.complete:
            assert sorted(node for batch in order.batches for node in batch) == sorted(nodes)
            assert _holds(with_more, nodes, list(order.batches), come_back=True), seed
            continue
        assert order.proven
        assert order.obstacles
        for each in permutations(nodes):
            assert not _holds(with_more, nodes, [(node,) for node in each], come_back=True), seed
    assert found[True, True] > found[False, True] > 2
    assert found[False, False] > 2


def _full_nodes() -> ks.Cluster:
    """Two nodes, each full of one pod, and an agent on one of them that a DaemonSet has everywhere."""
    pods = [owned("ReplicaSet", "web", f"web-{at}", node="ab"[at], cpu=4) for at in range(2)]
    agent = owned("DaemonSet", "agent", "agent-a", node="a", cpu="500m", spec={"tolerations": [{"operator": "Exists"}]})
    info = {"kubeletVersion": "v1.35.2"}
    nodes = [ks.node(name, cpu=5) for name in "ab"]
    return ks.Cluster(release="1.36").add(
        [*({**each, "status": {**each["status"], "nodeInfo": info}} for each in nodes), *pods, agent]
    )


@pytest.mark.parametrize(
    ("cpu", "asked", "batches", "can_go"),
    [
        pytest.param(5, {}, (("a",),), None, id="one node takes the pod of one"),
        pytest.param(5, {"kubernetes_upgrade": "1.35:1.36"}, (("a",), ("b",)), True, id="and again of the next"),
        pytest.param(4, {"kubernetes_upgrade": "1.35:1.36"}, (), None, id="no room beside a DaemonSet's pod"),
        pytest.param(5, {"surge": 2}, (("a",), ("b",)), False, id="they stay in the place of those"),
        pytest.param(9, {"batch": 2, "kubernetes_upgrade": "1.35:1.36"}, (("a", "b"),), True, id="both at once"),
    ],
)
def test_nodes_that_come_first(cpu: int, asked: dict[str, Any], batches: Any, can_go: bool | None) -> None:
    """With what DaemonSets have on them; at the end it is said whether they can go again."""
    shape = {"name": "new", "cpu": cpu, "memory": "8Gi"}
    how = {"order": True, "ignore_daemonsets": True, "surge": 1, **asked}
    result = ks.drain(_full_nodes(), "a", "b", shape=shape, **how)
    assert result.order.batches == batches
    assert result.to_dict()["surge"]["canGo"] is can_go
    assert [name.partition("-")[0] for name in result.surge.nodes] == ["new"] * how["surge"]
    said = {
        None: "new-1",
        True: "new-1; at the end it can go again",
        False: "not all of them can go again: default/web",
    }
    assert said[can_go] in result.surge.sentence()


@pytest.mark.parametrize("release", ["1.16", "1.36"])
@pytest.mark.parametrize(("agent", "complete"), [("1", True), ("2", False)])
def test_daemon_sets_without_a_pod_have_one_on_nodes_that_come_first(agent: str, complete: bool, release: str) -> None:
    """Their manifest is among the cluster's; what is left of the node is for the pods that leave."""
    spec = {"containers": [{"name": "c", "image": "c", "resources": {"requests": {"cpu": agent}}}]}
    daemon_set = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "new-agent"},
        "spec": {
            "selector": {"matchLabels": {"app": "x"}},
            "template": {"metadata": {"labels": {"app": "x"}}, "spec": spec},
        },
    }
    web = ks.pod("web-x2bcd", node="a", cpu=2)
    web["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "1", "controller": True}
    ]
    cluster = ks.Cluster(release=release).node("a", cpu=2).add(web, daemon_set)
    shape = {"name": "new", "cpu": 3, "memory": "8Gi"}
    for upgrade in (None, "1.35:1.36"):
        result = ks.drain(cluster, "a", order=True, surge=1, shape=shape, kubernetes_upgrade=upgrade)
        assert result.order.complete is complete


def test_nodes_come_back() -> None:
    """Under their names, uncordoned and with the new kubelet; pods of later steps go there."""
    rehearsal = Rehearsal(engine_spec("1.36").engine(lambda _: None), _full_nodes().node("c", cpu=4).objects)
    flags = flags_for(_full_nodes(), None, None, ignore_daemonsets=True)
    upgrade = KubeletUpgrade.parse("1.35:1.36.1", "it")
    for name in "ab":
        assert not drain_order.play_step(rehearsal, [name], flags, upgrade)
    nodes = [node for name in "ab" if (node := rehearsal.node(name)) is not None]
    assert [(kubelet_of(node), node.unschedulable) for node in nodes] == [("v1.36.1", False)] * 2
    assert [[pod.metadata.name[:3] for pod in rehearsal.pods_on(name)] for name in "abc"] == [
        ["age", "web"],
        [],
        ["web"],
    ]


def test_another_order_than_that_of_the_names() -> None:
    """A pod that has to be beside another goes after it."""
    hosts = [ks.node(name, cpu=4, labels={"kubernetes.io/hostname": name}) for name in "abcd"]
    leads = owned("ReplicaSet", "lead", "lead-1", node="b", cpu=1, labels={"app": "lead"})
    follows = owned("ReplicaSet", "follow", "follow-1", node="a", cpu=1, spec=beside("lead"))
    order = ks.drain(ks.Cluster(release="1.36").add([*hosts, leads, follows]), "a", "b", order=True).order
    assert order.batches == (("b",), ("a",))


def test_an_order_is_played_from_its_beginning() -> None:
    """Where draws among equal nodes were others in the search, the answer ends before the step that does not hold."""
    policy = {"kind": "Policy", "apiVersion": "v1", "priorities": [{"name": "EqualPriority", "weight": 1}]}
    spec = beside("web")
    spec["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]["topologyKey"] = "rack"
    pods = [owned("ReplicaSet", "web", f"web-{at}", node="a", cpu=1, labels={"app": "web"}) for at in range(2)]
    hosts = [ks.node(name, cpu=4, labels={"rack": "old" if name in "ab" else "new"}) for name in "abcd"]
    cluster = ks.Cluster().add([*hosts, *pods, owned("ReplicaSet", "big", "big-1", node="b", cpu=4, spec=spec)])
    found = Counter[str]()
    for seed in range(5):
        result = ks.drain(cluster, "b", "a", order=True, tie_break="random", seed=seed, policy=policy)
        order = result.order
        assert not order.proven
        assert not result.nowhere
        if order.complete:
            found["holds"] += 1
            continue
        assert (order.batches, order.left) == ((("a",),), ("b",))
        found[order.obstacles[0].text.partition(": ")[0]] += 1
    again = "step 2 (b) does not hold when the order is played from its beginning"
    assert found == {again: 3, "holds": 1, "it fits nowhere then": 1}


def test_what_is_lost_is_said() -> None:
    """Pods that nobody makes anew, those that preemption evicts too: not every pod runs again."""
    high = owned("ReplicaSet", "high", "high-1", node="a", cpu=4, priority=9)
    cluster = ks.Cluster(release="1.36").node("a", cpu=5).node("b", cpu=4)
    cluster = cluster.add([high, ks.pod("low", node="b", cpu=3), ks.pod("bare", node="a", cpu="100m")])
    result = ks.drain(cluster, "a", order=True, force=True)
    assert result.to_dict()["lost"] == ["default/bare", "default/low"]
    said = "every pod that is made anew runs again: 1 step. Lost, as no controller makes them anew: "
    assert f"{said}default/bare, default/low. 1 node drained" in result.summary()


def test_batches() -> None:
    """As many nodes at once as may be, where that holds."""
    pods = [owned("ReplicaSet", "web", f"web-{at}", node="abcd"[at], cpu=1, labels={"app": "web"}) for at in range(4)]
    cluster = ks.Cluster(release="1.36").add([*(ks.node(name, cpu=4) for name in "abcdef"), *pods])
    for budgets in ([], [budget("web", "web", maxUnavailable=1)]):
        there = cluster.add(budgets) if budgets else cluster
        for batch, steps in ((1, 4), (2, 2), (3, 2), (4, 1)):
            order = ks.drain(there, *"abcd", order=True, batch=batch).order
            assert len(order.batches) == steps
            assert max(map(len, order.batches)) <= batch
            assert _holds(there, list("abcd"), list(order.batches))


@pytest.mark.parametrize(
    ("things", "text", "opens"),
    [
        (
            [budget("web", "web", maxUnavailable=0)],
            "budget default/web needs 1 healthy pods and has 1 currently; "
            "it allows no disruption even if all its pods are ready",
            "maxUnavailable: 1",
        ),
        (
            [budget("web", "web", minAvailable=1), budget("b", "web", minAvailable=1)],
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.; "
            "selected by default/web and default/b",
            "select it by one of them alone",
        ),
        (
            [owned("ReplicaSet", "full", "full-1", node="b", cpu=3)],
            "it fits on no node that stays: 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable.",
            "ask for 1 cpu instead of 2 or add one more node like b",
        ),
    ],
)
def test_what_makes_every_order_impossible(things: list[dict[str, Any]], text: str, opens: str) -> None:
    """It is named, with the smallest change that opens the way, before anything is tried."""
    web = owned("ReplicaSet", "web", "web-1", node="a", cpu=2, labels={"app": "web"})
    cluster = ks.Cluster(release="1.36").node("a", cpu=4).node("b", cpu=4).add([web, *things])
    result = ks.drain(cluster, "a", order=True)
    order = result.order
    assert order.proven
    assert order.steps == 0
    assert not result.fine
    [obstacle] = order.obstacles
    assert obstacle.text.startswith(text)
    rows = [row for row in ks.drain(cluster, "a").rows() if row[2] == "<blocked>"]
    assert all(row[3] == f"{text}; would open: {opens}" for row in rows), "drain itself says it in the same words"
    assert obstacle.opens == opens
    assert "There is no order" in str(result)


def test_one_more_node_is_said_of_all_pods_alike() -> None:
    """Nodes like the one that goes, where all go; as many as its pods need, and these open the way."""
    pods = [owned("ReplicaSet", "web", f"web-{at}", node="ab"[at], cpu=3) for at in range(2)]
    cluster = ks.Cluster(release="1.36").node("a", cpu=4).node("b", cpu=4).add(pods)
    order = ks.drain(cluster, "a", "b", order=True).order
    assert [each.opens for each in order.obstacles] == ["add one more node like a (2 for all pods alike)"]
    assert not ks.drain(cluster.node("c", cpu=4), "a", "b", order=True).fine
    assert ks.drain(cluster.node("c", cpu=4).node("d", cpu=4), "a", "b", order=True).fine


VOLUME = {"accessModes": ["ReadWriteOnce"], "storageClassName": "ssd"}
ZONE = "topology.kubernetes.io/zone"


def _with_volume(volume: dict[str, Any], owner: list[dict[str, Any]]) -> ks.Cluster:
    """Zones a and b, and in a a pod whose claim is bound to a volume of that zone; a lower pod in b."""
    of_zone = {"nodeSelectorTerms": [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}]}
    spec = {**VOLUME, "capacity": {"storage": "1Gi"}, "nodeAffinity": {"required": of_zone}}
    metadata: dict[str, Any] = {"name": "web-0-data", "ownerReferences": owner}
    metadata["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    claim = {**VOLUME, "volumeName": "pv", "resources": {"requests": {"storage": "1Gi"}}}
    pod = owned("StatefulSet", "web", "web-0", node="a", cpu=1, priority=5, spec={"volumes": [volume]})
    pod["metadata"]["uid"] = "of web-0"
    items: list[dict[str, Any]] = [
        {"kind": "PersistentVolume", "metadata": {"name": "pv", "labels": {ZONE: "a"}}, "spec": spec},
        {"kind": "PersistentVolumeClaim", "metadata": metadata, "spec": claim, "status": {"phase": "Bound"}},
    ]
    named = {"kind": "StorageClass", "apiVersion": "storage.k8s.io/v1", "metadata": {"name": "ssd"}}
    items.append({**named, "provisioner": "csi.x", "volumeBindingMode": "WaitForFirstConsumer"})
    nodes = [ks.node(name, cpu=4, labels={ZONE: name}) for name in "ab"]
    low = owned("ReplicaSet", "low", "low-1", node="b", cpu=1)
    return ks.Cluster(release="1.36").add([*nodes, *({"apiVersion": "v1", **each} for each in items), pod, low])


def test_volumes_that_stay_and_volumes_that_are_made_anew() -> None:
    """A claim that is bound in another zone is in the way whatever comes; one that goes with its pod is not."""
    bound = _with_volume({"name": "d", "persistentVolumeClaim": {"claimName": "web-0-data"}}, [])
    order = ks.drain(bound, "a", order=True).order
    assert (order.proven, order.steps) == (True, 0)
    assert "didn't match PersistentVolume's node affinity" in order.obstacles[0].text
    template = {"spec": {**VOLUME, "resources": {"requests": {"storage": "1Gi"}}}}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "web-0", "uid": "of web-0", "controller": True}
    order = ks.drain(
        _with_volume({"name": "data", "ephemeral": {"volumeClaimTemplate": template}}, [owner]), "a", order=True
    ).order
    assert order.batches == (("a",),)


def test_what_is_not_proven_is_not_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more nodes than all orders are tried of, the best that was found is shown."""
    monkeypatch.setattr(drain_order, "EXHAUSTIVE", 1)
    pods = [owned("ReplicaSet", "web", f"web-{at}", node="ab"[at], cpu=3) for at in range(2)]
    cluster = ks.Cluster(release="1.36").node("a", cpu=4).node("b", cpu=4).node("c", cpu=4).add(pods)
    order = ks.drain(cluster, "a", "b", order=True).order
    assert (order.batches, order.left, order.proven) == ((("a",),), ("b",), False)
    assert "does not prove" in order.sentence()
    assert order.obstacles[0].text.startswith("it fits nowhere then: 0/3 nodes are available")
