"""One point of the growth, on small clusters."""

from __future__ import annotations

import pytest

from benchmarks.child_process import FailedError, measured_in_child
from benchmarks.growth import AXES
from benchmarks.scale_point import ClusterSize, build, measure_point


@pytest.mark.parametrize("axis", AXES)
def test_worlds(axis: str) -> None:
    """A cluster has what the axis says, and every measured pod finds a node."""
    sizes = {"nodes": 8, "running": 24, axis: 8}
    world = ClusterSize(**sizes)
    scheduler = build(world, "1.36")
    cache = scheduler.cache
    assert (cache.columns.node_count, cache.pod_count) == (world.nodes, world.running)
    assert len(cache.objects.services) == world.services
    found = measure_point(sizes, "1.36", 0.0, 50)
    assert found["decision"] > 0
    assert found["memory"] > 1 << 20


def test_classes_are_distinct() -> None:
    """As many classes run as the cluster is said to have."""
    assert len(build(ClusterSize(nodes=3, running=20, classes=7), "1.16").cache.columns.infos) == 7


def test_in_a_child_process() -> None:
    """A point comes back from a process of its own; an error says what the process wrote."""
    asked = {"world": {"nodes": 3, "running": 2}, "release": "1.16", "seconds": 0.0, "most": 50}
    assert set(measured_in_child(measure_point, asked)) == {"decision", "node_event", "building", "memory"}
    with pytest.raises(FailedError, match="no_such_count"):
        measured_in_child(measure_point, {**asked, "world": {"no_such_count": 1}})
