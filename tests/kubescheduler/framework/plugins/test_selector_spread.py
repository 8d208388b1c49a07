"""SelectorSpread."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.objects import LabelSelector, ObjectMeta, ReplicaSet, Service, TopologySpreadConstraint
from kubescheduler.framework.plugins.services import selector_spread_1_20
from tests.support.build import Cluster, labels, make_node, make_pod
from tests.support.custom.extender_asking import HANDLE, scores, scoring_of

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
