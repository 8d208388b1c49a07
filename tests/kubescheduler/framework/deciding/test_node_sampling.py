"""Where a search for nodes begins, and after how many it ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubescheduler.core.selection import nodes_to_find
from kubescheduler.framework.deciding.find_nodes import Sampler, wanted_1_36


@pytest.mark.parametrize(
    ("nodes", "percentage", "old", "new"),
    [
        (99, 1, 99, 99),
        (100, 0, 100, 100),
        (1000, 0, 420, 420),
        (5000, 0, 500, 500),
        (6000, 0, 300, 300),
        (150, 10, 100, 100),
        (2000, 30, 600, 600),
        (2000, 100, 2000, 2000),
        (200, 150, 200, 300),
        (1000, -1, 420, 420),
    ],
)
def test_how_many_are_enough(nodes: int, percentage: int, old: int, new: int) -> None:
    """At least 100; 0 is adaptive, falling from 50 to 5 percent."""
    assert nodes_to_find(nodes, percentage) == old
    assert wanted_1_36(nodes, percentage) == new


@pytest.mark.parametrize(
    ("start", "wanted", "found", "seen"),
    [
        (0, 9, [4, 2, 0], [0, 1, 2, 3, 4]),
        (0, 2, [4, 2], [2, 3, 4]),
        (2, 1, [2], [2]),
        (2, 2, [2, 0], [0, 1, 2]),
        (5, 1, [4], [4]),
        (8, 2, [0, 4], [0, 1, 4]),
    ],
)
def test_rows_are_met_in_the_order_of_the_list(start: int, wanted: int, found: list[int], seen: list[int]) -> None:
    """From the start index, round and round, until enough pass; the rest is not looked at."""
    fits = np.array([True, False, True, False, True])
    rows, looked_at = Sampler(start).sample(np.array([4, 3, 2, 1, 0], np.int64), fits, wanted)
    assert rows.tolist() == found
    assert np.flatnonzero(looked_at).tolist() == seen


def test_without_nodes() -> None:
    """Nothing is found and nothing seen."""
    rows, seen = Sampler(3).sample(np.array([], np.int64), np.zeros(2, np.bool_), 1)
    assert rows.tolist() == []
    assert not seen.any()


def test_the_next_attempt_begins_where_this_one_ended() -> None:
    """Modulo the nodes there are, of which there may be none."""
    sampler = Sampler()
    sampler.advance(3, 5)
    sampler.advance(4, 5)
    assert sampler.next_start == 2
    sampler.advance(0, 0)
    assert sampler.next_start == 0


@given(st.lists(st.booleans(), min_size=1, max_size=20), st.integers(0, 40), st.integers(1, 20))
def test_law_of_a_walk(passing: list[bool], start: int, wanted: int) -> None:
    """No more than wanted; what was seen and passes was found; all is seen only when it has to be."""
    fits = np.array(passing)
    rows, seen = Sampler(start).sample(np.arange(len(passing)), fits, wanted)
    assert len(rows) == min(wanted, sum(passing))
    assert sorted(rows.tolist()) == np.flatnonzero(seen & fits).tolist()
    if len(rows) < wanted:
        assert seen.all()
