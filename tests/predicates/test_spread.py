"""EvenPodsSpread."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.objects import (
    Affinity,
    LabelSelector,
    Node,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    Requirement,
    TopologySpreadConstraint,
)
from clusterstate.snapshot import PodChange
from predicates.spread import NO_METADATA, NOT_SPREAD, even_pods_spread
from predicates.types import NodeError
from tests.support.build import Cluster, labels, make_node, make_pod, names_where, pods_on

X = {"app": "x"}
HAS_X = LabelSelector(labels(X))
BAD = LabelSelector(match_expressions=(Requirement("app", "Near", ("x",)),))


def spread(
    key: str = "zone", skew: int = 1, selector: LabelSelector | None = HAS_X, when: str = "DoNotSchedule"
) -> TopologySpreadConstraint:
    return TopologySpreadConstraint(skew, key, when, selector)


def fails(cluster: Cluster, pod: Pod) -> list[str]:
    snapshot = cluster.snapshot
    verdict = even_pods_spread(cluster.info(pod), snapshot)
    assert set(verdict) <= {NOT_SPREAD}
    return names_where(snapshot, verdict[NOT_SPREAD] & snapshot.has_node) if verdict else []


ZONES = [make_node(zone, {"zone": zone, "host": zone}) for zone in "abc"]


THREE_ZONES: dict[str, Any] = {
    "soft": (make_pod(label=X, topology_spread_constraints=(spread(when="ScheduleAnyway"),)), []),
    "key-nowhere": (make_pod(label=X, topology_spread_constraints=(spread("rack"),)), []),
    "null-selector": (make_pod(label=X, topology_spread_constraints=(spread(selector=None),)), []),
    "all-pods": (make_pod(label=X, topology_spread_constraints=(spread(selector=LabelSelector()),)), ["a", "c"]),
    "other-namespace": (make_pod(label=X, namespace="other", topology_spread_constraints=(spread(),)), []),
    "no-eligible-node": (
        make_pod(label=X, topology_spread_constraints=(spread(),), node_selector=labels({"zone": "d"})),
        [],
    ),
}


@pytest.mark.parametrize(("pod", "expected"), THREE_ZONES.values(), ids=THREE_ZONES)
def test_three_zones(pod: Pod, expected: list[str]) -> None:
    """Zones a, b, c hold 3, 1 and 2 matching pods: the specification's example and its variations."""
    assert fails(Cluster(ZONES, pods_on(a=3, b=1, c=2)), pod) == expected


def test_terminating_pods_count_and_pods_on_unknown_nodes_do_not() -> None:
    """Only pods on nodes that are known are counted, those being deleted among them."""
    cluster = Cluster(ZONES, [make_pod("t", X, node="a", deleting=True), make_pod("u", X, node="gone")])
    pod = make_pod(label=X, topology_spread_constraints=(spread(),))
    assert fails(cluster, pod) == ["a"]


def test_counts_follow_the_cluster() -> None:
    """Pods that come, and a domain that loses its last node, are seen at once."""
    cluster = Cluster(ZONES, pods_on(a=1, b=1))
    pod = make_pod(label=X, topology_spread_constraints=(spread(),))
    assert fails(cluster, pod) == ["a", "b"]
    cluster.columns.put_pod(cluster.columns.row("c"), make_pod("new", X), "new")
    assert fails(cluster, pod) == []
    cluster.columns.take_pod(cluster.columns.row("c"), "new")
    cluster.columns.put_node(cluster.columns.row("c"), None)
    assert fails(cluster, pod) == []


def test_thought_on_pods_count() -> None:
    """A pod hypothetically added to a node counts, nominated or not, and one removed does not."""
    cluster = Cluster(ZONES, pods_on(a=1, b=1, c=1))
    info = cluster.info(make_pod(label=X, topology_spread_constraints=(spread(),)))
    other = cluster.info(make_pod("o", X))
    for nominated in (False, True):
        snapshot = cluster.snapshot.what_if([PodChange(0, other, 1, nominated)])
        assert names_where(snapshot, even_pods_spread(info, snapshot)[NOT_SPREAD]) == ["a"]
    snapshot = cluster.snapshot.what_if([PodChange(0, other, -1)])
    assert names_where(snapshot, even_pods_spread(info, snapshot)[NOT_SPREAD]) == ["b", "c"]


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param(pods_on(a=1), NO_METADATA, id="tried-on-a-pod"),
        pytest.param([], '"Near" is not a valid pod selector operator', id="tried-on-itself-only"),
        pytest.param([make_pod("e", X, node="a", namespace="other")], '"Near" is not', id="pod-elsewhere"),
    ],
)
def test_an_invalid_selector_is_an_error(pods: list[Pod], expected: str) -> None:
    """Upstream then has no counts; the text depends on whether a pod met the selector."""
    cluster = Cluster(ZONES, pods)
    pod = make_pod(label=X, topology_spread_constraints=(spread(selector=BAD),))
    (error,) = even_pods_spread(cluster.info(pod), cluster.snapshot)
    assert isinstance(error, NodeError)
    assert error.startswith(expected)


def test_an_invalid_pod_affinity_is_an_error() -> None:
    """An invalid selector of a pod affinity leaves no counts for spreading either."""
    bad = Affinity(pod_affinity=PodAffinity((PodAffinityTerm("zone", BAD),)))
    cluster = Cluster(ZONES)
    pod = make_pod(label=X, topology_spread_constraints=(spread(),), affinity=bad)
    assert list(even_pods_spread(cluster.info(pod), cluster.snapshot)) == [NO_METADATA]


# --- laws ----------------------------------------------------------------------------------


def random_cluster(pick: random.Random) -> tuple[Cluster, Pod]:
    def label_set() -> dict[str, str]:
        return {key: pick.choice("ab") for key in ("zone", "host", "disk") if pick.random() < 0.85}

    nodes = [make_node(f"n{i}", label_set()) for i in range(7)]
    pods = [make_pod(f"e{i}", pick.choice((X, {})), node=f"n{pick.randrange(7)}") for i in range(pick.randrange(12))]
    keys = pick.choice((("zone",), ("host",), ("zone", "host")))
    selector = pick.choice(({}, {}, {"disk": "a"}))
    constraints = tuple(spread(key, pick.choice((1, 2))) for key in keys)
    pod = make_pod(label=X, topology_spread_constraints=constraints, node_selector=labels(selector))
    return Cluster(nodes, pods), pod


def told_plainly(nodes: list[Node], running: list[Pod], pod: Pod) -> list[str]:
    """The rule as the specification tells it, pod by pod and node by node."""
    constraints = pod.spec.topology_spread_constraints
    count: Counter[tuple[str, str]] = Counter()
    for node in nodes:
        on = node.metadata.labels
        if pod.spec.node_selector.items() <= on.items() and all(c.topology_key in on for c in constraints):
            here = sum(p.node_name == node.name and p.metadata.labels == X for p in running)
            for c in constraints:
                count[c.topology_key, on[c.topology_key]] += here
    if not count:
        return []
    least = {c.topology_key: min(n for (key, _), n in count.items() if key == c.topology_key) for c in constraints}

    def passes(on: dict[str, str], c: TopologySpreadConstraint) -> bool:
        key = c.topology_key
        return key in on and count[key, on[key]] + 1 - least[key] <= c.max_skew

    return [node.name for node in nodes if not all(passes(node.metadata.labels, c) for c in constraints)]


@given(pick=st.randoms(use_true_random=True))
def test_it_is_the_rule_told_plainly(pick: random.Random) -> None:
    """On random clusters the columns say what the specification says pod by pod, for some rows as for all."""
    cluster, pod = random_cluster(pick)
    nodes = [node for node in cluster.columns.nodes if node]
    running = [p for pods in cluster.columns.pods for p in pods.values()]
    assert fails(cluster, pod) == told_plainly(nodes, running, pod)
    rows = np.array(pick.sample(range(7), 4))
    info, snapshot = cluster.info(pod), cluster.snapshot
    whole, part = even_pods_spread(info, snapshot), even_pods_spread(info, snapshot.take(rows))
    assert whole.keys() == part.keys()
    assert all((whole[reason][rows] == part[reason]).all() for reason in whole)
