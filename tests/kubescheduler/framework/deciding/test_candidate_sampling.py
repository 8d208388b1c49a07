"""How many candidates preemption looks at where nodes are sampled."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from clusterstate.cache import ClusterCache
from kubescheduler.core.preemption_choice import NOWHERE, Candidates, costs_of_kinds, nodes_of_kinds
from kubescheduler.framework.deciding.preemption_search import CandidateSampling
from kubescheduler.framework.plugins.default_preemption import DefaultPreemption, DefaultPreemptionArgs
from kubescheduler.framework.running.framework_services import FrameworkHandle, Services
from kubescheduler.releases.lookup import release_named
from tests.support.build import make_pod
from tests.support.deciders import deciding
from tests.support.preemption_worlds import node_named, pod_at, wants
from tests.support.rich_worlds import in_tree


def candidates(violating: str) -> Candidates:
    """Nodes 0, 1, …: ``-`` is no candidate, ``v`` violates a budget, ``f`` does not."""
    size = len(violating)
    protected = np.array([[sort == "v" for sort in violating]], np.bool_)
    victims, priorities = np.ones((1, size), np.bool_), np.zeros((1, size), np.int64)
    kinds = np.array([NOWHERE if sort == "-" else row for row, sort in enumerate(violating)], np.int64)
    return Candidates(
        names=tuple(f"n{row}" for row in range(len(violating))),
        row_of={},
        kinds=kinds,
        nodes=nodes_of_kinds(kinds, size),
        victims=victims,
        protected=protected,
        of_kinds=costs_of_kinds(victims, protected, priorities, by_importance=False),
        starts=np.zeros(size),
        pods=[[make_pod("p")] for _ in violating],
    )


CASES = {
    "all are wanted": ("ffff", 100, 1, 0, [0, 1, 2, 3]),
    "as many as the percentage": ("ffff", 50, 1, 0, [0, 1]),
    "as many as the number": ("ffff", 1, 3, 0, [0, 1, 2]),
    "not more than there are": ("ffff", 1, 100, 0, [0, 1, 2, 3]),
    "around the end": ("ffff", 1, 2, 3, [3, 0]),
    "past those that are none": ("-f-f", 1, 1, 2, [3]),
    "until one violates nothing": ("vvfv", 1, 1, 0, [2, 0]),
    "those that violate nothing first": ("vfff", 1, 3, 0, [1, 2, 0]),
    "none that violates nothing": ("vvv", 1, 2, 0, [0, 1]),
    "no candidate": ("---", 1, 2, 0, []),
}


@pytest.mark.parametrize(("sorts", "percentage", "absolute", "start", "expected"), CASES.values(), ids=CASES.keys())
def test_sampled_candidates(sorts: str, percentage: int, absolute: int, start: int, expected: Sequence[int]) -> None:
    """Nodes are tried from a random one on until enough are found, one of them without violations."""
    sampling = CandidateSampling(percentage, absolute, lambda _: start)
    found = sampling.sample(candidates(sorts), np.arange(len(sorts)))
    assert found.rows.tolist() == expected
    assert list(found) == [f"n{row}" for row in expected]
    assert [row for row, kind in enumerate(found.kinds.tolist()) if kind == row] == sorted(expected)


def test_nowhere_to_look() -> None:
    """Nothing is drawn then."""
    nothing = candidates("")
    assert CandidateSampling(10, 100, lambda n: 1 // n).sample(nothing, np.zeros(0, np.int64)) is nothing


@pytest.mark.parametrize(("percentage", "candidates_found"), [(100, 3), (50, 1)])
@pytest.mark.parametrize("release", ["1.20", "1.36"])
def test_it_is_asked_for_with_the_sampling_of_nodes(release: str, percentage: int, candidates_found: int) -> None:
    """Otherwise every node is a candidate."""
    handle = FrameworkHandle(Services(release, ClusterCache(release_named(release).default_view)), "p")
    made = in_tree(release)
    usual = made["DefaultPreemption"]
    assert isinstance(usual, DefaultPreemption)
    preemption = msgspec.structs.replace(usual, args=DefaultPreemptionArgs(1, 1), handle=handle)
    cluster = [thing for at in ("n0", "n1", "n2") for thing in (node_named(at), pod_at(f"low-{at}", at, cpu=3000))]
    scheduler = deciding(release, made["NodeResourcesFit"], preemption, cluster=cluster, percentage=percentage)
    found = scheduler.schedule(wants(), preempt=True).preemption
    assert found is not None
    assert len(found.candidates) == candidates_found
