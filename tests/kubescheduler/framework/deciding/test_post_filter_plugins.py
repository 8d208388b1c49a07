"""What PostFilter plugins come to, and how a decision tells it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from clusterstate.errors import SchedulingError
from clusterstate.objects import Pod, Taint
from kubescheduler.core.status import Code, Status
from kubescheduler.cycle.failures import undecided_1_20, undecided_1_36
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.deciding.post_filter_plugins import (
    ALL_SKIPPED,
    Answer,
    Statuses,
    collect_1_20,
    collect_1_36,
)
from tests.support.build import make_node, make_pod, resources
from tests.support.deciders import FakeExtender, answers, deciding, plugin, refusing
from tests.support.rich_worlds import in_tree
from tests.support.storage import IMMEDIATE, claiming, make_claim, make_class

U, V, UAU = Status.unschedulable("u"), Status.unschedulable("v"), Status.unresolvable("uau")
PENDING, FAULT = Status(Code.Pending, ("later",)), Status.failure("broken")
COLLECT = {"1.20": collect_1_20, "1.36": collect_1_36}

Given = tuple[str | None, Status | None]


def collected(release: str, *given: Given, cycle: CycleState | None = None) -> tuple[Given, str]:
    """(what plugins A, B … that answer so come to, those that were asked)."""
    asked: list[str] = []

    def ask() -> Iterator[Answer]:
        for name, (nominee, status) in zip("ABCD", given, strict=False):
            asked.append(name)
            yield name, nominee, status

    return COLLECT[release](ask(), cycle or CycleState()), "".join(asked)


@pytest.mark.parametrize(
    ("release", "given", "outcome", "asked"),
    [
        ("1.20", [], (None, None), ""),
        ("1.20", [(None, U), ("n1", None), (None, FAULT)], ("n1", None), "AB"),
        ("1.20", [("n1", U), (None, UAU)], (None, Status(UAU.code, ("u", "uau"), plugin="A")), "AB"),
        ("1.20", [(None, U), ("n1", FAULT), (None, U)], (None, FAULT.by("B")), "AB"),
        ("1.20", [(None, PENDING)], (None, Status.failure("later").by("A")), "A"),
        ("1.36", [], (None, Status(Code.Unschedulable)), ""),
        ("1.36", [(None, U), ("n1", Status()), (None, FAULT)], ("n1", Status()), "AB"),
        ("1.36", [("n1", U), (None, V)], ("n1", Status.unschedulable("u", "v").by("A")), "AB"),
        ("1.36", [("n1", U), ("n2", V)], ("n2", Status.unschedulable("u", "v").by("A")), "AB"),
        ("1.36", [("n1", U), ("", V)], ("", Status.unschedulable("u", "v").by("A")), "AB"),
        ("1.36", [("", U), (None, V)], ("", Status.unschedulable("u", "v").by("A")), "AB"),
        ("1.36", [("n1", U), (None, UAU), (None, FAULT)], (None, UAU.by("B")), "AB"),
        ("1.36", [(None, PENDING), (None, U)], (None, Status.unschedulable("later", "u").by("A")), "AB"),
        ("1.36", [("n1", U), ("n2", FAULT), (None, U)], (None, FAULT.by("B")), "AB"),
        ("1.36", [(None, Status(Code.Wait, ("w",)))], (None, Status.failure("w").by("A")), "A"),
    ],
)
def test_reactions(release: str, given: list[Given], outcome: Given, asked: str) -> None:
    """Who is asked, the node that is nominated, and what is told."""
    assert collected(release, *given) == (outcome, asked)


def test_the_whole_phase_can_be_left_out() -> None:
    """A state of 1.36 may say so, also in a decision."""
    cycle = CycleState()
    cycle.skip_all_post_filter = True
    assert collected("1.36", ("n1", None), cycle=cycle) == ((None, Status.unschedulable(ALL_SKIPPED)), "")
    assert collected("1.20", ("n1", None), cycle=cycle) == (("n1", None), "A")
    scheduler = deciding("1.36", refusing("F", n0="full", n1="full", n2="full"))
    decision = scheduler.attempt(make_pod(), cycle=cycle).run(preempt=True)
    assert decision.message == f"0/3 nodes are available: 3 full. {ALL_SKIPPED}"


# --- decisions ---------------------------------------------------------------------------------

FULL = refusing("F", n0="full", n1="full", n2="full")
TOLD = "0/3 nodes are available: 3 full."


@pytest.mark.parametrize(
    ("given", "message", "nominated"),
    [
        (("n1", None), TOLD, "n1"),
        (("", V), f"{TOLD} v", ""),
        ((None, V), f"{TOLD} v", None),
        ((None, FAULT), f"{TOLD} broken", None),
        (SchedulingError("broken"), f"{TOLD} broken", None),
        (("n1", PENDING), f"{TOLD} later", "n1"),
    ],
    ids=["nominates", "clears", "says nothing", "fails", "raises", "waits"],
)
def test_plugins_of_ones_own_are_heard(given: Any, message: str, nominated: str | None) -> None:
    """The node they nominate and what they tell is in the decision, and from there in what is written of the pod."""
    decision = deciding("1.36", FULL, plugin("A", **answers(post_filter=given))).attempt(make_pod()).run(preempt=True)
    assert (decision.message, decision.error, decision.nominated) == (message, None, nominated)
    assert decision.preemption is None
    cause = undecided_1_36(decision, post_filters=True)
    assert (cause.nominated, cause.reason) == (nominated, "Unschedulable")


@pytest.mark.parametrize(
    ("given", "nominated"), [(("n1", None), "n1"), (("n1", V), None), ((None, FAULT), None)], ids=["yes", "no", "fails"]
)
def test_1_20_tells_nothing_of_them(given: Any, nominated: str | None) -> None:
    """Only a success nominates."""
    decision = deciding("1.20", FULL, plugin("A", **answers(post_filter=given))).attempt(make_pod()).run(preempt=True)
    assert (decision.message, decision.nominated) == (TOLD, nominated)
    assert undecided_1_20(decision, post_filters=True).nominated == (nominated or "")


def test_plugins_see_why_every_node_was_refused() -> None:
    """The statuses are put together when somebody looks."""
    seen: dict[str, Any] = {}

    def look(state: Any, pod: Any, statuses: Any) -> tuple[None, Status]:
        seen.update(statuses)
        return None, U

    scheduler = deciding("1.36", refusing("F", n0="full", n1="hopeless", n2="full"), plugin("A", post_filter=look))
    decision = scheduler.attempt(make_pod()).run(preempt=True)
    assert seen == {
        "n0": Status.unschedulable("full"),
        "n1": Status.unresolvable("hopeless"),
        "n2": Status.unschedulable("full"),
    }
    assert (len(Statuses(decision)), Statuses(decision)["n1"].message) == (3, "hopeless")


@pytest.mark.parametrize("preempt", [True, False])
def test_post_filter_is_run_when_nothing_fits(preempt: bool) -> None:
    """And it is asked for; not for a pod that fits, nor for an attempt that was given up."""
    calls: list[str] = []

    def look(state: Any, pod: Pod, statuses: Any) -> tuple[None, Status]:
        calls.append(pod.metadata.name)
        return None, U

    watcher = plugin("A", post_filter=look)
    deciding("1.36", FULL, watcher).attempt(make_pod("refused")).run(preempt=preempt)
    deciding("1.36", watcher).attempt(make_pod("fits")).run(preempt=preempt)
    deciding("1.36", plugin("B", **answers(filter=FAULT)), watcher).attempt(make_pod("fails")).run(preempt=preempt)
    assert calls == (["refused"] if preempt else [])


# --- together with preemption ----------------------------------------------------------------------

NODE = make_node("n0", allocatable=resources(cpu=1000, memory=1 << 30, pods=9))
LOW = make_pod("low", node="n0", requests=resources(cpu=800))
WANTS = make_pod(priority=5, requests=resources(cpu=500), nominated="n9")


def preempting(release: str, *more: Any, pod: Pod = WANTS, thorough: bool = False, **fields: Any) -> Any:
    """A decision by resources and preemption, with further plugins before it."""
    plugins = in_tree(release)
    scheduler = deciding(
        release, plugins["NodeResourcesFit"], *more, plugins["DefaultPreemption"], cluster=[NODE, LOW], **fields
    )
    return scheduler.attempt(pod, thorough=thorough).run(preempt=True)


@pytest.mark.parametrize("release", ["1.20", "1.36"])
def test_preemption_nominates(release: str) -> None:
    """A plugin before it that cannot help leaves it to it, one that succeeds does not."""
    decision = preempting(release, plugin("A", **answers(post_filter=("n7", U))))
    assert list(decision.preemption.chosen) == ["n0"]
    assert (decision.nominated, decision.post_filter_message) == ("n0", "")
    decision = preempting(release, plugin("A", **answers(post_filter=("n7", None))))
    assert (decision.preemption, decision.nominated) == (None, "n7")


def test_preemption_without_a_candidate_clears_the_nomination() -> None:
    """One that does not even look for any leaves it as it is."""
    low = make_pod(requests=resources(cpu=500), nominated="n9")
    never = make_pod(priority=5, preemption_policy="Never", requests=resources(cpu=500), nominated="n9")
    for pod, nominated, text in (
        (low, "", "0/1 nodes are available: 1 No preemption victims found for incoming pod."),
        (never, None, "not eligible due to preemptionPolicy=Never."),
    ):
        decision = preempting("1.36", pod=pod)
        assert decision.nominated == nominated
        assert decision.message == f"0/1 nodes are available: 1 Insufficient cpu. preemption: {text}"
        assert undecided_1_36(decision, post_filters=True).nominated == nominated


def test_a_plugins_nomination_outlives_preemption_that_says_nothing() -> None:
    """The last that was given counts."""
    never = make_pod(priority=5, preemption_policy="Never", requests=resources(cpu=500))
    assert preempting("1.36", plugin("A", **answers(post_filter=("n7", U))), pod=never).nominated == "n7"


@pytest.mark.parametrize("release", ["1.20", "1.36"])
def test_preemption_that_fails(release: str) -> None:
    """The pod is told what it lacks all the same; a thorough look has the failure as its error."""
    fields: dict[str, Any] = {"extenders": [FakeExtender(kept="down")]}
    decision = preempting(release, **fields)
    told = {"1.20": "", "1.36": " down"}[release]
    assert decision.message == f"0/1 nodes are available: 1 Insufficient cpu.{told}"
    assert (decision.error, decision.preemption, decision.nominated) == (None, None, None)
    assert preempting(release, thorough=True, **fields).error == "down"


def test_thorough_runs_preemption_alone() -> None:
    """Custom plugins might change something."""
    calls: list[Any] = []

    def look(*given: Any) -> tuple[None, Status]:
        calls.append(given)
        return None, U

    watcher = plugin("A", post_filter=look)
    assert preempting("1.36", watcher, thorough=True).preemption is not None
    assert calls == []


def test_the_message_of_the_default_profile() -> None:
    """DynamicResources speaks before preemption does."""
    plugins = in_tree("1.36")
    order = ("NodeResourcesFit", "DynamicResources", "DefaultPreemption")
    taint = [plugins[name] for name in ("TaintToleration", *order[1:])]
    scheduler = deciding("1.36", *(plugins[name] for name in order), cluster=[NODE])
    text = "0/1 nodes are available: 1 {}. no new claims to deallocate, preemption: 0/1 nodes are available: 1 {}."
    big = make_pod(requests=resources(cpu=1000, memory=1 << 30))
    scheduler.cache.add_pod(make_pod("there", node="n0", requests=resources(cpu=1)))
    assert scheduler.attempt(big).run(preempt=True).message == text.format(
        "Insufficient cpu", "No preemption victims found for incoming pod"
    )
    tainted = make_node("n0", taints=(Taint("k", "v", "NoSchedule"),))
    assert deciding("1.36", *taint, cluster=[tainted]).attempt(make_pod()).run(preempt=True).message == text.format(
        "node(s) had untolerated taint(s)", "Preemption is not helpful for scheduling"
    )


def test_a_claim_that_waits_ends_the_phase() -> None:
    """VolumeBinding rejects the pod before DynamicResources has a state, which then fails and ends the phase."""
    plugins = in_tree("1.36")
    names = ("VolumeBinding", "DynamicResources", "DefaultPreemption")
    cluster = [NODE, make_class("now", mode=IMMEDIATE), make_claim("c", storage_class="now")]
    scheduler = deciding("1.36", *(plugins[name] for name in names), cluster=cluster)
    decision = scheduler.attempt(claiming("c")).run(preempt=True)
    text = "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"
    assert decision.message == text
    assert decision.preemption is None
