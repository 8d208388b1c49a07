"""The Cluster Autoscaler's estimator, as its published unit cases have it, and its loop over node groups."""

from __future__ import annotations

from typing import Any

import pytest

import kubescheduler as ks
from clusterstate.objects import Node
from kubescheduler.api.engine_choice import engine_spec
from kubescheduler.planning import expanders
from kubescheduler.planning.cluster_autoscaler import Estimation, PodGroup, Predicates, ordered, pod_groups, unplaced

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def a_node(name: str, cpu: int, memory: int, zone: str, pods: int = 10) -> Node:
    """Upstream: makeNode; millicores, MiB."""
    return ks.Cluster(release="1.36").node(name, cpu=f"{cpu}m", memory=f"{memory}Mi", pods=pods, zone=zone).nodes[0]


def group(count: int, cpu: int, memory: int = 100, name: str = "estimatee", **spec: Any) -> PodGroup:
    """Upstream: makePodEquivalenceGroup of BuildTestPod; millicores, bytes."""
    cluster = ks.Cluster(release="1.36")
    for at in range(count):
        labels = {"app": "estimatee"}
        cluster = cluster.pod(
            f"{name}-{at}", cpu=f"{cpu}m", memory=memory, namespace="universe", labels=labels, spec=spec
        )
    return tuple(cluster.pods)


def spread(skew: int, key: str, domains: int) -> dict[str, Any]:
    """Upstream: WithMaxSkew."""
    constraint = {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "minDomains": domains}
    return {"topologySpreadConstraints": [{**constraint, "labelSelector": {"matchLabels": {"app": "estimatee"}}}]}


PORT: dict[str, Any] = {
    "containers": [
        {"name": "c", "resources": {"requests": {"cpu": "200m"}}, "ports": [{"containerPort": 5555, "hostPort": 5555}]}
    ]
}

ESTIMATES = {
    "simple resource-based binpacking": (1000, 2000, 0, [group(10, 350, 1000)], 5, 10),
    "pods-per-node bound binpacking": (10000, 20000, 0, [group(20, 10)], 2, 20),
    "hostport conflict forces pod-per-node": (1000, 5000, 0, [group(8, 200, 1000, **PORT)], 8, 8),
    "limiter cuts binpacking": (1000, 5000, 5, [group(20, 500, 1000)], 5, 10),
    "decreasing ordered pods are processed first": (
        *(1000, 5000, 5),
        [group(10, 50, 1000, "small"), group(10, 500, 1000, "large")],
        *(5, 10),
    ),
    "hostname topology spreading with maxSkew=2 forces 2 pods/node": (
        *(1000, 5000, 0),
        [group(8, 200, 200, **spread(2, HOST, 1))],
        *(4, 8),
    ),
    "zonal topology spreading with maxSkew=2 only allows 2 pods to schedule": (
        *(1000, 5000, 0),
        [group(8, 20, **spread(2, ZONE, 1))],
        *(1, 2),
    ),
    "hostname topology spreading with maxSkew=1 with a large scaleup handles scheduling pods retroactively": (
        *(1000, 5000, 0),
        [group(12, 20, **spread(1, HOST, 3))],
        *(3, 12),
    ),
}
"""TestBinpackingEstimate of estimator/binpacking_estimator_test.go: millicores, MiB, limit, groups → nodes, pods."""


@pytest.mark.parametrize(("cpu", "memory", "most", "groups", "nodes", "pods"), ESTIMATES.values(), ids=ESTIMATES)
def test_estimates(cpu: int, memory: int, most: int, groups: list[PodGroup], nodes: int, pods: int) -> None:
    """The published cases of the estimator, next to a node of another zone."""
    engine = engine_spec("1.36").engine(lambda _: None)
    template = a_node("template", cpu, memory, "zone-mars")
    there = Predicates(engine, [a_node("oldnode", 100, 100, "zone-jupiter")])
    estimation = Estimation(there, lambda number: [a_node(f"e-{number}", cpu, memory, "zone-mars")], most)
    assert (estimation.run(ordered(groups, template)), len(estimation.pods)) == (nodes, pods)
    if len(groups) == 2:
        assert {pod.metadata.name.partition("-")[0] for pod in estimation.pods} == {"large"}


ORDERS: list[tuple[list[str], list[str]]] = [
    (["p1"], ["p1"]),
    (["p3", "p2", "p1"], ["p3", "p2", "p1"]),
    (["p1", "p3", "p2"], ["p3", "p2", "p1"]),
    ([], []),
]
"""TestPodPriorityProcessor of estimator/decreasing_pod_orderer_test.go."""


@pytest.mark.parametrize(("given", "expected"), ORDERS)
def test_orders(given: list[str], expected: list[str]) -> None:
    """The published cases of the order."""
    sizes = {"p1": (1, 1), "p2": (2, 1), "p3": (2, 100)}
    node = a_node("node1", 4, 600, "zone-sun")
    found = ordered([group(1, *sizes[name], name) for name in given], node)
    assert [pods[0].metadata.name.partition("-")[0] for pods in found] == expected


def test_groups() -> None:
    """Pods of one controller that are alike are together; from the eleventh kind of a controller on each is alone."""
    cluster = ks.Cluster(release="1.36")
    for name, uid, cpu in [("a", "1", 1), ("b", "1", 1), ("c", "2", 1), ("d", "", 1), ("e", "1", 2), ("f", "1", 1)]:
        made = ks.pod(name, cpu=cpu)
        if uid:
            owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": uid, "controller": True}
            made["metadata"]["ownerReferences"] = [owner]
        cluster = cluster.add(made)
    found = pod_groups(cluster.pods)
    assert [[pod.metadata.name for pod in pods] for pods in found] == [["a", "b", "f"], ["c"], ["d"], ["e"]]


def test_loop() -> None:
    """It adds nodes of one group at a time; what a group had no room for comes in the next look."""
    cluster = ks.Cluster(release="1.36").node("old", cpu=1)
    for at in range(5):
        cluster = cluster.pod(f"web-{at}", cpu=3)
    shapes = [{"name": "small", "cpu": 4, "memory": "8Gi", "max": 2}, {"name": "large", "cpu": 64, "memory": "32Gi"}]
    plan = ks.nodes(cluster, shapes, by="cluster-autoscaler")
    assert [(step.chosen.group, step.chosen.nodes) for step in plan.steps or ()] == [("small", 2), ("large", 1)]
    assert dict(plan.added) == {"small": 2, "large": 1}
    assert not plan.left


def test_the_preferred_node_is_of_the_cluster_as_it_is_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look of the expander price counts the nodes that the looks before it added."""
    sizes: list[int] = []

    def preferred(nodes: int) -> int:
        sizes.append(nodes)
        return 1000

    monkeypatch.setattr(expanders, "preferred_cpu", preferred)
    cluster = ks.Cluster(release="1.36").node("old", cpu=1)
    for at in range(5):
        cluster = cluster.pod(f"web-{at}", cpu=3)
    small = {"cpu": 4, "memory": "8Gi", "max": 3}
    shapes = [{"name": "a", "price": 1, **small}, {"name": "b", "price": 2, **small}]
    plan = ks.nodes(cluster, shapes, by="cluster-autoscaler", expander="price")
    assert [step.chosen.nodes for step in plan.steps or ()] == [3, 2]
    assert sizes[:2] == [1, 4]


def test_expendable_pods() -> None:
    """For pods of a priority below -10 nothing is added, and those that run take no room; the scheduler sees them."""
    cluster = ks.Cluster(release="1.36").node("old", cpu=4).pod("there", node="old", cpu=4, priority=-11)
    cluster = cluster.pod("low", cpu=2, priority=-11).pod("web", cpu=2, priority=-10)
    plan = ks.nodes(cluster, {"name": "small", "cpu": 4, "memory": "8Gi"}, by="cluster-autoscaler")
    assert (plan.steps, dict(plan.added), sum(1 + len(left.others) for left in plan.left)) == ((), {}, 2)
    assert plan.notes == ("no node is added for 1 pod of a priority below -10",)


def test_pods_like_one_that_fits_nowhere() -> None:
    """They are not tried, also where they would fit by now; pods of no controller are."""

    def web(name: str, uid: str) -> dict[str, Any]:
        term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "db"}}}
        affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        made = ks.pod(name, cpu=1, spec={"affinity": affinity})
        if uid:
            owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": uid, "controller": True}
            made["metadata"]["ownerReferences"] = [owner]
        return made

    engine = engine_spec("1.36").engine(lambda _: None)
    node = ks.Cluster(release="1.36").node("old", cpu=8).nodes[0]
    pods = (
        ks.Cluster(release="1.36").add(web("a", "1"), web("b", "")).pod("db", labels={"app": "db"}).add(web("c", "1"))
    )
    waiting = unplaced(Predicates(engine, [node]), [*pods.pods, *ks.Cluster(release="1.36").add(web("d", "")).pods])
    assert [pod.metadata.name for pod in waiting] == ["a", "b", "c"]
