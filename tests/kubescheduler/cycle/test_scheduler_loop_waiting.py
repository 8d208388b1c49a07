"""SchedulerLoop: pods that wait in Permit, until they are let go or rejected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import attrs
import pytest

from clusterstate.errors import SchedulingError
from clusterstate.objects import Pod
from kubescheduler.core.status import Status
from kubescheduler.framework.contract.cycle_state import CycleState
from tests.support.build import make_pod
from tests.support.frames import answers, plugin
from tests.support.queues.loop_bench import BOTH, WAIT, Bench, bench


@attrs.define
class Gang:
    """Holds pods until ``size`` of them have a node, then lets all go."""

    handle: Any
    size: int
    name: str = "Gang"

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status | None, float]:
        waiting = self.handle.waiting_pods()
        if len(waiting) + 1 < self.size:
            return WAIT, 60.0
        for held in waiting:
            held.allow(self.name)
        return None, 0.0


@contextmanager
def gang_bench(release: str, size: int) -> Iterator[Bench]:
    gang = Gang(None, size)
    with bench(release, gang) as b:
        gang.handle = b.framework.handle
        yield b


@pytest.mark.parametrize("release", BOTH)
def test_a_gang_is_bound_together(release: str) -> None:
    """Nobody is bound until the last one has arrived."""
    with gang_bench(release, 4) as b:
        for at in range(3):
            b.add(make_pod(f"p{at}"))
        early = b.loop.run()
        assert len(b.framework.handle.waiting_pods()) == 3
        assert b.bound() == {}
        b.add(make_pod("p3", {"node": "n2"}))
        late = b.loop.settle()
        assert [attempt.outcome() for attempt in (*early, *late)] == [None] * 4
        assert b.bound() == {"p0": "n1", "p1": "n1", "p2": "n1", "p3": "n2"}
        assert b.framework.handle.waiting_pods() == ()


@pytest.mark.parametrize(
    ("release", "before", "after"),
    [("1.20", 'pod "p0" rejected while waiting on permit: ', ""), ("1.36", "0/1 nodes are available: 1 ", ".")],
)
def test_a_gang_that_is_never_complete(release: str, before: str, after: str) -> None:
    """Time runs out, and everybody goes back to the queue."""
    with gang_bench(release, 3) as b:
        b.add(make_pod("p0"), make_pod("p1"))
        attempts = b.loop.run()
        b.time.advance(60)
        b.loop.drain()
        failures = [attempt.outcome() for attempt in attempts]
        timeout = "rejected due to timeout after waiting 1m0s at plugin Gang"
        assert [failure and failure.cause.reason for failure in failures] == ["Unschedulable"] * 2
        assert failures[0] is not None
        assert failures[0].message == before + timeout + after
        assert b.services.cache.pods() == []
        assert len(b.queue) == 2


def test_a_waiting_pod_is_rejected() -> None:
    """As when it is deleted."""
    with gang_bench("1.36", 2) as b:
        b.add(make_pod())
        (attempt,) = b.loop.run()
        assert b.framework.handle.reject_waiting_pod("default/p")
        failure = attempt.outcome()
        assert failure is not None
        assert failure.message == "0/1 nodes are available: 1 removed."


def test_closing_rejects_who_still_waits() -> None:
    """No thread is left behind."""
    with gang_bench("1.36", 2) as b:
        b.add(make_pod())
        (attempt,) = b.loop.run()
    assert attempt.outcome() is not None


def test_a_failing_pre_flight_ends_the_wait() -> None:
    """The pod is not among the waiting ones any more."""
    made = plugin("A", **answers(permit=(WAIT, 60), pre_bind=None, pre_bind_pre_flight=SchedulingError("x")))
    with bench("1.36", made) as b:
        assert b.try_one(make_pod()).outcome() is not None
        assert b.framework.handle.waiting_pods() == ()
