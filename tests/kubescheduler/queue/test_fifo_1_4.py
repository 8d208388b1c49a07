"""The queue of 1.4: first come, first served, waits of 1 to 60 seconds."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.objects import Pod
from kubescheduler.queue.entry import arrival_order
from tests.support.build import labels, make_node, make_pod
from tests.support.queues import ERROR, Setting


def fail(setting: Setting) -> Pod:
    """The next attempt fails at once."""
    entry = setting.queue.pop()
    assert entry is not None
    setting.queue.put_back(entry, entry.pod, ERROR)
    return entry.pod


def test_first_come_first_served() -> None:
    """Priorities mean nothing; an update keeps the place."""
    setting = Setting("1.4")
    first, second = make_pod("a"), make_pod("b", priority=9)
    setting.queue.add(first)
    setting.queue.add(second)
    new = msgspec.structs.replace(first, metadata=msgspec.structs.replace(first.metadata, labels=labels({"a": "b"})))
    setting.queue.update(first, new)
    popped = [setting.queue.pop(), setting.queue.pop(), setting.queue.pop()]
    assert [entry and entry.pod for entry in popped] == [new, second, None]


def test_arrival_order() -> None:
    """Pending pods as they come, whatever their priority; those that run are passed over."""
    pods = [make_pod("a"), make_pod("b", priority=9), make_pod("c", node="n")]
    assert [pod.metadata.name for pod in arrival_order(pods)] == ["a", "b"]


def test_waits_double_up_to_a_minute() -> None:
    """1, 2, 4 … 60, 60; no event shortens them."""
    setting = Setting("1.4")
    setting.queue.add(make_pod("a"))
    setting.queue.node_added(make_node("n3"))
    times = [time for time, _ in setting.try_in_vain(until=250)]
    assert times == [0, 1, 3, 7, 15, 31, 63, 123, 183, 243]


def test_waits_not_used_for_a_minute_are_forgotten() -> None:
    """When any pod fails; the next wait is one second again."""
    setting = Setting("1.4")
    pod = make_pod("a")
    setting.queue.add(pod)
    fail(setting)
    setting.queue.delete(pod)
    setting.now = 61.0
    setting.queue.add(pod)
    fail(setting)
    assert setting.queue.next_flush() == 62.0


def test_one_wait_at_a_time() -> None:
    """A pod that is added and fails while it waits goes on waiting; one that is queued meanwhile is not doubled."""
    setting = Setting("1.4")
    pod = make_pod("a")
    setting.queue.add(pod)
    fail(setting)
    setting.now = 0.5
    setting.queue.add(pod)
    assert (len(setting.queue), setting.queue.sizes, setting.queue.pending()) == (1, (1, 0, 0), [pod])
    fail(setting)
    assert setting.queue.next_flush() == 1.0
    setting.queue.add(pod)
    setting.now = 1.0
    setting.queue.flush_due()
    assert (setting.queue.sizes, pod in setting.queue) == ((1, 0, 0), True)


@given(
    st.lists(st.floats(0, 100).map(lambda t: round(t, 1)), min_size=1, max_size=5),
    st.floats(0, 1000).map(lambda t: round(t, 1)),
)
def test_resting_is_what_vain_attempts_do(arrivals: list[float], length: float) -> None:
    """As often, and the same ones at the same times afterwards."""
    stepped, rested = pair = (Setting("1.4"), Setting("1.4"))
    for setting in pair:
        for index, now in enumerate(sorted(arrivals)):
            setting.try_in_vain(until=now)
            setting.queue.add(make_pod(f"p{index}"))
        setting.try_in_vain(until=setting.now)
    moment = stepped.now + length
    attempts = stepped.try_in_vain(until=math.nextafter(moment, 0))
    assert sum(rested.queue.rest_until(moment).values()) == len(attempts)
    stepped.now = rested.now = moment
    after = rested.try_in_vain(until=moment + 200)
    assert [time for time, _ in after] == pytest.approx([t for t, _ in stepped.try_in_vain(until=moment + 200)])
