"""LeastRequestedPriority, MostRequestedPriority and BalancedResourceAllocation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.objects import Container, FrozenMap, ResourceList
from clusterstate.snapshot import PodChange
from priorities.requested import balanced_resource_allocation, least_requested, most_requested
from tests.support.build import Cluster, make_node, make_pod, resources

GIB = 1 << 30
MIB = 1 << 20
RULES = (least_requested, most_requested, balanced_resource_allocation)
NOTHING: ResourceList = FrozenMap()

# allocatable, request of the running pod, request of the pod, (least, most, balanced)
CASES = {
    "e1": (
        resources(cpu=4000, memory=8 * GIB),
        resources(cpu=1000, memory=2 * GIB),
        resources(cpu=500),
        (6, 2, 8),
    ),
    "defaults-of-silent-pods": (
        resources(cpu=1000, memory=2000 * MIB),
        resources(cpu=400, memory=800 * MIB),
        NOTHING,
        (5, 5, 10),
    ),
    "written-zeros-count-as-zero": (
        resources(cpu=1000, memory=1000),
        resources(cpu=0, memory=0),
        resources(cpu=0, memory=0),
        (10, 0, 10),
    ),
    "fractions-0.9-and-0.1": (
        resources(cpu=1000, memory=1000),
        resources(cpu=0, memory=0),
        resources(cpu=900, memory=100),
        (5, 5, 1),
    ),
    "fractions-0.8-and-0.1": (
        resources(cpu=1000, memory=1000),
        resources(cpu=0, memory=0),
        resources(cpu=800, memory=100),
        (5, 4, 2),
    ),
    "exactly-full": (
        resources(cpu=1000, memory=1000),
        resources(cpu=500, memory=500),
        resources(cpu=500, memory=500),
        (0, 10, 0),
    ),
    "cpu-overcommitted": (
        resources(cpu=1000, memory=1000),
        resources(cpu=900, memory=100),
        resources(cpu=200, memory=100),
        (4, 1, 0),
    ),
    "no-cpu-allocatable": (
        resources(memory=1000),
        resources(cpu=0, memory=0),
        resources(cpu=0, memory=500),
        (2, 2, 0),
    ),
    "nothing-allocatable": (NOTHING, resources(cpu=0, memory=0), resources(cpu=0, memory=0), (0, 0, 0)),
    "ten-times-the-memory-wraps": (
        resources(cpu=1000, memory=1 << 60),
        resources(cpu=0, memory=0),
        resources(cpu=0, memory=0),
        (2, 0, 10),
    ),
}


@pytest.mark.parametrize(("allocatable", "running", "request_", "scores"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("nodes", [1, 9])
def test_scores(
    nodes: int,
    allocatable: ResourceList,
    running: ResourceList,
    request_: ResourceList,
    scores: tuple[int, int, int],
) -> None:
    """Upstream's numbers, on one node and on several."""
    cluster = Cluster(
        [make_node(f"n{i}", allocatable=allocatable) for i in range(nodes)],
        [make_pod(f"p{i}", node=f"n{i}", requests=running) for i in range(nodes)],
    )
    pod = cluster.info(make_pod(requests=request_))
    assert [rule(pod, cluster.snapshot).tolist() for rule in RULES] == [[score] * nodes for score in scores]


def test_init_containers_do_not_count_and_a_pod_without_containers_is_nothing() -> None:
    """Only ordinary containers are summed."""
    cluster = Cluster([make_node("n", allocatable=resources(cpu=1000, memory=1000))])
    init = Container(requests=resources(cpu=900, memory=900))
    pod = cluster.info(make_pod(containers=(), init_containers=(init,)))
    assert least_requested(pod, cluster.snapshot).tolist() == [10]


AMOUNTS = st.one_of(st.integers(0, 30), st.integers(0, 1 << 59))


@pytest.mark.parametrize("rule", RULES)
@given(
    rows=st.lists(st.tuples(AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS), min_size=9, max_size=12),
    cpu=AMOUNTS,
    memory=AMOUNTS,
    row=st.integers(0, 8),
)
def test_a_few_rows_score_like_many(
    rule: object, rows: list[tuple[int, int, int, int]], cpu: int, memory: int, row: int
) -> None:
    """One row scored alone is that row of all of them."""
    assert callable(rule)
    cluster = Cluster(
        [make_node(f"n{i}", allocatable=resources(cpu=c, memory=m)) for i, (c, m, _, _) in enumerate(rows)],
        [make_pod(f"p{i}", node=f"n{i}", requests=resources(cpu=c, memory=m)) for i, (_, _, c, m) in enumerate(rows)],
    )
    pod, snapshot = cluster.info(make_pod(requests=resources(cpu=cpu, memory=memory))), cluster.snapshot
    few = snapshot.take(snapshot.row_numbers[row : row + 1])
    assert rule(pod, few).tolist() == rule(pod, snapshot)[row : row + 1].tolist()


def test_pods_thought_on_and_away_count() -> None:
    """A what-if changes the scores of its rows only."""
    half = resources(cpu=500, memory=500)
    nodes = [make_node(name, allocatable=resources(cpu=1000, memory=1000)) for name in "ab"]
    cluster = Cluster(nodes, [make_pod("old", node="b", requests=half)])
    pod, other = cluster.info(make_pod(requests=resources(cpu=0, memory=0))), cluster.info(make_pod(requests=half))
    swapped = cluster.snapshot.what_if([PodChange(0, other, 1), PodChange(1, other, -1)])
    assert least_requested(pod, cluster.snapshot).tolist() == [10, 5]
    assert least_requested(pod, swapped).tolist() == [5, 10]
