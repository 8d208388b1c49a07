"""CheckServiceAffinity of 1.16, and ServiceAffinity of 1.20."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from clusterstate.objects import Node, ObjectMeta, Pod, Service
from clusterstate.snapshot import PodChange, Snapshot
from predicates.service_affinity import (
    AFFINITY_VIOLATED,
    NODE_NOT_FOUND,
    check_service_affinity_1_20,
    service_affinity_factory,
)
from predicates.types import NodeError, PredicateArgs, Verdict
from tests.support.build import Cluster, labels, make_node, make_pod, names_where

WEB = {"app": "web"}
NODES = [
    make_node("a1", {"zone": "a", "rack": "1"}),
    make_node("a2", {"zone": "a", "rack": "2"}),
    make_node("b1", {"zone": "b", "rack": "1"}),
    make_node("bare"),
]


def service(selector: Mapping[str, str] | None, namespace: str = "default") -> Service:
    return Service(ObjectMeta("web", namespace), None if selector is None else labels(selector))


def check(cluster: Cluster, pod: Pod, *keys: str, snapshot: Snapshot | None = None) -> Verdict:
    rule = service_affinity_factory("CheckServiceAffinity", keys)(PredicateArgs())
    return rule.check(cluster.info(pod), snapshot or cluster.snapshot)


def failing(cluster: Cluster, pod: Pod, *keys: str, snapshot: Snapshot | None = None) -> list[str]:
    verdict = check(cluster, pod, *keys, snapshot=snapshot)
    assert set(verdict) <= {AFFINITY_VIOLATED}
    return [name for mask in verdict.values() for name in names_where(snapshot or cluster.snapshot, mask)]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        pytest.param(["zone"], ["b1", "bare"], id="one"),
        pytest.param(["zone", "rack"], ["a1", "b1", "bare"], id="two"),
        pytest.param(["zone", "nope"], ["b1", "bare"], id="label-the-peer's-node-lacks"),
        pytest.param(["nope"], [], id="nothing-to-follow"),
    ],
)
def test_a_pod_follows_its_peer(keys: list[str], expected: list[str]) -> None:
    """The values of the listed labels are those of the peer's node."""
    cluster = Cluster(NODES, [make_pod("old", WEB, node="a2")], [service(WEB)])
    assert failing(cluster, make_pod(label=WEB), *keys) == expected


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param({"zone": "b"}, ["a1", "a2", "bare"], id="pinned"),
        pytest.param({"rack": "1"}, ["a2", "b1", "bare"], id="pinned-and-followed"),
        pytest.param({"disk": "ssd"}, ["a1", "b1", "bare"], id="not-a-listed-label"),
    ],
)
def test_the_node_selector_comes_first(selector: dict[str, str], expected: list[str]) -> None:
    """What the pod pins is not asked of the peer; what it leaves open is."""
    cluster = Cluster(NODES, [make_pod("old", WEB, node="a2")], [service(WEB)])
    keys = ["zone"] if "zone" in selector else ["zone", "rack"]
    assert failing(cluster, make_pod(label=WEB, node_selector=labels(selector)), *keys) == expected


def test_an_invalid_pin_matches_everything() -> None:
    """A pair that is no valid label switches the whole comparison off."""
    cluster = Cluster(NODES, [make_pod("old", WEB, node="a2")], [service(WEB)])
    assert failing(cluster, make_pod(label=WEB, node_selector=labels({"rack": "-"})), "zone", "rack") == []


PEER: dict[str, Any] = {
    "peer": (make_pod(label=WEB), make_pod("o", WEB, node="a2"), service(WEB), True),
    "no-selector": (make_pod(label=WEB), make_pod("o", WEB, node="a2"), service(None), False),
    "no-service": (make_pod(label=WEB), make_pod("o", WEB, node="a2"), service({"x": "y"}), False),
    "foreign-service": (make_pod(label=WEB), make_pod("o", WEB, node="a2"), service(WEB, "other"), False),
    "foreign-pod": (make_pod(label=WEB), make_pod("o", WEB, node="a2", namespace="other"), service(WEB), False),
    "fewer-labels": (make_pod(label={**WEB, "v": "2"}), make_pod("o", WEB, node="a2"), service(WEB), False),
    "more-labels": (make_pod(label=WEB), make_pod("o", {**WEB, "v": "2"}, node="a2"), service(WEB), True),
    "no-labels": (make_pod(), make_pod("o", {"any": "thing"}, node="a2"), service({}), True),
    "terminating": (make_pod(label=WEB), make_pod("o", WEB, node="a2", deleting=True), service(WEB), True),
}


@pytest.mark.parametrize(("pod", "old", "svc", "follows"), PEER.values(), ids=PEER)
def test_who_is_a_peer(pod: Pod, old: Pod, svc: Service, follows: bool) -> None:
    """Pods of the namespace with all of the pod's own labels, as long as the pod has a service."""
    cluster = Cluster(NODES, [old], [svc])
    assert failing(cluster, pod, "zone") == (["b1", "bare"] if follows else [])


def test_of_several_peers_the_lowest_row_counts() -> None:
    """Upstream's order is arbitrary; here it is the same every time."""
    pods = [make_pod("x", WEB, node="b1"), make_pod("y", WEB, node="a2")]
    cluster = Cluster(NODES, pods, [service(WEB)])
    assert failing(cluster, make_pod(label=WEB), "zone") == ["b1", "bare"]


def test_a_peer_on_an_unknown_node_is_an_error() -> None:
    """It is met on every node; a pod that pins all listed labels never looks."""
    cluster = Cluster(NODES, [make_pod("old", WEB, node="ghost")], [service(WEB)])
    (reason, mask), *rest = check(cluster, make_pod(label=WEB), "zone").items()
    assert isinstance(reason, NodeError)
    assert reason == 'node "ghost" not found in cache'
    assert mask.all()
    assert not rest
    pinned = make_pod(label=WEB, node_selector=labels({"zone": "b"}))
    assert failing(cluster, pinned, "zone") == ["a1", "a2", "bare", "ghost"]


def test_peers_outside_the_rows_count() -> None:
    """A subset of rows is judged as in the whole cluster."""
    cluster = Cluster(NODES, [make_pod("old", WEB, node="a1")], [service(WEB)])
    rows = cluster.snapshot.take(np.array([2, 1]))
    assert failing(cluster, make_pod(label=WEB), "zone", snapshot=rows) == ["b1"]


def test_thoughts_about_peers_count() -> None:
    """A peer hypothetically removed is none, one added is one; a nomination is on no node."""
    old = make_pod("old", WEB, node="a1")
    cluster = Cluster(NODES, [old], [service(WEB)])
    info, pod = cluster.info(old), make_pod(label=WEB)
    gone = cluster.snapshot.what_if([PodChange(0, info, -1)])
    assert failing(cluster, pod, "zone", snapshot=gone) == []
    moved = gone.what_if([PodChange(2, info, 1)])
    assert failing(cluster, pod, "zone", snapshot=moved) == ["a1", "a2", "bare"]
    nominated = [PodChange(2, info, 1, nominated=True)]
    assert failing(cluster, pod, "zone", snapshot=cluster.snapshot.what_if(nominated)) == ["b1", "bare"]
    assert list(check(cluster, pod, "zone", snapshot=gone.what_if(nominated))) == ['node "" not found in cache']


def test_a_change_of_the_peer_s_node_is_seen() -> None:
    """The peer's labels are read afresh."""
    cluster = Cluster(NODES, [make_pod("old", WEB, node="a1")], [service(WEB)])
    moved: Node = make_node("a1", {"zone": "b"})
    assert failing(cluster, make_pod(label=WEB), "zone") == ["b1", "bare"]
    cluster.columns.put_node(0, moved)
    assert failing(cluster, make_pod(label=WEB), "zone") == ["a2", "bare"]


BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
NODES_1_20 = [
    make_node("a1", {"zone": "a", "rack": "1", BETA_ZONE: "a"}),
    make_node("a2", {"zone": "a", "rack": "2", BETA_ZONE: "a"}),
    make_node("b1", {"zone": "b", "rack": "3", "topology.kubernetes.io/zone": "b"}),
    make_node("bare"),
]
SERVICE = Service(ObjectMeta("web", "default"), labels(WEB))
POD = make_pod(label=WEB)


def peer(name: str, node: str, **fields: str) -> Pod:
    return make_pod(name, {**WEB, **fields}, node=node)


def failing_1_20(cluster: Cluster, pod: Pod, *keys: str, snapshot: Snapshot | None = None) -> list[str]:
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
def test_a_pod_follows_its_peer_1_20(keys: list[str], expected: list[str]) -> None:
    """The values of the affinity labels are those of the peer's node."""
    cluster = Cluster(NODES_1_20, [peer("old", "a2")], [SERVICE])
    assert failing_1_20(cluster, POD, *keys) == expected


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        pytest.param({"zone": "b"}, ["a1", "a2", "b1", "bare"], id="pinned-and-followed"),
        pytest.param({"zone": "b", "rack": "3"}, ["a1", "a2", "bare"], id="pinned"),
        pytest.param({"rack": "-"}, ["a1", "a2", "b1", "bare"], id="pinned-to-what-no-node-can-have"),
        pytest.param({"disk": "ssd"}, ["a1", "b1", "bare"], id="not-an-affinity-label"),
    ],
)
def test_the_node_selector_comes_first_1_20(pairs: dict[str, str], expected: list[str]) -> None:
    """What the pod pins is not asked of the peer."""
    cluster = Cluster(NODES_1_20, [peer("old", "a2")], [SERVICE])
    assert failing_1_20(cluster, make_pod(label=WEB, node_selector=labels(pairs)), "zone", "rack") == expected


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
    assert failing_1_20(Cluster(NODES_1_20, pods, services), POD, "zone") == []


def test_a_peer_may_have_more_labels() -> None:
    """The pod's own labels are the selector."""
    cluster = Cluster(NODES_1_20, [peer("old", "b1", more="yes")], [SERVICE])
    assert failing_1_20(cluster, POD, "zone") == ["a1", "a2", "bare"]


def test_the_first_peer_is_the_first_in_the_node_list() -> None:
    """Which takes zones in turn: a1, b1, bare, a2."""
    cluster = Cluster(NODES_1_20, [peer("x", "a2"), peer("y", "b1")], [SERVICE])
    assert failing_1_20(cluster, POD, "rack") == ["a1", "a2", "bare"]
    cluster = Cluster(NODES_1_20, [peer("x", "a2"), peer("y", "bare")], [SERVICE])
    assert failing_1_20(cluster, POD, "rack") == []


def test_the_node_list_follows_the_nodes() -> None:
    """A node that joins takes its place in the list."""
    cluster = Cluster(NODES_1_20[1:3], [peer("x", "a2"), peer("y", "b1")], [SERVICE])
    assert failing_1_20(cluster, POD, "rack") == ["b1"]
    cluster.columns.put_node(cluster.columns.row("a1"), NODES_1_20[0])
    assert failing_1_20(cluster, POD, "rack") == ["b1", "a1"]


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
    cluster = Cluster(NODES_1_20, pods.values(), [SERVICE])
    rows = {"x": 0, "y": 2}
    changes = [PodChange(rows[n], cluster.info(pods[n]), sign, pod=pods[n]) for n, sign in signs]
    assert failing_1_20(cluster, POD, "rack", snapshot=cluster.snapshot.what_if(changes)) == expected


def test_a_peer_that_is_only_nominated_is_an_error() -> None:
    """It has no node name yet; but only if it is the first."""
    cluster = Cluster(NODES_1_20, [], [SERVICE])
    nominated = PodChange(0, cluster.info(peer("n", "")), 1, nominated=True)
    verdict = check_service_affinity_1_20(("zone",), cluster.info(POD), cluster.snapshot.what_if([nominated]))
    assert [(str(text), type(text), mask.tolist()) for text, mask in verdict.items()] == [
        (NODE_NOT_FOUND, NodeError, [True] * 4)
    ]
    cluster = Cluster(NODES_1_20, [peer("old", "b1")], [SERVICE])
    assert failing_1_20(cluster, POD, "zone", snapshot=cluster.snapshot.what_if([nominated])) == ["a1", "a2", "bare"]
