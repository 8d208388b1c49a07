"""TaintTolerationPriority."""

from __future__ import annotations

import pytest

from clusterstate.objects import Taint, Toleration
from priorities.avoided_nodes import TAINT_TOLERATION
from priorities.types import PriorityArgs
from tests.support.build import Cluster, make_node, make_pod

PRIORITY = TAINT_TOLERATION["TaintTolerationPriority"].make(PriorityArgs())


def soft(key: str, value: str = "") -> Taint:
    return Taint(key, value, "PreferNoSchedule")


NODES = [
    make_node("clean"),
    make_node("hard", taints=(Taint("a", "", "NoSchedule"), Taint("a", "", "NoExecute"))),
    make_node("one", taints=(soft("a", "1"),)),
    make_node("three", taints=(soft("a", "1"), soft("b"), soft("c", "3"))),
]

# tolerations, mapped, reduced
CASES = {
    "none": ((), [0, 0, 1, 3], [10, 10, 7, 0]),
    "equal": ((Toleration("a", "Equal", "1"),), [0, 0, 0, 2], [10, 10, 10, 0]),
    "other-value": ((Toleration("a", "Equal", "2"),), [0, 0, 1, 3], [10, 10, 7, 0]),
    "exists": ((Toleration("a", "Exists"), Toleration("c", "Exists")), [0, 0, 0, 1], [10, 10, 10, 0]),
    "of-this-effect": ((Toleration("a", "Exists", effect="PreferNoSchedule"),), [0, 0, 0, 2], [10, 10, 10, 0]),
    "of-another-effect": ((Toleration("", "Exists", effect="NoSchedule"),), [0, 0, 1, 3], [10, 10, 7, 0]),
    "blank-tolerates-empty-values": ((Toleration(),), [0, 0, 1, 2], [10, 10, 5, 0]),
    "everything": ((Toleration("", "Exists"),), [0, 0, 0, 0], [10, 10, 10, 10]),
}


@pytest.mark.parametrize(("tolerations", "mapped", "reduced"), CASES.values(), ids=CASES)
def test_untolerated_soft_taints_cost(
    tolerations: tuple[Toleration, ...], mapped: list[int], reduced: list[int]
) -> None:
    """The node with the most of them has 0, one without any 10."""
    cluster = Cluster(NODES)
    pod = cluster.info(make_pod(tolerations=tolerations))
    raw = PRIORITY.map(pod, cluster.snapshot)
    assert raw.tolist() == mapped
    assert PRIORITY.reduce is not None
    assert PRIORITY.reduce(pod, cluster.snapshot, raw).tolist() == reduced


CONSTANT = {
    "everything": (Toleration("", "Exists"), 10),
    "everything-soft": (Toleration("", "Exists", effect="PreferNoSchedule"), 10),
    "everything-hard": (Toleration("", "Exists", effect="NoSchedule"), None),
    "one-key": (Toleration("a", "Exists"), None),
    "blank": (Toleration(), None),
}


@pytest.mark.parametrize(("toleration", "score"), CONSTANT.values(), ids=CONSTANT)
def test_a_pod_that_tolerates_all_scores_10_everywhere(toleration: Toleration, score: int | None) -> None:
    """The pod alone decides, if it minds no soft taint at all."""
    assert PRIORITY.constant(Cluster().info(make_pod(tolerations=(toleration,)))) == score
