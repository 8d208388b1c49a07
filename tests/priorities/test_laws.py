"""Laws that every priority obeys, over random clusters with something of everything."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithmprovider.algorithms import PRIORITIES, PRIORITIES_1_4
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import PodChange, Snapshot
from priorities.node_labels import node_label_factory
from priorities.service_anti_affinity import service_anti_affinity_factory, service_anti_affinity_factory_1_4
from priorities.types import PriorityArgs, PriorityConfig
from tests.support.rich_worlds import POD_PARTS, ZONE, DrawnCluster, incoming, pod_of, worlds

PRIORITIES_OF: dict[str, list[PriorityConfig]] = {
    release: [make(PriorityArgs()) for make in (*(factory.make for factory in registered.values()), *more)]
    for release, registered, more in (
        ("1.4", PRIORITIES_1_4, [service_anti_affinity_factory_1_4("ServiceAntiAffinity", ZONE)]),
        (
            "1.16",
            PRIORITIES,
            [node_label_factory("NodeLabel", "disk", True), service_anti_affinity_factory("ServiceAntiAffinity", ZONE)],
        ),
    )
}
EVERY = pytest.mark.parametrize("release", PRIORITIES_OF)
ONLY_CONSTANT = {"EvenPodsSpreadPriority"}
"""Without constraints its map has no meaning."""


def some_rows(data: st.DataObject, snapshot: Snapshot, least: int = 1) -> Any:
    return np.array(data.draw(st.lists(st.integers(0, len(snapshot) - 1), min_size=least, unique=True)), np.int64)


def scores(priority: PriorityConfig, info: PodInfo, feasible: Snapshot) -> list[int]:
    """Mapped and reduced over some rows, as if just those were feasible."""
    raw = priority.map(info, feasible)
    reduced = raw if priority.reduce is None else priority.reduce(info, feasible, raw)
    assert raw.dtype == reduced.dtype == np.int64
    assert raw.shape == reduced.shape == (len(feasible),)
    return [*map(int, reduced)]


@EVERY
@given(world=worlds(), pod=incoming, data=st.data())
def test_a_subset_of_rows_maps_the_same(release: str, world: DrawnCluster, pod: Pod, data: st.DataObject) -> None:
    """A row's number does not depend on which other rows are asked about, nor on their order."""
    cache = world.cache(release)
    info, snapshot = cache.info(pod), cache.snapshot()
    rows = some_rows(data, snapshot, 0)
    for priority in PRIORITIES_OF[release]:
        whole = priority.map(info, snapshot)
        assert priority.map(info, snapshot.take(rows)).tolist() == whole[rows].tolist(), priority.name


@EVERY
@given(world=worlds(), pod=incoming, data=st.data())
def test_a_constant_is_what_would_come_out(release: str, world: DrawnCluster, pod: Pod, data: st.DataObject) -> None:
    """Skipping map and reduce changes nothing."""
    cache = world.cache(release)
    info, feasible = cache.info(pod), cache.snapshot().take(some_rows(data, cache.snapshot()))
    for priority in PRIORITIES_OF[release]:
        if priority.name not in ONLY_CONSTANT:
            constant, found = priority.constant(info), scores(priority, info, feasible)
            assert constant is None or found == [constant] * len(feasible), priority.name


@EVERY
@given(world=worlds(), pod=incoming, data=st.data())
def test_equal_numbers_give_one_score(release: str, world: DrawnCluster, pod: Pod, data: st.DataObject) -> None:
    """A valuewise reduce gives equal numbers the same score, however many rows there are."""
    cache = world.cache(release)
    info, snapshot, rows = cache.info(pod), cache.snapshot(), some_rows(data, cache.snapshot())
    number = data.draw(st.integers(0, 9))
    for priority in PRIORITIES_OF[release]:
        if priority.valuewise and priority.reduce is not None:
            many = priority.reduce(info, snapshot.take(rows), np.full(len(rows), number, np.int64))
            one = priority.reduce(info, snapshot.take(rows[:1]), np.array([number], np.int64))
            assert many.tolist() == one.tolist() * len(rows), priority.name


@given(world=worlds(), pod=incoming, parts=POD_PARTS)
def test_a_pod_thought_on_counts_like_one_that_is_there(world: DrawnCluster, pod: Pod, parts: Any) -> None:
    """What would be scored with one more pod is what is scored with it."""
    cache, real = world.cache("1.16"), world.cache("1.16")
    extra = pod_of("extra", parts, "n0")
    row = cache.columns.row_of["n0"]
    thought = cache.snapshot().what_if([PodChange(row, cache.info(extra), 1)])
    real.add_pod(extra)
    for priority in PRIORITIES_OF["1.16"]:
        expected = priority.map(real.info(pod), real.snapshot()).tolist()
        assert priority.map(cache.info(pod), thought).tolist() == expected, priority.name
