"""NodeAffinityPriority and NodeLabel."""

from __future__ import annotations

import pytest

from clusterstate.objects import Affinity, NodeAffinity, NodeSelectorTerm, PreferredSchedulingTerm, Requirement
from clusterstate.selectors.matching import SelectorError
from priorities.node_labels import NODE_AFFINITY, NODE_LABEL, node_label_factory
from priorities.types import PriorityArgs
from tests.support.build import Cluster, make_node, make_pod

PRIORITY = NODE_AFFINITY["NodeAffinityPriority"].make(PriorityArgs())
NODES = [
    make_node("a", {"zone": "z1", "disk": "ssd"}),
    make_node("b", {"zone": "z1"}),
    make_node("c", {"zone": "z2", "disk": "ssd"}),
    make_node("d"),
]
ZONE1, SSD = Requirement("zone", "In", ("z1",)), Requirement("disk", "In", ("ssd",))


def prefers(weight: int, *expressions: Requirement, fields: tuple[Requirement, ...] = ()) -> PreferredSchedulingTerm:
    return PreferredSchedulingTerm(weight, NodeSelectorTerm(expressions, fields))


# terms, mapped, reduced
CASES = {
    "one": ((prefers(5, ZONE1),), [5, 5, 0, 0], [10, 10, 0, 0]),
    "summed": ((prefers(4, ZONE1), prefers(3, SSD)), [7, 4, 3, 0], [10, 5, 4, 0]),
    "all-expressions-of-a-term": ((prefers(2, ZONE1, SSD), prefers(1, SSD)), [3, 0, 1, 0], [10, 0, 3, 0]),
    "empty-term-matches-nothing": ((prefers(9), prefers(1, SSD)), [1, 0, 1, 0], [10, 0, 10, 0]),
    "weight-0-is-not-looked-at": (
        (prefers(0, Requirement("zone", "Bad")), prefers(1, SSD)),
        [1, 0, 1, 0],
        [10, 0, 10, 0],
    ),
    "fields-are-not-read": (
        (prefers(1, fields=(Requirement("metadata.name", "In", ("d",)),)),),
        [0, 0, 0, 0],
        [0, 0, 0, 0],
    ),
    "met-nowhere": ((prefers(1, Requirement("zone", "In", ("z9",))),), [0, 0, 0, 0], [0, 0, 0, 0]),
    "not-in-and-gone": ((prefers(1, Requirement("disk", "DoesNotExist")),), [0, 1, 0, 1], [0, 10, 0, 10]),
}


@pytest.mark.parametrize(("terms", "mapped", "reduced"), CASES.values(), ids=CASES)
def test_weights_are_summed_then_compared_with_the_best(
    terms: tuple[PreferredSchedulingTerm, ...], mapped: list[int], reduced: list[int]
) -> None:
    """The best node has 10, the others their share of it, cut off."""
    cluster = Cluster(NODES)
    pod = cluster.info(make_pod(affinity=Affinity(NodeAffinity(preferred=terms))))
    raw = PRIORITY.map(pod, cluster.snapshot)
    assert raw.tolist() == mapped
    assert PRIORITY.reduce is not None
    assert PRIORITY.reduce(pod, cluster.snapshot, raw).tolist() == reduced


def test_an_invalid_expression_is_an_error() -> None:
    """Upstream gives the attempt up."""
    cluster = Cluster(NODES)
    pod = cluster.info(make_pod(affinity=Affinity(NodeAffinity(preferred=(prefers(1, Requirement("zone", "Near")),)))))
    with pytest.raises(SelectorError, match='"Near" is not a valid node selector operator'):
        PRIORITY.map(pod, cluster.snapshot)


NODES_NODE_LABEL = [
    make_node("with", {"ssd": "yes"}),
    make_node("empty", {"ssd": ""}),
    make_node("without", {"hdd": "yes"}),
]

CASES_NODE_LABEL = {"wanted": (True, [10, 10, 0]), "unwanted": (False, [0, 0, 10])}


@pytest.mark.parametrize(("presence", "scores"), CASES_NODE_LABEL.values(), ids=CASES_NODE_LABEL)
def test_node_label(presence: bool, scores: list[int]) -> None:
    """Whether the label exists counts, not its value."""
    cluster = Cluster(NODES_NODE_LABEL)
    priority = node_label_factory("Ssd", "ssd", presence)(PriorityArgs())
    assert priority.name == "Ssd"
    assert priority.map(cluster.info(make_pod()), cluster.snapshot).tolist() == scores


def test_equal_priority() -> None:
    """Every node scores 1, not 10."""
    cluster = Cluster(NODES_NODE_LABEL)
    priority, pod = NODE_LABEL["EqualPriority"].make(PriorityArgs()), cluster.info(make_pod())
    assert priority.constant(pod) == 1
    assert priority.map(pod, cluster.snapshot).tolist() == [1, 1, 1]
