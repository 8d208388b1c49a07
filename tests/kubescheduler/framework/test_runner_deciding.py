"""From PreEnqueue to Score: reactions, texts, ranges and weights of both releases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from algorithmprovider.custom_code import CustomCodeError
from clusterstate.errors import SchedulingError
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.cycle_state import CycleState, StateNotFoundError
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.framework_runtime import Framework
from priorities.types import PriorityConfig, PriorityError
from tests.support.build import make_node, make_pod
from tests.support.deciders import Recorder, answers, frame, plugin, services_of

POD = make_pod()
U, SKIP, UAU = Status.unschedulable("u"), Status(Code.Skip), Status.unresolvable("uau")
BOTH = ["1.20", "1.36"]


# --- column rules ------------------------------------------------------------------------------


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


@pytest.mark.parametrize("release", BOTH)
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


@pytest.mark.parametrize("release", BOTH)
@pytest.mark.parametrize("point", ["AddPod", "RemovePod"])
def test_a_state_that_cannot_be_changed(release: str, point: str) -> None:
    """Both releases tell which plugin failed."""
    made = plugin("A", **answers(pre_filter=None, add_pod=U, remove_pod=U))
    services = services_of(release, [make_node("n1")])
    framework = frame(release, made, services=services)
    there = framework.handle.snapshot().take(np.array([0]))
    pre_filtered = framework.run_add_pod if point == "AddPod" else framework.run_remove_pod
    text = f'running {point} on PreFilter plugin "A": u'
    assert pre_filtered(CycleState(), POD, POD, there) == Status.failure(text).by("A")


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


def with_node(release: str, *plugins: Any, **fields: Any) -> tuple[Framework, Any]:
    """A framework over one node n1, and the snapshot of that node."""
    framework = frame(release, *plugins, services=services_of(release, [make_node("n1")]), **fields)
    return framework, framework.handle.snapshot().take(np.array([0]))


def filtered(release: str, every: bool = False, **given: Any) -> Status | None:
    """What Filter comes to with plugins that answer this, in order."""
    plugins = [plugin(name, **answers(filter=answer)) for name, answer in given.items()]
    framework, there = with_node(release, *plugins, run_all_filters=every)
    return framework.run_filter(CycleState(), POD, there)


def test_a_policy_can_run_all_filters() -> None:
    """The reasons are joined under the worst code, but an error is told alone."""
    assert filtered("1.20", True, A=U, B=UAU) == Status(Code.UnschedulableAndUnresolvable, ("u", "uau"), plugin="A")
    assert filtered("1.20", True, A=U, B=SchedulingError("x")) == Status.failure(
        'running "B" filter plugin for pod "p": x'
    ).by("B")


@pytest.mark.parametrize(("release", "code"), [("1.20", Code.Error), ("1.36", Code.Pending)])
def test_pending_is_a_rejection_in_1_36(release: str, code: Code) -> None:
    """1.20 does not know it."""
    status = filtered(release, A=Status(Code.Pending, ("later",)))
    assert status.code is code


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
    framework, there = with_node(release, made)
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
    framework, there = with_node(release, made)
    framework.handle.cache.nominate(make_pod("other"), "n1")
    status = framework.run_filter_with_nominated(CycleState(), POD, there)
    assert status.message == 'running AddPod on PreFilter plugin "A": u'


def framed(release: str, *plugins: Any, **more: Any) -> Any:
    """A framework over two nodes, and their snapshot."""
    services = services_of(release, [make_node("n1"), make_node("n2")])
    framework = frame(release, *plugins, services=services, **more)
    return framework, framework.handle.snapshot()


def scorer(**fields: Any) -> ColumnPlugin:
    config = PriorityConfig(
        "Column",
        lambda pod, snapshot: np.arange(len(snapshot)),
        lambda pod, snapshot, raw: raw * 50,
        settle=lambda pod, snapshot, raw: raw + 1,
        **fields,
    )
    return ColumnPlugin("Column", frozenset({Point.PRE_SCORE, Point.SCORE}), scoring=config, score_alone="no state")


@pytest.mark.parametrize(
    ("release", "text", "skipped"), [("1.20", 'running PreScore plugin "A": ', set()), ("1.36", None, {"A"})]
)
def test_skip(release: str, text: str | None, skipped: set[str]) -> None:
    """In 1.36 a plugin may give no score at all."""
    made = plugin("A", **answers(pre_score=Status(Code.Skip), score=7))
    framework, nodes = framed(release, made)
    state = CycleState()
    status = framework.run_pre_score(state, POD, nodes)
    assert (status.message if status else None) == text
    assert state.skip_score == skipped
    if skipped:
        assert framework.run_score(state, POD, nodes).scores == {}


def erring(*_: Any) -> Any:
    raise PriorityError("broken")


@pytest.mark.parametrize("release", BOTH)
@pytest.mark.parametrize(
    "made",
    [plugin("A", **answers(score=1, pre_score=SchedulingError("broken"))), scorer(pre_score=erring)],
    ids=["own", "column"],
)
def test_a_failing_pre_score(release: str, made: Any) -> None:
    """Both kinds are told alike."""
    framework, nodes = framed(release, made)
    status = framework.run_pre_score(CycleState(), POD, nodes)
    assert status == Status.failure(f'running PreScore plugin "{made.name}": broken').by(made.name)


@pytest.mark.parametrize("release", BOTH)
@pytest.mark.parametrize(
    ("made", "text"),
    [
        (
            plugin("A", **answers(score=SchedulingError("broken"))),
            'running Score plugins: plugin "A" failed with: broken',
        ),
        (
            plugin("A", **answers(score=1, normalize_scores=SchedulingError("broken"))),
            'running Normalize on Score plugins: plugin "A" failed with: broken',
        ),
        (
            ColumnPlugin(
                "A",
                frozenset({Point.SCORE}),
                scoring=PriorityConfig("A", lambda pod, snapshot: np.zeros(2, np.int64)),
                score_alone="no state",
            ),
            'running Score plugins: plugin "A" failed with: no state',
        ),
    ],
    ids=["score", "normalize", "alone"],
)
def test_faults(release: str, made: Any, text: str) -> None:
    """Scores that fail or leave their range end the attempt."""
    framework, nodes = framed(release, made)
    status = framework.run_score(CycleState(), POD, nodes).status
    assert (status.code, status.message) == (Code.Error, text)


OUT_OF_RANGE = (
    'applying score defaultWeights on Score plugins: plugin "A" returns an invalid score 101, '
    "it should in the range of [0, 100] after normalizing"
)


@pytest.mark.parametrize("release", BOTH)
def test_scores_out_of_range(release: str) -> None:
    """A custom plugin's are its fault, one over columns that is not a user's ends the attempt."""
    framework, nodes = framed(release, plugin("A", **answers(score=101)))
    with pytest.raises(CustomCodeError, match="plugin A, score, pod default/p, node n1: applying score") as raised:
        framework.run_score(CycleState(), POD, nodes)
    assert str(raised.value).endswith(OUT_OF_RANGE)
    config = PriorityConfig("A", lambda pod, snapshot: np.full(2, 101))
    framework, nodes = framed(release, ColumnPlugin("A", frozenset({Point.SCORE}), scoring=config))
    assert framework.run_score(CycleState(), POD, nodes).status == Status.failure(OUT_OF_RANGE).by("A")
