"""Evidence of a decision's scores: it adds up to the totals, in scenarios of the real kube-scheduler too."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest

from algorithmprovider.pernode import NodeInfo, per_node_priority
from clusterstate.cache import ClusterCache
from clusterstate.errors import InputError, StaleDecisionError
from clusterstate.objects import (
    Affinity,
    LabelSelector,
    NodeAffinity,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    PreferredSchedulingTerm,
    Requirement,
)
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.algorithm import Algorithm, WeightedPriority
from kubescheduler.core.attempt import GenericScheduler
from kubescheduler.core.decision import Decision
from kubescheduler.core.evidence import rule_evidence
from kubescheduler.engine.evaluate_protocol import evaluate
from kubescheduler.engine.framework_engine import ProfiledScheduler
from kubescheduler.engine.spec import EngineSpec, PodScheduler
from priorities.node_labels import no_preference
from priorities.requested import REQUESTED
from priorities.score_evidence import priority_evidence
from priorities.types import PriorityArgs, PriorityConfig, PriorityError
from tests.support.build import Cluster, cache_of, labels, make_node, make_pod, resources
from tests.support.deciders import NODES, FakeExtender, deciding, scoring
from tests.support.references.formulas import agrees, whole
from tests.support.releases_tried import RELEASES_TRIED, vectors_dir
from tests.test_conformance import rows

PER_FILE = 1
"""Scenarios looked at in each file of recorded answers; every query of them."""

FILES = [
    path
    for release in RELEASES_TRIED
    for path in sorted((vectors_dir() / release).glob("*.jsonl.gz"))
    if not path.name.startswith(("extender", "large"))
]


def adds_up(decision: Decision) -> int:
    """Asserts that the evidence of every scored node is that of its scores, and how many records there were."""
    total, count = decision.total(), 0
    for node in decision.fits() if total else ():
        first = dict.fromkeys(list(decision.scores)[:1])
        some = decision.score_evidence(node, first) if first else ()
        found = decision.score_evidence(node)
        assert whole(sum(one.product for one in found)) == total[node]
        rules = {one.rule: one for one in found}
        assert [one for one in found if one in some] == list(some)
        assert len([one for one in some if one.rule in first]) == len(first)
        for name in decision.scores:
            assert rules[name].normalised == decision.score(name)[node]
            assert rules[name].weight == decision.weights[name]
            if name in decision.raws:
                assert rules[name].raw == decision.raw(name)[node]
        for one in found:
            agrees(one)
        count += len(found)
    return count


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name[:-9]}")
def test_recorded_scenarios_are_explained(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every formula of every node comes to its score, and the products to the total, in scenarios of every theme."""
    explained = []

    def watched(decide: Callable[..., Decision]) -> Callable[..., Decision]:
        def deciding(*args: Any, **options: Any) -> Decision:
            decision = decide(*args, **options)
            explained.append(adds_up(decision))
            return decision

        return deciding

    monkeypatch.setattr(GenericScheduler, "decide", watched(GenericScheduler.decide))
    monkeypatch.setattr(ProfiledScheduler, "decide", watched(ProfiledScheduler.decide))
    for row in islice(rows(path), PER_FILE):
        for _ in evaluate([msgspec.json.encode(row["scenario"])], path.parent.name):
            pass
    assert sum(explained)


# --- rules that are not the release's ------------------------------------------------------


def legacy(*priorities: WeightedPriority, extenders: tuple[Any, ...] = ()) -> GenericScheduler:
    cache = cache_of([make_node("a"), make_node("b")])
    return GenericScheduler(Algorithm("1.16", (), priorities, extenders), cache)


def by_name(_: PodInfo, __: Snapshot, node: NodeInfo) -> int:
    return ord(node.name) - ord("a") + 3


def test_a_custom_function_says_no_more_than_its_answer() -> None:
    """What a function written per node looked at is not known, and evidence says so."""
    decision = legacy(WeightedPriority(per_node_priority("ByName", by_name), 2)).decide(make_pod())
    assert adds_up(decision) == 2
    [found] = decision.score_evidence("b")
    assert (found.rule, found.upstream, found.formula, found.raw, found.product) == ("ByName", "", None, 4, 8)
    assert "not known" in found.inputs["unknown"]
    assert found.sentence == "ByName: custom rule = 4; times 2: 8"


class Halves:
    """A custom Score plugin with NormalizeScore."""

    name = "Halves"

    def score(self, state: Any, pod: Any, node_info: Any) -> int:
        return 40

    def normalize_scores(self, state: Any, pod: Any, scores: Any) -> Any:
        return scores // 2


@pytest.mark.parametrize("release", ["1.20", "1.36"])
def test_custom_plugins(release: str) -> None:
    """Before and after NormalizeScore; a rule over columns without evidence counts as custom too."""
    decision = deciding(release, Halves(), scoring("Fixed", 7, 8, 9), weights={"Halves": 3}).attempt(make_pod()).run()
    assert adds_up(decision) == 6
    halves, fixed = decision.score_evidence("n1")
    assert (halves.raw, halves.normalised, halves.weight, halves.product) == (40, 20, 3, 60)
    assert halves.sentence == "Halves: custom rule = 40; normalised 20; times 3: 60"
    assert (fixed.raw, fixed.formula) == (8, None)


def test_extenders() -> None:
    """Their scores times their weight; one that failed or left the node out adds nothing, one not asked is left out."""
    extenders = (
        FakeExtender(scores={"a": 3, "gone": 9}, weight=5),
        FakeExtender(scores="it broke", weight=2),
        FakeExtender(scores=None),
    )
    decision = legacy(extenders=extenders).decide(make_pod())
    assert adds_up(decision) == 4
    answered, failed = decision.score_evidence("a")
    assert (answered.formula, answered.normalisation, answered.product) == ("3", None, 15)
    assert answered.inputs == {"answered": [3]}
    assert (failed.product, failed.inputs) == (0, {"error": "it broke"})
    assert decision.score_evidence("b")[0].inputs == {"answered": "no score for this node"}


@pytest.mark.parametrize("release", ["1.20", "1.36"])
def test_extenders_of_framework_releases(release: str) -> None:
    """Their 0-10 are stretched to 0-100."""
    decision = (
        deciding(release, scoring("Fixed", 7, 8, 9), extenders=(FakeExtender(scores={"n0": 3}, weight=5),))
        .attempt(make_pod())
        .run()
    )
    adds_up(decision)
    found = decision.score_evidence("n0")[-1]
    assert (found.normalisation, found.normalised, found.product) == ("3 * 10", 30, 150)


# --- whole decisions -----------------------------------------------------------------------

LEAST = WeightedPriority(REQUESTED["LeastRequestedPriority"].make(PriorityArgs()), 1)


def test_no_rule_scores() -> None:
    """Every node counts 1."""
    decision = legacy().decide(make_pod())
    assert [one.formula for one in decision.score_evidence("a")] == ["1"]
    assert adds_up(decision) == 2
    assert adds_up(deciding("1.36").attempt(make_pod()).run()) == len(NODES)


def test_nodes_that_were_not_scored() -> None:
    """A node that does not fit, that is not there, or the only one that fits has no evidence of scores."""
    scheduler = legacy(LEAST)
    decision = scheduler.decide(make_pod())
    assert decision.score_evidence("gone") == ()
    alone = GenericScheduler(scheduler.algorithm, cache_of([make_node("a")])).decide(make_pod())
    assert (alone.host, alone.score_evidence("a")) == ("a", ())


def test_it_is_not_made_up_after_the_fact() -> None:
    """Once the cluster has changed only what was asked before is still answered."""
    scheduler = legacy(LEAST)
    pod = make_pod(requests=resources(cpu=1000))
    decision = scheduler.decide(pod)
    before = decision.score_evidence("a")
    scheduler.cache.assume_pod(pod, "a")
    assert decision.score_evidence("a") is before
    with pytest.raises(StaleDecisionError, match="the cluster has changed"):
        decision.score_evidence("b")


def test_a_rule_that_never_gets_to_the_nodes() -> None:
    """Where the pod alone decides the score, terms that would fail are not looked at; evidence does not fail either."""

    def fails(_: PodInfo, __: Snapshot) -> Any:
        raise PriorityError("unreadable")

    pod = make_pod(affinity=None)
    evidence = priority_evidence("NodeAffinityPriority", lambda _, __, ___: pytest.fail("looked at"))
    config = PriorityConfig("NodeAffinityPriority", fails, constant=no_preference, evidence=evidence)
    cluster = Cluster(NODES)
    found = rule_evidence(config, "1.16", cluster.info(pod), cluster.snapshot, 0, 2)
    assert (found.formula, found.product, found.inputs) == ("0", 0, {"decided by": "the pod alone"})
    unexplained = msgspec.structs.replace(config, evidence=None)
    assert rule_evidence(unexplained, "1.16", cluster.info(pod), cluster.snapshot, 0, 2).formula is None
    term = PreferredSchedulingTerm(1, NodeSelectorTerm((Requirement("x", "Exists"),)))
    choosy = make_pod(affinity=Affinity(NodeAffinity(preferred=(term,))))
    with pytest.raises(PriorityError):
        rule_evidence(config, "1.16", cluster.info(choosy), cluster.snapshot, 0, 2)


def test_why_has_the_scores_of_a_node_that_fits() -> None:
    """They add up to its total; a decision's one answer about a node has both refusals and scores."""
    decision = legacy(LEAST).decide(make_pod(requests=resources(cpu=1000)))
    found = decision.why("a")
    assert found.fits
    assert sum(one.product for one in found.scores) == decision.total()["a"]
    assert found.scores == decision.score_evidence("a")


def test_the_numbers_of_a_rule_are_worked_out_once_for_all_nodes() -> None:
    """The evidence of a second node asks no rule about the nodes again."""
    asked = []

    def counted(pod: PodInfo, snapshot: Snapshot) -> Any:
        asked.append(len(snapshot))
        return LEAST.config.map(pod, snapshot)

    decision = legacy(WeightedPriority(msgspec.structs.replace(LEAST.config, map=counted), 1)).decide(make_pod())
    asked.clear()
    assert all(decision.score_evidence(node) for node in decision.fits())
    assert len(asked) == 1


RELEASES = ("1.4", "1.16", "1.20", "1.36")


def node(name: str, cpu: int = 4000) -> Any:
    return make_node(name, {"zone": name}, allocatable=resources(cpu=cpu, memory=8 << 30, pods=110))


def scheduler_of(release: str, *objects: Any) -> PodScheduler:
    spec = EngineSpec(release)
    return spec.engine(print).scheduler(ClusterCache.of(objects, spec.release_view()))


def full(release: str) -> tuple[PodScheduler, Decision]:
    """Node a has 3 of 4 CPUs left, node b enough for a pod of 5."""
    used = make_pod("there", {"app": "web"}, node="a", requests=resources(cpu=1000))
    scheduler = scheduler_of(release, node("a"), node("b", 8000), used)
    return scheduler, scheduler.decide(make_pod("big", requests=resources(cpu=5000)))


@pytest.mark.parametrize("release", RELEASES)
def test_why_a_node_was_refused(release: str) -> None:
    """The rule, upstream's name, the page, the reason and the numbers."""
    _, decision = full(release)
    found = decision.why("a")
    assert (found.node, found.fits, found.reported) == ("a", False, ("Insufficient cpu",))
    [refusal] = found.refusals
    assert refusal.sentence == "Insufficient cpu: asks 5, 3 of 4 free"
    assert refusal.upstream.startswith(f"{release} ")
    assert refusal.facts["asked"] == 5000
    assert (refusal.refuses, refusal.beside_nominated) == (True, False)
    assert json.loads(json.dumps(found.to_dict()))["refusals"][0]["text"] == "asks 5, 3 of 4 free"


@pytest.mark.parametrize("release", RELEASES)
def test_why_a_node_fits(release: str) -> None:
    """No check refuses it."""
    _, decision = full(release)
    found = decision.why("b")
    assert (found.fits, found.reported, found.refusals) == (True, (), ())


def test_a_node_that_is_not_there() -> None:
    """It was not decided about."""
    _, decision = full("1.16")
    with pytest.raises(InputError, match="node 'x' is not one of the nodes"):
        decision.why("x")


@pytest.mark.parametrize("release", RELEASES)
def test_a_later_cluster_is_not_explained(release: str) -> None:
    """When the pods of the node have changed, nobody says what was free; other nodes' changes do not matter."""
    scheduler, decision = full(release)
    scheduler.cache.assume_pod(make_pod("elsewhere", requests=resources(cpu=1)), "b")
    assert decision.why("a").refusals[0].text == "asks 5, 3 of 4 free"
    scheduler, decision = full(release)
    scheduler.cache.assume_pod(make_pod("more", requests=resources(cpu=1)), "a")
    with pytest.raises(StaleDecisionError, match="the cluster has changed since the decision on pod default/big"):
        decision.why("a")


@pytest.mark.parametrize("release", RELEASES)
def test_what_was_explained_before_stays(release: str) -> None:
    """It is remembered as it was."""
    scheduler, decision = full(release)
    before = decision.explained().why("a")
    scheduler.cache.assume_pod(make_pod("more", requests=resources(cpu=1)), "a")
    assert decision.why("a") is before


@pytest.mark.parametrize("release", ["1.16", "1.20", "1.36"])
def test_a_rule_that_reads_every_pod(release: str) -> None:
    """A pod anywhere makes its answer a later one."""
    apart = Affinity(
        None, None, PodAffinity((PodAffinityTerm("zone", LabelSelector(labels({"app": "web"})), None, None),))
    )
    there = make_pod("there", {"app": "web"}, node="a")
    scheduler = scheduler_of(release, node("a"), node("b"), there)
    asked = make_pod("apart", affinity=apart)
    texts = {refusal.text for refusal in scheduler.decide(asked).why("a").refusals}
    assert texts == {"wants zone=a without the pods of its anti-affinity, taken by default/there"}
    decision = scheduler.decide(asked)
    scheduler.cache.assume_pod(make_pod("other"), "b")
    with pytest.raises(StaleDecisionError):
        decision.why("a")


@pytest.mark.parametrize("release", ["1.16", "1.20", "1.36"])
def test_beside_nominated_pods(release: str) -> None:
    """What the pods that wait for the node leave free."""
    waiting = make_pod("waits", requests=resources(cpu=3000), priority=9, nominated="a")
    scheduler = scheduler_of(release, node("a"), waiting)
    [refusal] = scheduler.decide(make_pod("in", requests=resources(cpu=2000))).why("a").refusals
    assert (refusal.beside_nominated, refusal.text) == (True, "asks 2, 1 of 4 free")


@pytest.mark.parametrize("release", RELEASES)
def test_thorough_scores_of_the_only_node(release: str) -> None:
    """Decided once more, with the same host and its scores; what has scores already is itself."""
    scheduler, decision = full(release)
    again = decision.thorough()
    assert again.host == decision.host == "b"
    assert again.total().keys() == {"b"}
    assert again.thorough() is again
    scheduler.cache.assume_pod(make_pod("more"), "b")
    assert decision.thorough() is again
