"""The ranking from which pods that look the same take their nodes."""

from __future__ import annotations

import heapq
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubescheduler.core.selection import FirstByName, RandomTie, TieBreak
from kubescheduler.framework.deciding.opportunistic_batch import KeptRanking, heap_of, pop_root
from kubescheduler.framework.deciding.score_plugins import HeapTie, heap_root


def ranking(totals: list[int], tie_break: TieBreak, chosen: int) -> KeptRanking:
    """Nodes n0, n1 … in this order, whose names are their order too."""
    rows = np.arange(len(totals))
    names = tuple(f"n{row}" for row in rows)
    return KeptRanking(names, rows, np.array(totals), rows, tie_break, chosen)


def popped(kept: KeptRanking) -> list[str]:
    return [kept.pop() for _ in range(kept.left)]


@pytest.mark.parametrize(
    ("totals", "tie_break", "chosen", "rest"),
    [
        ([5, 9, 7], FirstByName(), 1, ["n2", "n0"]),
        ([7, 7, 7, 9], FirstByName(), 3, ["n0", "n1", "n2"]),
        ([7, 7, 7, 7], HeapTie(random.Random(0)), 0, ["n3", "n2", "n1"]),
        ([1, 1, 2, 2], HeapTie(random.Random(0)), 3, ["n2", "n1", "n0"]),
        ([4], FirstByName(), 0, []),
    ],
)
def test_worked_examples(totals: list[int], tie_break: TieBreak, chosen: int, rest: list[str]) -> None:
    """By total; of equal ones by name, or as a heap that gives its root up leaves them."""
    assert popped(ranking(totals, tie_break, chosen)) == rest


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=60))
def test_a_heap_gives_every_position_once_and_the_greatest_total_first(totals: list[int]) -> None:
    """The first is the one that is chosen at once."""
    heap = heap_of(totals)
    order = [pop_root(heap, totals) for _ in totals]
    assert sorted(order) == list(range(len(totals)))
    assert [totals[at] for at in order] == heapq.nlargest(len(totals), totals)
    assert order[0] == heap_root(np.array(totals))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=20), st.integers(0, 99))
def test_whatever_breaks_ties_every_other_node_comes_once(totals: list[int], seed: int) -> None:
    """Never the one that was taken at once, and never a worse one before a better one."""
    chosen = totals.index(max(totals))
    got = popped(ranking(totals, RandomTie(random.Random(seed)), chosen))
    assert sorted(got) == sorted(f"n{row}" for row in range(len(totals)) if row != chosen)
    scores = [totals[int(name[1:])] for name in got]
    assert scores == sorted(scores, reverse=True)
