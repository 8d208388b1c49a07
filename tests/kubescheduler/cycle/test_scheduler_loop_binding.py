"""SchedulerLoop: what happens between the decision and the bound pod, and what it does to other pods."""

from __future__ import annotations

import threading
from typing import Any

import attrs
import pytest

from algorithmprovider.custom_code import CustomCodeError
from clusterstate.errors import SchedulingError
from clusterstate.objects import Pod
from kubescheduler.cycle.cycle_rules import PODS_TO_ACTIVATE
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.plugin import PreFlight
from tests.support.build import make_pod
from tests.support.frames import Recorder, answers, plugin
from tests.support.queues.loop_bench import BOTH, SKIP, U, bench


@pytest.mark.parametrize(
    ("given", "patched"),
    [
        ({"pre_bind": None}, True),
        ({"pre_bind": None, "pre_bind_pre_flight": SKIP}, False),
        ({"pre_bind": None, "pre_bind_pre_flight": PreFlight()}, True),
    ],
    ids=["silent", "skip", "works"],
)
def test_the_expected_node_is_written_down(given: dict[str, Any], patched: bool) -> None:
    """Only when binding will take its time, and only if the gate is on."""
    for gates, expected in (({}, patched), ({"NominatedNodeNameForExpectation": False}, False)):
        with bench("1.36", plugin("A", **answers(**given)), writes=True, feature_gates=gates) as b:
            b.try_one(make_pod())
            assert (("default/p", {"nominatedNodeName": "n1"}) in b.recorder.patches) == expected


@pytest.mark.parametrize("works", [True, False])
def test_the_expected_node_is_taken_back(works: bool) -> None:
    """With the condition that says why the pod was not bound, where it was written down in the attempt."""
    skips = {} if works else {"pre_bind_pre_flight": SKIP}
    with bench("1.36", plugin("A", **answers(pre_bind=None, bind=U, **skips)), writes=True) as b:
        assert b.try_one(make_pod()).outcome() is not None
        said = [sorted(patch) for _, patch in b.recorder.patches]
        assert said == ([["nominatedNodeName"], ["conditions", "nominatedNodeName"]] if works else [["conditions"]])
        assert [patch.get("nominatedNodeName") for _, patch in b.recorder.patches] == (["n1", ""] if works else [None])


def test_plugins_that_skip_do_not_run() -> None:
    """What PreFlight said counts in PreBind, if the gate is on."""
    made = plugin("A", **answers(pre_bind=U, pre_bind_pre_flight=SKIP))
    with bench("1.36", made) as b:
        assert b.try_one(make_pod()).outcome() is None
    with bench("1.36", made, feature_gates={"NominatedNodeNameForExpectation": False}) as b:
        assert b.try_one(make_pod()).outcome() is not None


def test_a_binding_can_be_cancelled_for_another_pod() -> None:
    """While PreBind runs, also when its plugins do not look."""
    for looks, message in (
        (True, 'running PreBind plugin "A": preempted by DefaultPreemption'),
        (False, "preempted by DefaultPreemption"),
    ):
        started = threading.Event()

        def work(state: CycleState, *_: Any, looks: bool = looks, started: threading.Event = started) -> None:
            started.set()
            state.cancellation.wait(10)
            if looks:
                state.cancellation.check()

        with bench("1.36", plugin("A", pre_bind=work)) as b:
            b.add(make_pod())
            (attempt,) = b.loop.run()
            assert started.wait(10)
            working = b.framework.handle.pod_in_pre_bind("default/p")
            assert working is not None
            assert working.cancel("preempted by DefaultPreemption")
            failure = attempt.outcome()
            assert failure is not None
            assert (failure.cause.reason, failure.message) == ("SchedulerError", message)
            assert b.framework.handle.pod_in_pre_bind("default/p") is None


@attrs.frozen
class Settings:
    bind_verb: str = "bind"
    ignorable: bool = False


@attrs.define
class BindingExtender:
    config: Settings
    interested: bool = True
    error: str = ""
    bound: list[str] = attrs.field(factory=list)

    def is_interested(self, pod: Pod) -> bool:
        return self.interested

    def bind(self, pod: Pod, node_name: str) -> None:
        if self.error:
            raise SchedulingError(self.error)
        self.bound.append(node_name)


@pytest.mark.parametrize("release", BOTH)
def test_an_extender_binds(release: str) -> None:
    """The first that is interested and can; plugins are not asked."""
    extenders = [
        BindingExtender(Settings(""), error="cannot"),
        BindingExtender(Settings(), interested=False, error="not interested"),
        BindingExtender(Settings()),
        BindingExtender(Settings(), error="too late"),
    ]
    with bench(release, plugin("A", **answers(bind=U)), extenders=extenders) as b:
        assert b.try_one(make_pod()).outcome() is None
    assert extenders[2].bound == ["n1"]


@pytest.mark.parametrize(
    ("release", "ignorable", "message"),
    [
        ("1.20", False, "binding rejected: down"),
        ("1.20", True, "binding rejected: down"),
        ("1.36", False, "down"),
        ("1.36", True, None),
    ],
)
def test_an_extender_cannot_bind(release: str, ignorable: bool, message: str | None) -> None:
    """In 1.36 one that can be ignored leaves it to the plugins."""
    extenders = [BindingExtender(Settings(ignorable=ignorable), error="down")]
    with bench(release, extenders=extenders) as b:
        failure = b.try_one(make_pod()).outcome()
        assert (failure.message if failure else None) == message


@pytest.mark.parametrize(("release", "moved"), [("1.20", 0), ("1.36", 1)])
@pytest.mark.parametrize("answer", [U, SchedulingError("x")], ids=["rejected", "error"])
def test_a_failed_binding_is_an_event_for_other_pods(release: str, moved: int, answer: Any) -> None:
    """In 1.36 the place that came free is an event for all pods but the one that left it."""
    with bench(release, plugin("A", **answers(pre_bind=answer))) as b:
        b.try_one(make_pod("q", {"node": "error"}))
        b.try_one(make_pod())
        assert len(b.queue.unschedulable()) == 2 - moved
        following = b.loop.run_once()
        assert (following.pod.metadata.name if following else None) == ("q" if moved else None)


@pytest.mark.parametrize(("release", "tried"), [("1.20", []), ("1.36", ["q"])])
@pytest.mark.parametrize("point", ["permit", "post_bind"])
def test_plugins_activate_pods(release: str, tried: list[str], point: str) -> None:
    """Pods that a plugin of 1.36 leaves in the state are tried next."""
    other = make_pod("q", {"node": "error"})

    def ask(state: CycleState, pod: Pod, node_name: str) -> Any:
        pods = state.get(PODS_TO_ACTIVATE)
        if pods is not None:
            pods["q"] = other
        return (None, 0) if point == "permit" else None

    with bench(release, plugin("A", **{point: ask})) as b:
        b.try_one(other)
        b.try_one(make_pod())
        assert [attempt.pod.metadata.name for attempt in b.loop.run()] == tried


def test_a_plugin_that_breaks_is_not_hidden() -> None:
    """What is no scheduling error comes out of ``drain``."""
    with bench("1.36", plugin("A", **answers(pre_bind=KeyError("bug")))) as b:
        b.add(make_pod())
        b.loop.run()
        with pytest.raises(CustomCodeError, match="plugin A, pre_bind, pod default/p, node n1: KeyError: 'bug'"):
            b.loop.drain()


def test_writes_that_fail_are_noted() -> None:
    """A status that cannot be written does not change the attempt."""

    @attrs.define
    class Refusing(Recorder):
        def patch_pod_status(self, pod: Pod, status: Any) -> None:
            raise SchedulingError("refused")

    with bench("1.36", plugin("A", **answers(pre_bind=U))) as b:
        b.services.client = Refusing()
        failure = b.try_one(make_pod()).outcome()
        assert failure is not None
        assert failure.message == "u"
        assert b.recorder.troubles == [
            "updating the nominated node of default/p: refused",
            "updating the status of default/p: refused",
        ]


def test_many_pods_side_by_side() -> None:
    """Bindings of many pods do not disturb one another or the attempts that go on meanwhile."""
    with bench("1.36", plugin("A", **answers(pre_bind=None, reserve=None))) as b:
        b.add(*[make_pod(f"p{at}", {"node": f"n{at % 2 + 1}"}) for at in range(200)])
        assert [attempt.outcome() for attempt in b.loop.settle()] == [None] * 200
        assert b.services.cache.snapshot().pod_count.tolist() == [100, 100]
