"""Nodes as they would be without some of their pods, and with pods that wait: the same as when that is so."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.cache import ClusterCache
from clusterstate.errors import ClusterStateError
from clusterstate.hypothetical import PodsByImportance, RowOverlay
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from tests.support.build import cache_of, make_node, make_pod, resources

NODES = ("a", "b", "c")
PODS = st.lists(st.tuples(st.sampled_from(NODES), st.sampled_from(["web", "db"]), st.integers(0, 3)), max_size=6)


def made(name: str, node: str, app: str, cpu: int) -> Pod:
    """A pod; none has the priority of another, so that each has a place of its own."""
    return make_pod(name, {"app": app}, node=node, requests=resources(cpu=100 * cpu), priority=int(name[1:]))


def cluster(placed: list[Pod]) -> ClusterCache:
    """Nodes a, b and c with some pods."""
    return cache_of([*map(make_node, NODES), *placed])


def web(info: PodInfo) -> int:
    """1 for pods of web."""
    return int(info.labels.get("app") == "web")


@given(PODS, st.sets(st.integers(0, 5)), st.sets(st.integers(0, 5)))
def test_rows_without_some_pods(there: list[tuple[str, str, int]], gone: set[int], back: set[int]) -> None:
    """Amounts, the number of pods and counts by node; of those that are put back as well."""
    placed = [made(f"p{at}", *one) for at, one in enumerate(there)]
    cache = cluster(placed)
    roster = PodsByImportance(cache.columns).refresh()
    rows = np.array([2, 0, 1])
    found = RowOverlay(cache.snapshot(), rows, roster)
    for at, pod in enumerate(placed):
        row = cache.columns.row_of[pod.node_name]
        place, where = list(roster.pods[row]).index(pod), rows == row
        if at in gone:
            found.take_away(place, where)
        if at in gone & back:
            found.put_back(place, where)
    left = [pod for at, pod in enumerate(placed) if at not in gone - back]
    expected = cluster(left).snapshot().take(rows)
    assert found.requested.tolist() == expected.requested.tolist()
    assert found.nonzero.tolist() == expected.nonzero.tolist()
    assert found.pod_count.tolist() == expected.pod_count.tolist()
    assert (
        found.counts(found.tally("web", None, web)).tolist()
        == expected.counts(expected.tally("web", None, web)).tolist()
    )


def test_a_count_over_a_topology_is_refused() -> None:
    """Each row is known by itself."""
    cache = cluster([made("p1", "a", "web", 1)])
    found = RowOverlay(cache.snapshot(), np.array([0]), PodsByImportance(cache.columns).refresh())
    with pytest.raises(ClusterStateError, match="a topology cannot be counted"):
        found.counts(found.tally("zone", "zone", web))
