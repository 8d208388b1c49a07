"""ResourceLimitsPriority."""

from __future__ import annotations

import pytest

from clusterstate.objects import NO_RESOURCES, Container, ResourceList
from priorities.requested import RESOURCE_LIMITS
from priorities.types import PriorityArgs
from tests.support.build import Cluster, make_node, make_pod, resources

PRIORITY = RESOURCE_LIMITS["ResourceLimitsPriority"].make(PriorityArgs())
GIB = 1 << 30
NODES = [
    make_node("usual"),
    make_node("no-memory", allocatable=resources(cpu=2000)),
    make_node("nothing", allocatable=NO_RESOURCES),
]

# limits of containers, of init containers, scores
CASES = {
    "cpu-suffices": ([resources(cpu=2000, memory=10 * GIB)], [], [1, 1, 0]),
    "memory-suffices": ([resources(cpu=5000, memory=8 * GIB)], [], [1, 0, 0]),
    "neither": ([resources(cpu=5000, memory=9 * GIB)], [], [0, 0, 0]),
    "containers-are-summed": ([resources(cpu=2000), resources(cpu=1000)], [], [1, 0, 0]),
    "largest-init-container": ([resources(cpu=1000)], [resources(cpu=3000), resources(cpu=5)], [1, 0, 0]),
    "other-resources-do-not-count": ([resources(ephemeral_storage=1)], [], [0, 0, 0]),
    "no-limits": ([NO_RESOURCES], [], [0, 0, 0]),
}


@pytest.mark.parametrize(("limits", "init", "scores"), CASES.values(), ids=CASES)
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
