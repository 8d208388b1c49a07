"""HostName and MatchNodeSelector."""

from __future__ import annotations

import numpy as np
import pytest

from clusterstate.changes import Reads
from clusterstate.objects import Affinity, NodeAffinity, NodeSelectorTerm, Requirement
from predicates.node_identity import NODE_IDENTITY, pod_fits_host, pod_match_node_selector
from predicates.types import PredicateArgs
from tests.support.build import Cluster, labels, make_node, make_pod, names_where

NODES = [
    make_node("a", {"kubernetes.io/hostname": "b", "disk": "ssd"}),
    make_node("b", {"kubernetes.io/hostname": "a", "disk": "hdd"}),
]


@pytest.mark.parametrize(
    ("name", "failing"),
    [
        pytest.param("a", ["b"], id="by-name-not-by-label"),
        pytest.param("nowhere", ["a", "b"], id="unknown"),
    ],
)
def test_a_named_node_is_the_only_one(name: str, failing: list[str]) -> None:
    """The node's name decides, its hostname label does not."""
    cluster = Cluster(NODES)
    pod = cluster.info(make_pod())
    pod.node_name = name
    verdict = pod_fits_host(pod, cluster.snapshot)
    assert list(verdict) == ["node(s) didn't match the requested hostname"]
    assert names_where(cluster.snapshot, *verdict.values()) == failing


def test_a_pod_that_names_no_node_fits_all() -> None:
    """Then the predicate need not even run."""
    cluster = Cluster(NODES)
    pod = cluster.info(make_pod())
    assert pod_fits_host(pod, cluster.snapshot) == {}
    assert not NODE_IDENTITY["HostName"](PredicateArgs()).applies(pod)


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


def test_a_node_is_judged_again_when_its_labels_change() -> None:
    """Columns follow an update, and the predicate depends on nothing but the node."""
    cluster = Cluster(NODES)
    pod = cluster.info(make_pod(node_selector=labels({"disk": "ssd"})))
    rule = NODE_IDENTITY["MatchNodeSelector"](PredicateArgs())
    assert rule.footprint.reads == Reads.NODE
    assert rule.applies(pod)
    assert [mask.tolist() for mask in rule.check(pod, cluster.snapshot).values()] == [[False, True]]
    cluster.columns.put_node(1, make_node("b", {"disk": "ssd"}))
    assert not np.any(list(rule.check(pod, cluster.snapshot).values()))


def test_plain_pods_skip_the_selector() -> None:
    """No selector and no affinity: nothing to run."""
    cluster = Cluster(NODES)
    pod = cluster.info(make_pod())
    assert not NODE_IDENTITY["MatchNodeSelector"](PredicateArgs()).applies(pod)
    assert pod_match_node_selector(pod, cluster.snapshot) == {}
