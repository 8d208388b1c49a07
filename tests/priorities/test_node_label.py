"""EqualPriority and NodeLabel."""

from __future__ import annotations

import pytest

from priorities.node_labels import NODE_LABEL, node_label_factory
from priorities.types import PriorityArgs
from tests.support.build import Cluster, make_node, make_pod

NODES = [make_node("with", {"ssd": "yes"}), make_node("empty", {"ssd": ""}), make_node("without", {"hdd": "yes"})]

CASES = {"wanted": (True, [10, 10, 0]), "unwanted": (False, [0, 0, 10])}


@pytest.mark.parametrize(("presence", "scores"), CASES.values(), ids=CASES)
def test_node_label(presence: bool, scores: list[int]) -> None:
    """Whether the label exists counts, not its value."""
    cluster = Cluster(NODES)
    priority = node_label_factory("Ssd", "ssd", presence)(PriorityArgs())
    assert priority.name == "Ssd"
    assert priority.map(cluster.info(make_pod()), cluster.snapshot).tolist() == scores


def test_equal_priority() -> None:
    """Every node scores 1, not 10."""
    cluster = Cluster(NODES)
    priority, pod = NODE_LABEL["EqualPriority"].make(PriorityArgs()), cluster.info(make_pod())
    assert priority.constant(pod) == 1
    assert priority.map(pod, cluster.snapshot).tolist() == [1, 1, 1]
