"""What is remembered of preemption: the same as trying every node anew, and never another's later."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings

from clusterstate.changes import Reads
from clusterstate.footprint import Footprint
from clusterstate.hypothetical import roster
from clusterstate.objects import (
    Affinity,
    LabelSelector,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodDisruptionBudget,
)
from clusterstate.topology import pod_affinity
from kubescheduler.core.decision import Decision
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from predicates.types import GO_ON, SKIP, FitPredicate, PreFiltered
from tests.support import preemption_worlds
from tests.support.build import labels
from tests.support.deciders import deciding
from tests.support.preemption_worlds import (
    ASKED,
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
@settings(max_examples=30)
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
        assert found is not None
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
        assert found is not None
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
    assert found is not None
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
        assert found is not None
        assert sorted(name for name, victims in found.candidates.items() if victims.violations) == violated


@RELEASES
def test_amounts_that_are_numbered_anew(release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Amounts of nodes have numbers, and get others once very many have been seen: what was remembered goes."""
    monkeypatch.setattr(roster, "SPARE", 8)
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
    assert list(preemption_worlds.victims(scheduler.schedule(asking, preempt=True))) == candidates
    scheduler.cache.add_node(preemption_worlds.node_named("n0", unschedulable=True))
    answers.append(then)
    assert list(preemption_worlds.victims(scheduler.schedule(asking, preempt=True))) == ["n2"]
