"""Ties, and how many nodes are enough."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from kubescheduler.core.selection import (
    FirstByName,
    InTurnTie,
    RandomTie,
    ReservoirTie,
    nodes_to_find,
    nodes_to_find_1_13,
)

RANKS = np.array([3, 0, 2, 1])


@pytest.mark.parametrize(
    ("nodes", "percentage", "enough"),
    [
        (50, 0, 50),
        (99, 1, 99),
        (150, 10, 100),
        (200, 150, 200),
        (1000, -1, 420),
        (100, 0, 100),
        (250, 0, 120),
        (1000, 0, 420),
        (5000, 0, 500),
        (6000, 0, 300),
        (500, 30, 150),
        (500, 100, 500),
    ],
)
def test_how_many_nodes_are_enough(nodes: int, percentage: int, enough: int) -> None:
    """At least 100; 0 is adaptive, falling from 50 to 5 percent: the worked figures of 1.16."""
    assert nodes_to_find(nodes, percentage) == enough


def test_the_first_by_name_wins_whatever_the_order_of_the_list() -> None:
    """Ranks decide, not positions."""
    assert FirstByName().choose(np.array([0, 3, 2]), RANKS) == 3
    assert FirstByName().choose(np.array([2, 0, 3]), RANKS) == 3


def test_a_seed_repeats_and_means_the_same_whatever_the_order_of_the_list() -> None:
    """Random ties are drawn over names."""
    one, other = RandomTie(random.Random(7)), RandomTie(random.Random(7))
    forward, backward = np.array([0, 1, 2, 3]), np.array([3, 2, 1, 0])
    assert [one.choose(forward, RANKS) for _ in range(20)] == [other.choose(backward, RANKS) for _ in range(20)]


@pytest.mark.parametrize("kind", [RandomTie, ReservoirTie])
def test_every_tied_node_has_an_equal_chance(kind: type[RandomTie] | type[ReservoirTie]) -> None:
    """4,000 seeded draws among four spread evenly."""
    tie = kind(random.Random(1))
    drawn = Counter(tie.choose(np.array([0, 1, 2, 3]), RANKS) for _ in range(4000))
    assert all(850 < drawn[row] < 1150 for row in range(4)), drawn


def test_nodes_take_turns_in_their_order() -> None:
    """Up to 1.15, and 0 percent of them was all."""
    tie, tied = InTurnTie(), np.array([4, 7, 9])
    assert [tie.choose(tied, np.zeros(10, np.int64)) for _ in range(4)] == [4, 7, 9, 4]
    assert [nodes_to_find_1_13(1000, percentage) for percentage in (0, 50, 100)] == [1000, 500, 1000]
