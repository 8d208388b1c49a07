"""The scheduler itself, with small algorithms of its own: order, short circuit, errors, ties, sampling, nominations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest

from clusterstate.changes import LOCAL, Reads
from clusterstate.footprint import Footprint
from kubescheduler.core.algorithm import Algorithm, WeightedPriority
from kubescheduler.core.generic_scheduler import GenericScheduler
from predicates.resources import RESOURCES
from predicates.types import FitPredicate, NodeError, PredicateArgs
from priorities.types import PriorityConfig
from tests.support.build import cache_of, make_node, make_pod, resources


def refusing(name: str, reason: str, *nodes: str, calls: list[int] | None = None) -> FitPredicate:
    """A predicate that refuses the named nodes, and notes how many rows it was asked about."""

    def check(_: Any, snapshot: Any) -> Any:
        if calls is not None:
            calls.append(len(snapshot))
        return {reason: np.array([n in nodes for n in snapshot.names])}

    return FitPredicate(name, check)


def scoring(name: str, **scores: int) -> PriorityConfig:
    def score(_: Any, snapshot: Any) -> Any:
        return np.array([scores.get(n, 0) for n in snapshot.names])

    return PriorityConfig(name, score)


def scheduler(
    predicates: Sequence[FitPredicate] = (),
    priorities: Sequence[tuple[PriorityConfig, int]] = (),
    nodes: Sequence[str] = ("a", "b", "c"),
    **algorithm: Any,
) -> GenericScheduler:
    weighted = tuple(WeightedPriority(config, weight) for config, weight in priorities)
    cache = cache_of([make_node(name) for name in nodes])
    return GenericScheduler(Algorithm("1.16", tuple(predicates), weighted, **algorithm), cache)


def test_only_the_first_failing_predicate_is_reported() -> None:
    """Short circuit: a node's later predicates are not reported, though each is known on its own."""
    decision = scheduler([refusing("One", "r1", "a"), refusing("Two", "r2", "a", "b")]).decide(make_pod())
    assert decision.reasons() == {"a": ["r1"], "b": ["r2"]}
    assert decision.checks() == {"a": {"One": ["r1"], "Two": ["r2"]}, "b": {"Two": ["r2"]}}
    assert decision.host == "c"


def test_all_reasons_are_reported_when_the_policy_asks_for_it() -> None:
    """alwaysCheckAllPredicates collects every predicate's reasons."""
    rules = [refusing("One", "r1", "a", "b", "c"), refusing("Two", "r2", "a")]
    decision = scheduler(rules, always_check_all_predicates=True).decide(make_pod())
    assert decision.reasons()["a"] == ["r1", "r2"]
    assert decision.message == "0/3 nodes are available: 1 r2, 3 r1."


def test_the_message_sorts_its_items_as_texts() -> None:
    """`10 …` comes before `2 …`."""
    nodes = [f"n{i:02}" for i in range(12)]
    rules = [refusing("One", "x", *nodes[:10]), refusing("Two", "a", *nodes[10:])]
    assert scheduler(rules, nodes=nodes).decide(make_pod()).message == "0/12 nodes are available: 10 x, 2 a."


def test_an_error_gives_the_attempt_up_where_no_earlier_predicate_refused() -> None:
    """Equal texts of several nodes are counted; nodes refused before do not err."""
    rules = [refusing("One", "r1", "a"), refusing("Bad", NodeError("broken"), "a", "b", "c")]
    decision = scheduler(rules).decide(make_pod())
    assert (decision.host, decision.message) == (None, "broken (repeated 2 times)")
    assert decision.fits() == []


def test_an_error_that_is_short_circuited_everywhere_does_not_matter() -> None:
    """The pod still goes where nothing erred."""
    rules = [refusing("One", "r1", "a"), refusing("Bad", NodeError("broken"), "a")]
    assert scheduler(rules).decide(make_pod()).host == "b"


def test_weights_multiply_and_ties_go_to_the_first_name() -> None:
    """Totals are weighted sums; best lists every node that has the highest."""
    priorities = [(scoring("P", a=1, b=3), 2), (scoring("Q", a=4, c=1), 1)]
    decision = scheduler(priorities=priorities).decide(make_pod())
    assert decision.total() == {"a": 6, "b": 6, "c": 1}
    assert decision.best() == ["a", "b"]
    assert decision.host == "a"
    assert decision.score("P") == {"a": 1, "b": 3, "c": 0}


def test_totals_wrap_at_64_bits() -> None:
    """A sum beyond 2^63 - 1 becomes negative, as in Go."""
    decision = scheduler(priorities=[(scoring("P", a=10), 2**60)]).decide(make_pod())
    assert decision.total()["a"] == 10 * 2**60 - 2**64


def test_without_priorities_every_node_scores_one() -> None:
    """Upstream's EqualPriority."""
    assert scheduler().decide(make_pod()).total() == {"a": 1, "b": 1, "c": 1}


def test_a_single_node_is_returned_unscored() -> None:
    """Unless it is asked for."""
    one = scheduler([refusing("One", "r", "a", "b")], [(scoring("P", c=5), 1)])
    decision = one.decide(make_pod())
    assert decision.host == "c"
    assert len(decision.totals) == 0
    assert one.decide(make_pod(), thorough=True).total() == {"c": 5}


def test_no_nodes_is_an_error_of_its_own() -> None:
    """The release's text."""
    assert scheduler(nodes=()).decide(make_pod()).message == "no nodes available to schedule pods"


def test_local_verdicts_are_judged_again_only_on_changed_rows() -> None:
    """A placed pod changes one row; a local rule is asked about that row alone."""
    calls: list[int] = []
    nodes = [f"n{i:02}" for i in range(20)]
    engine = scheduler([refusing("One", "r", "n00", calls=calls)], nodes=nodes)
    for number in range(3):
        pod = make_pod(f"p{number}")
        decision = engine.decide(pod)
        assert decision.host is not None
        engine.cache.assume_pod(pod, decision.host)
    assert calls == [20, 1, 1]


def test_far_looking_rules_run_anew_on_every_row() -> None:
    """A rule that reads pods anywhere is asked about all rows after any placement."""
    calls: list[int] = []
    rule = msgspec.structs.replace(refusing("One", "r", calls=calls), footprint=Footprint(LOCAL | Reads.ALL_PODS))
    engine = scheduler([rule])
    engine.decide(make_pod())
    engine.decide(make_pod())
    engine.cache.assume_pod(make_pod("q"), "a")
    engine.decide(make_pod())
    assert calls == [3, 3]


def test_earlier_decisions_do_not_change_when_the_cluster_does() -> None:
    """A Decision keeps the arrays it was made from."""
    fits = RESOURCES["PodFitsResources"](PredicateArgs())
    engine = scheduler([fits], nodes=[f"n{i:02}" for i in range(20)])
    big = make_pod("big", requests=resources(cpu=3000))
    before = engine.decide(big)
    engine.cache.assume_pod(make_pod("first", requests=resources(cpu=3000)), "n00")
    after = engine.decide(big)
    assert before.reasons() == {}
    assert after.reasons() == {"n00": ["Insufficient cpu"]}
    assert before.reasons() == {}


@pytest.mark.parametrize(("priority", "fits"), [(5, ["b", "c"]), (6, ["a", "b", "c"])], ids=["equal", "higher"])
def test_pods_nominated_to_a_node_are_counted_in_a_first_pass(priority: int, fits: list[str]) -> None:
    """Nominated pods of at least the pod's priority take their room; a pod of higher priority ignores them."""
    engine = scheduler([RESOURCES["PodFitsResources"](PredicateArgs())])
    engine.cache.nominate(make_pod("waiting", requests=resources(cpu=3000), priority=5), "a")
    decision = engine.decide(make_pod("new", requests=resources(cpu=2000), priority=priority))
    assert decision.fits() == fits
    assert engine.decide(make_pod("waiting", requests=resources(cpu=3000), priority=5)).fits() == ["a", "b", "c"]


def test_sampling_goes_on_where_the_last_attempt_stopped() -> None:
    """With 30 % of 500 nodes, 150 are found; the next attempt begins behind them, at the one that was one too many."""
    nodes = [f"n{i:03}" for i in range(500)]
    engine = scheduler(nodes=nodes, percentage_of_nodes_to_score=30)
    assert engine.decide(make_pod()).fits() == nodes[:150]
    assert engine.decide(make_pod()).fits() == nodes[151:301]
