"""The node that 1.36 takes of the best ones: the root of a heap."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubescheduler.framework.deciding.score_plugins import HeapTie, heap_root, random_ranks


def literal(totals: list[int], ranks: list[int]) -> int:
    """A binary heap as it is written: built in place, then its root is taken."""
    heap = list(range(len(totals)))

    def less(i: int, j: int) -> bool:
        return (totals[heap[i]], ranks[heap[i]]) > (totals[heap[j]], ranks[heap[j]])

    def down(i: int) -> None:
        while 2 * i + 1 < len(heap):
            child = 2 * i + 1
            if child + 1 < len(heap) and less(child + 1, child):
                child += 1
            if not less(child, i):
                break
            heap[i], heap[child] = heap[child], heap[i]
            i = child

    for i in reversed(range(len(heap) // 2)):
        down(i)
    return heap[0]


@pytest.mark.parametrize(
    ("totals", "chosen"),
    [([7], 0), ([4, 4, 4], 0), ([5, 9, 9, 3], 1), ([1, 1, 2, 2], 3), ([-5, -7], 0), ([0, 0, 1, 0, 0, 1], 2)],
)
def test_worked_examples(totals: list[int], chosen: int) -> None:
    """A child goes up only when it is greater, and the right one only when it is greater than the left."""
    assert heap_root(np.array(totals)) == chosen


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(0, 2)), min_size=1, max_size=70))
def test_it_is_a_heap(nodes: list[tuple[int, int]]) -> None:
    """Whole levels at once give what one sift after the other gives."""
    totals, ranks = [total for total, _ in nodes], [rank for _, rank in nodes]
    assert heap_root(np.array(totals), np.array(ranks)) == literal(totals, ranks)
    assert heap_root(np.array(totals)) == literal(totals, [0] * len(totals))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40))
def test_the_root_is_one_of_the_best(totals: list[int]) -> None:
    """Whatever else decides, nothing goes before the total."""
    assert totals[heap_root(np.array(totals))] == max(totals)


def test_nodes_that_an_extender_scored_get_a_number_by_lot() -> None:
    """The others have none, and so lose against them."""
    ranks = random_ranks(4, np.array([1, 3]), random.Random(7))
    assert (ranks > 0).tolist() == [False, True, False, True]
    assert ranks.tolist() == random_ranks(4, np.array([1, 3]), random.Random(7)).tolist()
    assert heap_root(np.zeros(4, np.int64), ranks) == int(ranks.argmax())


def test_a_single_tie_is_no_heap() -> None:
    """Asked for one of some nodes that are equal, the first is taken."""
    assert HeapTie(random.Random(0)).choose(np.array([3, 1]), np.array([0, 1, 2, 3])) == 3
