"""Nodes that an extender answered as objects look empty when they are scored."""

from __future__ import annotations

import numpy as np

from clusterstate.objects import ContainerImage
from clusterstate.podinfo import PodInfo
from kubescheduler.framework.deciding.score_plugins import EmptiedNodes
from kubescheduler.releases import v1_36
from tests.support.build import Cluster, make_node, make_pod, resources

IMAGE = ContainerImage(("app:latest",), 1 << 30)
CLUSTER = Cluster(
    [make_node(name, {"zone": zone}, images=(IMAGE,)) for name, zone in (("n0", "a"), ("n1", "a"), ("n2", "b"))],
    [make_pod(f"p{at}", {"app": "x"}, node=f"n{at}", requests=resources(cpu=100)) for at in range(2)],
    view=v1_36.VIEW,
)
EMPTIED = EmptiedNodes.of(CLUSTER.snapshot)


def one(_: PodInfo) -> int:
    return 1


def test_what_runs_there_is_gone() -> None:
    """Amounts in use, pods and images; what a node object itself says stays."""
    for snapshot in (EMPTIED, EMPTIED.take(np.array([1, 0]))):
        assert not snapshot.requested.any()
        assert not snapshot.nonzero.any()
        assert not snapshot.pod_count.any()
        assert [column.tolist() for column in snapshot.image("app:latest")] == [[0] * len(snapshot)] * 2
        assert (snapshot.allocatable == CLUSTER.snapshot.take(snapshot.row_numbers).allocatable).all()
        assert snapshot.names == CLUSTER.snapshot.take(snapshot.row_numbers).names


def test_pods_are_counted_by_topology_but_not_by_node() -> None:
    """Counts over a topology come from the whole cluster, as they do upstream."""
    by_zone = EMPTIED.tally("zone", "zone", one)
    by_node = EMPTIED.tally("node", None, one)
    assert EMPTIED.counts(by_zone).tolist() == CLUSTER.snapshot.counts(by_zone).tolist() == [2, 2, 0]
    assert EMPTIED.counts(by_node).tolist() == [0, 0, 0]
    assert CLUSTER.snapshot.counts(by_node).tolist() == [1, 1, 0]


def test_the_true_nodes_are_not_touched() -> None:
    """Nothing is written to."""
    assert CLUSTER.snapshot.pod_count.tolist() == [1, 1, 0]
    assert CLUSTER.snapshot.image("app:latest")[0].tolist() == [1 << 30] * 3
