"""Pod affinity of release 1.4 over columns gives what it gives pod by pod."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clusterstate.objects import Affinity, LabelSelector, Node, Pod, PodAffinity, PodAffinityTerm, Requirement
from clusterstate.objects import WeightedPodAffinityTerm as Weighted
from clusterstate.selectors.matching import SelectorError
from predicates.interpod import AFFINITY_NOT_MATCH_1_4, match_inter_pod_affinity_1_4
from priorities.interpod import affinity_sums_1_4
from priorities.types import PriorityError
from tests.support.build import cluster_1_4, labels, make_node, make_pod
from tests.support.references.reference_rules import ReferenceCluster, UnknownNodeError, fits, sums

DOMAINS = ("host", "rack", "zone")
INVALID = LabelSelector(match_expressions=(Requirement("app", "Bad"),))
SELECTORS = st.sampled_from(
    [None, LabelSelector(), LabelSelector(labels({"app": "web"})), LabelSelector(labels({"app": "db"})), INVALID]
)
NAMESPACES = st.sampled_from([None, (), ("default",), ("other",), ("default", "other")])
TERMS = st.builds(PodAffinityTerm, st.sampled_from(["", "host", "zone", "rack"]), SELECTORS, NAMESPACES)
WEIGHTED = st.builds(Weighted, st.integers(0, 5), TERMS)
POD_AFFINITIES = st.none() | st.builds(
    PodAffinity, st.lists(TERMS, max_size=2).map(tuple), st.lists(WEIGHTED, max_size=2).map(tuple)
)
NODE_LABELS = st.fixed_dictionaries(
    {}, optional={"host": st.sampled_from("ab"), "zone": st.sampled_from(["", "x", "y"]), "rack": st.sampled_from("rs")}
)
POD_PARTS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {
        "label": st.sampled_from([{"app": "web"}, {"app": "db"}, {}]),
        "namespace": st.sampled_from(["default", "other"]),
        "affinity": st.none() | st.builds(Affinity, st.none(), POD_AFFINITIES, POD_AFFINITIES),
    }
)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Node], list[Pod]]:
    """Up to five nodes and pods; now and then one runs where there is no node."""
    nodes = [make_node(f"n{i}", pairs) for i, pairs in enumerate(draw(st.lists(NODE_LABELS, min_size=1, max_size=5)))]
    last = len(nodes) - (0 if draw(st.integers(0, 4)) == 0 else 1)
    placed = draw(st.lists(st.tuples(st.integers(0, last), POD_PARTS), max_size=5))
    return nodes, [make_pod(f"p{i}", node=f"n{at}", **fields) for i, (at, fields) in enumerate(placed)]


@given(world=worlds(), fields=POD_PARTS)
def test_the_predicate(world: Any, fields: Any) -> None:
    """Aliased keys, empty keys, empty values, all namespaces, invalid selectors and unknown nodes among it."""
    nodes, pods = world
    cluster, pod = cluster_1_4(nodes, pods), make_pod(**fields)
    verdict = match_inter_pod_affinity_1_4(cluster.info(pod), cluster.snapshot, DOMAINS)
    assert set(verdict) <= {AFFINITY_NOT_MATCH_1_4}
    refused = verdict.get(AFFINITY_NOT_MATCH_1_4, [False] * len(cluster.snapshot))
    for node in nodes:
        wanted = fits(pod, node, ReferenceCluster(nodes, pods, DOMAINS))
        assert (not refused[cluster.columns.row_of[node.name]]) == wanted, node.name


@given(world=worlds(), fields=POD_PARTS, hard_weight=st.integers(0, 3))
def test_the_priority(world: Any, fields: Any, hard_weight: int) -> None:
    """The same sums, or an error in both."""
    nodes, pods = world
    cluster, pod = cluster_1_4(nodes, pods), make_pod(**fields)
    wanted: dict[str, int] | None
    try:
        wanted = sums(pod, ReferenceCluster(nodes, pods, DOMAINS), hard_weight)
    except (SelectorError, UnknownNodeError):
        wanted = None
    found: dict[str, int] | None
    try:
        row = affinity_sums_1_4(hard_weight, DOMAINS, cluster.info(pod), cluster.snapshot)
        found = {node.name: int(row[cluster.columns.row_of[node.name]]) for node in nodes}
    except PriorityError:
        found = None
    assert found == wanted


@given(world=worlds(), fields=POD_PARTS, moved=st.data())
def test_pods_that_come_and_go(world: Any, fields: Any, moved: st.DataObject) -> None:
    """Counts that are kept while pods leave and come back are those of a fresh cluster."""
    nodes, pods = world
    cluster, pod = cluster_1_4(nodes, pods), make_pod(**fields)
    match_inter_pod_affinity_1_4(cluster.info(pod), cluster.snapshot, DOMAINS)
    left = [other for other in pods if moved.draw(st.booleans())]
    for other in pods:
        if other not in left:
            cluster.columns.take_pod(cluster.columns.row_of[other.node_name], other.metadata.uid)
    fresh = cluster_1_4(nodes, left)
    used = match_inter_pod_affinity_1_4(cluster.info(pod), cluster.snapshot, DOMAINS)
    new = match_inter_pod_affinity_1_4(fresh.info(pod), fresh.snapshot, DOMAINS)
    for node in nodes:
        at, there = cluster.columns.row_of[node.name], fresh.columns.row_of[node.name]
        assert {r for r, mask in used.items() if mask[at]} == {r for r, mask in new.items() if mask[there]}
