"""HostName, MatchNodeSelector, CheckNodeLabelPresence and features that nodes declare."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.objects import Affinity, Container, NodeAffinity, NodeSelectorTerm, Requirement
from predicates.node_identity import (
    HOST_NETWORK_USERS,
    LABEL_PRESENCE,
    RESTART_ALL,
    label_presence_factory,
    needed_features,
    pod_fits_host,
    pod_match_node_selector,
)
from predicates.types import PredicateArgs
from tests.support.build import Cluster, labels, make_node, make_pod, names_where

NODES = [
    make_node("a", {"kubernetes.io/hostname": "b", "disk": "ssd"}),
    make_node("b", {"kubernetes.io/hostname": "a", "disk": "hdd"}),
]


@pytest.mark.parametrize(
    ("name", "failing"),
    [pytest.param("a", ["b"], id="by-name-not-by-label"), pytest.param("nowhere", ["a", "b"], id="unknown")],
)
def test_a_named_node_is_the_only_one(name: str, failing: list[str]) -> None:
    """The node's name decides, its hostname label does not."""
    cluster = Cluster(NODES)
    pod = cluster.info(make_pod())
    pod.node_name = name
    verdict = pod_fits_host(pod, cluster.snapshot)
    assert list(verdict) == ["node(s) didn't match the requested hostname"]
    assert names_where(cluster.snapshot, *verdict.values()) == failing


def affinity(*terms: NodeSelectorTerm) -> Affinity:
    return Affinity(NodeAffinity(required=terms))


SSD = NodeSelectorTerm((Requirement("disk", "In", ("ssd",)),))
INVALID = NodeSelectorTerm((Requirement("disk", "Near", ("ssd",)),))


@pytest.mark.parametrize(
    ("spec", "failing"),
    [
        pytest.param({"node_selector": labels({"disk": "ssd"})}, ["b"], id="selector"),
        pytest.param({"affinity": affinity(SSD)}, ["b"], id="affinity"),
        pytest.param({"node_selector": labels({"disk": "hdd"}), "affinity": affinity(SSD)}, ["a", "b"], id="both"),
        pytest.param({"affinity": affinity()}, ["a", "b"], id="no-terms"),
        pytest.param({"affinity": affinity(NodeSelectorTerm())}, ["a", "b"], id="empty-term"),
        pytest.param({"affinity": affinity(INVALID, SSD)}, ["b"], id="invalid-term-skipped"),
        pytest.param({"node_selector": labels({"disk": "-"})}, [], id="invalid-selector-matches-all"),
    ],
)
def test_selector_and_required_affinity(spec: dict[str, object], failing: list[str]) -> None:
    """Both have to pick the node."""
    cluster = Cluster(NODES)
    pod = cluster.info(make_pod(**spec))  # type: ignore[arg-type]
    verdict = pod_match_node_selector(pod, cluster.snapshot)
    assert list(verdict) == ["node(s) didn't match node selector"]
    assert names_where(cluster.snapshot, *verdict.values()) == failing


NODES_LABELS = [
    make_node("none"),
    make_node("one", {"zone": "a"}),
    make_node("empty", {"zone": ""}),
    make_node("both", {"zone": "a", "retiring": "soon"}),
]


@pytest.mark.parametrize(
    ("labels", "presence", "failing"),
    [
        pytest.param(["zone"], True, ["none"], id="must-have"),
        pytest.param(["zone"], False, ["one", "empty", "both"], id="must-lack"),
        pytest.param(["zone", "retiring"], True, ["none", "one", "empty"], id="must-have-all"),
        pytest.param(["zone", "retiring"], False, ["one", "empty", "both"], id="must-lack-all"),
        pytest.param(["nope"], True, ["none", "one", "empty", "both"], id="nobody-has"),
        pytest.param(["nope"], False, [], id="nobody-has-lack"),
    ],
)
def test_labels_must_be_there_or_not(labels: list[str], presence: bool, failing: list[str]) -> None:
    """Each listed label on its own; an empty value is there."""
    cluster = Cluster(NODES_LABELS)
    rule = label_presence_factory("Custom", tuple(labels), presence)(PredicateArgs())
    assert rule.name == "Custom"
    verdict = rule.check(cluster.info(make_pod()), cluster.snapshot)
    assert list(verdict) == [LABEL_PRESENCE]
    assert names_where(cluster.snapshot, verdict[LABEL_PRESENCE]) == failing


RESTARTS = Container("c", restart_rule_actions=("Restart", "RestartAllContainers"))


FEATURES_FOLLOW: dict[str, Any] = {
    "none": ({}, set()),
    "container": ({"containers": (Container("a"), RESTARTS)}, {RESTART_ALL}),
    "init-container": ({"init_containers": (RESTARTS,)}, {RESTART_ALL}),
    "other-action": ({"containers": (Container("a", restart_rule_actions=("Restart",)),)}, set()),
    "host-network": ({"host_network": True, "host_users": False}, {HOST_NETWORK_USERS}),
    "host-users": ({"host_network": True, "host_users": True}, set()),
    "host-users-by-default": ({"host_network": True}, set()),
    "own-network": ({"host_users": False}, set()),
    "both": ({"host_network": True, "host_users": False, "containers": (RESTARTS,)}, {RESTART_ALL, HOST_NETWORK_USERS}),
}


@pytest.mark.parametrize(("fields", "expected"), FEATURES_FOLLOW.values(), ids=FEATURES_FOLLOW)
def test_features_follow_from_the_spec(fields: dict[str, Any], expected: set[str]) -> None:
    """Of two features, as far as scheduling infers any."""
    assert needed_features(make_pod(**fields).spec) == expected
