"""Unreserve, Permit and WaitOnPermit: reactions and texts of both releases."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.errors import SchedulingError
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.cycle_state import CycleState
from tests.support.build import make_pod
from tests.support.deciders import Recorder, answers, frame, plugin, services_of

POD = make_pod()
U = Status.unschedulable("u")
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
    assert waiting is not None
    waiting.allow("A")
    assert framework.wait_on_permit(POD) is None
    assert ("permit_waited", "Success", 0.0) in recorder.told
