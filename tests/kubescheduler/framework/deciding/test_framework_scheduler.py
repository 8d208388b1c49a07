"""Whole decisions of one profile, and laws about them."""

from __future__ import annotations

import random
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterstate.errors import SchedulingError
from clusterstate.objects import Pod
from clusterstate.usage import wrap
from kubescheduler.core.selection import RandomTie
from kubescheduler.engine.engine_flags import EngineFlags
from kubescheduler.engine.spec import engine_for
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from predicates.types import FitPredicate
from tests.support.build import make_node, make_pod, resources
from tests.support.deciders import FakeExtender, answers, deciding, plugin, refusing, scoring
from tests.support.rich_worlds import RELEASES, DrawnCluster, everything, in_tree, incoming, told, worlds

BOTH = pytest.mark.parametrize("release", RELEASES)

# --- laws --------------------------------------------------------------------------------------


@BOTH
@settings(max_examples=50)
@given(world=worlds(), pod=incoming, weight=st.sampled_from([1, 3, 2**62]), scores=st.integers(-3, 20))
def test_totals_are_the_weighted_sums_of_scores(
    release: str, world: DrawnCluster, pod: Pod, weight: int, scores: int
) -> None:
    """Each score is within 0 to 100, and an extender's counts ten times its weight; all of it wraps at 64 bits."""
    extender = FakeExtender(scores={"n0": scores, "ghost": 1}, weight=weight)
    decision = everything(release, world.cache(release), extenders=(extender,)).schedule(pod, thorough=True)
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
@settings(max_examples=50)
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
        everything(release, each.cache(release), without=("ServiceAffinity",)).schedule(pod, thorough=True)
        for each in (world, shuffled)
    ]
    assert told(decisions[0]) == told(decisions[1])


@BOTH
@settings(max_examples=40)
@given(world=worlds(), pod=incoming)
def test_every_node_fits_or_has_a_status(release: str, world: DrawnCluster, pod: Pod) -> None:
    """Never both, and a thorough look decides as a quick one does."""
    cache = world.cache(release)
    quick, thorough = (everything(release, cache).schedule(pod, thorough=each) for each in (False, True))
    assert (quick.error is None) == (thorough.error is None)
    if quick.error is None:
        names = {node.name for node in world.nodes}
        assert {*quick.fits()} | {*quick.reasons()} == names
        assert not {*quick.fits()} & {*quick.reasons()}
        assert (quick.host, quick.fits(), quick.reasons()) == (thorough.host, thorough.fits(), thorough.reasons())
        assert quick.codes() == thorough.codes()


@BOTH
@settings(max_examples=30)
@given(world=worlds(), pod=incoming, percentage=st.sampled_from([0, 10, 50]))
def test_sampling_finds_what_there_is_in_small_clusters(
    release: str, world: DrawnCluster, pod: Pod, percentage: int
) -> None:
    """Below a hundred nodes all are looked at, in whatever order."""
    cache = world.cache(release)
    whole = everything(release, cache).schedule(pod)
    sampling = everything(release, cache, percentage=percentage)
    for start in range(3):
        sampling.sampler.next_start = start
        found = sampling.schedule(pod)
        assert (found.host, found.fits(), found.reasons()) == (whole.host, whole.fits(), whole.reasons())
        assert found.total() == whole.total()


@BOTH
@settings(max_examples=30)
@given(world=worlds(), pod=incoming)
def test_the_order_of_plugins_decides_only_which_reason_is_told(release: str, world: DrawnCluster, pod: Pod) -> None:
    """The default profile, in its own order, finds the same nodes, and every plugin says the same on its own."""
    cache = world.cache(release)
    engine = engine_for(EngineFlags(release=release), None, None, None)
    default = engine.scheduler(cache).decide(pod, thorough=True)
    every = everything(release, cache, without=("NodeLabel", "ServiceAffinity")).schedule(pod, thorough=True)
    if default.error is None and every.error is None:
        assert default.fits() == every.fits()
        assert default.checks() == every.checks()
        assert all(default.score(name) == every.score(name) for name in default.scores)


# --- decisions ---------------------------------------------------------------------------------


@BOTH
def test_without_nodes(release: str) -> None:
    """There is nothing to decide; a node known only by its pods is none."""
    scheduler = deciding(release, cluster=[])
    assert scheduler.schedule(make_pod()).error == "no nodes available to schedule pods"
    scheduler.cache.add_pod(make_pod("there", node="ghost"))
    assert scheduler.schedule(make_pod(), preempt=True).message == "no nodes available to schedule pods"


@BOTH
def test_a_decision_changes_nothing(release: str) -> None:
    """Two in a row are the same; placing the pod is for the caller."""
    nodes = [make_node(name, allocatable=resources(cpu=1000, memory=1 << 30, pods=9)) for name in ("n0", "n1")]
    scheduler = deciding(release, in_tree(release)["NodeResourcesFit"], cluster=nodes)
    first, second = (make_pod(name, requests=resources(cpu=800)) for name in ("p", "q"))
    assert scheduler.schedule(first).host == scheduler.schedule(first).host == "n0"
    scheduler.cache.assume_pod(first, "n0")
    assert scheduler.schedule(second).host == "n1"


@BOTH
def test_ties(release: str) -> None:
    """The first by name, or whatever the tie break takes."""
    plugins = [scoring("S", 1, 7, 7)]
    assert deciding(release, *plugins).schedule(make_pod()).host == "n1"
    hosts = {
        deciding(release, *plugins, tie_break=RandomTie(random.Random(seed))).schedule(make_pod()).host
        for seed in range(9)
    }
    assert hosts == {"n1", "n2"}


@BOTH
def test_pods_that_name_their_node(release: str) -> None:
    """spec.nodeName of the pod itself counts; other pods of its class are not touched."""
    scheduler = deciding(release, in_tree(release)["NodeName"])
    assert scheduler.schedule(make_pod(node="n2")).fits() == ["n2"]
    assert scheduler.schedule(make_pod()).fits() == ["n0", "n1", "n2"]


@BOTH
def test_the_state_is_the_callers(release: str) -> None:
    """What plugins write is there afterwards, for Reserve and the rest."""

    def filter_(state: CycleState, pod: Any, info: Any) -> None:
        state.write("seen", [*(state.get("seen") or ()), info.name])

    cycle = CycleState()
    deciding(release, plugin("A", filter=filter_)).schedule(make_pod(), cycle=cycle)
    assert cycle.read("seen") == ["n0", "n1", "n2"]


@BOTH
def test_an_error_takes_everything_back(release: str) -> None:
    """No node fits, nothing is scored, and PostFilter is not run."""
    calls: list[Any] = []
    watcher = plugin("W", post_filter=lambda *given: calls.append(given))
    broken = plugin("A", **answers(score=SchedulingError("broken")))
    decision = deciding(release, refusing("F", n0="full"), scoring("S", 1, 2, 3), broken, watcher).schedule(
        make_pod(), preempt=True
    )
    assert (decision.fits(), decision.total(), decision.scores, decision.host) == ([], {}, {}, None)
    assert decision.message == decision.error
    assert calls == []


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
        scheduler.schedule(make_pod(name))
    assert calls == [3]
