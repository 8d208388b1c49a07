"""SelectorSpreadPriority and ServiceSpreadingPriority."""

from __future__ import annotations

import numpy as np
import pytest

from clusterstate.objects import LabelSelector, Node, ObjectMeta, Pod, ReplicaSet, Service, StatefulSet
from priorities.selector_spread import REGION, SELECTOR_SPREAD, ZONE, matching_pods, spread_scores, zone_of
from priorities.types import PriorityArgs
from tests.support.build import Cluster, labels, make_node, make_pod, pods_on

X = {"app": "x"}
NODES = [make_node("a", {ZONE: "1"}), make_node("b", {ZONE: "1"}), make_node("c", {ZONE: "2"}), make_node("d")]
SERVICE = Service(ObjectMeta("s", "default"), labels(X))


def scores(cluster: Cluster, pod: Pod, *names: str) -> list[int]:
    """Of the feasible nodes ``names``, all without any."""
    info, snapshot = cluster.info(pod), cluster.snapshot
    view = snapshot.take(np.array([cluster.columns.row_of[name] for name in names])) if names else snapshot
    found = spread_scores(info, view, matching_pods(info, view))
    assert found.dtype == np.int64
    return [int(score) for score in found]


@pytest.mark.parametrize(
    ("pods", "feasible", "expected"),
    [
        pytest.param(pods_on(a=2, b=1, d=1), (), [0, 1, 10, 5], id="nodes-and-zones"),
        pytest.param([], (), [10, 10, 10, 10], id="no-matching-pods"),
        pytest.param(pods_on(d=2), (), [10, 10, 10, 0], id="only-outside-zones"),
        pytest.param(pods_on(a=2, b=1, d=1), ("c", "d"), [10, 0], id="feasible-nodes-only"),
        pytest.param(pods_on(d=3), ("d",), [0], id="no-zone-among-the-feasible"),
    ],
)
def test_scores(pods: list[Pod], feasible: tuple[str, ...], expected: list[int]) -> None:
    """Two thirds for the zone and one for the node, where there are zones: the specification's example first."""
    assert scores(Cluster(NODES, pods, [SERVICE]), make_pod(label=X), *feasible) == expected


def test_rounding_is_that_of_float64() -> None:
    """15 pods in one zone and 5 on the one node of another: 4 in double precision, where single gives 5."""
    nodes = [make_node(name, {ZONE: zone}) for name, zone in (("p", "1"), ("q", "1"), ("r", "1"), ("x", "2"))]
    cluster = Cluster(nodes, pods_on(p=6, q=6, r=3, x=5), [SERVICE])
    assert scores(cluster, make_pod(label=X))[3] == 4


@pytest.mark.parametrize(
    ("label", "zone"),
    [
        pytest.param({}, None, id="neither"),
        pytest.param({ZONE: "", REGION: ""}, None, id="both-empty"),
        pytest.param({ZONE: "z"}, ("", "z"), id="zone"),
        pytest.param({REGION: "r"}, ("r", ""), id="region"),
        pytest.param({REGION: "r", ZONE: "z"}, ("r", "z"), id="both"),
        pytest.param({"topology.kubernetes.io/zone": "z"}, None, id="newer-label"),
    ],
)
def test_zones(label: dict[str, str], zone: tuple[str, str] | None) -> None:
    """Nodes share a zone if region and zone agree, absent being empty."""
    node: Node = make_node("n", label)
    assert zone_of(node) == zone


def test_which_pods_count() -> None:
    """Pods of the namespace, not being deleted, that every selector of the pod matches."""
    both = {"app": "x", "tier": "t"}
    pods = [
        make_pod("both", both, node="a"),
        make_pod("half", X, node="b"),
        make_pod("deleting", both, node="c", deleting=True),
        make_pod("elsewhere", both, namespace="other", node="c"),
    ]
    others = [SERVICE, StatefulSet(ObjectMeta("t", "default"), LabelSelector(labels({"tier": "t"})))]
    cluster = Cluster(NODES, pods, others)
    assert matching_pods(cluster.info(make_pod(label=both)), cluster.snapshot).tolist() == [1, 0, 0, 0]
    assert matching_pods(cluster.info(make_pod(label=X)), cluster.snapshot).tolist() == [1, 1, 0, 0]
    assert matching_pods(cluster.info(make_pod(label={"app": "y"})), cluster.snapshot).tolist() == [0, 0, 0, 0]


def test_both_names_are_one_rule() -> None:
    """ServiceSpreadingPriority counts by controllers too."""
    owner = ReplicaSet(ObjectMeta("r", "default"), LabelSelector(labels(X)))
    cluster = Cluster(NODES, pods_on(a=1), [owner])
    info, args = cluster.info(make_pod(label=X)), PriorityArgs()
    for name, factory in SELECTOR_SPREAD.items():
        config = factory.make(args)
        assert config.name == name
        assert config.map(info, cluster.snapshot).tolist() == [1, 0, 0, 0]
