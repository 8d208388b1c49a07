"""Nodes as they would be with further pods: the same as when the pods are there, and nothing besides."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.cache import ClusterCache
from clusterstate.changes import Reads
from clusterstate.hypothetical.added_pods import AddedPods, AlikeClasses, BeyondRowsError
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from tests.support.build import cache_of, make_node, make_pod, resources

FREE_OF_PODS = {
    *("allocatable", "allocatable_set", "allowed_pods", "has_node", "image", "info", "known_names", "label_codes"),
    *(
        "label_values",
        "names",
        "node",
        "node_count",
        "property_codes",
        "resource",
        "resources",
        "row_numbers",
        "row_of",
    ),
    *("spread", "spread_label", "version"),
}
"""What a snapshot says of nodes, whatever pods there are."""
OF_OTHER_PODS = {"tally", "users_of"}
"""Of the pods that run: a tally is counted by ``counts``, and no added pod uses a claim."""
NODES = ("a", "b", "c")


def cluster(*placed: Pod) -> ClusterCache:
    """Nodes a, b and c with some pods."""
    return cache_of([*[make_node(name, {"zone": name}) for name in NODES], *placed])


def added(app: str, **fields: Any) -> Pod:
    """A pod as it is added."""
    return make_pod("in", {"app": app}, requests=resources(cpu=300, memory=1 << 20), **fields)


def hypothetically(cache: ClusterCache, *rows_and_extra: tuple[int, int], likes: tuple[Pod, ...]) -> AddedPods:
    """Those rows with so many more pods each."""
    rows, extra = (np.array(numbers, np.int64) for numbers in zip(*rows_and_extra, strict=True))
    return AddedPods(cache.snapshot(), rows, extra, AlikeClasses([cache.info(pod) for pod in likes]))


def web(info: PodInfo) -> int:
    """1 for pods of web."""
    return int(info.labels.get("app") == "web")


ENTRIES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4)), min_size=1, max_size=6)


@given(ENTRIES, st.sampled_from(["web", "db"]))
def test_each_entry_is_the_node_with_the_pods_placed_there(entries: list[tuple[int, int]], app: str) -> None:
    """Amounts, the number of pods and counts by node; a node may be there several times."""
    there = make_pod("there", {"app": "web"}, node="b", requests=resources(cpu=100))
    cache = cluster(there)
    found = hypothetically(cache, *entries, likes=(added(app),))
    counts = found.counts(found.tally("web", None, web))
    for at, (row, extra) in enumerate(entries):
        more = [
            make_pod(f"in{n}", {"app": app}, node=NODES[row], requests=resources(cpu=300, memory=1 << 20))
            for n in range(extra)
        ]
        expected = cluster(there, *more).snapshot()
        assert found.requested[:, at].tolist() == expected.requested[:, row].tolist()
        assert found.nonzero[:, at].tolist() == expected.nonzero[:, row].tolist()
        assert found.pod_count[at] == expected.pod_count[row]
        assert counts[at] == expected.counts(expected.tally("web", None, web))[row]


def test_all_that_depends_on_pods_is_looked_after() -> None:
    """A member that a snapshot gets is worked out with the added pods or refused, unless it says nothing of pods."""
    members = {name for name, _ in inspect.getmembers(Snapshot) if not name.startswith("_")}
    slots = {name for name in members if inspect.ismemberdescriptor(getattr(Snapshot, name))}
    own = {name for name in vars(AddedPods) if not name.startswith("_")}
    assert members - slots - own == FREE_OF_PODS | OF_OTHER_PODS


REFUSED: dict[str, Any] = {
    "amounts": lambda found: found.amounts(0),
    "a count by zone": lambda found: found.counts(found.tally("zone", "zone", web)),
    "sums by zone": lambda found: found.domain_sums(found.tally("zone", "zone", web)),
    "ids": lambda found: found.union_sizes("k", lambda info: frozenset(), frozenset(), 0),
    "what follows from pods": lambda found: found.derived("k", Reads.PODS, lambda: 1),
    "classes": lambda found: found.running(),
    "pods": lambda found: found.pods_on(0),
    "some rows": lambda found: found.take(np.array([0])),
    "the same rows": lambda found: found.only(np.array([0])),
    "all rows": lambda found: found.whole(),
    "further pods": lambda found: found.what_if(()),
    "fewer changes": lambda found: found.until(0),
}


@pytest.mark.parametrize("ask", REFUSED.values(), ids=REFUSED)
def test_what_is_not_known_row_by_row_is_refused(ask: Any) -> None:
    """So that no rule takes for true what does not hold with the added pods."""
    with pytest.raises(BeyondRowsError):
        ask(hypothetically(cluster(), (0, 1), likes=(added("web"),)))


def test_pods_that_do_not_count_alike() -> None:
    """A count in which the added pods differ is refused."""
    found = hypothetically(cluster(), (0, 1), likes=(added("web"), added("db")))
    with pytest.raises(BeyondRowsError, match="do not count alike"):
        found.counts(found.tally("web", None, web))


def test_what_follows_from_nodes_alone() -> None:
    """It is as of any snapshot."""
    assert hypothetically(cluster(), (0, 1), likes=(added("web"),)).derived("k", Reads.NODE, lambda: 7) == 7
