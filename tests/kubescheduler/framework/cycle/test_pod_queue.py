"""The simple queue: order, gates, and what comes back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.errors import ClusterStateError
from kubescheduler.core.status import Status
from kubescheduler.framework.contract.clocks import ManualTime
from kubescheduler.framework.cycle.failures import FailureRecord, Stage
from kubescheduler.framework.cycle.pod_queue import SimpleQueue
from tests.support.build import make_pod


def less(one: Any, other: Any) -> bool:
    """Higher priority first, then who came first."""
    return bool((-one.pod.priority, one.timestamp) < (-other.pod.priority, other.timestamp))


def failure(**fields: Any) -> FailureRecord:
    return FailureRecord(make_pod(), Stage.BIND, "R", "m", **fields)


@given(st.lists(st.integers(0, 3)))
def test_pods_come_in_order(priorities: list[int]) -> None:
    """Equal pods come in the order they were added."""
    queue = SimpleQueue(less, ManualTime().now)
    for at, priority in enumerate(priorities):
        queue.add(make_pod(f"p{at}", priority=priority))
    assert len(queue) == len(priorities)
    popped = [entry.pod for entry in iter(queue.pop, None)]
    expected = sorted(range(len(priorities)), key=lambda at: -priorities[at])
    assert [pod.metadata.name for pod in popped] == [f"p{at}" for at in expected]


def test_a_new_version_takes_the_place_of_the_old_one() -> None:
    """It keeps its time, but its priority counts anew."""
    time = ManualTime()
    queue = SimpleQueue(less, time.now)
    queue.add(make_pod("a", priority=5))
    time.advance(1)
    queue.add(make_pod("b", priority=1))
    queue.add(make_pod("a", priority=1))
    assert [entry.pod.metadata.name for entry in iter(queue.pop, None)] == ["a", "b"]


def test_a_pod_that_is_gone() -> None:
    """It is not popped."""
    queue = SimpleQueue(less, ManualTime().now)
    queue.add(make_pod())
    queue.remove(make_pod())
    assert queue.pop() is None


def test_what_comes_back() -> None:
    """Attempts and rejectors are kept; a pod comes back once."""
    queue = SimpleQueue(less, ManualTime().now)
    pod = make_pod()
    queue.add(pod)
    entry = queue.pop()
    assert entry is not None
    queue.put_back(entry, pod, failure(rejectors=frozenset({"A"})))
    with pytest.raises(ClusterStateError, match=r"^Pod default/p is already present in unschedulable queue$"):
        queue.put_back(entry, pod, failure())
    assert queue.pop() is None
    queue.done(pod)
    queue.activate([pod, make_pod("unknown")])
    again = queue.pop()
    assert again is not None
    assert (again.attempts, again.rejectors) == (2, {"A"})


def test_a_gated_pod_names_its_gate() -> None:
    """The plugin that held it back is asked first, and is one of its rejectors."""
    asked: list[str] = []

    def gate(pod: Any, first: str) -> Status:
        asked.append(first)
        return Status.unschedulable("no").by("Gate")

    queue = SimpleQueue(less, ManualTime().now, gate)
    queue.add(make_pod())
    queue.move_all()
    assert asked == ["", "Gate"]
    assert queue.gated() == {"default/p": "Gate"}
