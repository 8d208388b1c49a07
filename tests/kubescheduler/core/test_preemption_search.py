"""Preemption of releases with plugins: who may preempt, where it may help, and who has to go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.cache import ClusterCache
from clusterstate.hypothetical import PodsByImportance
from clusterstate.objects import LabelSelector, ObjectMeta, Pod, PodCondition, PodDisruptionBudget, Requirement
from kubescheduler.core.preemption import CandidateSampling
from kubescheduler.core.preemption_choice import NOWHERE, Candidates, Costs, costs_of_kinds, nodes_of_kinds
from kubescheduler.core.preemption_rules import (
    PREEMPTION_1_20,
    PREEMPTION_1_36,
    leaving_1_20,
    leaving_1_36,
    potential_1_20,
    potential_1_36,
    unprotected,
    violating,
)
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.handle import Handle, Services
from kubescheduler.framework.plugins.default_preemption import DefaultPreemption, DefaultPreemptionArgs
from kubescheduler.releases.lookup import release_named
from tests.support.build import Cluster, labels, make_node, make_pod, resources
from tests.support.deciders import Answered, FakeExtender, answers, deciding, plugin, refusing
from tests.support.preemption_worlds import (
    PREEMPTING,
    WEB,
    budget,
    chosen,
    node_named,
    pod_at,
    preempted,
    told,
    victims,
    wants,
)
from tests.support.rich_worlds import DrawnCluster, budgets, everything, in_tree, incoming, worlds

RELEASES = ("1.20", "1.36")
BOTH = pytest.mark.parametrize("release", RELEASES)
ALL = pytest.mark.parametrize("release", PREEMPTING)


# --- who may preempt -----------------------------------------------------------------------------

BY_SCHEDULER = PodCondition("DisruptionTarget", "True", "PreemptionByScheduler")


@pytest.mark.parametrize(
    ("deleting", "conditions", "old", "new"),
    [
        (True, (), True, False),
        (True, (BY_SCHEDULER,), True, True),
        (False, (BY_SCHEDULER,), False, False),
        (True, (PodCondition("DisruptionTarget", "True", "EvictionByEvictionAPI"), BY_SCHEDULER), True, False),
        (True, (PodCondition("DisruptionTarget", "False", "PreemptionByScheduler"), BY_SCHEDULER), True, False),
        (True, (PodCondition("Ready", "True"), BY_SCHEDULER), True, True),
    ],
    ids=["deleted", "preempted", "not deleted", "evicted first", "not true", "among others"],
)
def test_who_is_on_its_way_out(deleting: bool, conditions: Any, old: bool, new: bool) -> None:
    """1.36 waits only for pods that the scheduler itself preempted; their first such condition counts."""
    leaving = msgspec.structs.replace(make_pod(deleting=deleting), conditions=conditions)
    assert (leaving_1_20(leaving), leaving_1_36(leaving)) == (old, new)


TERMINATING = "preemption: not eligible due to a terminating pod on the nominated node."


@ALL
@pytest.mark.parametrize(
    ("there", "nominated", "eligible"),
    [
        ({"deleting": True}, "n0", False),
        ({"deleting": True, "priority": 10}, "n0", True),
        ({"deleting": True}, "ghost", True),
        ({"deleting": False}, "n0", True),
    ],
    ids=["leaving", "as important", "no such node", "staying"],
)
def test_a_pod_waits_for_its_node_to_get_free(release: str, there: Any, nominated: str, eligible: bool) -> None:
    """While a lower pod is still leaving the nominated node, no other pod is preempted."""
    leaving = msgspec.structs.replace(pod_at("there", cpu=3000, **there), conditions=(BY_SCHEDULER,))
    other = pod_at("other", "n1", cpu=3000)
    decision = preempted(release, [node_named("n0"), node_named("n1"), leaving, other], wants(nominated=nominated))
    assert bool(victims(decision)) == eligible
    if not eligible:
        assert decision.message == told(release, 2, "2 Insufficient cpu", TERMINATING)
        assert decision.nominated == ("" if release == "1.16" else None)


@BOTH
def test_a_nominated_node_that_does_not_do_any_more(release: str) -> None:
    """When nothing can be mended there, the pod may preempt elsewhere."""
    leaving = msgspec.structs.replace(pod_at("there", cpu=3000, deleting=True), conditions=(BY_SCHEDULER,))
    other = pod_at("other", "n1", cpu=3000)
    cluster = [node_named("n0"), node_named("n1"), leaving, other]
    decision = preempted(release, cluster, wants(nominated="n0"), refusing("F", n0="hopeless"))
    assert victims(decision) == {"n1": ["other"]}


@BOTH
def test_some_pods_never_preempt(release: str) -> None:
    """Their policy says so."""
    decision = preempted(release, [node_named("n0"), pod_at("low", cpu=3000)], wants(preemption_policy="Never"))
    text = "preemption: not eligible due to preemptionPolicy=Never."
    assert decision.message == told(release, 1, "1 Insufficient cpu", text)
    assert (victims(decision), decision.nominated) == ({}, None)


def test_a_node_that_an_extender_dropped_silently_counts_as_beyond_help_in_1_36() -> None:
    """So whoever leaves it is not waited for; 1.20 waits."""
    leaving = msgspec.structs.replace(pod_at("there", cpu=100, deleting=True), conditions=(BY_SCHEDULER,))
    cluster = [node_named("n0"), node_named("n1"), leaving, pod_at("other", "n1", cpu=3000)]
    for release, expected in (("1.20", {}), ("1.36", {"n1": ["other"]})):
        extender = FakeExtender(filtered=Answered(()))
        assert victims(preempted(release, cluster, wants(nominated="n0"), extenders=[extender])) == expected


# --- where it may help ---------------------------------------------------------------------------


def test_potential_nodes() -> None:
    """1.20: whatever is not beyond help, also without a status. 1.36: exactly Unschedulable."""
    nodes = np.array([True, True, True, True, False])
    codes = {Code(code): np.array([False, code == 2, code == 3, code == 6, code == 2]) for code in (2, 3, 6)}
    assert potential_1_20(nodes, codes).tolist() == [True, True, False, True, False]
    assert potential_1_36(nodes, codes).tolist() == [False, True, False, False, False]
    assert potential_1_20(nodes, {}).tolist() == nodes.tolist()
    assert potential_1_36(nodes, {}).tolist() == [False] * 5
    assert [rules.silent.name for rules in (PREEMPTION_1_20, PREEMPTION_1_36)] == [
        "Success",
        "UnschedulableAndUnresolvable",
    ]


NEEDS_NONE = 'preemption: expected at least one victim pod on node "n0"'
NOT_HELPFUL = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."


@pytest.mark.parametrize(
    ("answer", "reason", "text"),
    [
        (Answered((), {"n0": "no"}), " 1 no.", NEEDS_NONE),
        (Answered(()), "", NOT_HELPFUL),
        (Answered((), {}, {"n0": "never"}), " 1 never.", NOT_HELPFUL),
    ],
    ids=["refused", "dropped", "refused for good"],
)
def test_nodes_that_an_extender_took_away(answer: Answered, reason: str, text: str) -> None:
    """1.36 looks only where the extender said no, 1.20 wherever it did not say never, which it cannot."""
    cluster, extenders = [node_named("n0"), pod_at("low")], [FakeExtender(filtered=answer)]
    decision = preempted("1.36", cluster, wants(), extenders=extenders)
    assert decision.message == f"0/1 nodes are available:{reason} {text}"
    assert victims(preempted("1.20", cluster, wants(), extenders=extenders)) == {"n0": []}


def test_pending_nodes() -> None:
    """Preemption does not help where an event is waited for."""
    waits = plugin("W", **answers(filter=Status(Code.Pending, ("later",))))
    decision = preempted("1.36", [node_named("n0"), pod_at("low")], wants(), waits)
    assert decision.message == f"0/1 nodes are available: 1 later. {NOT_HELPFUL}"


# --- who has to go -------------------------------------------------------------------------------


@ALL
def test_the_worked_example(release: str) -> None:
    """Of two lower pods the more important one is put back first, and stays."""
    cluster = [node_named("n0"), pod_at("p5", priority=5), pod_at("p3", priority=3), pod_at("p1", priority=1)]
    assert victims(preempted(release, cluster, wants(priority=4))) == {"n0": ["p1"]}


@ALL
@pytest.mark.parametrize(
    ("there", "asking", "expected"),
    [
        ([pod_at("a", priority=10), pod_at("b", priority=11), pod_at("c", priority=10)], wants(), {}),
        ([pod_at("a", priority=9, cpu=2000), pod_at("b", priority=1, cpu=1000)], wants(1000), {"n0": ["b"]}),
        ([pod_at("a", priority=9, cpu=2000), pod_at("b", priority=1, cpu=1000)], wants(2000), {"n0": ["a"]}),
        ([pod_at("a", priority=1, start=5), pod_at("b", priority=1, start=9, cpu=2000)], wants(1000), {"n0": ["b"]}),
        ([pod_at("a", cpu=500), pod_at("b", cpu=500), pod_at("c", priority=10, cpu=2000)], wants(4000), {}),
    ],
    ids=["nobody lower", "as few as possible", "the big one", "the later one", "not even then"],
)
def test_victims(release: str, there: list[Pod], asking: Pod, expected: dict[str, list[str]]) -> None:
    """All lower ones are hypothetically removed, and put back from the most important one as long as the pod fits."""
    decision = preempted(release, [node_named("n0"), *there], asking)
    assert victims(decision) == expected
    assert chosen(decision) == list(expected)


@BOTH
@pytest.mark.parametrize(
    ("allowed", "disrupted", "old", "new", "violations"),
    [
        (2, (), ["free", "web2"], ["free", "web2"], 0),
        (1, (), ["web1", "free"], ["web1", "free"], 0),
        (0, (), ["web2", "free"], ["free", "web2"], 1),
        (0, ("web2",), ["free", "web2"], ["free", "web2"], 0),
    ],
    ids=["enough left", "one left", "none left", "counted already"],
)
def test_budgets_protect(
    release: str, allowed: int, disrupted: Any, old: list[str], new: list[str], violations: int
) -> None:
    """Pods that would violate one are put back first, whatever their priority; 1.20 lists those first that have to go
    all the same, 1.36 all by importance."""
    there = [pod_at("web1", priority=4, label=WEB), pod_at("free", priority=3), pod_at("web2", priority=2, label=WEB)]
    decision = preempted(release, [node_named("n0"), *there, budget(allowed, *disrupted)], wants(2000))
    assert victims(decision) == {"n0": {"1.20": old, "1.36": new}[release]}
    assert decision.preemption.candidates["n0"].violations == violations


@BOTH
def test_nominated_pods_need_their_room_too(release: str) -> None:
    """A pod that is nominated there and at least as important stays in the way."""
    made = in_tree(release)
    cluster = [node_named("n0"), pod_at("low", cpu=3000)]
    scheduler = deciding(release, made["NodeResourcesFit"], made["DefaultPreemption"], cluster=cluster)
    scheduler.cache.nominate(make_pod("other", priority=10, requests=resources(cpu=2500)), "n0")
    decision = scheduler.attempt(wants()).run(preempt=True)
    assert victims(decision) == {}
    text = "preemption: 0/1 nodes are available: 1 Insufficient cpu."
    assert decision.message == told(release, 1, "1 Insufficient cpu", text)


@ALL
def test_lower_nominations_are_taken_back(release: str) -> None:
    """Of the pods nominated to the chosen node."""
    waiting = [make_pod(name, priority=at, nominated="n0") for name, at in (("lower", 9), ("equal", 10))]
    found = preempted(release, [node_named("n0"), pod_at("low", cpu=3000), *waiting], wants()).preemption
    assert [p.metadata.name for p in found.cleared] == ["lower"]


@ALL
def test_a_pod_without_candidates_loses_its_own_nomination_in_1_36(release: str) -> None:
    """Even when nodes were tried; 1.16 and 1.20 take it back only when there is none to try."""
    asking = msgspec.structs.replace(wants(), nominated_node_name="n0")
    found = preempted(
        release, [node_named("n0"), pod_at("low", cpu=100), pod_at("high", cpu=3000, priority=99)], asking
    ).preemption
    assert [p.metadata.name for p in found.cleared] == ([asking.metadata.name] if release == "1.36" else [])


@BOTH
def test_plugins_of_ones_own_are_asked_without_the_victims(release: str) -> None:
    """Their RemovePod and AddPod are told step by step."""

    def alone(state: Any, asking: Any, info: Any) -> Status | None:
        gone = state.get("gone") or ()
        return None if "b" in gone else Status.unschedulable("crowded")

    def change(add: bool) -> Any:
        def tell(state: Any, asking: Any, other: Any, info: Any) -> None:
            gone = set(state.get("gone") or ())
            (gone.discard if add else gone.add)(other.metadata.name)
            state.write("gone", gone)

        return tell

    own = plugin("O", filter=alone, add_pod=change(True), remove_pod=change(False), **answers(pre_filter=None))
    cluster = [node_named("n0"), pod_at("a", priority=2), pod_at("b", priority=1)]
    assert victims(preempted(release, cluster, wants(), own)) == {"n0": ["b"]}


# --- laws ----------------------------------------------------------------------------------------


@BOTH
@given(world=worlds(), asking=incoming, data=st.data())
def test_law_of_candidates(release: str, world: DrawnCluster, asking: Pod, data: st.DataObject) -> None:
    """Whoever has to go is lower than the pod, and without the victims the pod fits."""
    asking = msgspec.structs.replace(asking, spec=msgspec.structs.replace(asking.spec, priority=7))
    cache = world.cache(release)
    scheduler = everything(release, cache)
    decision = scheduler.attempt(asking).run(preempt=True)
    found = decision.preemption
    if found is None or not len(found.candidates):
        return
    for name, those in found.candidates.items():
        assert all(p.priority < 7 and p.node_name == name for p in those.pods)
        assert those.violations <= len(those.pods)
        assert those.pods or release == "1.20"
    assert set(found.chosen) <= set(found.candidates)
    assert decision.nominated == found.chosen[0]


def candidates(violating: str) -> Candidates:
    """Nodes 0, 1, …: ``-`` is no candidate, ``v`` violates a budget, ``f`` does not."""
    size = len(violating)
    protected = np.array([[sort == "v" for sort in violating]], np.bool_)
    victims, priorities = np.ones((1, size), np.bool_), np.zeros((1, size), np.int64)
    kinds = np.array([NOWHERE if sort == "-" else row for row, sort in enumerate(violating)], np.int64)
    return Candidates(
        names=tuple(f"n{row}" for row in range(len(violating))),
        row_of={},
        costs=Costs(
            kinds,
            nodes_of_kinds(kinds, size),
            costs_of_kinds(victims, protected, priorities, by_importance=False),
            np.zeros(size),
        ),
        victims=victims,
        protected=protected,
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
    assert [row for row, kind in enumerate(found.costs.kinds.tolist()) if kind == row] == sorted(expected)


def test_nowhere_to_look() -> None:
    """Nothing is drawn then."""
    nothing = candidates("")
    assert CandidateSampling(10, 100, lambda n: 1 // n).sample(nothing, np.zeros(0, np.int64)) is nothing


@pytest.mark.parametrize(("percentage", "candidates_found"), [(100, 3), (50, 1)])
@pytest.mark.parametrize("release", ["1.20", "1.36"])
def test_it_is_asked_for_with_the_sampling_of_nodes(release: str, percentage: int, candidates_found: int) -> None:
    """Otherwise every node is a candidate."""
    handle = Handle(Services(release, ClusterCache(release_named(release).default_view)), "p")
    made = in_tree(release)
    usual = made["DefaultPreemption"]
    assert isinstance(usual, DefaultPreemption)
    preemption = msgspec.structs.replace(usual, args=DefaultPreemptionArgs(1, 1), handle=handle)
    cluster = [thing for at in ("n0", "n1", "n2") for thing in (node_named(at), pod_at(f"low-{at}", at, cpu=3000))]
    scheduler = deciding(release, made["NodeResourcesFit"], preemption, cluster=cluster, percentage=percentage)
    found = scheduler.attempt(wants()).run(preempt=True).preemption
    assert len(found.candidates) == candidates_found


WEB_PODS = LabelSelector(labels({"app": "web"}))
ANY = LabelSelector(match_expressions=(Requirement("app", "Exists"),))
BAD = LabelSelector(match_expressions=(Requirement("app", "Near", ("x",)),))


def web_budget(
    selector: LabelSelector | None, allowed: int, *disrupted: str, name: str = "b", namespace: str = "default"
) -> PodDisruptionBudget:
    return PodDisruptionBudget(ObjectMeta(name, namespace), selector, allowed, disrupted)


def pod(name: str, app: str | None = "web", priority: int = 0, node: str = "n0", **fields: Any) -> Pod:
    return make_pod(name, {} if app is None else {"app": app}, priority=priority, node=node, **fields)


def protected(found: list[PodDisruptionBudget], pods: list[Pod], *spared: str, rule: Any = violating) -> set[str]:
    """The names of the pods that violate a budget if all but ``spared`` leave."""
    cluster = Cluster([make_node("n0"), make_node("n1")], pods, found)
    roster = PodsByImportance(cluster.columns).refresh()
    leaving = [[p.metadata.name not in spared for p in there] for there in roster.pods]
    victims = roster.codes > 0
    for row, there in enumerate(leaving):
        victims[: len(there), row] = there
    hit = rule(cluster.objects, roster, np.arange(len(roster.pods)), victims)
    return {roster.pods[row][place].metadata.name for place, row in zip(*np.nonzero(hit), strict=True)}


TRIO = [pod("high", priority=3), pod("mid", priority=2), pod("low", priority=1)]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([], set()),
        ([web_budget(WEB_PODS, 3)], set()),
        ([web_budget(WEB_PODS, 2)], {"low"}),
        ([web_budget(WEB_PODS, 1)], {"mid", "low"}),
        ([web_budget(WEB_PODS, 0)], {"high", "mid", "low"}),
        ([web_budget(WEB_PODS, -1)], {"high", "mid", "low"}),
        ([web_budget(WEB_PODS, 0, "mid")], {"high", "low"}),
        ([web_budget(WEB_PODS, 1, "high")], {"low"}),
        ([web_budget(WEB_PODS, 2), web_budget(ANY, 1, name="c")], {"mid", "low"}),
        ([web_budget(None, 0)], set()),
        ([web_budget(LabelSelector(), 0)], set()),
        ([web_budget(BAD, 0)], set()),
        ([web_budget(WEB_PODS, 0, namespace="other")], set()),
    ],
    ids=[
        "no budget",
        "enough",
        "the last",
        "all but the first",
        "none left",
        "less than none",
        "one is counted already",
        "that one takes nothing",
        "each budget on its own",
        "no selector",
        "empty selector",
        "invalid selector",
        "another namespace",
    ],
)
def test_the_important_pods_spend_first(found: list[PodDisruptionBudget], expected: set[str]) -> None:
    """Each takes one disruption of every budget that selects it; who finds none left violates it."""
    assert protected(found, TRIO) == expected


def test_budgets_that_are_not_read() -> None:
    """With 1.20's gate PodDisruptionBudget off nobody is protected."""
    assert protected([web_budget(WEB_PODS, 0)], TRIO, rule=unprotected) == set()


def test_pods_that_stay_take_nothing() -> None:
    """Only those that would leave are counted."""
    assert protected([web_budget(WEB_PODS, 1)], TRIO, "high", "low") == set()


def test_every_node_is_counted_for_itself() -> None:
    """Preemption happens on one of them."""
    pods = [pod("a"), pod("b", node="n1"), pod("c", node="n1", priority=1)]
    assert protected([web_budget(WEB_PODS, 1)], pods) == {"b"}


def test_pods_without_labels_violate_nothing() -> None:
    """Whatever the selector."""
    without = LabelSelector(match_expressions=(Requirement("app", "DoesNotExist"),))
    assert protected([web_budget(without, 0)], [pod("bare", None), make_pod("other", {"x": "y"}, node="n0")]) == {
        "other"
    }


def literal(found: list[PodDisruptionBudget], pods: list[Pod]) -> set[str]:
    """As the rule is written, for one node's pods from the most important one; budgets are for ``web`` or any app."""
    left, out = {b.metadata.name: b.disruptions_allowed for b in found}, set()
    for p in pods:
        for b in found:
            app = p.metadata.labels.get("app")
            selected = b.selector != LabelSelector() and (app == "web" if b.selector == WEB_PODS else app is not None)
            if selected and p.metadata.namespace == "default" and p.metadata.name not in b.disrupted_pods:
                left[b.metadata.name] -= 1
                if left[b.metadata.name] < 0:
                    out.add(p.metadata.name)
    return out


@given(
    budgets,
    st.lists(st.tuples(st.sampled_from(["web", "db", None]), st.sampled_from(["default", "other"])), max_size=6),
)
def test_law_the_written_rule(found: list[PodDisruptionBudget], given_pods: Any) -> None:
    """Sums over all places at once are what spending one after the other is."""
    pods = [pod(f"p{at}", app, priority=9 - at, namespace=namespace) for at, (app, namespace) in enumerate(given_pods)]
    assert protected(found, pods) == literal(found, pods)
