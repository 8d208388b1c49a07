"""Laws that every priority of release 1.4 obeys, over random clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from algorithmprovider.algorithms_1_4 import PRIORITIES as PRIORITIES_1_4
from priorities.service_anti_affinity import service_anti_affinity_factory_1_4
from priorities.types import PriorityArgs, PriorityConfig
from tests.priorities.test_laws import POD_PARTS, scores, some_rows, worlds
from tests.support.build import cluster_1_4, make_pod

FACTORIES = {
    **{name: factory.make for name, factory in PRIORITIES_1_4.items()},
    "ServiceAntiAffinity": service_anti_affinity_factory_1_4("ServiceAntiAffinity", "zone"),
}
EVERY = pytest.mark.parametrize("priority", [make(PriorityArgs()) for make in FACTORIES.values()], ids=FACTORIES)


@EVERY
@settings(max_examples=40)
@given(world=worlds(), fields=POD_PARTS, data=st.data())
def test_a_subset_of_rows_maps_the_same(priority: PriorityConfig, world: Any, fields: Any, data: st.DataObject) -> None:
    """A row's number does not depend on which other rows are asked about, nor on their order."""
    cluster = cluster_1_4(*world)
    info, rows = cluster.info(make_pod(**fields)), some_rows(data, cluster, 0)
    whole = priority.map(info, cluster.snapshot)
    assert priority.map(info, cluster.snapshot.take(rows)).tolist() == whole[rows].tolist()


@EVERY
@settings(max_examples=40)
@given(world=worlds(), fields=POD_PARTS, data=st.data())
def test_a_constant_is_what_would_come_out(
    priority: PriorityConfig, world: Any, fields: Any, data: st.DataObject
) -> None:
    """Skipping map and reduce changes nothing."""
    cluster, pod = cluster_1_4(*world), make_pod(**fields)
    constant, rows = priority.constant(cluster.info(pod)), some_rows(data, cluster)
    found = scores(priority, pod, cluster, rows)
    assert constant is None or found == [constant] * len(rows)


@EVERY
@settings(max_examples=40)
@given(world=worlds(), fields=POD_PARTS, data=st.data())
def test_equal_numbers_give_one_score(priority: PriorityConfig, world: Any, fields: Any, data: st.DataObject) -> None:
    """A valuewise reduce gives equal numbers the same score, however many rows there are."""
    if not priority.valuewise or priority.reduce is None:
        return
    cluster = cluster_1_4(*world)
    info, rows = cluster.info(make_pod(**fields)), some_rows(data, cluster)
    number = data.draw(st.integers(0, 9))
    many = priority.reduce(info, cluster.snapshot.take(rows), np.full(len(rows), number, np.int64))
    one = priority.reduce(info, cluster.snapshot.take(rows[:1]), np.array([number], np.int64))
    assert many.tolist() == one.tolist() * len(rows)
