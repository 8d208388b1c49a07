"""SelectorSpread and ServiceAffinity."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.objects import LabelSelector, ObjectMeta, ReplicaSet, Service, TopologySpreadConstraint
from kubescheduler.framework.plugins.services import ServiceAffinityArgs, selector_spread_1_20, service_affinity_1_20
from predicates.service_affinity import AFFINITY_VIOLATED
from tests.support.build import Cluster, labels, make_node, make_pod
from tests.support.custom.extender_asking import HANDLE, check_of, refused, scores, scoring_of

WEB, TIER = {"app": "web"}, {"tier": "x"}
BETA, STABLE = "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"
PLUGIN = selector_spread_1_20(None, HANDLE)
SERVICE = Service(ObjectMeta("web", "default"), labels(WEB))
REPLICA_SET = ReplicaSet(ObjectMeta("rs", "default"), LabelSelector(labels(TIER)))
POD = make_pod(label={**WEB, **TIER})


def zoned(name: str, zone: str = "", key: str = BETA) -> Any:
    return make_node(name, {key: zone} if zone else {})


PODS = [
    make_pod("a", {**WEB, **TIER}, node="n1"),
    make_pod("b", {**WEB, **TIER}, node="n1"),
    make_pod("only-web", WEB, node="n2"),
    make_pod("leaving", {**WEB, **TIER}, node="n3", deleting=True),
    make_pod("elsewhere", {**WEB, **TIER}, node="n3", namespace="x"),
]

CASES: dict[str, tuple[list[Any], list[Any], list[int], list[int]]] = {
    "zones": ([zoned("n1", "a"), zoned("n2", "b"), zoned("n3", "b")], [SERVICE, REPLICA_SET], [2, 0, 0], [0, 100, 100]),
    "stable-zones": (
        [zoned("n1", "a", STABLE), zoned("n2", "b"), zoned("n3", "b", STABLE)],
        [SERVICE, REPLICA_SET],
        [2, 0, 0],
        [0, 100, 100],
    ),
    "some-zones": ([zoned("n1", "a"), zoned("n2"), zoned("n3", "a")], [SERVICE], [2, 1, 0], [0, 50, 33]),
    "no-zones": ([zoned("n1"), zoned("n2"), zoned("n3")], [SERVICE], [2, 1, 0], [0, 50, 100]),
    "all-selectors-must-match": ([zoned("n1"), zoned("n2")], [SERVICE, REPLICA_SET], [2, 0], [0, 100]),
    "nobody-selects": ([zoned("n1", "a"), zoned("n2", "b")], [], [0, 0], [100, 100]),
}


@pytest.mark.parametrize(("nodes", "others", "raw", "final"), CASES.values(), ids=CASES)
def test_nodes_and_zones_with_fewer_pods_are_better(
    nodes: list[Any], others: list[Any], raw: list[int], final: list[int]
) -> None:
    """Zones count for two thirds."""
    cluster = Cluster(nodes, [pod for pod in PODS if pod.node_name in {node.name for node in nodes}], others)
    assert scores(PLUGIN, cluster, POD) == (raw, final)


def test_a_pod_with_its_own_constraints_is_left_alone() -> None:
    """It has 0 everywhere, which is not normalised."""
    constraint = TopologySpreadConstraint(1, "zone", "ScheduleAnyway")
    pod = make_pod(label={**WEB, **TIER}, topology_spread_constraints=(constraint,))
    cluster = Cluster([zoned("n1"), zoned("n2")], PODS[:2], [SERVICE])
    assert scores(PLUGIN, cluster, pod) == ([0, 0], [0, 0])
    assert scoring_of(PLUGIN).constant(cluster.info(pod)) == 0
    assert PLUGIN.score_alone == 'error reading "PreScoreSelectorSpread" from cycleState: not found'


WEB_OF_SERVICE = {"app": "web"}
POD_OF_SERVICE = make_pod(label=WEB_OF_SERVICE)
NODES = [
    make_node("n1", {"zone": "a", "rack": "1"}),
    make_node("n2", {"zone": "b", "rack": "1"}),
    make_node("n3", {"zone": "b"}),
    make_node("bare"),
]
PODS_OF_SERVICE = [
    *(make_pod(f"p{i}", WEB_OF_SERVICE, node="n1") for i in range(3)),
    make_pod("q", {**WEB_OF_SERVICE, "more": "yes"}, node="n2"),
    make_pod("other", {"app": "db"}, node="n3"),
    make_pod("elsewhere", WEB_OF_SERVICE, node="n3", namespace="x"),
    make_pod("leaving", WEB_OF_SERVICE, node="n3", deleting=True),
]


def service(name: str, selector: dict[str, str] | None) -> Service:
    return Service(ObjectMeta(name, "default"), None if selector is None else labels(selector))


@pytest.mark.parametrize(
    ("preferred", "expected"),
    [
        pytest.param(("zone",), [25, 75, 75, 0], id="one"),
        pytest.param(("zone", "rack"), [12, 37, 37, 0], id="two-halves-are-cut-off-at-the-end"),
        pytest.param((), [0, 0, 0, 0], id="none"),
    ],
)
def test_nodes_with_fewer_pods_of_the_value_are_better(preferred: tuple[str, ...], expected: list[int]) -> None:
    """Each label counts for its share; a node without it gets nothing for it."""
    plugin = service_affinity_1_20(ServiceAffinityArgs((), preferred), HANDLE)
    cluster = Cluster(NODES, PODS_OF_SERVICE, [service("web", WEB_OF_SERVICE)])
    assert scores(plugin, cluster, POD_OF_SERVICE) == ([3, 1, 0, 0], expected)


def test_only_feasible_nodes_count() -> None:
    """Without pods on them all labelled nodes are as good as can be."""
    plugin = service_affinity_1_20(ServiceAffinityArgs((), ("zone",)), HANDLE)
    cluster = Cluster(NODES, PODS_OF_SERVICE, [service("web", WEB_OF_SERVICE)])
    assert scores(plugin, cluster, POD_OF_SERVICE, [2, 3]) == ([0, 0], [100, 0])
    assert scores(plugin, cluster, POD_OF_SERVICE, [1, 2]) == ([1, 0], [0, 0])


@pytest.mark.parametrize(
    ("services", "raw"),
    [
        pytest.param([], [0, 0, 0, 0], id="no-service"),
        pytest.param([service("web", {"app": "db"})], [0, 0, 0, 0], id="not-its-service"),
        pytest.param([service("web", None)], [0, 0, 0, 0], id="no-selector"),
        pytest.param([service("web", {})], [0, 0, 0, 0], id="selects-everything"),
        pytest.param([service("web", {}), service("x", WEB_OF_SERVICE)], [0, 0, 0, 0], id="the-first-one-counts"),
    ],
)
def test_without_a_selector_nothing_is_counted(services: list[Service], raw: list[int]) -> None:
    """The first service that selects the pod is the one."""
    plugin = service_affinity_1_20(ServiceAffinityArgs((), ("zone",)), HANDLE)
    assert scores(plugin, Cluster(NODES, PODS_OF_SERVICE, services), POD_OF_SERVICE)[0] == raw


def test_the_filter_takes_part_with_affinity_labels_only() -> None:
    """Without any it needs no PreFilter either; taking pods away mends a refusal."""
    cluster = Cluster(NODES, PODS_OF_SERVICE, [service("web", WEB_OF_SERVICE)])
    with_labels = service_affinity_1_20(ServiceAffinityArgs(("zone",)), HANDLE)
    assert refused(with_labels, cluster, POD_OF_SERVICE) == {AFFINITY_VIOLATED: ["n2", "n3", "bare"]}
    assert not check_of(with_labels).unresolvable(AFFINITY_VIOLATED)
    assert with_labels.filter_alone == 'error reading "PreFilterServiceAffinity" from cycleState: not found'
    without = service_affinity_1_20(None, HANDLE)
    assert refused(without, cluster, POD_OF_SERVICE) == {}
    assert without.filter_alone is None
