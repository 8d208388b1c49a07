"""The scheduler itself, with small algorithms of its own: order, short circuit, errors, ties, sampling, nominations."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from clusterstate.cache import ClusterCache
from clusterstate.footprint import ScopeReading
from clusterstate.manifests.annotations_1_4 import TAINTS_ANNOTATION
from clusterstate.objects import (
    Affinity,
    ClaimVolume,
    NodeAffinity,
    NodeCondition,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
    Requirement,
)
from kubescheduler.core.algorithm import (
    Algorithm,
    WeightedPriority,
    counted_errors_1_16,
    every_error_1_4,
    first_error_1_18,
    unexpected_1_4,
)
from kubescheduler.core.attempt import GenericScheduler
from kubescheduler.core.nominated import KeptJudgements, RowWatch
from kubescheduler.core.pod_classes import CheckState, ClassState, ScoreState
from kubescheduler.core.selection import RoundRobinTie
from kubescheduler.core.totals import SharedTotals, TotalTable
from kubescheduler.engine.engine_flags import EngineFlags
from kubescheduler.engine.legacy_engine import algorithm_for
from kubescheduler.releases import v1_4
from kubescheduler.releases.lookup import RELEASES
from predicates.resources import RESOURCES
from predicates.types import FitPredicate, NodeError, PredicateArgs
from priorities.types import PriorityConfig
from tests.kubescheduler.core.test_totals import DOMAINS, Worlds, pod, said
from tests.support.amount_steps import WITHOUT_TAINTS
from tests.support.build import cache_of, make_node, make_pod, resources
from tests.support.storage import ZONE


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


PLACES = {
    "fitting": (ClassState, "check"),
    "a check": (CheckState, "_refresh"),
    "a score": (ScoreState, "_map"),
    "domains": (ScopeReading, "changed_rows"),
    "sorting": (SharedTotals, "_sort_scores"),
    "patching": (SharedTotals, "_patched"),
    "amounts": (SharedTotals, "_ask"),
    "totals": (TotalTable, "put"),
    "judging": (KeptJudgements, "_take"),
    "watching": (RowWatch, "changed"),
}
"""Where interrupts come: (class, method)."""
NOMINATED: list[tuple[Any, ...]] = [
    *[("run", "plain", 2), ("nominate", 3), ("run", "plain", 2), ("put", (3, 1, "")), ("run", "large", 3)],
    *[("nominate", 4), ("run", "large", 2), ("drop", 0), ("run", "plain", 2), ("nominate", 5), ("run", "large", 2)],
]
"""Pods that others leave room for."""
FILLING = [
    ("service", False),
    *WITHOUT_TAINTS,
    ("run", "plain", 6),
    ("run", "large", 6),
    ("drop", 2),
    ("run", "plain", 6),
]
"""Pods of which all follows from the amounts on nodes."""


class Interrupting(Worlds):
    """Every second attempt is interrupted before or after a method is called, and made again."""

    def __init__(self, engine: str, place: str) -> None:
        super().__init__(engine, "first")
        self.place = place
        self.interrupted = 0

    def decide(self, kind: str, *, late: bool) -> None:
        """Decides one more pod, as a scheduler does that was never interrupted, and places it."""
        one = self.decode(pod(f"p{len(self.made)}", kind))
        self._attempt(one, random.Random(len(self.made)))
        decision = self.running.decide(one)
        anew = self.engine.scheduler(self.cache, copy.deepcopy(self.tie)).decide(one)
        assert said(decision) == said(anew)
        self.made.append((decision, said(anew)))
        if decision.host is not None:
            self.placed.append(self.cache.assume_pod(one, decision.host))

    def _attempt(self, one: Any, rng: random.Random) -> None:
        """An attempt that is interrupted, if it comes to the place."""
        owner, name = PLACES[self.place]
        plain, after = getattr(owner, name), rng.random() < 0.5

        def interrupting(*given: Any, **named: Any) -> Any:
            comes = rng.random() < 0.4
            if comes and not after:
                raise KeyboardInterrupt
            found = plain(*given, **named)
            if comes:
                raise KeyboardInterrupt
            return found

        with patch.object(owner, name, interrupting):
            try:
                self.running.decide(one)
            except KeyboardInterrupt:
                self.interrupted += 1


@pytest.mark.parametrize("place", PLACES)
def test_an_interrupted_attempt_leaves_nothing_half_done(place: str) -> None:
    """The next attempt decides as one that remembers nothing."""
    interrupted = 0
    for engine in ("1.16", "1.36"):
        for steps in (DOMAINS, NOMINATED, FILLING):
            worlds = Interrupting(engine, place)
            for step in [("service", True), *steps]:
                worlds.step(*step)
            interrupted += worlds.interrupted
    assert interrupted > 3


OPTIONS = EngineFlags(release="1.4")
NOTHING: dict[str, Any] = {"kind": "Policy", "apiVersion": "v1"}


def scheduler_1_4(*objects: Any, policy: Any = None, tie: Any = None) -> GenericScheduler:
    return GenericScheduler(algorithm_for(OPTIONS, None, policy), ClusterCache.of(objects, v1_4.VIEW), tie)


def test_nodes_that_are_not_listed_are_nowhere() -> None:
    """They neither fit nor fail, but their checks can be read."""
    unready = make_node("b", conditions=(NodeCondition("Ready", "False"),))
    decision = scheduler_1_4(make_node("a"), unready).decide(make_pod(requests=resources(cpu=5000)))
    assert decision.fits() == []
    assert decision.reasons() == {"a": ["Insufficient cpu"]}
    assert list(decision.checks()) == ["a", "b"]


def test_no_listed_node_at_all() -> None:
    """The text is that of an empty cluster."""
    decision = scheduler_1_4(make_node("a", unschedulable=True)).decide(make_pod())
    assert decision.message == "no nodes available to schedule pods"


def test_pods_on_nodes_that_are_not_listed_count() -> None:
    """A node that becomes listed again is judged with its pods."""
    engine = scheduler_1_4(make_node("a", unschedulable=True), make_pod("q", node="a", requests=resources(cpu=3500)))
    engine.cache.update_node(make_node("a"))
    assert engine.decide(make_pod(requests=resources(cpu=600))).message.endswith("(a): Insufficient cpu\n")


@pytest.mark.parametrize("name", ["Mine", "CheckNodeLabelPresence", "HostName"])
def test_a_predicate_of_any_name_runs(name: str) -> None:
    """Where 1.16 would pass over it."""
    argument = {"labelsPresence": {"labels": ["x"], "presence": True}}
    policy = {**NOTHING, "predicates": [{"name": name, "argument": argument}]}
    decision = scheduler_1_4(make_node("a"), policy=policy).decide(make_pod())
    assert decision.checks() == {"a": {name: ["CheckNodeLabelPresence"]}}


def test_claims_are_not_waited_for() -> None:
    """A missing claim is a matter of predicates, here of one that a node without zone does not reach."""
    pod = make_pod(volumes=(ClaimVolume("nope"),))
    assert scheduler_1_4(make_node("a")).decide(pod).host == "a"
    text = "SchedulerPredicates failed due to PersistentVolumeClaim 'default/nope' not found, which is unexpected."
    assert scheduler_1_4(make_node("a", {ZONE: "z"})).decide(pod).error == text
    nodes = (make_node("a", {ZONE: "z"}), make_node("b", {ZONE: "z"}), make_node("c"))
    assert scheduler_1_4(*nodes).decide(pod).error == f"[{text}, {text}]"


def test_an_error_ends_the_attempt_even_where_the_node_fails_otherwise() -> None:
    """All predicates run on every node."""
    nodes = [make_node("a", annotations={TAINTS_ANNOTATION: "{}"}), make_node("b")]
    error = scheduler_1_4(*nodes).decide(make_pod(requests=resources(cpu=99000))).error
    assert error.startswith("SchedulerPredicates failed due to ")


def test_errors_of_priorities_come_once_for_each_feasible_node() -> None:
    """In brackets when there are several."""
    term = PreferredSchedulingTerm(1, NodeSelectorTerm((Requirement("n", "Gt", ("-1",)),)))
    pod = make_pod(affinity=Affinity(NodeAffinity(preferred=(term,))))
    text = 'invalid label value: "-1": must match the regex'
    one = scheduler_1_4(make_node("a")).decide(pod).error or ""
    two = scheduler_1_4(make_node("a"), make_node("b")).decide(pod).error or ""
    assert one.startswith(text)
    assert two == f"[{one}, {one}]"


def test_how_errors_are_joined() -> None:
    """1.4 repeats, 1.16 counts, 1.18 tells the first node's."""
    errors = [("x", np.array([1, 3])), ("y", np.array([0]))]
    assert every_error_1_4(errors) == "[x, x, y]"
    assert counted_errors_1_16(errors) == "[x (repeated 2 times), y]"
    assert first_error_1_18(errors) == "y"
    assert unexpected_1_4("Check", "pod", "x") == "SchedulerPredicates failed due to x, which is unexpected."


def test_ties_go_round_by_descending_name() -> None:
    """c, b, a, c; every decision counts, also one without a tie."""
    engine = scheduler_1_4(*map(make_node, "bca"), policy=NOTHING, tie=RoundRobinTie())
    assert [engine.decide(make_pod()).host for _ in range(4)] == ["c", "b", "a", "c"]
    alone = RoundRobinTie()
    assert alone.choose(np.array([1]), np.array([0, 1, 2])) == 1
    assert alone.choose(np.array([0, 1, 2]), np.array([0, 1, 2])) == 1


def test_nothing_is_preempted_or_nominated() -> None:
    """There are no priorities of pods."""
    low = make_pod("low", node="a", requests=resources(cpu=4000))
    waiting = make_pod("waiting", nominated="a", requests=resources(cpu=4000), priority=9)
    engine = scheduler_1_4(make_node("a"), low)
    high = make_pod("high", requests=resources(cpu=1000), priority=100)
    assert engine.decide(high, preempt=True).preemption is None
    assert scheduler_1_4(make_node("a"), waiting).decide(high).host == "a"
    assert not RELEASES["1.4"].legacy_rules.behaviour.preempts
