"""The queues of 1.20 and 1.36: who is next, when failed pods return, which events move whom, and what is held back."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import attrs
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterstate.cache import ClusterCache
from clusterstate.errors import ClusterStateError
from clusterstate.objects import Affinity, LabelSelector, Pod, PodAffinity, PodAffinityTerm, Taint
from kubescheduler.cycle.scheduler_loop import SchedulerLoop
from kubescheduler.engine.loop_parts import loop_parts
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.framework.profiles.in_tree_plugins import PLUGINS_1_36, events_by_plugin
from kubescheduler.queue.backoff import backoff_seconds_1_20, backoff_seconds_1_36
from kubescheduler.queue.entry import Backoff, QueueEntry, Rejection
from kubescheduler.queue.framework_queue import FrameworkQueue
from kubescheduler.queue.priority_queue_1_20 import Queue120
from kubescheduler.queue.priority_queue_1_36 import Queue136
from kubescheduler.queue.queueing_hints import Hopes
from tests.support.build import cache_of, labels, make_node, make_pod, resources

FIT = Rejection(frozenset({"NodeResourcesFit"}))
ERROR = Rejection()

MAKERS: dict[str, Callable[..., FrameworkQueue]] = {
    "1.20": Queue120,
    "1.36": partial(Queue136, hopes=Hopes(events_by_plugin(PLUGINS_1_36))),
}


class Setting:
    """A queue, its cluster, and a clock that is turned by hand."""

    def __init__(self, release: str, **options: Any) -> None:
        self.now = 0.0
        self.cache = cache_of([make_node("n1"), make_node("n2")])
        self.queue = MAKERS[release](lambda: self.now, self.cache, **options)

    def fail(self, pod: Pod, why: Rejection = FIT) -> None:
        """One attempt that fails at once."""
        entry = self.queue.pop()
        assert entry is not None
        assert entry.pod == pod
        self.queue.put_back(entry, pod, why)

    def add_and_fail(self, *pods: Pod, why: Rejection = FIT) -> None:
        for pod in pods:
            self.queue.add(pod)
            self.fail(pod, why)

    def flush_until(self, until: float) -> None:
        """To a later moment, with every tick on the way."""
        while (tick := self.queue.next_flush()) is not None and tick <= until:
            self.now = tick
            self.queue.flush_due()
        self.now = until

    def popped(self) -> list[str]:
        names = []
        while (entry := self.queue.pop()) is not None:
            names.append(entry.pod.metadata.name)
        return names


@pytest.fixture(params=list(MAKERS))
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# --- what both do ----------------------------------------------------------------------------


def test_higher_priority_first_then_first_come(release: str) -> None:
    """Equal in both, pods come in the order in which they were added."""
    setting = Setting(release)
    for now, name, priority in ((0, "a", 0), (0, "b", 5), (1, "c", 5), (1, "d", 5), (2, "e", 9)):
        setting.now = now
        setting.queue.add(make_pod(name, priority=priority))
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
    [
        (1, 10, 1, 1),
        (1, 10, 2, 2),
        (1, 10, 4, 8),
        (1, 10, 5, 10),
        (1, 10, 5000, 10),
        (3, 12, 3, 12),
        (10, 10, 2, 10),
    ],
)
def test_the_wait_doubles(initial: float, longest: float, failures: int, expected: float) -> None:
    """Up to the longest one, in both releases."""
    assert backoff_seconds_1_20(failures, initial, longest) == expected
    assert backoff_seconds_1_36(failures, initial, longest) == expected


def test_nothing_to_wait_for_before_a_failure() -> None:
    """1.36 counts from the first failure on."""
    assert backoff_seconds_1_36(0, 1, 10) == 0


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


# --- 1.20 ------------------------------------------------------------------------------------


def test_any_event_moves_all_in_1_20() -> None:
    """Those whose back-off is not over wait for its end, and come with the next whole second."""
    setting = Setting("1.20")
    setting.add_and_fail(make_pod("a"))
    setting.now = 0.4
    setting.add_and_fail(make_pod("b"))
    setting.now = 1.0
    setting.queue.node_added(make_node("n3"))
    assert setting.queue.sizes == (1, 1, 0)
    assert setting.popped() == ["a"]
    setting.flush_until(2.0)
    assert setting.popped() == ["b"]


def test_an_event_during_the_attempt_in_1_20() -> None:
    """The pod goes into back-off, as the event may have come too late for it."""
    setting = Setting("1.20")
    pod = make_pod("a")
    setting.queue.add(pod)
    entry = setting.queue.pop()
    assert entry is not None
    setting.queue.assigned_pod_deleted(make_pod("gone"))
    setting.queue.put_back(entry, pod, FIT)
    assert setting.queue.sizes == (0, 1, 0)


def test_only_pods_that_want_to_be_near_are_moved_by_a_placed_one() -> None:
    """A required affinity term has to pick it."""
    setting = Setting("1.20")
    term = PodAffinityTerm("zone", LabelSelector(labels({"app": "web"})))
    setting.add_and_fail(make_pod("near", affinity=Affinity(pod_affinity=PodAffinity((term,)))), make_pod("other"))
    setting.now = 5.0
    setting.queue.assigned_pod_added(make_pod("placed", {"app": "db"}))
    assert setting.queue.sizes == (0, 0, 2)
    setting.queue.assigned_pod_updated(make_pod("placed"), make_pod("placed", {"app": "web"}))
    assert setting.popped() == ["near"]


def test_node_updates_in_1_20() -> None:
    """Only changes that matter move pods, unless no pod is unschedulable; a node less moves nothing."""
    setting = Setting("1.20")
    setting.add_and_fail(make_pod("a"))
    setting.now = 5.0
    old = make_node("n1")
    setting.queue.node_deleted(old)
    setting.queue.node_updated(old, make_node("n1", None, {"note": "x"}))
    assert setting.queue.sizes == (0, 0, 1)
    setting.queue.node_updated(old, make_node("n1", {"disk": "ssd"}))
    assert setting.queue.sizes == (1, 0, 0)


def test_updates_in_1_20() -> None:
    """A pod in back-off becomes active, an unschedulable one if more than its status changed; a new one is added."""
    setting = Setting("1.20")
    pod = make_pod("a")
    setting.add_and_fail(pod)
    setting.queue.update(pod, attrs.evolve(pod, nominated_node_name="n1"))
    assert setting.queue.sizes == (0, 0, 1)
    setting.queue.move_all()  # type: ignore[attr-defined]
    setting.queue.update(pod, pod)
    assert setting.queue.sizes == (1, 0, 0)
    setting.fail(pod)
    setting.queue.update(pod, make_pod("a", {"new": "label"}))
    assert setting.queue.sizes == (1, 0, 0)
    setting.queue.update(make_pod("b"), make_pod("b"))
    assert setting.popped() == ["a", "b"]


# --- 1.36 ------------------------------------------------------------------------------------


def test_pods_in_backoff_are_tried_when_there_is_nothing_else_to_do() -> None:
    """1.36 does not let them wait then, the first whose back-off ends first."""
    setting = Setting("1.36")
    first, second = make_pod("a"), make_pod("b", priority=5)
    setting.add_and_fail(first)
    setting.queue.activate([first])
    setting.fail(first)
    setting.add_and_fail(second)
    setting.queue.node_added(make_node("n3"))
    setting.queue.add(make_pod("new"))
    assert setting.queue.sizes == (1, 2, 0)
    assert setting.popped() == ["new", "b", "a"]


def test_pods_that_erred_wait() -> None:
    """1.36 tries them again after a back-off, without an event, and not before it ends."""
    setting = Setting("1.36")
    pod = make_pod("a")
    setting.add_and_fail(pod, why=ERROR)
    for expected in (2.0, 5.0, 10.0):
        assert setting.queue.pop() is None
        assert setting.queue.next_flush() == expected
        setting.flush_until(expected)
        setting.fail(pod, ERROR)


def test_a_rejection_ends_a_row_of_errors() -> None:
    """Then rejections count, those before the errors too."""
    setting = Setting("1.36")
    pod = make_pod("a")
    setting.queue.add(pod)
    entry = setting.queue.pop()
    assert entry is not None
    for why, counts in ((FIT, (1, 0)), (ERROR, (1, 1)), (ERROR, (1, 2)), (FIT, (2, 0))):
        entry.rejectors = why.rejectors
        setting.queue.failed(entry, 0.5)
        assert (entry.rejections, entry.errors) == counts
    assert entry.backoff_until == 2.0


@pytest.mark.parametrize(
    ("event", "moved"),
    [
        (lambda queue: queue.assigned_pod_deleted(make_pod("gone", node="n1")), ["fit", "foreign"]),
        (lambda queue: queue.assigned_pod_added(make_pod("new", node="n1")), ["foreign"]),
        (lambda queue: queue.node_added(make_node("n3")), ["affinity", "fit", "foreign", "taints"]),
        (lambda queue: queue.node_deleted(make_node("n3")), ["foreign"]),
        (
            lambda queue: queue.node_updated(make_node("n1"), make_node("n1", {"a": "b"})),
            ["affinity", "foreign"],
        ),
        (
            lambda queue: queue.node_updated(make_node("n1"), make_node("n1", taints=(Taint("t", "", "NoSchedule"),))),
            ["affinity", "fit", "foreign", "taints"],
        ),
        (
            lambda queue: queue.node_updated(make_node("n1"), make_node("n1", allocatable=resources(cpu=1))),
            ["fit", "foreign"],
        ),
        (lambda queue: queue.node_updated(make_node("n1"), make_node("n1", None, {"x": "y"})), ["foreign"]),
    ],
    ids=["pod gone", "pod placed", "node", "node gone", "labels", "taints", "amounts", "annotations"],
)
def test_events_move_the_pods_they_may_help(event: Callable[[FrameworkQueue], None], moved: list[str]) -> None:
    """Those that were rejected by a plugin that registers the event; a custom plugin hopes for everything."""
    setting = Setting("1.36")
    rejectors = {"fit": "NodeResourcesFit", "affinity": "NodeAffinity", "taints": "TaintToleration", "foreign": "Own"}
    for name, plugin in rejectors.items():
        setting.add_and_fail(make_pod(name), why=Rejection(frozenset({plugin})))
    event(setting.queue)
    assert sorted(setting.popped()) == moved


def test_pending_plugins_do_not_wait_for_the_backoff() -> None:
    """What they wait for has the pod tried at once, ahead of those in back-off."""
    setting = Setting("1.36")
    pending, rejected = make_pod("pending"), make_pod("rejected", priority=5)
    setting.add_and_fail(pending, why=Rejection(pending=frozenset({"NodeResourcesFit"})))
    setting.add_and_fail(rejected)
    setting.queue.node_added(make_node("n3"))
    assert setting.queue.sizes == (1, 1, 0)


def test_events_during_the_attempt_count_in_1_36() -> None:
    """Those that may help; a pod's own binding that failed does not."""
    setting = Setting("1.36")
    cases: tuple[tuple[str, Callable[[Pod], None], tuple[int, int, int]], ...] = (
        ("a", lambda pod: setting.queue.assigned_pod_deleted(make_pod("gone")), (0, 1, 0)),
        ("b", lambda pod: setting.queue.assigned_pod_deleted(pod, pod), (0, 0, 1)),
        ("c", lambda pod: setting.queue.assigned_pod_added(make_pod("new")), (0, 0, 1)),
        ("d", lambda pod: setting.queue.activate([pod]), (0, 1, 0)),
    )
    for name, happened, sizes in cases:
        pod = make_pod(name)
        setting.queue.add(pod)
        entry = setting.queue.pop()
        assert entry is not None
        happened(pod)
        setting.queue.put_back(entry, pod, FIT)
        assert setting.queue.sizes == sizes, name
        setting.queue.delete(pod)


@attrs.frozen
class Held:
    plugin: str = "SchedulingGates"
    message: str = "waiting"


def gates(pod: Pod, _: str) -> Held | None:
    return Held() if pod.spec.scheduling_gates else None


def test_gated_pods_are_held_back() -> None:
    """Until their gates are gone; no other event and no time helps."""
    setting = Setting("1.36", pre_enqueue=gates)
    pod = make_pod("a", scheduling_gates=("x",))
    setting.queue.add(pod)
    setting.queue.node_added(make_node("n3"))
    setting.flush_until(1000.0)
    assert setting.popped() == []
    assert (setting.queue.gate(pod), setting.queue.sizes, setting.queue.resting()) == ("waiting", (0, 0, 1), [])
    setting.queue.update(pod, make_pod("a"))
    assert setting.queue.gate(pod) == ""
    assert setting.popped() == ["a"]


def test_updates_in_1_36() -> None:
    """A pod's own update moves it only if a plugin that rejected it wants to know."""
    setting = Setting("1.36")
    pod = make_pod("a", requests=resources(cpu=1000))
    setting.add_and_fail(pod)
    labelled = make_pod("a", {"new": "label"}, requests=resources(cpu=1000))
    setting.queue.update(pod, labelled)
    assert setting.queue.sizes == (0, 0, 1)
    setting.queue.update(labelled, make_pod("a", requests=resources(cpu=500)))
    assert setting.queue.sizes == (0, 1, 0)
    setting.queue.update(pod, pod)
    assert setting.queue.sizes == (0, 1, 0)


def test_a_nomination_that_ends_has_less_important_pods_tried() -> None:
    """Its room is free again for pods of no higher priority."""
    setting = Setting("1.36")
    nominated = make_pod("nominated", priority=5, nominated="n1")
    setting.add_and_fail(make_pod("low"), make_pod("same", priority=5), make_pod("high", priority=6), nominated)
    setting.queue.delete(nominated)
    assert sorted(setting.popped()) == ["low", "same"]


def test_a_nominated_pod_that_is_bound_has_no_others_tried() -> None:
    """It takes the room itself."""
    setting = Setting("1.36")
    nominated = make_pod("nominated", priority=5, nominated="n1")
    setting.add_and_fail(make_pod("low"), nominated)
    setting.queue.bound(nominated)
    assert (setting.queue.sizes, setting.cache.nominated()) == ((0, 0, 1), {})


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


def state(queue: FrameworkQueue) -> Any:
    def told(entry: QueueEntry) -> Any:
        counts = (entry.attempts, entry.rejections, entry.errors)
        return entry.pod.key, entry.timestamp, entry.backoff_until, *counts

    heaps = [sorted(map(told, heap)) for heap in queue._backoffs]
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


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(list(MAKERS)), histories, backoffs, st.integers(1, 3000))
def test_resting_is_what_ticks_come_to(
    release: str, history: list[tuple[float, str, int]], backoff: Backoff, seconds: int
) -> None:
    """Pods that are counted through time stand where every tick and every attempt would have led them."""
    one, other = lived(release, history, backoff), lived(release, history, backoff)
    moment = math.ceil(one.now) + float(seconds)
    assert one.queue.resting() is not None
    assert one.queue.rest_until(moment) == dict(in_steps(other, moment))
    assert state(one.queue) == state(other.queue)


def test_active_pods_cannot_rest(release: str) -> None:
    """They are to be tried first."""
    setting = Setting(release)
    setting.queue.add(make_pod("a"))
    assert setting.queue.resting() is None
    with pytest.raises(ClusterStateError, match="pop the others first"):
        setting.queue.rest_until(100.0)


# --- under a whole scheduler -----------------------------------------------------------------


@pytest.mark.parametrize("name", list(MAKERS))
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
