"""DefaultPreemption of 1.20 and 1.36: who may preempt, where it may help, who has to go, which node, and the texts."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterstate.objects import LabelSelector, ObjectMeta, Pod, PodCondition, PodDisruptionBudget
from kubescheduler.framework.decision import FrameworkDecision
from kubescheduler.framework.preemption import (
    PREEMPTION_RULES,
    leaving_1_20,
    leaving_1_36,
    potential_1_20,
    potential_1_36,
)
from kubescheduler.framework.status import Code, Status
from tests.build import labels, make_node, make_pod, resources
from tests.deciders import Answered, FakeExtender, deciding, refusing
from tests.frames import answers, plugin
from tests.rich_worlds import World, everything, in_tree, incoming, worlds

RELEASES = ("1.20", "1.36")
BOTH = pytest.mark.parametrize("release", RELEASES)
WEB = {"app": "web"}


def node(name: str, cpu: int = 3000, **fields: Any) -> Any:
    return make_node(name, allocatable=resources(cpu=cpu, memory=8 << 30, pods=9), **fields)


def pod(
    name: str, at: str = "n0", priority: int = 0, cpu: int = 1000, *, start: int | None = None, **fields: Any
) -> Pod:
    """start: minutes past midnight."""
    made = make_pod(name, node=at, priority=priority, requests=resources(cpu=cpu), **fields)
    return made if start is None else attrs.evolve(made, start_time=f"2020-01-01T00:{start:02}:00Z")


def wants(cpu: int = 1000, priority: int = 10, **fields: Any) -> Pod:
    return make_pod("in", priority=priority, requests=resources(cpu=cpu), **fields)


def preempted(
    release: str, cluster: list[Any], asking: Pod, *plugins: Any, extenders: Any = (), thorough: bool = False
) -> FrameworkDecision:
    """A decision by resources and preemption, for a pod that fits nowhere."""
    made = in_tree(release)
    scheduler = deciding(
        release, *plugins, made["NodeResourcesFit"], made["DefaultPreemption"], cluster=cluster, extenders=extenders
    )
    decision = scheduler.schedule(asking, preempt=True, thorough=thorough)
    assert decision.host is None
    return decision


def victims(decision: FrameworkDecision) -> dict[str, list[str]]:
    """Node → the names of those who would leave, in order."""
    assert decision.preemption is not None
    return {name: [p.metadata.name for p in v.pods] for name, v in decision.preemption.candidates.items()}


def chosen(decision: FrameworkDecision) -> list[str]:
    assert decision.preemption is not None
    return list(decision.preemption.chosen)


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
    leaving = attrs.evolve(make_pod(deleting=deleting), conditions=conditions)
    assert (leaving_1_20(leaving), leaving_1_36(leaving)) == (old, new)


TERMINATING = "preemption: not eligible due to a terminating pod on the nominated node."


def told(release: str, count: int, reasons: str, text: str) -> str:
    return f"0/{count} nodes are available: {reasons}.{f' {text}' if release == '1.36' else ''}"


@BOTH
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
    leaving = attrs.evolve(pod("there", cpu=3000, **there), conditions=(BY_SCHEDULER,))
    other = pod("other", "n1", cpu=3000)
    decision = preempted(release, [node("n0"), node("n1"), leaving, other], wants(nominated=nominated))
    assert bool(victims(decision)) == eligible
    if not eligible:
        assert decision.message == told(release, 2, "2 Insufficient cpu", TERMINATING)
        assert decision.nominated is None


@BOTH
def test_a_nominated_node_that_does_not_do_any_more(release: str) -> None:
    """When nothing can be mended there, the pod may preempt elsewhere."""
    leaving = attrs.evolve(pod("there", cpu=3000, deleting=True), conditions=(BY_SCHEDULER,))
    other = pod("other", "n1", cpu=3000)
    cluster = [node("n0"), node("n1"), leaving, other]
    decision = preempted(release, cluster, wants(nominated="n0"), refusing("F", n0="hopeless"))
    assert victims(decision) == {"n1": ["other"]}


@BOTH
def test_some_pods_never_preempt(release: str) -> None:
    """Their policy says so."""
    decision = preempted(release, [node("n0"), pod("low", cpu=3000)], wants(preemption_policy="Never"))
    text = "preemption: not eligible due to preemptionPolicy=Never."
    assert decision.message == told(release, 1, "1 Insufficient cpu", text)
    assert (victims(decision), decision.nominated) == ({}, None)


def test_a_node_that_an_extender_dropped_silently_counts_as_beyond_help_in_1_36() -> None:
    """So whoever leaves it is not waited for; 1.20 waits."""
    leaving = attrs.evolve(pod("there", cpu=100, deleting=True), conditions=(BY_SCHEDULER,))
    cluster = [node("n0"), node("n1"), leaving, pod("other", "n1", cpu=3000)]
    for release, expected in (("1.20", {}), ("1.36", {"n1": ["other"]})):
        extender = FakeExtender(filtered=Answered(()))
        assert victims(preempted(release, cluster, wants(nominated="n0"), extenders=[extender])) == expected


# --- where it may help ---------------------------------------------------------------------------


def test_potential_nodes() -> None:
    """1.20: whatever is not beyond help, also without a status. 1.36: exactly Unschedulable."""
    codes = np.array([0, 2, 3, 6])
    assert potential_1_20(codes).tolist() == [True, True, False, True]
    assert potential_1_36(codes).tolist() == [False, True, False, False]
    assert [PREEMPTION_RULES[release].silent.name for release in RELEASES] == [
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
    cluster, extenders = [node("n0"), pod("low")], [FakeExtender(filtered=answer)]
    decision = preempted("1.36", cluster, wants(), extenders=extenders)
    assert decision.message == f"0/1 nodes are available:{reason} {text}"
    assert victims(preempted("1.20", cluster, wants(), extenders=extenders)) == {"n0": []}


def test_pending_nodes() -> None:
    """Preemption does not help where an event is waited for."""
    waits = plugin("W", **answers(filter=Status(Code.Pending, ("later",))))
    decision = preempted("1.36", [node("n0"), pod("low")], wants(), waits)
    assert decision.message == f"0/1 nodes are available: 1 later. {NOT_HELPFUL}"


# --- who has to go -------------------------------------------------------------------------------


@BOTH
def test_the_worked_example(release: str) -> None:
    """Of two lower pods the more important one is put back first, and stays."""
    cluster = [node("n0"), pod("p5", priority=5), pod("p3", priority=3), pod("p1", priority=1)]
    assert victims(preempted(release, cluster, wants(priority=4))) == {"n0": ["p1"]}


@BOTH
@pytest.mark.parametrize(
    ("there", "asking", "expected"),
    [
        ([pod("a", priority=10), pod("b", priority=11), pod("c", priority=10)], wants(), {}),
        ([pod("a", priority=9, cpu=2000), pod("b", priority=1, cpu=1000)], wants(1000), {"n0": ["b"]}),
        ([pod("a", priority=9, cpu=2000), pod("b", priority=1, cpu=1000)], wants(2000), {"n0": ["a"]}),
        ([pod("a", priority=1, start=5), pod("b", priority=1, start=9, cpu=2000)], wants(1000), {"n0": ["b"]}),
        ([pod("a", cpu=500), pod("b", cpu=500), pod("c", priority=10, cpu=2000)], wants(4000), {}),
    ],
    ids=["nobody lower", "as few as possible", "the big one", "the later one", "not even then"],
)
def test_victims(release: str, there: list[Pod], asking: Pod, expected: dict[str, list[str]]) -> None:
    """All lower ones are thought away, and put back from the most important one as long as the pod fits."""
    decision = preempted(release, [node("n0"), *there], asking)
    assert victims(decision) == expected
    assert chosen(decision) == list(expected)


def cpu_of(made: Pod) -> int:
    return made.spec.containers[0].requests["cpu"]


def budget(allowed: int, *disrupted: str) -> PodDisruptionBudget:
    return PodDisruptionBudget(ObjectMeta("b", "default"), LabelSelector(labels(WEB)), allowed, disrupted)


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
    there = [pod("web1", priority=4, label=WEB), pod("free", priority=3), pod("web2", priority=2, label=WEB)]
    decision = preempted(release, [node("n0"), *there, budget(allowed, *disrupted)], wants(2000))
    assert victims(decision) == {"n0": {"1.20": old, "1.36": new}[release]}
    assert decision.preemption is not None
    assert decision.preemption.candidates["n0"].violations == violations


@BOTH
def test_nominated_pods_need_their_room_too(release: str) -> None:
    """A pod that is nominated there and at least as important stays in the way."""
    made = in_tree(release)
    cluster = [node("n0"), pod("low", cpu=3000)]
    scheduler = deciding(release, made["NodeResourcesFit"], made["DefaultPreemption"], cluster=cluster)
    scheduler.cache.nominate(make_pod("other", priority=10, requests=resources(cpu=2500)), "n0")
    decision = scheduler.schedule(wants(), preempt=True)
    assert victims(decision) == {}
    text = "preemption: 0/1 nodes are available: 1 Insufficient cpu."
    assert decision.message == told(release, 1, "1 Insufficient cpu", text)


@BOTH
def test_lower_nominations_are_taken_back(release: str) -> None:
    """Of the pods nominated to the chosen node."""
    made = in_tree(release)
    cluster = [node("n0"), pod("low", cpu=3000)]
    scheduler = deciding(release, made["NodeResourcesFit"], made["DefaultPreemption"], cluster=cluster)
    for name, priority in (("lower", 5), ("equal", 10)):
        scheduler.cache.nominate(make_pod(name, priority=priority, requests=resources(cpu=100)), "n0")
    found = scheduler.schedule(wants(), preempt=True).preemption
    assert found is not None
    assert [p.metadata.name for p in found.cleared] == ["lower"]


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
    cluster = [node("n0"), pod("a", priority=2), pod("b", priority=1)]
    assert victims(preempted(release, cluster, wants(), own)) == {"n0": ["b"]}


# --- which node ----------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(
    ("first", "second", "best"),
    [
        ([pod("a", label=WEB)], [pod("b", "n1", priority=9)], ["n1"]),
        ([pod("a", priority=5)], [pod("b", "n1", priority=4)], ["n1"]),
        (
            [pod("a", priority=5), pod("a2", priority=2)],
            [pod("b", "n1", priority=5), pod("b2", "n1", priority=1)],
            ["n1"],
        ),
        ([pod("a", priority=5), pod("a2", priority=-2147483648)], [pod("b", "n1", priority=5, cpu=2000)], ["n1"]),
        ([pod("a", start=5)], [pod("b", "n1", start=9)], ["n1"]),
        (
            [pod("a", priority=2, start=5), pod("a2", priority=1, start=1)],
            [pod("b", "n1", priority=2, start=4), pod("b2", "n1", priority=1, start=9)],
            ["n0"],
        ),
        ([pod("a", start=5)], [pod("b", "n1", start=5)], ["n0", "n1"]),
    ],
    ids=["violations", "first victim", "sum", "count", "start", "start of the highest", "equal"],
)
def test_where_it_hurts_least(release: str, first: list[Pod], second: list[Pod], best: list[str]) -> None:
    """One criterion after the other, until one node is left."""
    nodes = [node(name, sum(map(cpu_of, pods))) for name, pods in (("n0", first), ("n1", second))]
    most = max(sum(map(cpu_of, pods)) for pods in (first, second))
    decision = preempted(release, [*nodes, *first, *second, budget(0)], wants(most))
    assert chosen(decision) == best


@pytest.mark.parametrize(("release", "first", "best"), [("1.20", "web", "n0"), ("1.36", "top", "n1")])
def test_the_first_victim_is_not_always_the_most_important(release: str, first: str, best: str) -> None:
    """1.20 compares the first of its list, where violating pods come first; 1.36 the most important one."""
    cluster = [
        *(node(name, 2000) for name in ("n0", "n1")),
        *(pod("web", priority=1, label=WEB), pod("top", priority=9)),
        *(pod("web2", "n1", priority=2, label=WEB), pod("mid", "n1", priority=5)),
        budget(0),
    ]
    decision = preempted(release, cluster, wants(2000))
    assert victims(decision)["n0"][0] == first
    assert chosen(decision) == [best]


def silent(release: str, *names: str, **fields: Any) -> FrameworkDecision:
    """Nodes where the pod fits but for an extender."""
    extender = FakeExtender(filtered=Answered((), dict.fromkeys(names, "no")))
    cluster = [*(node(name) for name in names), *(pod(f"low-{name}", name) for name in names)]
    return preempted(release, cluster, wants(), extenders=[extender], **fields)


def test_nodes_that_need_no_victims_in_1_20() -> None:
    """A single one is chosen and nobody leaves; among several the process ends."""
    decision = silent("1.20", "n0")
    assert (victims(decision), chosen(decision)) == ({"n0": []}, ["n0"])
    crash = "panic: runtime error: index out of range [0] with length 0 (a node needs no victims)"
    assert silent("1.20", "n0", "n1").error == crash
    assert silent("1.20", "n0", "n1", thorough=True).error == crash


def test_nodes_that_need_no_victims_in_1_36() -> None:
    """They are errors; with other candidates those are taken."""
    text = 'preemption: expected at least one victim pod on node "n0"'
    assert silent("1.36", "n0").message == f"0/1 nodes are available: 1 no. {text}"
    assert silent("1.36", "n0", thorough=True).error == text
    both = f'preemption: [{text.removeprefix("preemption: ")}, expected at least one victim pod on node "n1"]'
    assert silent("1.36", "n0", "n1", thorough=True).error == both
    extender = FakeExtender(filtered=Answered((), {"n0": "no"}))
    cluster = [node("n0"), pod("a"), node("n1"), pod("b", "n1", cpu=3000)]
    decision = preempted("1.36", cluster, wants(), extenders=[extender])
    assert victims(decision) == {"n1": ["b"]}


# --- extenders -----------------------------------------------------------------------------------

TWO = [node("n0"), node("n1"), pod("a", cpu=3000), pod("b", "n1", cpu=3000, priority=1)]


@BOTH
def test_extenders_have_their_say(release: str) -> None:
    """They keep some candidates, with their own victims and counts."""
    extender = FakeExtender(kept={"n1": (("default/b",), 2)})
    decision = preempted(release, TWO, wants(), extenders=[extender])
    assert decision.preemption is not None
    assert (victims(decision), chosen(decision)) == ({"n1": ["b"]}, ["n1"])
    assert decision.preemption.candidates["n1"].violations == 2


@BOTH
def test_extenders_that_keep_nobody(release: str) -> None:
    """There is no candidate, and in 1.36 nothing is said of the nomination."""
    decision = preempted(release, TWO, wants(nominated="n9"), extenders=[FakeExtender(kept={})])
    assert (victims(decision), decision.nominated) == ({}, None)
    text = "preemption: no candidate node for preemption"
    assert decision.message == told(release, 2, "2 Insufficient cpu", text)


@BOTH
@pytest.mark.parametrize(
    ("kept", "text"),
    [
        ("down", "down"),
        ({"ghost": ((), 0)}, 'nodeinfo not found for node name "ghost"'),
        (
            {"n0": (("u",), 0)},
            "extender: http://x claims to preempt pod (UID: &{u}) on node: n0, but the pod is not found on that node",
        ),
    ],
    ids=["fails", "an unknown node", "an unknown pod"],
)
@pytest.mark.parametrize("ignorable", [True, False])
def test_extenders_that_fail(release: str, kept: Any, text: str, ignorable: bool) -> None:
    """One that can be ignored changes nothing, another ends it."""
    decision = preempted(release, TWO, wants(), extenders=[FakeExtender(kept=kept, ignorable=ignorable)], thorough=True)
    if ignorable:
        assert decision.error is None
        assert victims(decision) == {"n0": ["a"], "n1": ["b"]}
    else:
        assert decision.error == text


@pytest.mark.parametrize("ignorable", [True, False])
def test_extenders_that_keep_nodes_without_victims(ignorable: bool) -> None:
    """1.36 drops them when the extender can be ignored, and takes it for an error otherwise."""
    kept = {"n0": ((), 0), "n1": (("default/b",), 0)}
    extender = FakeExtender(kept=kept, ignorable=ignorable)
    decision = preempted("1.36", TWO, wants(), extenders=[extender], thorough=True)
    if ignorable:
        assert victims(decision) == {"n1": ["b"]}
    else:
        assert decision.error == 'expected at least one victim pod on node "n0"'
    assert victims(preempted("1.20", TWO, wants(), extenders=[FakeExtender(kept={"n0": ((), 0)})])) == {"n0": []}


@BOTH
def test_extenders_are_asked_one_after_the_other(release: str) -> None:
    """Until no candidate is left; those without the verb or without interest are not."""
    extenders = [
        FakeExtender(kept={"n1": (("default/b",), 0)}),
        FakeExtender(),
        FakeExtender(kept={"n0": (("default/a",), 0)}, interested=False),
        FakeExtender(preempts=True),
    ]
    assert victims(preempted(release, TWO, wants(), extenders=extenders)) == {"n1": ["b"]}


# --- texts ---------------------------------------------------------------------------------------


def test_why_there_is_no_candidate() -> None:
    """1.36 tells of every node what stands in the way; 1.20 nothing."""
    cluster = [
        *(node(f"n{at}", 1000) for at in range(4)),
        pod("top", "n0", priority=99),
        pod("low", "n1", priority=1, cpu=500),
        pod("high", "n1", priority=99, cpu=500),
        pod("low2", "n3", cpu=1000),
    ]
    decision = preempted("1.36", cluster, wants(1000), refusing("F", n2="hopeless", n3="hopeless"))
    assert decision.message == (
        "0/4 nodes are available: 2 Insufficient cpu, 2 hopeless. preemption: 0/4 nodes are available: "
        "1 Insufficient cpu, 1 No preemption victims found for incoming pod, "
        "2 Preemption is not helpful for scheduling."
    )
    assert decision.nominated == ""
    decision = preempted("1.20", cluster, wants(1000), refusing("F", n2="hopeless", n3="hopeless"))
    assert decision.message == "0/4 nodes are available: 2 Insufficient cpu, 2 hopeless."


def test_1_20_takes_back_a_nomination_that_no_node_can_keep() -> None:
    """When preemption can help nowhere."""
    for nominated, cleared in (("n9", ["in"]), ("", [])):
        decision = preempted("1.20", [node("n0")], wants(nominated=nominated), refusing("F", n0="hopeless"))
        assert decision.preemption is not None
        assert [p.metadata.name for p in decision.preemption.cleared] == cleared


# --- laws ----------------------------------------------------------------------------------------


@BOTH
@settings(max_examples=1500)
@given(world=worlds(), asking=incoming, data=st.data())
def test_law_of_candidates(release: str, world: World, asking: Pod, data: st.DataObject) -> None:
    """Whoever has to go is lower than the pod, and without the victims the pod fits."""
    asking = attrs.evolve(asking, spec=attrs.evolve(asking.spec, priority=7))
    cache = world.cache(release)
    scheduler = everything(release, cache)
    decision = scheduler.schedule(asking, preempt=True)
    found = decision.preemption
    if found is None or not len(found.candidates):
        return
    for name, those in found.candidates.items():
        assert all(p.priority < 7 and p.node_name == name for p in those.pods)
        assert those.violations <= len(those.pods)
        assert those.pods or release == "1.20"
    assert set(found.chosen) <= set(found.candidates)
    assert decision.nominated == found.chosen[0]
