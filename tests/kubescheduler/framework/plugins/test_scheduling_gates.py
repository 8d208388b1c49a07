"""SchedulingGates."""

from __future__ import annotations

from kubescheduler.core.status import Status
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.queue_and_bind import scheduling_gates_1_36
from tests.support.build import make_pod
from tests.support.custom.extender_asking import HANDLE


def test_a_pod_waits_for_its_gates() -> None:
    """All of them are named; without any it goes on."""
    plugin = scheduling_gates_1_36(None, HANDLE)
    assert plugin.points == {Point.PRE_ENQUEUE}
    assert plugin.pre_enqueue(make_pod()) is None
    waiting = Status.unresolvable("waiting for scheduling gates: [a b.example/c]")
    assert plugin.pre_enqueue(make_pod(scheduling_gates=("a", "b.example/c"))) == waiting
