"""The Filter of 1.20 ServiceAffinity."""

from __future__ import annotations

import pytest

from clusterstate.objects import ObjectMeta, Pod, Service
from clusterstate.snapshot import PodChange, Snapshot
from predicates.service_affinity import AFFINITY_VIOLATED, NODE_NOT_FOUND, check_service_affinity_1_20
from predicates.types import NodeError
from tests.support.build import Cluster, labels, make_node, make_pod, names_where

WEB = {"app": "web"}
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
NODES = [
    make_node("a1", {"zone": "a", "rack": "1", BETA_ZONE: "a"}),
    make_node("a2", {"zone": "a", "rack": "2", BETA_ZONE: "a"}),
    make_node("b1", {"zone": "b", "rack": "3", "topology.kubernetes.io/zone": "b"}),
    make_node("bare"),
]
SERVICE = Service(ObjectMeta("web", "default"), labels(WEB))
POD = make_pod(label=WEB)


def peer(name: str, node: str, **fields: str) -> Pod:
    return make_pod(name, {**WEB, **fields}, node=node)


def failing(cluster: Cluster, pod: Pod, *keys: str, snapshot: Snapshot | None = None) -> list[str]:
    asked = cluster.snapshot if snapshot is None else snapshot
    verdict = check_service_affinity_1_20(keys, cluster.info(pod), asked)
    assert set(verdict) <= {AFFINITY_VIOLATED}
    return [name for mask in verdict.values() for name in names_where(asked, mask)]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        pytest.param(["zone"], ["b1", "bare"], id="one"),
        pytest.param(["zone", "rack"], ["a1", "b1", "bare"], id="two"),
        pytest.param(["zone", "nope"], ["b1", "bare"], id="label-the-peer's-node-lacks"),
        pytest.param(["nope"], [], id="nothing-to-follow"),
        pytest.param([], [], id="no-labels"),
    ],
)
def test_a_pod_follows_its_peer(keys: list[str], expected: list[str]) -> None:
    """The values of the affinity labels are those of the peer's node."""
    cluster = Cluster(NODES, [peer("old", "a2")], [SERVICE])
    assert failing(cluster, POD, *keys) == expected


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        pytest.param({"zone": "b"}, ["a1", "a2", "b1", "bare"], id="pinned-and-followed"),
        pytest.param({"zone": "b", "rack": "3"}, ["a1", "a2", "bare"], id="pinned"),
        pytest.param({"rack": "-"}, ["a1", "a2", "b1", "bare"], id="pinned-to-what-no-node-can-have"),
        pytest.param({"disk": "ssd"}, ["a1", "b1", "bare"], id="not-an-affinity-label"),
    ],
)
def test_the_node_selector_comes_first(pairs: dict[str, str], expected: list[str]) -> None:
    """What the pod pins is not asked of the peer."""
    cluster = Cluster(NODES, [peer("old", "a2")], [SERVICE])
    assert failing(cluster, make_pod(label=WEB, node_selector=labels(pairs)), "zone", "rack") == expected


@pytest.mark.parametrize(
    ("pods", "services"),
    [
        pytest.param([peer("old", "a2")], [], id="no-service"),
        pytest.param([make_pod("old", {"app": "db"}, node="a2")], [SERVICE], id="other-labels"),
        pytest.param([make_pod("old", WEB, node="a2", namespace="x")], [SERVICE], id="other-namespace"),
        pytest.param([peer("old", "unknown")], [SERVICE], id="on-a-node-that-is-not-listed"),
    ],
)
def test_without_peers_anything_goes(pods: list[Pod], services: list[Service]) -> None:
    """A peer has all of the pod's labels, and there must be a service."""
    assert failing(Cluster(NODES, pods, services), POD, "zone") == []


def test_a_peer_may_have_more_labels() -> None:
    """The pod's own labels are the selector."""
    cluster = Cluster(NODES, [peer("old", "b1", more="yes")], [SERVICE])
    assert failing(cluster, POD, "zone") == ["a1", "a2", "bare"]


def test_the_first_peer_is_the_first_in_the_node_list() -> None:
    """Which takes zones in turn: a1, b1, bare, a2."""
    cluster = Cluster(NODES, [peer("x", "a2"), peer("y", "b1")], [SERVICE])
    assert failing(cluster, POD, "rack") == ["a1", "a2", "bare"]
    cluster = Cluster(NODES, [peer("x", "a2"), peer("y", "bare")], [SERVICE])
    assert failing(cluster, POD, "rack") == []


def test_the_node_list_follows_the_nodes() -> None:
    """A node that joins takes its place in the list."""
    cluster = Cluster(NODES[1:3], [peer("x", "a2"), peer("y", "b1")], [SERVICE])
    assert failing(cluster, POD, "rack") == ["b1"]
    cluster.columns.put_node(cluster.columns.row("a1"), NODES[0])
    assert failing(cluster, POD, "rack") == ["b1", "a1"]


@pytest.mark.parametrize(
    ("signs", "expected"),
    [
        pytest.param([("x", -1)], ["a1", "a2", "bare"], id="the-first-gone"),
        pytest.param([("x", -1), ("x", 1)], ["a1", "a2", "bare"], id="back-at-the-end"),
        pytest.param([("x", -1), ("y", -1), ("x", 1), ("y", 1)], ["a2", "b1", "bare"], id="back-in-that-order"),
        pytest.param([("x", -1), ("y", -1), ("y", 1), ("x", 1)], ["a1", "a2", "bare"], id="back-in-the-other-order"),
        pytest.param([("x", -1), ("y", -1), ("x", 1), ("y", 1), ("x", -1)], ["a1", "a2", "bare"], id="gone-again"),
        pytest.param([("x", -1), ("y", -1)], [], id="both-gone"),
    ],
)
def test_pods_that_come_back_are_last(signs: list[tuple[str, int]], expected: list[str]) -> None:
    """Pods are hypothetically removed and added again in preemption; the list keeps that order."""
    pods = {"x": peer("x", "a1"), "y": peer("y", "b1")}
    cluster = Cluster(NODES, pods.values(), [SERVICE])
    rows = {"x": 0, "y": 2}
    changes = [PodChange(rows[n], cluster.info(pods[n]), sign, pod=pods[n]) for n, sign in signs]
    assert failing(cluster, POD, "rack", snapshot=cluster.snapshot.what_if(changes)) == expected


def test_a_peer_that_is_only_nominated_is_an_error() -> None:
    """It has no node name yet; but only if it is the first."""
    cluster = Cluster(NODES, [], [SERVICE])
    nominated = PodChange(0, cluster.info(peer("n", "")), 1, nominated=True)
    verdict = check_service_affinity_1_20(("zone",), cluster.info(POD), cluster.snapshot.what_if([nominated]))
    assert [(str(text), type(text), mask.tolist()) for text, mask in verdict.items()] == [
        (NODE_NOT_FOUND, NodeError, [True] * 4)
    ]
    cluster = Cluster(NODES, [peer("old", "b1")], [SERVICE])
    assert failing(cluster, POD, "zone", snapshot=cluster.snapshot.what_if([nominated])) == ["a1", "a2", "bare"]
