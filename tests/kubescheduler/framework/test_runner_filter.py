"""Filter and PostFilter: reactions and texts of both releases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clusterstate.errors import SchedulingError
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.framework_runtime import Framework
from predicates.types import FitPredicate
from tests.support.build import make_node, make_pod
from tests.support.deciders import answers, frame, plugin, services_of

POD = make_pod()
U, UAU = Status.unschedulable("u"), Status.unresolvable("uau")
BOTH = ["1.20", "1.36"]


def framed(release: str, *plugins: Any, **fields: Any) -> tuple[Framework, Any]:
    """A framework over one node n1, and the snapshot of that node."""
    framework = frame(release, *plugins, services=services_of(release, [make_node("n1")]), **fields)
    return framework, framework.handle.snapshot().take(np.array([0]))


def run(release: str, every: bool = False, **given: Any) -> Status | None:
    """What Filter comes to with plugins that answer this, in order."""
    plugins = [plugin(name, **answers(filter=answer)) for name, answer in given.items()]
    framework, there = framed(release, *plugins, run_all_filters=every)
    return framework.run_filter(CycleState(), POD, there)


@pytest.mark.parametrize("release", BOTH)
def test_the_first_rejection_counts(release: str) -> None:
    """Later plugins are not asked."""
    assert run(release, A=None, B=U, C=SchedulingError("not asked")) == U.by("B")
    assert run(release, A=None) is None


def test_a_policy_can_run_all_filters() -> None:
    """The reasons are joined under the worst code, but an error is told alone."""
    assert run("1.20", True, A=U, B=UAU) == Status(Code.UnschedulableAndUnresolvable, ("u", "uau"), plugin="A")
    assert run("1.20", True, A=U, B=SchedulingError("x")) == Status.failure(
        'running "B" filter plugin for pod "p": x'
    ).by("B")


@pytest.mark.parametrize(
    ("release", "text"),
    [("1.20", 'running "A" filter plugin for pod "p": broken'), ("1.36", 'running "A" filter plugin: broken')],
)
def test_an_error_names_the_plugin(release: str, text: str) -> None:
    """Only 1.20 names the pod too."""
    assert run(release, A=SchedulingError("broken")) == Status.failure(text).by("A")


@pytest.mark.parametrize(("release", "code"), [("1.20", Code.Error), ("1.36", Code.Pending)])
def test_pending_is_a_rejection_in_1_36(release: str, code: Code) -> None:
    """1.20 does not know it."""
    status = run(release, A=Status(Code.Pending, ("later",)))
    assert status is not None
    assert status.code is code


def test_plugins_that_skipped_are_left_out() -> None:
    """PreFilter said Skip in this attempt."""
    framework, there = framed("1.36", plugin("A", **answers(pre_filter=None, filter=U)))
    state = CycleState()
    state.skip_filter.add("A")
    assert framework.run_filter(state, POD, there) is None


@pytest.mark.parametrize("release", BOTH)
@pytest.mark.parametrize(("asked", "texts"), [(True, None), (False, "no state")])
def test_a_column_rule_without_its_pre_filter(release: str, asked: bool, texts: str | None) -> None:
    """A rule that reads what PreFilter wrote fails when the profile leaves that out."""
    points = frozenset({Point.FILTER, Point.PRE_FILTER} if asked else {Point.FILTER})
    check = FitPredicate("Column", lambda pod, snapshot: {})
    framework, there = framed(release, ColumnPlugin("Column", points, check, filter_alone="no state"))
    status = framework.run_filter(CycleState(), POD, there)
    assert (status is None) == (texts is None)
    assert status is None or status.message.endswith(": no state")


@pytest.mark.parametrize("release", BOTH)
def test_nominated_pods_are_passed_by_and_left_out(release: str) -> None:
    """A pod must fit beside those nominated that are at least as important, and without them."""
    seen: list[list[str]] = []

    def look(state: CycleState, pod: Any, node_info: Any) -> Status | None:
        seen.append([p.metadata.name for p in node_info.pods])
        return U if len(node_info.pods) > 1 else None

    def note(state: CycleState, pod: Any, added: Any, node_info: Any) -> None:
        state.write("added", added.key)

    made = plugin("A", **answers(pre_filter=None), filter=look, add_pod=note)
    framework, there = framed(release, made)
    for name, priority in (("high", 5), ("low", 0), ("p", 9)):
        framework.handle.cache.nominate(make_pod(name, priority=priority), "n1")
    state = CycleState()
    assert framework.run_filter_with_nominated(state, make_pod(priority=5), there) is None
    assert seen == [["high"], []]
    assert state.get("added") is None
    assert framework.run_filter_with_nominated(state, make_pod(priority=0), there) == U.by("A")


@pytest.mark.parametrize("release", BOTH)
def test_a_nominated_pod_that_cannot_be_added(release: str) -> None:
    """AddPod's failure is the answer."""
    made = plugin("A", **answers(pre_filter=None, filter=None, add_pod=U))
    framework, there = framed(release, made)
    framework.handle.cache.nominate(make_pod("other"), "n1")
    status = framework.run_filter_with_nominated(CycleState(), POD, there)
    assert status is not None
    assert status.message == 'running AddPod on PreFilter plugin "A": u'
