"""LeastRequestedPriority, MostRequestedPriority, BalancedResourceAllocation and ResourceLimitsPriority."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.objects import NO_RESOURCES, Container, FrozenMap, ResourceList
from priorities.requested import (
    BALANCED_WITH_VOLUMES,
    RESOURCE_LIMITS,
    balanced_resource_allocation,
    least_requested,
    most_requested,
)
from priorities.types import PriorityArgs
from tests.support.build import Cluster, make_node, make_pod, resources
from tests.support.references.formulas import evaluate

GIB = 1 << 30
MIB = 1 << 20
RULES = (least_requested, most_requested, balanced_resource_allocation)
NOTHING: ResourceList = FrozenMap()


def cpu_and_memory(cpu: int, memory: int) -> ResourceList:
    return resources(cpu=cpu, memory=memory)


KILO, ZERO = cpu_and_memory(1000, 1000), cpu_and_memory(0, 0)

# allocatable, request of the running pod, request of the pod, (least, most, balanced)
CASES = {
    "e1": (cpu_and_memory(4000, 8 * GIB), cpu_and_memory(1000, 2 * GIB), resources(cpu=500), (6, 2, 8)),
    "defaults-of-silent-pods": (cpu_and_memory(1000, 2000 * MIB), cpu_and_memory(400, 800 * MIB), NOTHING, (5, 5, 10)),
    "written-zeros-count-as-zero": (KILO, ZERO, ZERO, (10, 0, 10)),
    "fractions-0.9-and-0.1": (KILO, ZERO, cpu_and_memory(900, 100), (5, 5, 1)),
    "fractions-0.8-and-0.1": (KILO, ZERO, cpu_and_memory(800, 100), (5, 4, 2)),
    "exactly-full": (KILO, cpu_and_memory(500, 500), cpu_and_memory(500, 500), (0, 10, 0)),
    "cpu-overcommitted": (KILO, cpu_and_memory(900, 100), cpu_and_memory(200, 100), (4, 1, 0)),
    "no-cpu-allocatable": (resources(memory=1000), ZERO, cpu_and_memory(0, 500), (2, 2, 0)),
    "nothing-allocatable": (NOTHING, ZERO, ZERO, (0, 0, 0)),
    "ten-times-the-memory-wraps": (cpu_and_memory(1000, 1 << 60), ZERO, ZERO, (2, 0, 10)),
}


@pytest.mark.parametrize(("allocatable", "running", "request_", "scores"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("nodes", [1, 9])
def test_scores(
    nodes: int, allocatable: ResourceList, running: ResourceList, request_: ResourceList, scores: tuple[int, int, int]
) -> None:
    """Upstream's numbers, on one node and on several."""
    cluster = Cluster(
        [make_node(f"n{i}", allocatable=allocatable) for i in range(nodes)],
        [make_pod(f"p{i}", node=f"n{i}", requests=running) for i in range(nodes)],
    )
    pod = cluster.info(make_pod(requests=request_))
    assert [rule(pod, cluster.snapshot).tolist() for rule in RULES] == [[score] * nodes for score in scores]


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


# --- with attachable volumes -------------------------------------------------------------------

# share of cpu and memory that the pod asks for in thousandths, (new volumes, room for more), score
SHARES: dict[str, tuple[tuple[int, int], tuple[int, int] | None, int]] = {
    "mean-a-third-variance-0.0139": ((500, 250), (1, 4), 9),
    "no-volumes-are-counted": ((500, 250), None, 7),
    "no-room-for-more": ((500, 250), (0, 0), 7),
    "over-the-limit-already": ((500, 250), (0, -1), 7),
    "none-of-them-is-new": ((500, 250), (0, 4), 9),
    "the-last-volume": ((500, 250), (4, 4), 0),
    "cpu-is-used-up": ((1000, 250), (1, 4), 0),
    "all-alike": ((500, 500), (1, 2), 10),
    "as-far-apart-as-can-be": ((999, 0), (0, 1), 7),
    "1-of-3-volumes-and-nearly-nothing": ((1, 1), (1, 3), 9),
}


@pytest.mark.parametrize(("asked", "volumes", "score"), SHARES.values(), ids=SHARES)
def test_balance_with_volumes(asked: tuple[int, int], volumes: tuple[int, int] | None, score: int) -> None:
    """(1 - variance)·10 of three shares, truncated, where volumes can be attached; else of two as without the gate."""
    cpu, memory = asked
    cluster = Cluster([make_node("n", allocatable=resources(cpu=1000, memory=1000))])
    info = cluster.info(make_pod(requests=resources(cpu=cpu, memory=memory)))
    attached = None if volumes is None else np.array(volumes, np.int64)[:, None]
    config = BALANCED_WITH_VOLUMES["BalancedResourceAllocation"].make(PriorityArgs(attached=lambda *_: attached))
    assert config.map(info, cluster.snapshot).tolist() == [score]
    assert config.map_to_100 is not None
    assert config.map_to_100(info, cluster.snapshot)[0] // 10 == score
    assert evaluate(config.evidence.score(info, cluster.snapshot, 0).formula) == score


PRIORITY = RESOURCE_LIMITS["ResourceLimitsPriority"].make(PriorityArgs())
NODES = [
    make_node("usual"),
    make_node("no-memory", allocatable=resources(cpu=2000)),
    make_node("nothing", allocatable=NO_RESOURCES),
]

# limits of containers, of init containers, scores
CASES_RESOURCE_LIMITS = {
    "cpu-suffices": ([resources(cpu=2000, memory=10 * GIB)], [], [1, 1, 0]),
    "memory-suffices": ([resources(cpu=5000, memory=8 * GIB)], [], [1, 0, 0]),
    "neither": ([resources(cpu=5000, memory=9 * GIB)], [], [0, 0, 0]),
    "containers-are-summed": ([resources(cpu=2000), resources(cpu=1000)], [], [1, 0, 0]),
    "largest-init-container": ([resources(cpu=1000)], [resources(cpu=3000), resources(cpu=5)], [1, 0, 0]),
    "other-resources-do-not-count": ([resources(ephemeral_storage=1)], [], [0, 0, 0]),
    "no-limits": ([NO_RESOURCES], [], [0, 0, 0]),
}


@pytest.mark.parametrize(("limits", "init", "scores"), CASES_RESOURCE_LIMITS.values(), ids=CASES_RESOURCE_LIMITS)
def test_limits_that_would_fit_score_1(limits: list[ResourceList], init: list[ResourceList], scores: list[int]) -> None:
    """cpu or memory is enough; where nothing is allocatable nothing fits."""
    cluster = Cluster(NODES)
    pod = cluster.info(
        make_pod(
            containers=tuple(Container(limits=one) for one in limits),
            init_containers=tuple(Container(limits=one) for one in init),
        )
    )
    assert PRIORITY.map(pod, cluster.snapshot).tolist() == scores
    assert PRIORITY.constant(pod) == (None if any(pod.usage.limits) else 0)
