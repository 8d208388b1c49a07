"""The queue of 1.16: no pod is lost or doubled, and time that passes at once is what its ticks come to."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, precondition, rule

from clusterstate.errors import ClusterStateError
from clusterstate.objects import Pod
from kubescheduler.queue.heap import KeyedHeap
from tests.support.build import labels, make_node, make_pod
from tests.support.queues.release_queues import ERROR, Setting

NAMES = [f"p{i}" for i in range(6)]


class QueueMachine(RuleBasedStateMachine):
    """Any sequence of calls against a plain model: who is where does not matter, that all are somewhere does."""

    in_flight = Bundle("in_flight")

    def __init__(self) -> None:
        super().__init__()
        self.setting = Setting("1.16")
        self.queue = self.setting.queue
        self.queued: dict[str, Pod] = {}
        self.flying: set[str] = set()
        self.earliest: dict[str, float] = {}
        self.since: dict[str, float] = {}

    @rule(name=st.sampled_from(NAMES), priority=st.integers(0, 2))
    def add(self, name: str, priority: int) -> None:
        pod = make_pod(name, priority=priority)
        if pod.key not in self.queued and pod.key not in self.flying:
            self.queue.add(pod)
            self.queued[pod.key] = pod
            self.earliest.pop(pod.key, None)
            self.since[pod.key] = self.setting.now

    @rule(target=in_flight)
    def pop(self) -> Any:
        active = {pod.key: pod for pod in self.queue.pending()[: self.queue.sizes[0]]}
        entry = self.queue.pop()
        if entry is None:
            assert not active
            return None
        key = entry.pod.key
        assert self.queued.pop(key) == entry.pod
        assert (-entry.pod.priority, entry.timestamp) == min((-p.priority, self.since[k]) for k, p in active.items())
        assert self.setting.now >= self.earliest.get(key, 0.0)
        self.flying.add(key)
        return entry

    @rule(attempt=consumes(in_flight))
    def fail(self, attempt: Any) -> None:
        if attempt is not None:
            pod = attempt.pod
            self.queue.put_back(attempt, pod, ERROR)
            self.flying.remove(pod.key)
            self.queued[pod.key] = pod
            self.since[pod.key] = self.setting.now
            self.earliest[pod.key] = max(self.setting.now, self.earliest.get(pod.key, 0.0))

    @rule(attempt=consumes(in_flight))
    def place(self, attempt: Any) -> None:
        if attempt is not None:
            self.flying.remove(attempt.pod.key)

    @rule()
    def move_all(self) -> None:
        self.queue.node_added(make_node("n3"))
        assert self.queue.sizes[2] == 0

    @rule(name=st.sampled_from(NAMES))
    def delete(self, name: str) -> None:
        pod = make_pod(name)
        if pod.key in self.queued:
            self.queue.delete(self.queued.pop(pod.key))

    @rule(name=st.sampled_from(NAMES), value=st.sampled_from("xy"), status=st.booleans())
    def update(self, name: str, value: str, status: bool) -> None:
        old = self.queued.get(make_pod(name).key)
        if old is not None:
            meta = old.metadata if status else msgspec.structs.replace(old.metadata, labels=labels({"v": value}))
            new = msgspec.structs.replace(old, metadata=meta, start_time=value)
            self.queue.update(old, new)
            self.queued[new.key] = new
            self.earliest.pop(new.key, None)

    @rule(seconds=st.sampled_from([0.25, 1.0, 7.5, 40.0, 100.0]))
    def pass_time(self, seconds: float) -> None:
        self.setting.flush_until(self.setting.now + seconds)

    @precondition(lambda self: self.queue.resting())
    @rule(seconds=st.sampled_from([50.0, 1000.0]))
    def rest(self, seconds: float) -> None:
        for key in self.queue.rest_until(self.setting.now + seconds):
            self.earliest.pop(key, None)
        self.setting.now += seconds
        self.since |= {entry.pod.key: entry.timestamp for entry in self.queue._unschedulable.values()}

    @invariant()
    def nothing_is_lost_or_doubled(self) -> None:
        pending = self.queue.pending()
        assert {pod.key: pod for pod in pending} == self.queued
        assert len(pending) == len(self.queued) == len(self.queue)

    @invariant()
    def nobody_waits_for_ever(self) -> None:
        """Back-offs end within ten seconds and a tick, anything else within ninety seconds."""
        now = self.setting.now
        assert all(now - 1 < entry.backoff_until <= now + 10 for entry in self.queue._waiting)
        assert all(now - entry.timestamp <= 90 for entry in self.queue._unschedulable.values())


TestQueueMachine = QueueMachine.TestCase


@given(
    st.lists(st.tuples(st.floats(0, 130).map(lambda t: round(t, 1)), st.integers(0, 2)), min_size=1, max_size=6),
    st.floats(0, 1000).map(lambda t: round(t, 1)),
)
def test_resting_is_what_ticks_and_vain_attempts_do(arrivals: list[tuple[float, int]], length: float) -> None:
    """The same pods at the same times in the same order, and as many attempts."""
    pair = (Setting("1.16"), Setting("1.16"))
    for setting in pair:
        for index, (now, priority) in enumerate(sorted(arrivals)):
            setting.try_in_vain(until=now)
            setting.queue.add(make_pod(f"p{index}", priority=priority))
            setting.try_in_vain(until=now)
    stepped, rested = pair
    moment = stepped.now + length
    attempts = stepped.try_in_vain(until=math.nextafter(moment, 0))
    assert sum(rested.queue.rest_until(moment).values()) == len(attempts)
    lying = [[(entry.pod, entry.timestamp) for entry in one.queue._unschedulable.values()] for one in pair]
    assert lying[0] == lying[1]
    for setting in pair:
        setting.now = moment
        setting.queue.node_added(make_node("n3"))
    assert rested.queue.sizes == stepped.queue.sizes
    for setting in pair:
        setting.flush_until(setting.now + 20)
    assert rested.popped() == stepped.popped()
    assert rested.queue.cycle == stepped.queue.cycle


def test_only_unschedulable_pods_rest() -> None:
    """A pod that is about to be tried is no reason to let time pass."""
    setting = Setting("1.16")
    setting.queue.add(make_pod("a"))
    assert setting.queue.resting() is None
    with pytest.raises(ClusterStateError, match="pop the others first"):
        setting.queue.rest_until(100)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 3), st.booleans()), max_size=300))
def test_the_heap_is_a_sorted_dictionary(steps: list[tuple[str, int, bool]]) -> None:
    """Entries are found by key and come by rank, those of one rank by arrival."""
    heap: KeyedHeap[int] = KeyedHeap()
    model: dict[str, tuple[int, int]] = {}
    for arrival, (key, rank, remove) in enumerate(steps):
        if remove:
            assert (heap.remove(key) is None) == (model.pop(key, None) is None)
        else:
            keeps = key in model and model[key][0] == rank
            heap.put(key, rank, (rank,))
            model[key] = (rank, model[key][1] if keeps else arrival)
        assert len(heap) == len(model)
        assert set(model) == {k for k in "abcdef" if k in heap}
    order = sorted(model, key=lambda key: model[key])
    assert [heap.pop() for _ in order] == [model[key][0] for key in order]
    assert (heap.pop(), heap.peek(), heap.lowest()) == (None, None, None)
