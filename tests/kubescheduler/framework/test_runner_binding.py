"""From Reserve to PostBind: reactions, texts and groups of both releases."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from clusterstate.errors import SchedulingError
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.plugin import PreFlight
from kubescheduler.framework.framework_runtime import groups
from tests.support.build import make_pod
from tests.support.deciders import Recorder, answers, frame, plugin, services_of

POD = make_pod()
U, SKIP = Status.unschedulable("u"), Status(Code.Skip)
WAIT = Status(Code.Wait, ("w",))
BOTH = ["1.20", "1.36"]


@pytest.mark.parametrize("release", BOTH)
def test_unreserve_goes_backwards(release: str) -> None:
    """All Reserve plugins are told, the last one first, one that fails too."""
    told: list[str] = []

    def unreserving(name: str) -> Any:
        def unreserve(state: Any, pod: Any, node_name: str) -> None:
            told.append(f"{name} {node_name}")
            raise SchedulingError("ignored")

        return plugin(name, **answers(reserve=None), unreserve=unreserve)

    frame(release, unreserving("A"), plugin("B", **answers(reserve=None)), unreserving("C")).run_unreserve(
        CycleState(), POD, "n1"
    )
    assert told == ["C n1", "A n1"]


def permitted(release: str, **given: Any) -> tuple[Any, Status | None]:
    framework = frame(release, *(plugin(name, **answers(permit=answer)) for name, answer in given.items()))
    return framework, framework.run_permit(CycleState(), POD, "n1")


@pytest.mark.parametrize(
    ("release", "status"),
    [
        ("1.20", Status(Code.Unschedulable, ('rejected pod "p" by permit plugin "B": u',), plugin="B")),
        ("1.36", U.by("B")),
    ],
)
def test_permit_rejects(release: str, status: Status) -> None:
    """A pod that another plugin asked to hold does not wait then."""
    framework, found = permitted(release, A=(WAIT, 5), B=(U, 0))
    assert found == status
    assert len(framework.waiting) == 0


@pytest.mark.parametrize("release", BOTH)
def test_permit_fails(release: str) -> None:
    """An error names the plugin."""
    _, found = permitted(release, A=SchedulingError("x"))
    assert found == Status.failure('running Permit plugin "A": x').by("A")


@pytest.mark.parametrize(
    ("release", "status"),
    [
        ("1.20", Status(Code.Wait, ('one or more plugins asked to wait and no plugin rejected pod "p"',))),
        ("1.36", Status(Code.Wait, ("w", "one or more plugins asked to wait and no plugin rejected pod"), plugin="B")),
    ],
)
def test_permit_waits(release: str, status: Status) -> None:
    """The pod is among the waiting ones, held by every plugin that asked."""
    framework, found = permitted(release, A=(WAIT, 5), B=(WAIT, 1e9), C=(None, 0))
    assert found == status
    (held,) = framework.handle.waiting_pods()
    assert held.pending_plugins() == ["A", "B"]
    assert framework.handle.waiting_pod("default/p") is held


@pytest.mark.parametrize("release", BOTH)
def test_permit_approves(release: str) -> None:
    """A pod that nobody holds need not wait."""
    framework, found = permitted(release, A=(None, 0))
    assert found is None
    assert framework.wait_on_permit(POD) is None


@pytest.mark.parametrize(
    ("release", "status"),
    [
        ("1.20", Status(Code.Unschedulable, ('pod "p" rejected while waiting on permit: no',), plugin="A")),
        ("1.36", Status(Code.Unschedulable, ("no",), plugin="A")),
    ],
)
def test_a_waiting_pod_is_rejected(release: str, status: Status) -> None:
    """It no longer waits then."""
    framework, _ = permitted(release, A=(WAIT, 5))
    framework.handle.waiting_pod("default/p").reject("A", "no")
    assert framework.wait_on_permit(POD) == status
    assert not framework.handle.reject_waiting_pod("default/p")


@pytest.mark.parametrize("release", BOTH)
def test_a_waiting_pod_is_preempted(release: str) -> None:
    """That is an error."""
    framework, _ = permitted(release, A=(WAIT, 5))
    framework.handle.waiting_pod("default/p").preempt("P", "preempted by P")
    status = framework.wait_on_permit(POD)
    assert status == Status.failure("waiting on permit for pod: preempted by P").by("P")


def test_waiting_is_measured() -> None:
    """How long a pod waited is told with how it ended."""
    recorder = Recorder()
    services = services_of(observer=recorder)
    framework = frame("1.36", plugin("A", **answers(permit=(WAIT, 5))), services=services)
    framework.run_permit(CycleState(), POD, "n1")
    waiting = framework.handle.waiting_pod("default/p")
    waiting.allow("A")
    assert framework.wait_on_permit(POD) is None
    assert ("permit_waited", "Success", 0.0) in recorder.told


PENDING = Status(Code.Pending, ("later",))
PARALLEL = PreFlight(allow_parallel=True)


def flight(**given: Any) -> tuple[Status | None, CycleState]:
    framework = frame(
        "1.36", *(plugin(name, **answers(pre_bind=None, pre_bind_pre_flight=answer)) for name, answer in given.items())
    )
    state = CycleState()
    return framework.run_pre_bind_pre_flight(state, POD, "n1"), state


def test_nobody_will_work() -> None:
    """The answer is Skip, also without plugins."""
    status, state = flight(A=SKIP, B=PreFlight(SKIP, allow_parallel=True))
    assert status == SKIP
    assert (state.skip_pre_bind, state.parallel_pre_bind) == ({"A", "B"}, {"B"})
    assert flight()[0] == SKIP


def test_somebody_will_work() -> None:
    """One is enough; a plugin that does not say will."""
    status, state = flight(A=SKIP, B=PARALLEL)
    assert status is None
    assert (state.skip_pre_bind, state.parallel_pre_bind) == ({"A"}, {"B"})
    silent = frame("1.36", plugin("A", **answers(pre_bind=None)))
    assert silent.run_pre_bind_pre_flight(CycleState(), POD, "n1") is None


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (SchedulingError("x"), 'running PreBindPreFlight "A": x'),
        (
            U,
            'PreBindPreFlight A returned "Unschedulable", which is unsupported. '
            "It is supposed to return Success, Skip, or Error status",
        ),
    ],
    ids=["error", "unsupported"],
)
def test_a_pre_flight_that_fails(answer: Any, text: str) -> None:
    """It can only work, skip or fail."""
    status, _ = flight(A=answer)
    assert status == Status.failure(text).by("A")


@pytest.mark.parametrize("point", ["Reserve", "PreBind", "Bind"])
@pytest.mark.parametrize(
    ("release", "answer", "status"),
    [
        ("1.20", U, Status.failure('running {} plugin "B": u')),
        ("1.36", U, U),
        ("1.36", PENDING, PENDING),
        ("1.20", SchedulingError("x"), Status.failure('running {} plugin "B": x')),
        ("1.36", SchedulingError("x"), Status.failure('running {} plugin "B": x')),
        ("1.36", Status(Code.Wait, ("w",)), Status.failure('running {} plugin "B": w')),
    ],
)
def test_a_plugin_that_fails(release: str, answer: Any, status: Status, point: str) -> None:
    """1.36 hands a rejection on, 1.20 makes an error of it; nobody is asked after it."""
    given = {"A": SKIP if point == "Bind" else None, "B": answer, "C": SchedulingError("not asked")}
    method = {"PreBind": "pre_bind"}.get(point, point.lower())
    framework = frame(release, *(plugin(name, **answers(**{method: given[name]})) for name in given))
    found = getattr(framework, f"run_{method}")(CycleState(), POD, "n1")
    assert (found.code, found.message, found.plugin) == (status.code, status.message.format(point), "B")


@pytest.mark.parametrize(
    ("parallel", "skipped", "expected"),
    [
        ("", "", ["A", "B", "C", "D"]),
        ("ABD", "", ["AB", "C", "D"]),
        ("ABCD", "", ["ABCD"]),
        ("ABD", "C", ["AB", "D"]),
        ("ABCD", "C", ["ABD"]),
        ("ABCD", "A", ["BCD"]),
        ("", "ABCD", []),
    ],
)
def test_groups(parallel: str, skipped: str, expected: list[str]) -> None:
    """Neighbours that allow it run together; one that does not parts them even when it skips."""
    state = CycleState()
    state.parallel_pre_bind, state.skip_pre_bind = set(parallel), set(skipped)
    found = groups([plugin(name) for name in "ABCD"], state)
    assert ["".join(p.name for p in group) for group in found] == expected


def test_a_group_runs_at_once() -> None:
    """Every plugin meets the others, which it could not if they ran in turn."""
    together = threading.Barrier(3)

    def meet(*_: Any) -> None:
        together.wait(10)

    members = [plugin(name, **answers(pre_bind_pre_flight=PARALLEL), pre_bind=meet) for name in "ABC"]
    framework, state = frame("1.36", *members), CycleState()
    framework.run_pre_bind_pre_flight(state, POD, "n1")
    assert framework.run_pre_bind(state, POD, "n1") is None


def test_the_first_failure_cancels_its_group() -> None:
    """The others are told why, and the group's status is the first one."""
    seen: list[str | None] = []

    def patient(state: CycleState, *_: Any) -> None:
        cancellation = state.cancellation
        cancellation.wait(10)
        seen.append(cancellation.cause)
        cancellation.check()

    members = [
        plugin("A", **answers(pre_bind_pre_flight=PARALLEL), pre_bind=patient),
        plugin("B", **answers(pre_bind_pre_flight=PARALLEL, pre_bind=U)),
    ]
    framework, state = frame("1.36", *members), CycleState()
    framework.run_pre_bind_pre_flight(state, POD, "n1")
    assert framework.run_pre_bind(state, POD, "n1") == U.by("B")
    assert seen == ["u"]
    assert state.cancellation.cause is None


def test_a_cancelled_pod_fails_with_the_cause() -> None:
    """The cancellation of the whole binding reaches every plugin of a group."""

    def patient(state: CycleState, *_: Any) -> None:
        state.cancellation.check()

    members = [plugin(name, **answers(pre_bind_pre_flight=PARALLEL), pre_bind=patient) for name in "AB"]
    framework, state = frame("1.36", *members), CycleState()
    framework.run_pre_bind_pre_flight(state, POD, "n1")
    state.cancellation.cancel("preempted by DefaultPreemption")
    status = framework.run_pre_bind(state, POD, "n1")
    assert status.message.endswith(": preempted by DefaultPreemption")


@pytest.mark.parametrize("release", BOTH)
def test_the_first_binder_that_does_not_skip_binds(release: str) -> None:
    """Nobody is asked after it; Skip when all skip."""
    skipping = plugin("A", **answers(bind=SKIP))
    framework = frame(release, skipping, plugin("B", **answers(bind=None)), plugin("C", **answers(bind=U)))
    assert framework.run_bind(CycleState(), POD, "n1") is None
    assert frame(release, skipping).run_bind(CycleState(), POD, "n1") == SKIP


@pytest.mark.parametrize("release", BOTH)
def test_everybody_is_told_of_a_bound_pod(release: str) -> None:
    """PostBind has no result."""
    told: list[str] = []
    tellers = [plugin(name, post_bind=lambda *_, name=name: told.append(name)) for name in "AB"]
    frame(release, *tellers).run_post_bind(CycleState(), POD, "n1")
    assert told == ["A", "B"]
