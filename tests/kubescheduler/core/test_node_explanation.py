"""Why a node was refused: worked out when asked for, and never of a later cluster."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clusterstate.cache import ClusterCache
from clusterstate.errors import InputError, StaleDecisionError
from clusterstate.objects import Affinity, LabelSelector, PodAffinity, PodAffinityTerm
from kubescheduler.core.decision import Decision
from kubescheduler.engine.engine_contract import PodScheduler
from kubescheduler.engine.spec import EngineSpec
from tests.support.build import labels, make_node, make_pod, resources

RELEASES = ("1.4", "1.16", "1.20", "1.36")
RULE = {"1.4": "PodFitsResources", "1.16": "PodFitsResources"}


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
