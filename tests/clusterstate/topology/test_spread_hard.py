"""The two smallest counts, as upstream remembers them."""

from __future__ import annotations

import numpy as np

from clusterstate.topology.spread_hard import NO_PODS_ANYWHERE, Tracked


def tracked(*counts: int) -> Tracked:
    """Domains 1, 2, … with these counts."""
    return Tracked.of(np.array([0, *counts]), np.arange(1, len(counts) + 1))


def test_the_least_follows_one_domain() -> None:
    """A domain that grows past the second smallest gives way to it, and comes back."""
    counts = tracked(1, 2, 3)
    seen = []
    for amount in (1, 1, -1, -1):
        counts.add(1, amount, create=False)
        seen.append(counts.least)
    assert seen == [2, 2, 2, 1]
    assert counts.array().tolist() == [0, 1, 2, 3]


def test_the_third_smallest_is_not_remembered() -> None:
    """When two domains have grown the least is too large."""
    counts = tracked(0, 0, 0)
    counts.add(1, 2, create=False)
    counts.add(2, 2, create=False)
    assert counts.least == 2


def test_a_new_domain_counts_only_where_it_is_made() -> None:
    """1.36 makes the entry, 1.20 knows no such pair."""
    counts = Tracked.of(np.array([0, 4, 0]), np.array([1]))
    counts.add(2, 1, create=False)
    assert (counts.least, counts.size) == (4, 1)
    counts.add(2, 1, create=True)
    assert (counts.least, counts.size) == (1, 2)


def test_no_domain_at_all() -> None:
    """The least is then upstream's largest number."""
    assert tracked().least == NO_PODS_ANYWHERE


def test_a_copy_leaves_the_original_alone() -> None:
    """Each what-if starts from the same counts."""
    counts = tracked(1, 5)
    counts.copy().add(1, 9, create=False)
    assert counts.least == 1
