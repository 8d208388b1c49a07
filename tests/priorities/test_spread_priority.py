"""EvenPodsSpreadPriority."""

from __future__ import annotations

import numpy as np
import pytest

from clusterstate.objects import LabelSelector, Pod, Requirement, TopologySpreadConstraint
from priorities.spread import UNQUALIFIED, spread_scores, spread_sums
from priorities.types import PriorityError
from tests.support.build import Cluster, labels, make_node, make_pod, pods_on

X = {"app": "x"}
HAS_X = LabelSelector(labels(X))
BAD = LabelSelector(match_expressions=(Requirement("app", "Near", ("x",)),))
NODES = [
    make_node("a", {"zone": "1", "host": "a"}),
    make_node("b", {"zone": "1", "host": "b", "disk": "ssd"}),
    make_node("c", {"zone": "2", "host": "c", "disk": "ssd"}),
    make_node("d", {"host": "d"}),
]


def soft(*keys: str, selector: LabelSelector | None = HAS_X, when: str = "ScheduleAnyway") -> Pod:
    constraints = tuple(TopologySpreadConstraint(1, key, when, selector) for key in keys)
    return make_pod(label=X, topology_spread_constraints=constraints)


def scores(cluster: Cluster, pod: Pod, *names: str) -> list[int]:
    """Of the feasible nodes ``names``, all without any."""
    info = cluster.info(pod)
    snapshot = cluster.snapshot
    view = snapshot.take(np.array([cluster.columns.row_of[name] for name in names])) if names else snapshot
    found: list[int] = spread_scores(info, view, spread_sums(info, view)).tolist()
    return found


def test_the_example() -> None:
    """Zone 1 with 3 pods on two nodes, zone 2 with 1 pod and a node without zone: the specification's example."""
    cluster = Cluster(NODES, pods_on(a=2, b=1, c=1))
    info = cluster.info(soft("zone"))
    assert spread_sums(info, cluster.snapshot).tolist() == [3, 3, 1, UNQUALIFIED]
    assert scores(cluster, soft("zone")) == [6, 6, 10, 0]


@pytest.mark.parametrize(
    ("pods", "pod", "feasible", "expected"),
    [
        pytest.param(pods_on(), soft("zone"), (), [10, 10, 10, 0], id="no-pods"),
        pytest.param(pods_on(a=2), soft("zone"), ("a",), [10], id="one-node"),
        pytest.param(pods_on(a=2), soft("zone"), ("d",), [0], id="nobody-qualifies"),
        pytest.param(pods_on(a=2, b=1, c=1), soft("zone"), ("b", "c"), [3, 10], id="others-still-count"),
        pytest.param(pods_on(a=2, c=1, d=3), soft("zone", "host"), (), [6, 10, 10, 0], id="two-keys"),
        pytest.param(pods_on(a=2), soft("zone", selector=None), (), [10, 10, 10, 0], id="null-selector"),
        pytest.param(pods_on(a=2), soft("zone", when="DoNotSchedule"), (), [10, 10, 10, 10], id="hard"),
    ],
)
def test_scores(pods: list[Pod], pod: Pod, feasible: tuple[str, ...], expected: list[int]) -> None:
    """Fewer pods in a node's domains, relative to all qualified nodes, score higher."""
    assert scores(Cluster(NODES, pods), pod, *feasible) == expected


def test_pods_of_all_namespaces_and_terminating_ones_count() -> None:
    """Neither namespace nor deletion keeps a pod from being counted."""
    pods = [make_pod("o", X, namespace="other", node="a"), make_pod("t", X, node="a", deleting=True)]
    cluster = Cluster(NODES, [*pods, make_pod("gone", X, node="gone")])
    assert spread_sums(cluster.info(soft("zone")), cluster.snapshot).tolist()[:3] == [2, 2, 0]


def test_only_nodes_that_the_pod_selects_are_counted() -> None:
    """Pods on nodes that the pod's nodeSelector refuses add nothing to the domain."""
    constraint = TopologySpreadConstraint(1, "zone", "ScheduleAnyway", HAS_X)
    pod = make_pod(topology_spread_constraints=(constraint,), node_selector=labels({"disk": "ssd"}))
    cluster = Cluster(NODES, pods_on(a=5, b=1, c=2))
    assert spread_sums(cluster.info(pod), cluster.snapshot).tolist() == [1, 1, 2, UNQUALIFIED]


def test_an_invalid_selector_is_an_error_once_tried() -> None:
    """Without any pod to try it on the sums are 0."""
    pod = soft("zone", selector=BAD)
    empty = Cluster(NODES)
    assert spread_sums(empty.info(pod), empty.snapshot).tolist() == [0, 0, 0, UNQUALIFIED]
    full = Cluster(NODES, pods_on(a=1))
    with pytest.raises(PriorityError, match="Near"):
        spread_sums(full.info(pod), full.snapshot)
