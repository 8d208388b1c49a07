"""Whole decisions of one profile, and laws about them."""

from __future__ import annotations

import heapq
import random
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.growable import IntArray, Mask
from clusterstate.objects import Pod
from clusterstate.usage import wrap
from kubescheduler.core.selection import FirstByName, ListWalk, RandomTie, TieBreak
from kubescheduler.engine.engine_flags import EngineFlags
from kubescheduler.engine.spec import engine_for
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.deciding.opportunistic_batch import KeptRanking
from kubescheduler.framework.deciding.score_plugins import HeapTie, heap_of, heap_root, pop_root, random_ranks
from predicates.types import FitPredicate
from tests.support.build import make_node, make_pod, resources
from tests.support.deciders import FakeExtender, deciding, plugin, refusing, scoring
from tests.support.rich_worlds import RELEASES, DrawnCluster, everything, in_tree, incoming, told, worlds

BOTH = pytest.mark.parametrize("release", RELEASES)

# --- laws --------------------------------------------------------------------------------------


@BOTH
@given(world=worlds(), pod=incoming, weight=st.sampled_from([1, 3, 2**62]), scores=st.integers(-3, 20))
def test_totals_are_the_weighted_sums_of_scores(
    release: str, world: DrawnCluster, pod: Pod, weight: int, scores: int
) -> None:
    """Each score is within 0 to 100, and an extender's counts ten times its weight; all of it wraps at 64 bits."""
    extender = FakeExtender(scores={"n0": scores, "ghost": 1}, weight=weight)
    decision = everything(release, world.cache(release), extenders=(extender,)).attempt(pod, thorough=True).run()
    by_plugin = {name: decision.score(name) for name in decision.scores}
    assert all(0 <= score <= 100 for given in by_plugin.values() for score in given.values())
    assert set(by_plugin) == set(decision.raws)
    assert set(by_plugin) <= set(decision.weights)
    for name, total in decision.total().items():
        own = sum(decision.weights[plugin] * given[name] for plugin, given in by_plugin.items())
        assert total == wrap(own + (10 * weight * scores if name == "n0" else 0))
    if decision.total():
        assert decision.best() == sorted(n for n, t in decision.total().items() if t == max(decision.total().values()))
        assert decision.host == decision.best()[0]


@BOTH
@given(world=worlds(), pod=incoming, rng=st.randoms(use_true_random=False))
def test_the_order_in_which_things_came_never_matters(
    release: str, world: DrawnCluster, pod: Pod, rng: random.Random
) -> None:
    """Nodes and pods shuffled give the same decision; ServiceAffinity alone follows the pod that came first."""
    nodes, pods = list(world.nodes), list(world.pods)
    rng.shuffle(nodes)
    rng.shuffle(pods)
    shuffled = attrs.evolve(world, nodes=tuple(nodes), pods=tuple(pods))
    decisions = [
        everything(release, each.cache(release), without=("ServiceAffinity",)).attempt(pod, thorough=True).run()
        for each in (world, shuffled)
    ]
    assert told(decisions[0]) == told(decisions[1])


@BOTH
@given(world=worlds(), pod=incoming)
def test_every_node_fits_or_has_a_status(release: str, world: DrawnCluster, pod: Pod) -> None:
    """Never both, and a thorough look decides as a quick one does."""
    cache = world.cache(release)
    quick, thorough = (everything(release, cache).attempt(pod, thorough=each).run() for each in (False, True))
    assert (quick.error is None) == (thorough.error is None)
    if quick.error is None:
        names = {node.name for node in world.nodes}
        assert {*quick.fits()} | {*quick.reasons()} == names
        assert not {*quick.fits()} & {*quick.reasons()}
        assert (quick.host, quick.fits(), quick.reasons()) == (thorough.host, thorough.fits(), thorough.reasons())
        assert quick.codes() == thorough.codes()


@BOTH
@given(world=worlds(), pod=incoming, percentage=st.sampled_from([0, 10, 50]))
def test_sampling_finds_what_there_is_in_small_clusters(
    release: str, world: DrawnCluster, pod: Pod, percentage: int
) -> None:
    """Below a hundred nodes all are looked at, in whatever order."""
    cache = world.cache(release)
    whole = everything(release, cache).attempt(pod).run()
    sampling = everything(release, cache, percentage=percentage)
    for start in range(3):
        sampling.walk.next_start = start
        found = sampling.attempt(pod).run()
        assert (found.host, found.fits(), found.reasons()) == (whole.host, whole.fits(), whole.reasons())
        assert found.total() == whole.total()


@BOTH
@given(world=worlds(), pod=incoming)
def test_the_order_of_plugins_decides_only_which_reason_is_told(release: str, world: DrawnCluster, pod: Pod) -> None:
    """The default profile, in its own order, finds the same nodes, and every plugin says the same on its own."""
    cache = world.cache(release)
    engine = engine_for(EngineFlags(release=release))
    default = engine.scheduler(cache).decide(pod, thorough=True)
    every = everything(release, cache, without=("NodeLabel", "ServiceAffinity")).attempt(pod, thorough=True).run()
    if default.error is None and every.error is None:
        assert default.fits() == every.fits()
        assert default.checks() == every.checks()
        assert all(default.score(name) == every.score(name) for name in default.scores)


# --- decisions ---------------------------------------------------------------------------------


@BOTH
def test_without_nodes(release: str) -> None:
    """There is nothing to decide; a node known only by its pods is none."""
    scheduler = deciding(release, cluster=[])
    assert scheduler.attempt(make_pod()).run().error == "no nodes available to schedule pods"
    scheduler.cache.add_pod(make_pod("there", node="ghost"))
    assert scheduler.attempt(make_pod()).run(preempt=True).message == "no nodes available to schedule pods"


@BOTH
def test_a_decision_changes_nothing(release: str) -> None:
    """Two in a row are the same; placing the pod is for the caller."""
    nodes = [make_node(name, allocatable=resources(cpu=1000, memory=1 << 30, pods=9)) for name in ("n0", "n1")]
    scheduler = deciding(release, in_tree(release)["NodeResourcesFit"], cluster=nodes)
    first, second = (make_pod(name, requests=resources(cpu=800)) for name in ("p", "q"))
    assert scheduler.attempt(first).run().host == scheduler.attempt(first).run().host == "n0"
    scheduler.cache.assume_pod(first, "n0")
    assert scheduler.attempt(second).run().host == "n1"


@BOTH
def test_ties(release: str) -> None:
    """The first by name, or whatever the tie break takes."""
    plugins = [scoring("S", 1, 7, 7)]
    assert deciding(release, *plugins).attempt(make_pod()).run().host == "n1"
    hosts = {
        deciding(release, *plugins, tie_break=RandomTie(random.Random(seed))).attempt(make_pod()).run().host
        for seed in range(9)
    }
    assert hosts == {"n1", "n2"}


@BOTH
def test_pods_that_name_their_node(release: str) -> None:
    """spec.nodeName of the pod itself counts; other pods of its class are not touched."""
    scheduler = deciding(release, in_tree(release)["NodeName"])
    assert scheduler.attempt(make_pod(node="n2")).run().fits() == ["n2"]
    assert scheduler.attempt(make_pod()).run().fits() == ["n0", "n1", "n2"]


@BOTH
def test_the_state_is_the_callers(release: str) -> None:
    """What plugins write is there afterwards, for Reserve and the rest."""

    def filter_(state: CycleState, pod: Any, info: Any) -> None:
        state.write("seen", [*(state.get("seen") or ()), info.name])

    cycle = CycleState()
    deciding(release, plugin("A", filter=filter_)).attempt(make_pod(), cycle=cycle).run()
    assert cycle.read("seen") == ["n0", "n1", "n2"]


def test_the_algorithm_of_a_scheduler() -> None:
    """The shape that legacy releases have, for those who show it."""
    scheduler = deciding("1.36", refusing("F", n0="full"), scoring("S", 1, 2, 3), weights={"S": 4})
    assert [p.name for p in scheduler.algorithm.predicates] == ["F"]
    assert [(p.config.name, p.weight) for p in scheduler.algorithm.priorities] == [("S", 4)]


def test_pod_classes_share_what_is_remembered() -> None:
    """Replicas are judged once while nothing changes."""
    calls: list[int] = []

    def check(pod: Any, snapshot: Any) -> Any:
        calls.append(len(snapshot))
        return {"full": np.zeros(len(snapshot), np.bool_)}

    made = ColumnPlugin("F", frozenset({Point.FILTER}), FitPredicate("F", check))
    scheduler = deciding("1.36", made)
    for name in ("a", "b", "c"):
        scheduler.attempt(make_pod(name)).run()
    assert calls == [3]


def walked(start: int, order: Sequence[int], fits: Mask, wanted: int) -> tuple[IntArray, Mask]:
    """A walk along a node list of these rows."""
    cache: Any = SimpleNamespace(listed_rows=lambda: np.array(order, np.int64))
    return ListWalk(start).sample(cache, fits, None, wanted)


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
    rows, looked_at = walked(start, [4, 3, 2, 1, 0], fits, wanted)
    assert rows.tolist() == found
    assert np.flatnonzero(looked_at).tolist() == seen


def test_a_sample_without_nodes() -> None:
    """Nothing is found and nothing seen."""
    rows, seen = walked(3, [], np.zeros(2, np.bool_), 1)
    assert rows.tolist() == []
    assert not seen.any()


def test_the_next_attempt_begins_where_this_one_ended() -> None:
    """Modulo the nodes there are, of which there may be none."""
    sampler = ListWalk()
    sampler.advance(3, 5)
    sampler.advance(4, 5)
    assert sampler.next_start == 2
    sampler.advance(0, 0)
    assert sampler.next_start == 0


@given(st.lists(st.booleans(), min_size=1, max_size=20), st.integers(0, 40), st.integers(1, 20))
def test_law_of_a_walk(passing: list[bool], start: int, wanted: int) -> None:
    """No more than wanted; what was seen and passes was found; all is seen only when it has to be."""
    fits = np.array(passing)
    rows, seen = walked(start, range(len(passing)), fits, wanted)
    assert len(rows) == min(wanted, sum(passing))
    assert sorted(rows.tolist()) == np.flatnonzero(seen & fits).tolist()
    if len(rows) < wanted:
        assert seen.all()


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


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(0, 2)), min_size=1, max_size=70))
def test_it_is_a_heap(nodes: list[tuple[int, int]]) -> None:
    """Where no ranks decide, looking at the greatest alone gives what sifting gives."""
    totals, ranks = [total for total, _ in nodes], [rank for _, rank in nodes]
    assert heap_root(np.array(totals), np.array(ranks)) == literal(totals, ranks)
    assert heap_root(np.array(totals)) == literal(totals, [0] * len(totals))


def test_nodes_that_an_extender_scored_get_a_number_by_lot() -> None:
    """The others have none, and so lose against them."""
    ranks = random_ranks(4, np.array([1, 3]), random.Random(7))
    assert (ranks > 0).tolist() == [False, True, False, True]
    assert ranks.tolist() == random_ranks(4, np.array([1, 3]), random.Random(7)).tolist()
    assert heap_root(np.zeros(4, np.int64), ranks) == int(ranks.argmax())


def test_a_single_tie_is_no_heap() -> None:
    """Asked for one of some nodes that are equal, the first is taken."""
    assert HeapTie(random.Random(0)).choose(np.array([3, 1]), np.array([0, 1, 2, 3])) == 3


def ranking(totals: list[int], tie_break: TieBreak, chosen: int) -> KeptRanking:
    """Nodes n0, n1 … in this order, whose names are their order too."""
    rows = np.arange(len(totals))
    names = tuple(f"n{row}" for row in rows)
    return KeptRanking(names, rows, np.array(totals), rows, tie_break, chosen, {}, 0.0)


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
def test_worked_rankings(totals: list[int], tie_break: TieBreak, chosen: int, rest: list[str]) -> None:
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
