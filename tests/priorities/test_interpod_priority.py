"""InterPodAffinityPriority."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.objects import (
    Affinity,
    LabelSelector,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    Requirement,
    WeightedPodAffinityTerm,
)
from priorities.interpod import INTERPOD, affinity_sums, normalize_sums
from priorities.types import PriorityArgs, PriorityError
from tests.support.build import Cluster, labels, make_node, make_pod

NODES = (
    make_node("a1", {"zone": "a", "host": "a1"}),
    make_node("a2", {"zone": "a", "host": "a2"}),
    make_node("b1", {"zone": "b", "host": "b1"}),
    make_node("none", {}),
)
X, Y = {"app": "x"}, {"app": "y"}
BAD = PodAffinityTerm("zone", LabelSelector(match_expressions=(Requirement("app", "Near", ("x",)),)))


def term(key: str = "zone", /, namespaces: tuple[str, ...] | None = None, **pairs: str) -> PodAffinityTerm:
    return PodAffinityTerm(key, LabelSelector(labels(pairs)), namespaces)


def requiring(wanted: PodAffinityTerm) -> Affinity:
    return Affinity(pod_affinity=PodAffinity((wanted,)))


def sums(cluster: Cluster, pod: Pod, hard_weight: int = 1) -> list[int]:
    counted: list[int] = affinity_sums(hard_weight, cluster.info(pod), cluster.snapshot).tolist()
    return counted


@pytest.mark.parametrize(
    ("counts", "scores"),
    [
        pytest.param([-2, 0, 5], [0, 2, 10], id="both-signs"),
        pytest.param([3, 3], [10, 10], id="all-liked"),
        pytest.param([-4, -4], [0, 0], id="all-disliked"),
        pytest.param([0, 0, 0], [0, 0, 0], id="nothing"),
        pytest.param([], [], id="no-node"),
    ],
)
def test_scores(counts: list[int], scores: list[int]) -> None:
    """Sums are stretched to 0–10 over their range with 0 in it: the specification's examples."""
    cluster = Cluster()
    found = normalize_sums(cluster.info(make_pod()), cluster.snapshot, np.array(counts, np.int64))
    assert found.tolist() == scores
    assert found.dtype == np.int64


def test_invalid_selectors() -> None:
    """One is an error in a running pod's terms, and in the pod's own once there is a pod to try it on."""
    liked = Affinity(pod_affinity=PodAffinity(preferred=(WeightedPodAffinityTerm(1, BAD),)))
    assert sums(Cluster(NODES), make_pod(affinity=liked)) == [0] * 4
    with pytest.raises(PriorityError, match="Near"):
        sums(Cluster(NODES, [make_pod("e", node="a1")]), make_pod(affinity=liked))
    with pytest.raises(PriorityError, match="Near"):
        sums(Cluster(NODES, [make_pod("e", node="a1", affinity=liked)]), make_pod())
    required = Cluster(NODES, [make_pod("e", node="a1", affinity=requiring(BAD))])
    assert sums(required, make_pod(), 0) == [0] * 4
    with pytest.raises(PriorityError, match="Near"):
        sums(required, make_pod(), 1)


# --- laws ----------------------------------------------------------------------------------


def random_pod(pick: random.Random, name: str, node: str = "") -> Pod:
    def side() -> PodAffinity | None:
        def one() -> PodAffinityTerm:
            return term(pick.choice(("zone", "host")), pick.choice((None, ("other",))), app=pick.choice("xy"))

        required = tuple(one() for _ in range(pick.randrange(2)))
        preferred = tuple(WeightedPodAffinityTerm(pick.randrange(1, 9), one()) for _ in range(pick.randrange(3)))
        return pick.choice((None, PodAffinity(required, preferred)))

    namespace, pairs = pick.choice(("default", "other")), {"app": pick.choice("xyz")}
    return make_pod(name, pairs, namespace=namespace, node=node, affinity=Affinity(None, side(), side()))


def random_cluster(pick: random.Random) -> Cluster:
    nodes = [
        make_node(f"n{i}", {key: pick.choice("ab") for key in ("zone", "host") if pick.random() < 0.8})
        for i in range(6)
    ]
    return Cluster(nodes, [random_pod(pick, f"e{i}", f"n{pick.randrange(6)}") for i in range(pick.randrange(9))])


def told_plainly(cluster: Cluster, pod: Pod, hard_weight: int) -> list[int]:
    """The rule as the specification tells it, pod by pod and node by node."""
    nodes = [node for node in cluster.columns.nodes if node]
    out = [0] * len(nodes)

    def count(owner: Pod, other: Pod, wanted: PodAffinityTerm, weight: int, on: str) -> None:
        assert wanted.label_selector is not None
        in_namespace = other.metadata.namespace in (wanted.namespaces or (owner.metadata.namespace,))
        if in_namespace and wanted.label_selector.match_labels.items() <= other.metadata.labels.items():
            there = next(node.metadata.labels for node in nodes if node.name == on).get(wanted.topology_key)
            for i, node in enumerate(nodes):
                if there is not None and node.metadata.labels.get(wanted.topology_key) == there:
                    out[i] += weight

    mine = cluster.info(pod)
    for running in (p for pods in cluster.columns.pods for p in pods.values()):
        theirs = cluster.info(running)
        for owner, other, info in ((pod, running, mine), (running, pod, theirs)):
            for w in info.preferred_affinity:
                count(owner, other, w.term, w.weight, running.node_name)
            for w in info.preferred_anti_affinity:
                count(owner, other, w.term, -w.weight, running.node_name)
        for required in theirs.required_affinity:
            count(running, pod, required, hard_weight, running.node_name)
    return out


@given(pick=st.randoms(use_true_random=True))
def test_it_is_the_rule_told_plainly(pick: random.Random) -> None:
    """On random clusters the columns say what the specification says pod by pod, for some rows as for all."""
    cluster, pod, hard_weight = random_cluster(pick), random_pod(pick, "p"), pick.choice((0, 1, 5))
    expected = told_plainly(cluster, pod, hard_weight)
    assert sums(cluster, pod, hard_weight) == expected
    rows = np.array(pick.sample(range(6), 3))
    part = affinity_sums(hard_weight, cluster.info(pod), cluster.snapshot.take(rows))
    assert part.tolist() == [expected[row] for row in rows]


def test_the_weight_comes_from_the_settings() -> None:
    """The family's map makes the priority with the configured weight of required affinity."""
    cluster = Cluster(NODES, [make_pod("e", Y, node="b1", affinity=requiring(term(app="x")))])
    config = INTERPOD["InterPodAffinityPriority"].make(PriorityArgs(hard_pod_affinity_symmetric_weight=4))
    assert config.map(cluster.info(make_pod(label=X)), cluster.snapshot).tolist() == [0, 0, 4, 0]
