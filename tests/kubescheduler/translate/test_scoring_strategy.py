"""Several priorities in the one scoring strategy of 1.36."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubescheduler.translate.policy_entries import Shape, role_of
from kubescheduler.translate.translation_model import Role
from tests.support.configuring.translating import args, enabled, policy, priorities, ratio, told, translated

CPU_AND_MEMORY = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]


def strategy(*entries: dict[str, Any]) -> tuple[Any, int]:
    """(scoringStrategy, weight of NodeResourcesFit)."""
    found = translated(policy(predicates=[], priorities=list(entries)), "1.36")
    fit = args(found, "NodeResourcesFit")
    return fit and fit["scoringStrategy"], enabled(found, "multiPoint").get("NodeResourcesFit", 0)


LEAST, MOST = priorities(LeastRequestedPriority=1), priorities(MostRequestedPriority=3)


@pytest.mark.parametrize(
    ("entries", "name", "weight"),
    [
        (LEAST, "LeastAllocated", 1),
        (MOST, "MostAllocated", 3),
        ([*LEAST, *MOST], "MostAllocated", 2),
        ([*priorities(LeastRequestedPriority=5), *MOST], "LeastAllocated", 2),
        ([*MOST, ratio("RR", 2, (0, 0), (100, 10))], "MostAllocated", 5),
        (priorities(LeastRequestedPriority=2, MostRequestedPriority=2), None, 0),
    ],
    ids=["least", "most", "most-wins", "least-wins", "alike", "equal"],
)
def test_straight_shapes(entries: list[dict[str, Any]], name: str | None, weight: int) -> None:
    """Opposite priorities leave their difference, of equal weight nothing; alike ones leave their sum."""
    assert strategy(*entries) == (name and {"type": name, "resources": CPU_AND_MEMORY}, weight)


def test_one_shape_is_kept_as_it_is() -> None:
    """With its resources."""
    found, weight = strategy(ratio("RR", 5, (0, 0), (70, 10), (100, 0), cpu=3, memory=1))
    assert weight == 5
    assert found["resources"] == [{"name": "cpu", "weight": 3}, {"name": "memory", "weight": 1}]
    assert [(p["utilization"], p["score"]) for p in found["requestedToCapacityRatio"]["shape"]] == [
        (0, 0),
        (70, 10),
        (100, 0),
    ]


def test_shapes_add_up() -> None:
    """Most 3 and a peak of weight 3: 0 at 0, 10·3 + 5·3 at 50, 10·3 at 100."""
    found, weight = strategy(*MOST, ratio("RR", 3, (0, 0), (50, 10), (100, 0)))
    shape = [(p["utilization"], p["score"]) for p in found["requestedToCapacityRatio"]["shape"]]
    assert (shape, weight) == ([(0, 0), (50, 10), (100, 7)], 4)


def test_other_resources_cannot_be_added() -> None:
    """The heaviest is kept, the other one told as lost."""
    entries = [*LEAST, ratio("RR", 4, (0, 0), (100, 10), **{"example.com/gpu": 1})]
    assert strategy(*entries)[1] == 4
    found = translated(policy(predicates=[], priorities=entries), "1.36")
    assert ("lost", "priorities[0] LeastRequestedPriority") in told(found)


def test_weights_of_resources_go_up_to_100() -> None:
    """Larger ones are scaled down."""
    found, _ = strategy(ratio("RR", 1, (0, 0), (100, 10), cpu=1000, memory=10))
    assert found["resources"] == [{"name": "cpu", "weight": 100}, {"name": "memory", "weight": 1}]


POINTS = st.lists(st.tuples(st.integers(0, 100), st.integers(0, 10)), min_size=1, max_size=5, unique_by=lambda p: p[0])


@given(POINTS, POINTS, st.integers(1, 20), st.integers(1, 20))
def test_a_sum_keeps_which_utilization_is_best(
    one: list[tuple[int, int]], other: list[tuple[int, int]], first: int, second: int
) -> None:
    """Wherever the sum is highest the combined shape is 10, wherever it is lowest 0."""
    shapes = (tuple(sorted(one)), tuple(sorted(other)))
    found, _ = strategy(ratio("AA", first, *shapes[0]), ratio("BB", second, *shapes[1]))
    if found is None:
        return
    sums = {at: first * value(shapes[0], at) + second * value(shapes[1], at) for at in range(101)}
    combined = {"LeastAllocated": ((0, 10), (100, 0)), "MostAllocated": ((0, 0), (100, 10))}.get(
        found["type"]
    ) or tuple((p["utilization"], p["score"]) for p in found["requestedToCapacityRatio"]["shape"])
    highest, lowest = max(sums, key=lambda at: sums[at]), min(sums, key=lambda at: sums[at])
    assert (value(combined, highest), value(combined, lowest)) == (10, 0)


def value(shape: Shape, at: int) -> float:
    """Linear between points, level beyond them."""
    before = [point for point in shape if point[0] <= at] or [shape[0]]
    after = [point for point in shape if point[0] >= at] or [shape[-1]]
    (left, low), (right, high) = before[-1], after[0]
    return low if right <= left else low + (high - low) * (at - left) / (right - left)


@pytest.mark.parametrize(
    ("shape", "role"),
    [
        (((0, 0), (100, 10)), Role.PACKS),
        (((0, 0), (70, 10), (100, 0)), Role.PACKS),
        (((0, 10), (100, 0)), Role.SPREADS),
        (((0, 5),), Role.OTHER),
        (((0, 3), (50, 3), (100, 3)), Role.OTHER),
    ],
)
def test_roles(shape: Shape, role: Role) -> None:
    """What is best above the emptiest node packs."""
    assert role_of(shape) is role
