"""The Cluster Autoscaler's estimator and its expanders, as their published unit cases have them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

import kubescheduler as ks
from clusterstate.errors import ConfigError
from clusterstate.objects import Node
from kubescheduler.api.engine_choice import engine_spec
from kubescheduler.planning import cluster_autoscaler
from kubescheduler.planning.cluster_autoscaler import (
    Estimation,
    ExpansionOption,
    PodGroup,
    Predicates,
    Prices,
    by_priority,
    cheapest,
    checked_expanders,
    chosen,
    least_nodes,
    least_waste,
    most_pods,
    ordered,
    pod_groups,
    preferred_cpu,
    priorities_of,
    requests,
    unplaced,
)

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

    monkeypatch.setattr(cluster_autoscaler, "preferred_cpu", preferred)
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


CPU, MEMORY = 500, 1000 * 1024 * 1024


def option(
    group: str, cpu: int, memory: int, pods: Sequence[tuple[str, int, int]], nodes: int = 1, **more: Any
) -> ExpansionOption:
    """A group whose nodes have millicores and bytes, for pods of (name, millicores, bytes)."""
    manifest = ks.node(group, cpu=f"{cpu}m", memory=memory)
    manifest["status"]["capacity"] = manifest["status"]["allocatable"]
    cluster = ks.Cluster(manifest, release="1.36")
    for name, milli, size in pods:
        cluster = cluster.pod(name.lower(), cpu=f"{milli}m", memory=size)
    return ExpansionOption(group, cluster.nodes[0], nodes, tuple(cluster.pods), **more)


POD = [("p", CPU, MEMORY)]
BALANCED = option("balanced", 16 * CPU, 16 * MEMORY, POD)
HIGH_MEMORY = option("highmem", 16 * CPU, 32 * MEMORY, POD)
LOW_CPU = option("lowcpu", 8 * CPU, 16 * MEMORY, POD)


@pytest.mark.parametrize(
    ("options", "best"),
    [
        ([option("balanced", 16 * CPU, 16 * MEMORY, [])], "balanced"),
        ([BALANCED], "balanced"),
        ([BALANCED, HIGH_MEMORY], "balanced"),
        ([BALANCED, HIGH_MEMORY, LOW_CPU], "lowcpu"),
    ],
)
def test_least_waste(options: list[ExpansionOption], best: str) -> None:
    """TestLeastWaste of expander/waste/waste_test.go."""
    assert [each.group for each in least_waste(options)] == [best]


EO0, EO1, EO1B = (option(name, 1, 1, [("p", 1, 1)] * number) for name, number in (("eo0", 0), ("eo1", 1), ("eo1b", 1)))


@pytest.mark.parametrize(
    ("options", "best"), [([EO0], ["eo0"]), ([EO0, EO1], ["eo1"]), ([EO0, EO1, EO1B], ["eo1", "eo1b"])]
)
def test_most_pods(options: list[ExpansionOption], best: list[str]) -> None:
    """TestMostPods of expander/mostpods/mostpods_test.go."""
    assert [each.group for each in most_pods(options)] == best


@pytest.mark.parametrize(
    ("nodes", "best"),
    [
        ([0], []),
        ([2], [0]),
        ([2, 1], [1]),
        ([6, 2, 2], [1, 2]),
        ([8, 8, 8], [0, 1, 2]),
        ([23, 0, 5, 8, 5, 5, 22], [2, 4, 5]),
    ],
)
def test_least_nodes(nodes: list[int], best: list[int]) -> None:
    """TestLeastNodes of expander/leastnodes/leastnodes_test.go."""
    options = [option(f"eo{at}", 1, 1, [], number) for at, number in enumerate(nodes)]
    assert least_nodes(options) == [options[at] for at in best]


def test_what_counts_as_asked_for() -> None:
    """An init container that asks for more than all containers, and what the pod as a whole asks for, count."""
    init = [{"name": "i", "resources": {"requests": {"cpu": "3"}}}]
    cluster = ks.Cluster(release="1.36").pod("a", cpu=1, spec={"initContainers": init})
    cluster = cluster.pod("b", cpu=1, spec={"resources": {"requests": {"cpu": "5"}}, "overhead": {"cpu": "1"}})
    assert [requests((pod,), "cpu") for pod in cluster.pods] == [3000, 6000]


CONFIG = {5: [r".*t2\.micro.*"], 10: [r".*t2\.large.*", r".*t3\.large.*"], 50: [r".*m4\.4xlarge.*"]}
ONE_ENTRY = {10: [r".*t2\.large.*"]}
NO_MATCH = {5: [r".*t\.micro.*"], 10: [r".*t\.large.*"]}
LOW = {-1: [".*t3.*"], -2: [".*t2.*"]}
WILDCARD = {5: [".*"], 10: [r".t2\.large.*"]}


@pytest.mark.parametrize(
    ("config", "groups", "best"),
    [
        (CONFIG, ["t2.large"], ["t2.large"]),
        (LOW, ["t2.large", "t3.large"], ["t3.large"]),
        (LOW, ["t2.large"], ["t2.large"]),
        (CONFIG, ["t2.large", "m4.4xlarge"], ["m4.4xlarge"]),
        (WILDCARD, ["t2.large", "t2.micro"], ["t2.large"]),
        (CONFIG, ["t2.large", "t3.large", "t2.micro"], ["t2.large", "t3.large"]),
        (CONFIG, ["t2.large", "t3.large"], ["t2.large", "t3.large"]),
        (NO_MATCH, ["t2.large", "t3.large"], ["t2.large", "t3.large"]),
        (ONE_ENTRY, ["t2.large", "t3.large", "m4.4xlarge"], ["t2.large"]),
        (CONFIG, ["t2.large", "t3.large", "m4.4xlarge"], ["m4.4xlarge"]),
    ],
)
def test_priority(config: dict[int, list[str]], groups: list[str], best: list[str]) -> None:
    """The cases of expander/priority/priority_test.go."""
    options = [option(f"my-asg.{name}", 1, 1, []) for name in groups]
    assert [each.group.removeprefix("my-asg.") for each in by_priority(options, config)] == best


P1, P2 = ("p1", 1000, 0), ("p2", 500, 0)
NG1, NG2 = option("n1", 1000, 1000, [P1, P2], 2), option("n2", 4000, 1000, [P1, P2], 1)
MANY = [option("n1", 1000, 1000, [P1, P2], 80), option("n2", 4000, 1000, [P1, P2], 40)]
ONE_POD = option("n1", 1000, 1000, [P1], 2)
NEW = option("n3", 4000, 1000, [P1, P2], 1, exists=False)


@pytest.mark.parametrize(
    ("options", "prices", "preferred", "best"),
    [
        ([NG1, NG2], {"n1": 20, "n2": 200}, 2000, ["n1"]),
        ([NG1, NG2], {"n1": 50, "n2": 200}, 4000, ["n2"]),
        (MANY, {"n1": 20, "n2": 200}, 4000, ["n1"]),
        ([NG1, NG2], {"n1": 200, "n2": 100}, 2000, ["n2"]),
        ([ONE_POD, NG2], {"n1": 200, "n2": 200}, 2000, ["n2"]),
        ([ONE_POD, NG2], {}, 2000, []),
        ([ONE_POD, NG2, NEW], {"n1": 200, "n2": 200, "n3": 200}, 2000, ["n2"]),
        ([ONE_POD, NG2, NEW], {"n1": 200, "n2": 200, "n3": 90}, 2000, ["n3"]),
        ([NG2, NG1, NG2], {"n1": 200, "n2": 100}, 2000, ["n2", "n2"]),
    ],
    ids=["cheaper", "preferred", "many", "second", "two-pods", "no-prices", "existing", "new", "equal"],
)
def test_price(options: list[ExpansionOption], prices: dict[str, float], preferred: int, best: list[str]) -> None:
    """TestPriceExpander of expander/price/price_test.go."""
    pods = {"p1": 20.0, "p2": 10.0}
    model = Prices(lambda node: prices[node.name], lambda pod: pods[pod.metadata.name], 10.0)
    assert [each.group for each in cheapest(options, model, preferred)] == best


@pytest.mark.parametrize(("nodes", "cpu"), [(1, 1000), (3, 2000), (7, 4000), (21, 8000), (61, 16000), (201, 32000)])
def test_preferred(nodes: int, cpu: int) -> None:
    """SimplePreferredNodeProvider of expander/price/preferred.go: twice the node for three times the cluster."""
    assert preferred_cpu(nodes) == cpu


def test_one_after_the_other() -> None:
    """What several choosers leave is drawn, and a seed draws it again."""
    options = [EO0, EO1, EO1B]
    drawn = {chosen(options, [most_pods], random.Random(seed)).group for seed in range(20)}
    assert drawn == {"eo1", "eo1b"}
    assert chosen([], [most_pods], random.Random(0)) is None


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("least-wast", ["did you mean least-waste?"]),
        ("random,least-waste", ["random leaves one group"]),
        ("price,priority", ["price needs shapes", "priority needs --priorities"]),
        ("most-pods,most-pods", ["more than once"]),
    ],
)
def test_faults(text: str, faults: list[str]) -> None:
    """Every fault in one message."""
    with pytest.raises(ConfigError) as error:
        checked_expanders(text, priced=False, priorities=None)
    assert all(fault in problem for fault, problem in zip(faults, error.value.problems, strict=True))


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        ({}, "is empty"),
        ({"x": []}, "whole number"),
        ({"--5": []}, "whole number"),
        ({"5": "a"}, "must be a list"),
        ({5: ["("]}, "5[0]: "),
    ],
)
def test_faulty_priorities(document: dict[Any, Any], fault: str) -> None:
    """Each with its path."""
    with pytest.raises(ConfigError, match=r".") as error:
        priorities_of(document, "file")
    assert fault in str(error.value)
