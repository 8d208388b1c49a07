"""ServiceAntiAffinity."""

from __future__ import annotations

import numpy as np
import pytest

from clusterstate.objects import ObjectMeta, Pod, Service
from priorities.service_anti_affinity import service_anti_affinity_factory
from priorities.types import PriorityArgs
from tests.support.build import Cluster, labels, make_node, make_pod, pods_on

X = {"app": "x"}
NODES = [
    make_node("n1", {"zone": "a"}),
    make_node("n2", {"zone": "a"}),
    make_node("n3", {"zone": "b"}),
    make_node("n4"),
]
CONFIG = service_anti_affinity_factory("Apart", "zone")(PriorityArgs())


def service(name: str, selector: dict[str, str] | None) -> Service:
    return Service(ObjectMeta(name, "default"), None if selector is None else labels(selector))


def scores(cluster: Cluster, pod: Pod, *names: str) -> list[int]:
    """Of the feasible nodes ``names``, all without any."""
    info, snapshot = cluster.info(pod), cluster.snapshot
    view = snapshot.take(np.array([cluster.columns.row_of[name] for name in names])) if names else snapshot
    assert CONFIG.reduce is not None
    found = CONFIG.reduce(info, view, CONFIG.map(info, view))
    assert found.dtype == np.int64
    return [int(score) for score in found]


@pytest.mark.parametrize(
    ("pods", "feasible", "expected"),
    [
        pytest.param(pods_on(n1=1, n2=1, n3=1, n4=1), (), [5, 5, 7, 0], id="one-pod-each"),
        pytest.param([], (), [10, 10, 10, 0], id="no-pods"),
        pytest.param(pods_on(n1=1, n2=1, n3=1, n4=1), ("n1", "n3"), [5, 5], id="feasible-nodes-only"),
        pytest.param(pods_on(n4=3), (), [10, 10, 10, 0], id="only-without-the-label"),
        pytest.param([make_pod("t", X, node="n1", deleting=True)], (), [10, 10, 10, 0], id="being-deleted"),
        pytest.param([make_pod("o", X, node="n1", namespace="other")], (), [10, 10, 10, 0], id="another-namespace"),
    ],
)
def test_scores(pods: list[Pod], feasible: tuple[str, ...], expected: list[int]) -> None:
    """The share of the service's pods that are elsewhere than on the node's label value: the example first."""
    assert scores(Cluster(NODES, pods, [service("s", X)]), make_pod(label=X), *feasible) == expected


def test_only_the_first_service_counts() -> None:
    """A second service that matches does not narrow what is counted, and without any nothing is."""
    pods = [make_pod("1", X, node="n1"), make_pod("2", {"app": "x", "tier": "t"}, node="n3")]
    both = [service("first", X), service("second", {"tier": "t"})]
    pod = make_pod(label={"app": "x", "tier": "t"})
    assert scores(Cluster(NODES, pods, both), pod) == [5, 5, 5, 0]
    assert scores(Cluster(NODES, pods, both[::-1]), pod) == [10, 10, 0, 0]
    assert scores(Cluster(NODES, pods, [service("none", None)]), pod) == [10, 10, 10, 0]


def test_an_empty_value_is_a_value() -> None:
    """A node whose label is present but empty is labelled."""
    nodes = [make_node("e", {"zone": ""}), make_node("f", {"zone": "b"})]
    cluster = Cluster(nodes, pods_on(e=1), [service("s", X)])
    assert scores(cluster, make_pod(label=X)) == [0, 10]
