"""Reading a cluster for another release beside one that was read before."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kubescheduler import Cluster

CLASS = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 7}
START = Cluster(CLASS, release="1.36").node("a").node("b").pod("x", node="a", cpu=1).pod("y", priority_class="high")

CHANGES: dict[str, Callable[[Cluster], Cluster]] = {
    "nothing": lambda cluster: cluster,
    "a-node-edited": lambda cluster: cluster.cordoned("a"),
    "a-node-gone": lambda cluster: cluster.without_node("a"),
    "a-pod-added": lambda cluster: cluster.pod("z", priority_class="high"),
    "a-pod-bound": lambda cluster: cluster.bound("y", "b"),
    "another-class": lambda cluster: cluster.add({**CLASS, "value": 9}).pod("z", priority_class="high"),
}


@pytest.mark.parametrize("release", ["1.4", "1.16", "1.20"])
@pytest.mark.parametrize("change", CHANGES)
def test_it_is_as_if_everything_were_read(change: str, release: str) -> None:
    """Objects, their order, priorities and notes."""
    now = CHANGES[change](START)
    fresh, found = now.for_release(release), now.for_release(release, like=(START, START.for_release(release)))
    assert found.objects == fresh.objects
    assert found.manifests() == fresh.manifests()
    assert found.notes == fresh.notes
    assert (
        found.pod("w", priority_class="high").pods[-1].priority
        == fresh.pod("w", priority_class="high").pods[-1].priority
    )


def test_what_is_the_same_is_not_read_again() -> None:
    """It is the very object."""
    before = START.for_release("1.16")
    found = START.cordoned("a").for_release("1.16", like=(START, before))
    assert found.nodes[1] is before.nodes[1]
    assert found.nodes[0] is not before.nodes[0]
