"""RequestedToCapacityRatioPriority."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.columns import Columns
from clusterstate.errors import ConfigError
from clusterstate.objects import FrozenMap, ResourceList
from clusterstate.usage import account_1_16_with_overhead
from kubescheduler.releases import v1_16
from priorities.capacity_ratio import DEFAULT_SHAPE, capacity_ratio_factory, shape_error, utilization
from priorities.types import Point, PriorityArgs, curve, round_half_away
from tests.support.build import Cluster, make_node, make_pod, resources

GIB = 1 << 30
GPU = "example.com/gpu"
E1_NODE = make_node("n", allocatable=resources(cpu=4000, memory=8 * GIB))
E1_POD = make_pod("running", node="n", requests=resources(cpu=1000, memory=2 * GIB))


def scored(cluster: Cluster, request: ResourceList, shape: tuple[Point, ...], *weights: tuple[str, int]) -> list[int]:
    priority = capacity_ratio_factory("Ratio", shape, weights)(PriorityArgs())
    scores: list[int] = priority.map(cluster.info(make_pod(requests=request)), cluster.snapshot).tolist()
    return scores


E1 = {
    "default": (DEFAULT_SHAPE, (), 8),
    "rising-weighted": (((0, 0), (50, 7)), (("cpu", 3), ("memory", 1)), 5),
    "weight-0-is-1": (DEFAULT_SHAPE, (("cpu", 0), ("memory", 0)), 8),
    "last-of-two-weights": (((0, 0), (50, 7)), (("cpu", 9), ("cpu", 3), ("memory", 1)), 5),
    "negative-weight": (((0, 0), (50, 7)), (("cpu", 3), ("memory", -1)), 6),
    "weights-that-cancel": (DEFAULT_SHAPE, (("cpu", 1), ("memory", -1)), 0),
    "one-resource": (DEFAULT_SHAPE, (("cpu", 5),), 7),
    "flat": (((0, 4),), (), 4),
    "zero-has-no-say": (((30, 0), (38, 10)), (), 10),
    "all-zero": (((0, 0), (100, 0)), (), 0),
    "untracked-name-is-full": (((0, 0), (100, 10)), (("foo", 1),), 10),
    "unknown-scalar-is-full": (((0, 0), (100, 10)), ((GPU, 1),), 10),
}


@pytest.mark.parametrize(("shape", "weights", "score"), E1.values(), ids=E1)
def test_worked_example(shape: tuple[Point, ...], weights: tuple[tuple[str, int], ...], score: int) -> None:
    """cpu 38 % and memory 28 % full."""
    assert scored(Cluster([E1_NODE], [E1_POD]), resources(cpu=500), shape, *weights) == [score]


UTILIZATIONS = {
    "free": ("cpu", 0, 0),
    "cut-off-before-it-is-taken-away": ("cpu", 5, 1),
    "exactly-full": ("cpu", 1000, 100),
    "too-much": ("cpu", 1001, 100),
    "not-allocatable": ("ephemeral-storage", 0, 100),
    "scalar": (GPU, 1, 34),
}


@pytest.mark.parametrize(("resource", "asked", "percent"), UTILIZATIONS.values(), ids=UTILIZATIONS)
def test_utilization(resource: str, asked: int, percent: int) -> None:
    """100 minus the free share, which is cut off."""
    amounts = FrozenMap({"cpu": 0, "memory": 0, resource: asked * (1 if resource == "cpu" else 1000)})
    cluster = Cluster([make_node("n", allocatable=FrozenMap({"cpu": 1000, GPU: 3000}))])
    assert utilization(cluster.info(make_pod(requests=amounts)), cluster.snapshot, resource).tolist() == [percent]


def test_scalar_resources_count_what_runs() -> None:
    """There are no defaults for them, and a pod may ask for nothing."""
    cluster = Cluster(
        [make_node(name, allocatable=FrozenMap({GPU: 4000})) for name in "ab"],
        [make_pod("running", node="a", requests=FrozenMap({GPU: 2000}))],
    )
    rising = ((0, 0), (100, 10))
    assert scored(cluster, FrozenMap({GPU: 1000}), rising, (GPU, 1)) == [7, 2]
    assert scored(cluster, FrozenMap(), rising, (GPU, 1)) == [5, 0]


def test_cpu_overhead_counts_in_whole_cores() -> None:
    """With gate PodOverhead the incoming pod's cpu overhead of 2 is taken for 2 millicores, a running one's is not."""
    cluster = Cluster()
    cluster.columns = Columns(msgspec.structs.replace(v1_16.VIEW, accounting=account_1_16_with_overhead))
    cluster.columns.put_node(cluster.columns.row("n"), make_node("n", allocatable=resources(cpu=4000, memory=1)))
    pod = make_pod(requests=resources(cpu=98, memory=0), overhead=resources(cpu=2000))
    assert utilization(cluster.info(pod), cluster.snapshot, "cpu").tolist() == [3]
    cluster.columns.put_pod(0, pod, "u")
    assert utilization(cluster.info(pod), cluster.snapshot, "cpu").tolist() == [55]


CURVES = {
    "falling": (((0, 10), (100, 0)), {0: 10, 1: 10, 9: 10, 10: 9, 11: 9, 38: 7, 90: 1, 99: 1, 100: 0}),
    "rising": (((0, 0), (50, 7)), {0: 0, 7: 0, 8: 1, 28: 3, 38: 5, 49: 6, 50: 7, 51: 7, 100: 7}),
    "inner": (((20, 2), (40, 6)), {0: 2, 20: 2, 24: 2, 25: 3, 40: 6, 41: 6, 100: 6}),
    "point": (((70, 3),), {0: 3, 70: 3, 71: 3, 100: 3}),
    "tent": (((0, 0), (50, 10), (100, 0)), {0: 0, 25: 5, 50: 10, 51: 10, 55: 9, 100: 0}),
}


@pytest.mark.parametrize(("shape", "values"), CURVES.values(), ids=CURVES)
def test_curve(shape: tuple[Point, ...], values: dict[int, int]) -> None:
    """Straight between the points, cut off toward zero from the left one, also where it falls."""
    table = curve(shape)
    assert {at: int(table[at]) for at in values} == values


FAULTS = {
    "none": (DEFAULT_SHAPE, None),
    "empty": ((), "at least one point must be specified"),
    "order-comes-first": (
        ((-1, 99), (5, 1), (5, 1)),
        "utilization values must be sorted. Utilization[1]==5 >= Utilization[2]==5",
    ),
    "below": (((-1, 99),), "utilization values must not be less than 0. Utilization[0]==-1"),
    "above": (((0, 0), (101, 99)), "utilization values must not be greater than 100. Utilization[1]==101"),
    "score-below": (((0, -1), (101, 0)), "score values must not be less than 0. Score[0]==-1"),
    "score-above": (((0, 11),), "score valuses not be greater than 10. Score[0]==11"),
}


@pytest.mark.parametrize(("shape", "error"), FAULTS.values(), ids=FAULTS)
def test_shape_faults(shape: tuple[Point, ...], error: str | None) -> None:
    """The release's words for the first fault: count, then order, then point by point."""
    assert shape_error(shape) == error
    if error:
        with pytest.raises(ConfigError) as raised:
            capacity_ratio_factory("Ratio", shape)
        assert raised.value.problems == (f"invalid RequestedToCapacityRatioPriority arguments: {error}",)


ROUNDED = {0.5: 1, -0.5: -1, 1.5: 2, 2.5: 3, -2.5: -3, 0.49999999999999994: 0, 7.4: 7, -7.6: -8, 0.0: 0, 1e19: -(2**63)}


@pytest.mark.parametrize(("number", "whole"), ROUNDED.items(), ids=map(str, ROUNDED))
def test_halves_are_rounded_away_from_zero(number: float, whole: int) -> None:
    """Not to even, and just below a half not up."""
    assert round_half_away(np.array([number])).tolist() == [whole]


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 10)), min_size=1, unique_by=lambda point: point[0]))
def test_curves_stay_between_their_points(points: list[Point]) -> None:
    """A curve goes through its points and never above the highest nor below the lowest."""
    shape = sorted(points)
    table = curve(shape)
    assert [int(table[at]) for at, _ in shape] == [score for _, score in shape]
    assert table.min() == min(score for _, score in shape)
    assert table.max() == max(score for _, score in shape)
