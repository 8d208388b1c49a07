"""What the queues of 1.20 and 1.36 share: who is next, when failed pods return, and time that passes at once."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clusterstate.cache import ClusterCache
from clusterstate.errors import ClusterStateError
from kubescheduler.cycle.schedule_one import SchedulerLoop
from kubescheduler.engine.loop_parts import loop_parts
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.queue.entry import Backoff, QueueEntry
from kubescheduler.queue.queue_policy import Backoffs
from kubescheduler.queue.scheduling_queue import SchedulingQueue
from tests.support.build import make_node, make_pod, resources
from tests.support.queues import ERROR, FIT, MAKERS, Rejection, Setting

BOTH = ("1.20", "1.36")
WITH_1_16 = ("1.16", *BOTH)


@pytest.fixture(params=BOTH)
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# --- what both do ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", WITH_1_16)
def test_higher_priority_first_then_first_come(name: str) -> None:
    """Equal in both, pods come in the order in which they were added."""
    setting = Setting(name)
    for now, pod, priority in ((0, "a", 0), (0, "b", 5), (1, "c", 5), (1, "d", 5), (2, "e", 9)):
        setting.now = now
        setting.queue.add(make_pod(pod, priority=priority))
    assert setting.popped() == ["e", "b", "c", "d", "a"]
    assert setting.queue.cycle == 5


def test_another_queue_sort_orders_them(release: str) -> None:
    """A custom order replaces priority and time."""
    setting = Setting(release, order=lambda entry: (entry.pod.metadata.name,))
    for name in "cab":
        setting.queue.add(make_pod(name, priority=ord(name)))
    assert setting.popped() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("initial", "longest", "failures", "expected"),
    [(1, 10, 1, 1), (1, 10, 2, 2), (1, 10, 4, 8), (1, 10, 5, 10), (1, 10, 5000, 10), (3, 12, 3, 12), (10, 10, 2, 10)],
)
def test_the_wait_doubles(initial: float, longest: float, failures: int, expected: float) -> None:
    """Up to the longest one, in both releases."""
    assert Backoffs(Backoff(initial, longest)).seconds(failures) == expected


@pytest.mark.parametrize(("name", "lies"), [("1.20", 90.0), ("1.36", 330.0)])
def test_without_an_event_pods_lie_for_long(name: str, lies: float) -> None:
    """A tick of 30 seconds moves them once they have lain for longer than 60 seconds, or 5 minutes in 1.36."""
    setting = Setting(name)
    setting.add_and_fail(make_pod("a"))
    assert setting.queue.next_flush() == lies
    setting.flush_until(lies - 1)
    assert setting.popped() == []
    setting.flush_until(lies)
    assert setting.popped() == ["a"]


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        (
            "1.20",
            (
                "pod: default/a is already present in unschedulable queue",
                "pod: default/a is already present in the active queue",
            ),
        ),
        (
            "1.36",
            (
                "Pod default/a is already present in unschedulable queue",
                "Pod default/a is already present in the active queue",
            ),
        ),
    ],
)
def test_a_pod_comes_back_once(name: str, texts: tuple[str, str]) -> None:
    """The release's words for a pod that is there already."""
    setting = Setting(name)
    pod = make_pod("a")
    setting.queue.add(pod)
    entry = setting.queue.pop()
    assert entry is not None
    setting.queue.put_back(entry, pod, FIT)
    with pytest.raises(ClusterStateError) as raised:
        setting.queue.put_back(entry, pod, FIT)
    assert str(raised.value) == texts[0]
    setting.queue.activate([pod])
    with pytest.raises(ClusterStateError) as raised:
        setting.queue.put_back(entry, pod, FIT)
    assert str(raised.value) == texts[1]


def test_deleted_pods_are_nowhere(release: str) -> None:
    """Neither queued nor nominated."""
    setting = Setting(release)
    pod = make_pod("a", nominated="n1")
    setting.add_and_fail(pod)
    assert setting.cache.nominated()
    setting.queue.delete(pod)
    assert (len(setting.queue), pod in setting.queue, dict(setting.cache.nominated())) == (0, False, {})


def test_activated_pods_do_not_wait(release: str) -> None:
    """Whatever back-off they are in; others are passed over."""
    setting = Setting(release)
    setting.add_and_fail(make_pod("a"), make_pod("b"))
    setting.queue.activate([make_pod("b"), make_pod("unknown")])
    assert setting.popped() == ["b"]
    assert [pod.metadata.name for pod in setting.queue.pending()] == ["a"]


# --- time that passes at once ----------------------------------------------------------------


def in_steps(setting: Setting, moment: float) -> Counter[str]:
    """Every tick before a moment, every pod that becomes active failing as before."""
    tried: Counter[str] = Counter()
    while (tick := setting.queue.next_flush()) is not None and tick < moment:
        setting.now = tick
        setting.queue.flush_due()
        while (entry := setting.queue.pop()) is not None:
            tried[entry.pod.key] += 1
            setting.queue.put_back(entry, entry.pod, Rejection(entry.rejectors, entry.pending))
    return tried


def state(queue: SchedulingQueue) -> Any:
    def told(entry: QueueEntry) -> Any:
        counts = (entry.attempts, entry.rejections, entry.errors)
        return entry.pod.key, entry.timestamp, entry.backoff_until, *counts

    heaps = [sorted(map(told, heap)) for heap in (queue._waiting, queue._erring)]
    return [*heaps, list(map(told, queue._unschedulable.values())), queue.cycle]


histories = st.lists(
    st.tuples(st.integers(0, 400).map(lambda n: n / 4), st.sampled_from(["pod", "error", "event"]), st.integers(0, 2)),
    min_size=1,
    max_size=8,
)
backoffs = st.sampled_from([Backoff(), Backoff(1, 60), Backoff(5, 200), Backoff(7, 1000), Backoff(2, 2)])


def lived(release: str, history: list[tuple[float, str, int]], backoff: Backoff) -> Setting:
    """Pods came, failed, and were moved."""
    setting = Setting(release, backoff=backoff)
    for number, (at, what, priority) in enumerate(sorted(history)):
        setting.flush_until(at)
        if what == "event":
            setting.queue.node_added(make_node("n3"))
        else:
            setting.queue.add(make_pod(f"p{number}", priority=priority))
        while (entry := setting.queue.pop()) is not None:
            first = ERROR if what == "error" else FIT
            again = Rejection(entry.rejectors, entry.pending)
            setting.queue.put_back(entry, entry.pod, first if entry.attempts == 1 else again)
    return setting


@example("1.36", [(0.0, "pod", 0), (60.0, "pod", 0)], Backoff(2, 2), 271)
@example("1.20", [(0.0, "pod", 0), (0.0, "pod", 1)], Backoff(2, 2), 450)
@given(st.sampled_from(BOTH), histories, backoffs, st.integers(1, 3000))
def test_resting_is_what_ticks_come_to(
    release: str, history: list[tuple[float, str, int]], backoff: Backoff, seconds: int
) -> None:
    """Pods that are counted through time stand where every tick and every attempt would have led them."""
    one, other = lived(release, history, backoff), lived(release, history, backoff)
    moment = math.ceil(one.now) + float(seconds)
    assert one.queue.resting() is not None
    assert one.queue.rest_until(moment) == dict(in_steps(other, moment))
    assert state(one.queue) == state(other.queue)


@pytest.mark.parametrize("name", WITH_1_16)
def test_active_pods_cannot_rest(name: str) -> None:
    """They are to be tried first."""
    setting = Setting(name)
    setting.queue.add(make_pod("a"))
    assert setting.queue.resting() is None
    with pytest.raises(ClusterStateError, match="pop the others first"):
        setting.queue.rest_until(100.0)


# --- under a whole scheduler -----------------------------------------------------------------


@pytest.mark.parametrize("name", BOTH)
def test_a_schedulers_loop_takes_its_pods_from_them(name: str) -> None:
    """They are what it needs of a queue."""
    spec = EngineSpec(name)
    cache = ClusterCache.of(
        [make_node("n", allocatable=resources(cpu=1000, memory=8 << 30, pods=10))], spec.release_view()
    )
    queue = MAKERS[name](lambda: 0.0, cache)
    for pod in (make_pod(name, requests=resources(cpu=800)) for name in "ab"):
        queue.add(pod)
    parts = msgspec.structs.replace(loop_parts(spec.engine(print).scheduler(cache)), queue=queue)
    with SchedulerLoop(parts) as loop:
        outcomes = [attempt.outcome() for attempt in loop.settle()]
    assert [None if outcome is None else outcome.rejectors for outcome in outcomes] == [None, FIT.rejectors]
