"""PreEnqueue, PreFilter, AddPod and RemovePod: reactions and texts of both releases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clusterstate.changes import NOTHING
from clusterstate.errors import SchedulingError
from clusterstate.footprint import Footprint
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.cycle_state import CycleState, StateNotFoundError
from kubescheduler.framework.contract.plugin import ColumnPlugin, PreFilterResult
from kubescheduler.framework.contract.profile import Point
from predicates.types import FitPredicate, NodeError, PreFiltered
from tests.support.build import make_node, make_pod
from tests.support.deciders import Recorder, answers, frame, plugin, services_of

POD = make_pod()
U, SKIP = Status.unschedulable("u"), Status(Code.Skip)


def names(*given: str) -> PreFilterResult:
    return PreFilterResult(frozenset(given))


def run(release: str, **given: Any) -> tuple[Any, CycleState]:
    """The outcome of plugins that answer this, in order, and the state."""
    framework = frame(release, *(plugin(name, **answers(pre_filter=answer)) for name, answer in given.items()))
    state = CycleState()
    return framework.run_pre_filter(state, POD, framework.handle.snapshot()), state


def test_a_rejection_ends_it_in_1_20() -> None:
    """The first rejection is returned as it is, and later plugins are not asked."""
    outcome, _ = run("1.20", A=None, B=U, C=SchedulingError("not asked"))
    assert outcome.status == U.by("B")


@pytest.mark.parametrize("release", ["1.20", "1.36"])
def test_an_error_names_the_plugin(release: str) -> None:
    """What a plugin raises is told as its error."""
    outcome, _ = run(release, A=SchedulingError("broken"))
    assert outcome.status.message == 'running PreFilter plugin "A": broken'
    assert outcome.status.code is Code.Error


def test_unschedulable_is_remembered_in_1_36() -> None:
    """Later plugins are asked all the same, and the last rejection is told."""
    outcome, state = run("1.36", A=U, B=SKIP, C=Status.unschedulable("v"), D=names("n1"))
    assert outcome.status == Status.unschedulable("v").by("C")
    assert state.skip_filter == {"B"}


def test_names_are_intersected() -> None:
    """Only nodes that every plugin gave are left; the plugins are sorted."""
    outcome, _ = run("1.36", B=names("n1", "n2"), C=None, A=(names("n2", "n3"), None), D=PreFilterResult())
    assert outcome.status is None
    assert outcome.nodes == {"n2"}
    assert outcome.plugins == ("A", "B")


# --- column rules ------------------------------------------------------------------------------


def column(answer: PreFiltered, *, applies: bool = True) -> ColumnPlugin:
    check = FitPredicate(
        "Column",
        lambda pod, snapshot: {},
        Footprint(pre_reads=NOTHING),
        applies=lambda pod: applies,
        pre_filter=lambda pod, snapshot: answer,
        unresolvable=lambda reason: reason == "hopeless",
    )
    return ColumnPlugin("Column", frozenset({Point.PRE_FILTER, Point.FILTER}), check)


@pytest.mark.parametrize("release", ["1.20", "1.36"])
@pytest.mark.parametrize(
    ("reasons", "status"),
    [
        (("hopeless",), Status.unresolvable("hopeless").by("Column")),
        (("a", "b"), Status.unschedulable("a", "b").by("Column")),
        ((NodeError("no {pod}"),), Status.failure('running PreFilter plugin "Column": no default/p').by("Column")),
    ],
    ids=["unresolvable", "unschedulable", "error"],
)
def test_what_column_rules_say(release: str, reasons: tuple[str, ...], status: Status) -> None:
    """Reasons become a status with the code that belongs to them."""
    framework = frame(release, column(PreFiltered(reasons=reasons)))
    assert framework.run_pre_filter(CycleState(), POD, framework.handle.snapshot()).status == status


@pytest.mark.parametrize(("release", "skipped"), [("1.20", set()), ("1.36", {"Column"})])
@pytest.mark.parametrize(
    "made", [column(PreFiltered(), applies=False), column(PreFiltered(skip=True))], ids=["applies", "skip"]
)
def test_column_rules_that_say_nothing(release: str, skipped: set[str], made: ColumnPlugin) -> None:
    """Where Skip is known, the plugin's Filter is left out."""
    framework, state = frame(release, made), CycleState()
    assert framework.run_pre_filter(state, POD, framework.handle.snapshot()).status is None
    assert state.skip_filter == skipped


def test_column_rules_name_nodes() -> None:
    """A set of names counts as one of a custom plugin does."""
    framework = frame("1.36", column(PreFiltered(nodes=frozenset({"n1"}))))
    outcome = framework.run_pre_filter(CycleState(), POD, framework.handle.snapshot())
    assert (outcome.nodes, outcome.plugins) == ({"n1"}, ("Column",))


def test_skipped_calls_are_not_counted() -> None:
    """A PreFilter call that skips is no evaluation; the point is measured as a whole."""
    recorder = Recorder()
    framework = frame(
        "1.36",
        plugin("A", **answers(pre_filter=SKIP)),
        plugin("B", **answers(pre_filter=None)),
        services=services_of(observer=recorder),
    )
    state = CycleState()
    state.timed = True
    framework.run_pre_filter(state, POD, framework.handle.snapshot())
    assert [told for told in recorder.told if told[0] == "evaluated"] == [
        ("evaluated", "PreFilter", "B", "default-scheduler")
    ]
    assert ("plugin", "PreFilter", "A", "Skip", 0.0) in recorder.told
    assert recorder.told[-1] == ("point", "PreFilter", "default-scheduler", "Success", 0.0)


# --- AddPod and RemovePod ----------------------------------------------------------------------


@pytest.mark.parametrize("release", ["1.20", "1.36"])
def test_states_are_told_of_other_pods(release: str) -> None:
    """A plugin sees the node as it is after the change; a skipped one is left out."""
    seen: list[Any] = []

    def add(state: Any, pod: Any, other: Any, node_info: Any) -> None:
        seen.append((pod.key, other.key, node_info.name, [p.key for p in node_info.pods]))

    made = plugin("A", **answers(pre_filter=None), add_pod=add, remove_pod=add)
    other = make_pod("other", node="n1")
    services = services_of(release, [make_node("n1")], [other])
    framework = frame(release, made, plugin("B", **answers(pre_filter=None)), services=services)
    there, state = framework.handle.snapshot().take(np.array([0])), CycleState()
    assert framework.run_add_pod(state, POD, other, there) is None
    assert framework.run_remove_pod(state, POD, other, there) is None
    assert seen == [("default/p", "default/other", "n1", ["default/other"])] * 2
    state.skip_filter.add("A")
    framework.run_add_pod(state, POD, other, there)
    assert len(seen) == 2


@pytest.mark.parametrize("release", ["1.20", "1.36"])
@pytest.mark.parametrize("point", ["AddPod", "RemovePod"])
def test_a_state_that_cannot_be_changed(release: str, point: str) -> None:
    """Both releases tell which plugin failed."""
    made = plugin("A", **answers(pre_filter=None, add_pod=U, remove_pod=U))
    services = services_of(release, [make_node("n1")])
    framework = frame(release, made, services=services)
    there = framework.handle.snapshot().take(np.array([0]))
    run = framework.run_add_pod if point == "AddPod" else framework.run_remove_pod
    text = f'running {point} on PreFilter plugin "A": u'
    assert run(CycleState(), POD, POD, there) == Status.failure(text).by("A")


# --- PreEnqueue --------------------------------------------------------------------------------


def test_the_plugin_that_held_a_pod_back_is_asked_first() -> None:
    """The first refusal is told with its plugin."""
    gates = [plugin(name, **answers(pre_enqueue=Status.unschedulable(name))) for name in "AB"]
    framework = frame("1.36", plugin("Open", **answers(pre_enqueue=None)), *gates)
    assert framework.run_pre_enqueue(POD) == Status.unschedulable("A").by("A")
    assert framework.run_pre_enqueue(POD, "B") == Status.unschedulable("B").by("B")


def test_1_20_holds_nothing_back() -> None:
    """Without plugins every pod may be tried."""
    assert frame("1.20").run_pre_enqueue(POD) is None


# --- the state ---------------------------------------------------------------------------------


def test_a_state_is_cloned_with_its_values() -> None:
    """Values that can be cloned are, others are shared; an absent key is not found."""

    class Counter:
        def __init__(self, count: int) -> None:
            self.count = count

        def clone(self) -> Counter:
            return Counter(self.count)

    state, shared = CycleState(), [1]
    state.write("own", Counter(1))
    state.write("shared", shared)
    copy = state.clone()
    copy.read("own").count = 2
    assert (state.read("own").count, copy.read("shared")) == (1, shared)
    state.delete("own")
    with pytest.raises(StateNotFoundError, match=r"^not found$"):
        state.read("own")
