"""Who would have to go, and where: upstream's rules as cases, and that trying leaves no trace."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithmprovider import registry
from clusterstate import hypothetical
from clusterstate.cache import ClusterCache
from clusterstate.changes import Reads
from clusterstate.footprint import Footprint
from clusterstate.hypothetical import by_importance
from clusterstate.objects import (
    Affinity,
    LabelSelector,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodDisruptionBudget,
    Taint,
)
from clusterstate.selectors import pod_affinity
from kubescheduler.core.attempt import GenericScheduler
from kubescheduler.core.decision import Decision
from kubescheduler.core.preemption_choice import Preemption
from kubescheduler.engine.engine_flags import EngineFlags
from kubescheduler.engine.legacy_engine import algorithm_from_provider
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from predicates.types import GO_ON, SKIP, FitPredicate, PreFiltered
from tests.support import preemption_worlds
from tests.support.build import cache_of, labels, make_node, make_pod, resources
from tests.support.deciders import deciding
from tests.support.laws import costly
from tests.support.preemption_worlds import (
    ALGORITHM_1_16,
    ASKED,
    GATES_1_16,
    HOST,
    NODES,
    PREEMPTING,
    ChangingCluster,
    node,
    one_by_one,
    pod,
    said,
    steps,
)
from tests.support.rich_worlds import in_tree


def running(name: str, node: str, cpu: int = 2000, *, start: str | None = None, **fields: Any) -> Pod:
    return msgspec.structs.replace(make_pod(name, node=node, requests=resources(cpu=cpu), **fields), start_time=start)


def preempted(cluster: list[Any], pod: Pod) -> Preemption:
    """What preemption says for a pod that fits nowhere."""
    found = preemption_worlds.preempted("1.16", cluster, pod).preemption
    assert found is not None
    return found


def victims(found: Preemption) -> dict[str, list[str]]:
    return {name: [pod.metadata.name for pod in v.pods] for name, v in found.candidates.items()}


def asking(cpu: int = 3000, priority: int = 10, **fields: Any) -> Pod:
    return make_pod("new", requests=resources(cpu=cpu), priority=priority, **fields)


def test_pods_without_a_start_come_last_in_reverse() -> None:
    """What sorting a few of them gives upstream."""
    pods = [running("p", "a"), running("q", "a"), running("r", "a", start="2020-01-01T00:00:00Z")]
    assert [pod.metadata.name for pod in by_importance(pods)] == ["r", "q", "p"]


BUDGET = PodDisruptionBudget(ObjectMeta("b", "default"), LabelSelector(labels({"app": "db"})))


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (BUDGET, ("b", 0)),
        (msgspec.structs.replace(BUDGET, disruptions_allowed=1), ("a", 0)),
        (msgspec.structs.replace(BUDGET, selector=LabelSelector()), ("a", 0)),
        (msgspec.structs.replace(BUDGET, metadata=ObjectMeta("b", "other")), ("a", 0)),
    ],
    ids=["exhausted", "allows one", "empty selector", "other namespace"],
)
def test_budgets_come_before_priorities(budget: PodDisruptionBudget, expected: tuple[str, int]) -> None:
    """A node where no exhausted budget is violated is preferred, though its victim is more important."""
    cluster = [
        make_node("a"),
        make_node("b"),
        running("db", "a", label={"app": "db"}, priority=1),
        running("web", "b", label={"app": "web"}, priority=2),
        budget,
    ]
    found = preempted(cluster, asking())
    assert (found.chosen[0], found.candidates[found.chosen[0]].violations) == expected


def test_violating_victims_come_first() -> None:
    """So the first victim need not be the most important."""
    cluster = [
        make_node("a"),
        running("db", "a", label={"app": "db"}, priority=1),
        running("web", "a", label={"app": "web"}, priority=5),
        BUDGET,
    ]
    found = preempted(cluster, asking(4000))
    assert victims(found) == {"a": ["db", "web"]}
    assert found.candidates["a"].violations == 1


def test_nodes_that_no_departure_helps_are_no_candidates() -> None:
    """Taints stay when pods go; the pod's own nomination is then taken back."""
    tainted = make_node("a", taints=(Taint("k", "v", "NoSchedule"),))
    found = preempted([tainted, running("low", "a", priority=1)], asking(500))
    assert [pod.metadata.name for pod in found.cleared] == ["new"]


@pytest.mark.parametrize(("gate", "candidates"), [(False, ["a"]), (True, [])], ids=["gate off", "gate on"])
def test_the_preemption_policy_counts_with_its_gate(gate: bool, candidates: list[str]) -> None:
    """preemptionPolicy Never keeps a pod from preempting only with NonPreemptingPriority on."""
    cache = cache_of([make_node("a"), running("low", "a", priority=1)])
    gates = {**GATES_1_16, "NonPreemptingPriority": gate}
    algorithm = algorithm_from_provider(EngineFlags(feature_gates=gates), "DefaultProvider")
    pod = asking(preemption_policy="Never")
    found = GenericScheduler(algorithm, cache).decide(pod, preempt=True).preemption
    assert list(found.candidates) == candidates


def _term(app: str) -> PodAffinity:
    return PodAffinity((PodAffinityTerm("host", LabelSelector(labels({"app": app}))),))


@pytest.mark.parametrize(
    ("affinity", "expected"),
    [(Affinity(pod_anti_affinity=_term("db")), {"a": ["db"]}), (Affinity(pod_affinity=_term("db")), {})],
    ids=["anti-affinity", "affinity"],
)
def test_the_pods_own_terms_are_tried_node_by_node(affinity: Affinity, expected: dict[str, list[str]]) -> None:
    """The pod that is in the way leaves, others stay; where all lower pods are needed the node is no candidate."""
    cluster = [
        make_node("a", {"host": "a"}),
        running("db", "a", label={"app": "db"}, priority=1),
        running("web", "a", label={"app": "web"}, priority=2),
    ]
    assert victims(preempted(cluster, asking(2000, affinity=affinity))) == expected


# --- laws --------------------------------------------------------------------------------------

PODS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from([500, 1000, 1500]), st.integers(0, 3), st.sampled_from(["db", "web"])),
    max_size=14,
)


def _cluster(pods: list[tuple[int, int, int, str]]) -> ClusterCache:
    there = [
        running(f"p{i}", f"n{node}", cpu, priority=priority, label={"app": app}, start="2020-01-01T00:00:00Z")
        for i, (node, cpu, priority, app) in enumerate(pods)
    ]
    return cache_of([*(make_node(f"n{i}") for i in range(4)), *there, BUDGET])


@given(PODS, st.integers(500, 4000))
def test_a_what_if_leaves_no_trace(pods: list[Any], cpu: int) -> None:
    """Columns, log and later decisions are what they were."""
    cache = _cluster(pods)
    before: tuple[Any, ...] = (
        cache.snapshot().requested.copy(),
        cache.snapshot().pod_count.copy(),
        cache.columns.log.position,
    )
    scheduler = GenericScheduler(ALGORITHM_1_16, cache)
    first = scheduler.decide(asking(cpu), preempt=True)
    after: tuple[Any, ...] = (cache.snapshot().requested, cache.snapshot().pod_count, cache.columns.log.position)
    assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))
    assert scheduler.decide(asking(cpu), preempt=True).reasons() == first.reasons()


@given(PODS, st.integers(500, 4000), st.integers(0, 4))
def test_the_pod_fits_once_the_victims_are_gone_and_not_before(pods: list[Any], cpu: int, priority: int) -> None:
    """Every candidate works, and none of its victims could have stayed."""
    cache = _cluster(pods)
    scheduler = GenericScheduler(ALGORITHM_1_16, cache)
    found = scheduler.decide(asking(cpu, priority), preempt=True).preemption
    for name, leaving in (found.candidates if found else {}).items():
        for victim in leaving.pods:
            cache.remove_pod(victim)
        assert name in scheduler.decide(asking(cpu, priority)).fits()
        for victim in leaving.pods:
            cache.add_pod(victim)
            assert name not in scheduler.decide(asking(cpu, priority)).fits() or len(leaving.pods) > 1
        assert name not in scheduler.decide(asking(cpu, priority)).fits()


def test_unresolvable_reasons_are_those_of_the_release() -> None:
    """Fourteen of 1.16's texts; insufficient resources are not among them."""
    reasons = registry().unresolvable
    assert "node(s) didn't match node selector" in reasons
    assert not any(reason.startswith("Insufficient") for reason in reasons)
    assert len(reasons) == 14


RELEASES = pytest.mark.parametrize("release", PREEMPTING)

STARTS = [f"2020-01-01T00:00:0{at}Z" for at in range(5)]


class Watched:
    """A scheduler that goes through all the steps, beside one that remembers nothing."""

    def __init__(self, release: str) -> None:
        self.cluster = ChangingCluster.of(release)
        self.running = self.cluster.engine.scheduler(self.cluster.cache)
        self.late: list[tuple[Decision, dict[str, Any], Any]] = []

    def ask(self, asking: Pod) -> Decision:
        """What the first decides, once it is compared with the second."""
        with one_by_one():
            anew = self.cluster.engine.scheduler(self.cluster.cache).decide(asking, preempt=True)
            expected, picked = said(anew), anew.preemption and anew.preemption.pick()
        decision = self.running.decide(asking, preempt=True)
        self.late.append((self.running.decide(asking, preempt=True), expected, picked))
        assert said(decision) == expected
        assert (decision.preemption and decision.preemption.pick()) == picked
        return decision


@RELEASES
@costly
@given(given_steps=steps)
def test_a_scheduler_preempts_as_one_that_tries_every_node_by_itself(release: str, given_steps: list[Any]) -> None:
    """Candidates, victims, choice, texts and how it was picked; and a decision that is read late still says it. A part
    of the nodes is looked at as few of many are."""
    watched = Watched(release)
    with patch.object(pod_affinity, "FEW_ROWS", 1):
        for at, (what, *parts) in enumerate(given_steps):
            if what == "preempt":
                asking = pod(f"in{at}", *parts[0])
                watched.cluster.carry_out(asking, watched.ask(asking))
                watched.ask(asking)
            else:
                watched.cluster.run(what, *parts)
            for asked in ASKED:
                watched.ask(pod("in", *asked))
        for decision, expected, picked in watched.late:
            assert said(decision) == expected
            assert (decision.preemption and decision.preemption.pick()) == picked


@RELEASES
def test_a_pod_leaves_its_own_nomination_out(release: str) -> None:
    """On the node that it waits for, whichever pod of its class was asked about before."""
    watched = Watched(release)
    first, second = pod("first", 3000, 4), pod("second", 3000, 4)
    watched.cluster.cache.nominate(first, "n0")
    for asking, beside in ((first, False), (second, True), (first, False)):
        found = watched.ask(asking).preemption
        assert ("n0" not in found.candidates) == beside


@RELEASES
def test_nodes_that_are_alike_have_starts_of_their_own(release: str) -> None:
    """The latest start is looked at, also on a node that is not tried for itself."""
    watched = Watched(release)
    cache = watched.cluster.cache
    for placed in cache.pods():
        cache.remove_pod(placed)
    alike = [msgspec.structs.replace(pod(f"x{at}", 3000, 0, node=f"n{at}"), start_time=STARTS[at]) for at in range(5)]
    for placed in alike:
        cache.add_pod(placed)
    for later in (None, 1, 2):
        if later is not None:
            cache.update_pod(msgspec.structs.replace(alike[later], start_time=f"2020-01-01T00:01:0{later}Z"))
        found = watched.ask(pod("in", 3000, 4)).preemption
        assert found is not None
        assert list(found.chosen) == [f"n{4 if later is None else later}"]


@RELEASES
def test_nominated_pods_that_keep_others_out(release: str) -> None:
    """Their terms count on the node that they wait for; 1.36 skips the rule, as no running pod has terms."""
    watched = Watched(release)
    term = PodAffinityTerm(HOST, LabelSelector(labels({"app": "db"})))
    apart = pod("apart", 0, 5, app="web", affinity=Affinity(None, None, PodAffinity((term,))))
    for name in ("n0", "", "n2"):
        watched.cluster.cache.nominate(apart, name)
        found = watched.ask(pod("in", 1500, 4, app="db")).preemption
        assert (name not in found.candidates) == (release != "1.36" or not name)


@RELEASES
def test_terms_that_keep_others_out(release: str) -> None:
    """Those of a running pod, which ask for nothing that the preemptor has; another pod waits for one of many nodes."""
    watched = Watched(release)
    for at in range(NODES, 5 * NODES):
        watched.cluster.cache.add_node(node(at))
        watched.cluster.run("pod", at, 1500, 0, "db", None)
    watched.cluster.run("apart", 2, "web")
    watched.cluster.cache.nominate(pod("waiting", 500, 5), "n0")
    found = watched.ask(pod("in", 3000, 4)).preemption
    assert list(found.candidates) == [f"n{at}" for at in range(1, 5 * NODES)]


@RELEASES
def test_budgets_that_change(release: str) -> None:
    """How many disruptions a budget allows, and whom it has disrupted, which 1.16 does not look at."""
    watched = Watched(release)
    cache = watched.cluster.cache
    everywhere = ["n0", "n1", "n2", "n3", "n4"]
    not_n1, not_n3 = ([name for name in everywhere if name != spared or release == "1.16"] for spared in ("n1", "n3"))
    for allowed, disrupted, violated in (
        (0, (), everywhere),
        (1, (), []),
        (0, (), everywhere),
        (0, ("p6",), not_n1),
        (0, ("p8",), not_n3),
        (0, (), everywhere),
    ):
        web = LabelSelector(labels({"app": "web"}))
        cache.add(PodDisruptionBudget(ObjectMeta("b", "default"), web, allowed, disrupted))
        found = watched.ask(pod("in", 3000, 4)).preemption
        assert sorted(name for name, victims in found.candidates.items() if victims.violations) == violated


@RELEASES
def test_amounts_that_are_numbered_anew(release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Amounts of nodes have numbers, and get others once very many have been seen: what was remembered goes."""
    monkeypatch.setattr(hypothetical, "SPARE", 8)
    watched = Watched(release)
    cache = watched.cluster.cache
    cache.remove_pod(next(placed for placed in cache.pods() if placed.metadata.name == "p0"))
    cache.add_pod(pod("x", 1, 5, node="n0"))
    asking, another = pod("in", 1800, 4), pod("another", 1900, 4)
    watched.ask(asking)
    for cpu in range(1100, 1300):
        cache.update_pod(pod("x", cpu, 5, node="n0"))
        watched.running.decide(another, preempt=True)
        if cpu % 10 == 0:
            watched.ask(asking)


NO = PreFiltered(reasons=("no",))


@pytest.mark.parametrize(
    ("release", "first", "then", "candidates"),
    [
        ("1.20", GO_ON, NO, ["n0", "n2"]),
        ("1.36", GO_ON, NO, ["n0", "n2"]),
        ("1.36", SKIP, GO_ON, ["n0", "n1", "n2"]),
        ("1.36", PreFiltered(nodes=frozenset({"n0"})), GO_ON, ["n0"]),
    ],
    ids=["rejects in 1.20", "rejects in 1.36", "skips no longer", "names a node no longer"],
)
def test_a_pre_filter_that_answers_differently(
    release: str, first: PreFiltered, then: PreFiltered, candidates: list[str]
) -> None:
    """Filter plugins that are not run, as the pod is rejected before, and those that were skipped until now count."""
    answers = [first]
    rule = FitPredicate(
        "Late",
        lambda _, snapshot: {"late": np.array([name == "n1" for name in snapshot.names])},
        Footprint(Reads.NODE, pre_reads=Reads.ALL_NODES),
        pre_filter=lambda *_: answers[-1],
    )
    late = ColumnPlugin("Late", frozenset({Point.PRE_FILTER, Point.FILTER}), rule)
    made = in_tree(release)
    plugins = [made[name] for name in ("NodeUnschedulable", "NodeResourcesFit", "DefaultPreemption")]
    low = [preemption_worlds.pod_at(f"low{at}", f"n{at}", cpu=3000) for at in range(3)]
    scheduler = deciding(
        release, *plugins, late, cluster=[*(preemption_worlds.node_named(f"n{at}") for at in range(3)), *low]
    )
    asking = preemption_worlds.wants()
    assert list(preemption_worlds.victims(scheduler.attempt(asking).run(preempt=True))) == candidates
    scheduler.cache.add_node(preemption_worlds.node_named("n0", unschedulable=True))
    answers.append(then)
    assert list(preemption_worlds.victims(scheduler.attempt(asking).run(preempt=True))) == ["n2"]
