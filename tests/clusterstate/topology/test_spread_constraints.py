"""The pods that a spread constraint counts."""

from __future__ import annotations

import pytest

from clusterstate.selectors.matching import compile_map
from clusterstate.topology.spread_constraints import PickedPods
from tests.support.build import cache_of, labels, make_node, make_pod

X = {"app": "x"}


def test_a_count_that_is_kept_no_longer_is_asked_for_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """By node and by zone it goes on counting pods that come."""
    monkeypatch.setattr("clusterstate.counting.pod_counts.TALLY_ROWS", 0)
    monkeypatch.setattr("clusterstate.counting.pod_counts.MOST_TALLIES", 2)
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
