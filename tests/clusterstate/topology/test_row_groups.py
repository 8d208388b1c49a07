"""Groups of rows that are in the same domains."""

from __future__ import annotations

from clusterstate.topology.row_groups import row_groups
from tests.support.build import Cluster, make_node, make_pod

HOST = "kubernetes.io/hostname"


def test_rows_of_one_group_are_in_the_same_domains() -> None:
    """By hostname it matters only whether there is one; a node that is not there, but whose pods are, has no domain."""
    labels: list[dict[str, str]] = [
        {HOST: "a", "zone": "x"},
        {"zone": "x"},
        {HOST: "c", "zone": "y"},
        {HOST: "d", "zone": "x"},
        {},
    ]
    cluster = Cluster([make_node(f"n{at}", found) for at, found in enumerate(labels)], [])
    groups = row_groups(cluster.snapshot, ("zone",), (HOST,))
    number = groups.of_row.tolist()
    assert number[0] == number[3]
    assert len(groups) == len(set(number)) == 4
    assert [number[row] for row in groups.first.tolist()] == [0, 1, 2, 3]
    assert row_groups(cluster.snapshot, ("zone",), (HOST,)) is groups
    cluster.columns.put_pod(cluster.columns.row("gone"), make_pod("p", node="gone"), "p")
    later = row_groups(cluster.snapshot, ("zone",), (HOST,)).of_row.tolist()
    assert later == [*number, number[4]]
