"""The two smallest counts, as upstream remembers them."""

from __future__ import annotations

import numpy as np
import pytest

from clusterstate.selectors.matching import compile_map
from clusterstate.selectors.spread_constraints import PickedPods
from clusterstate.selectors.spread_counts import Tracked
from tests.support.build import cache_of, labels, make_node, make_pod


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


X = {"app": "x"}


def test_a_count_that_is_kept_no_longer_is_asked_for_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """By node and by zone it goes on counting pods that come."""
    monkeypatch.setattr("clusterstate.pod_counts.TALLY_ROWS", 0)
    monkeypatch.setattr("clusterstate.pod_counts.MOST_TALLIES", 2)
    cache = cache_of([make_node(f"n{at}", {"zone": "z"}) for at in range(2)])
    pods = PickedPods("default", (compile_map(labels(X)),))
    for at in range(6):
        cache.add_pod(make_pod(f"p{at}", X, node=f"n{at % 2}"))
        snapshot = cache.snapshot()
        here = [at // 2 + 1, (at + 1) // 2]
        assert snapshot.counts(pods.tally(snapshot, None)).tolist() == here
        assert snapshot.counts(pods.tally(snapshot, "zone")).tolist() == [at + 1] * 2
        assert pods.tally(snapshot, None) is pods.tally(snapshot, None)
        snapshot.tally(at, None, lambda _: 1, frozenset())
