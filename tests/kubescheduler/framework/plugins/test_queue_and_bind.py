"""PrioritySort, SchedulingGates and DefaultBinder."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from clusterstate.errors import SchedulingError
from clusterstate.objects import Pod
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.queue_and_bind import default_binder, priority_sort, scheduling_gates_1_36
from tests.support.build import make_pod
from tests.support.custom.extender_asking import HANDLE


def queued(priority: int | None, timestamp: float) -> Any:
    return SimpleNamespace(pod=make_pod(priority=priority), timestamp=timestamp)


@pytest.mark.parametrize(
    ("first", "second", "less"),
    [
        pytest.param(queued(2, 5), queued(1, 1), True, id="higher"),
        pytest.param(queued(1, 1), queued(2, 5), False, id="lower"),
        pytest.param(queued(1, 1), queued(1, 2), True, id="earlier"),
        pytest.param(queued(1, 2), queued(1, 1), False, id="later"),
        pytest.param(queued(1, 1), queued(1, 1), False, id="equal"),
        pytest.param(queued(None, 2), queued(-1, 1), True, id="no-priority-is-0"),
    ],
)
def test_priority_counts_before_age(first: Any, second: Any, less: bool) -> None:
    """Age decides among equals."""
    assert priority_sort(None, HANDLE).less(first, second) == less


def test_a_pod_waits_for_its_gates() -> None:
    """All of them are named; without any it goes on."""
    plugin = scheduling_gates_1_36(None, HANDLE)
    assert plugin.points == {Point.PRE_ENQUEUE}
    assert plugin.pre_enqueue(make_pod()) is None
    waiting = Status.unresolvable("waiting for scheduling gates: [a b.example/c]")
    assert plugin.pre_enqueue(make_pod(scheduling_gates=("a", "b.example/c"))) == waiting


class Client:
    """Notes what it is told, or refuses it."""

    def __init__(self, refusal: str = "") -> None:
        self.bound: list[tuple[str, str]] = []
        self._refusal = refusal

    def bind(self, pod: Pod, node_name: str) -> None:
        if self._refusal:
            raise SchedulingError(self._refusal)
        self.bound.append((pod.key, node_name))


def handle(client: Client) -> Any:
    return SimpleNamespace(client=client)


def test_it_binds_through_the_client() -> None:
    """Success is no status."""
    client = Client()
    assert default_binder(None, handle(client)).bind(CycleState(), make_pod("p"), "n1") is None
    assert client.bound == [("default/p", "n1")]


def test_without_a_client_all_is_well() -> None:
    """There is nobody to tell."""
    assert default_binder(None, HANDLE).bind(CycleState(), make_pod(), "n1") is None


def test_a_refusal_is_an_error() -> None:
    """With the API's text."""
    status = default_binder(None, handle(Client("no such node"))).bind(CycleState(), make_pod(), "n1")
    assert (status.code, status.message) == (Code.Error, "no such node")
