"""The queues of 1.20 and 1.36: who waits for what, which events move whom, and what is held back."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import msgspec
import pytest

from clusterstate.objects import Affinity, LabelSelector, Pod, PodAffinity, PodAffinityTerm, Taint
from kubescheduler.queue.scheduling_queue import SchedulingQueue
from tests.support.build import labels, make_node, make_pod, resources
from tests.support.queues import ERROR, FIT, Rejection, Setting


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
    setting.queue.update(pod, msgspec.structs.replace(pod, nominated_node_name="n1"))
    assert setting.queue.sizes == (0, 0, 1)
    setting.queue.node_added(make_node("n3"))
    setting.queue.update(pod, pod)
    assert setting.queue.sizes == (1, 0, 0)
    setting.fail(pod)
    setting.queue.update(pod, make_pod("a", {"new": "label"}))
    assert setting.queue.sizes == (1, 0, 0)
    setting.queue.update(make_pod("b"), make_pod("b"))
    assert setting.popped() == ["a", "b"]


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
        setting.queue._backoffs.failed(entry, 0.5)
        assert (entry.rejections, entry.errors) == counts
    assert entry.backoff_until == 2.0


@pytest.mark.parametrize(
    ("event", "moved"),
    [
        (lambda queue: queue.assigned_pod_deleted(make_pod("gone", node="n1")), ["fit", "foreign"]),
        (lambda queue: queue.assigned_pod_added(make_pod("new", node="n1")), ["foreign"]),
        (lambda queue: queue.node_added(make_node("n3")), ["affinity", "fit", "foreign", "taints"]),
        (lambda queue: queue.node_deleted(make_node("n3")), ["foreign"]),
        (lambda queue: queue.node_updated(make_node("n1"), make_node("n1", {"a": "b"})), ["affinity", "foreign"]),
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
def test_events_move_the_pods_they_may_help(event: Callable[[SchedulingQueue], None], moved: list[str]) -> None:
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
    custom = Rejection(frozenset({"Own"}))
    cases: tuple[tuple[str, Callable[[Pod], None], Rejection, tuple[int, int, int]], ...] = (
        ("a", lambda pod: setting.queue.assigned_pod_deleted(make_pod("gone")), FIT, (0, 1, 0)),
        ("b", lambda pod: setting.queue.assigned_pod_deleted(pod, pod), FIT, (0, 0, 1)),
        ("c", lambda pod: setting.queue.assigned_pod_added(make_pod("new")), FIT, (0, 0, 1)),
        ("d", lambda pod: setting.queue.assigned_pod_added(make_pod("new")), custom, (0, 1, 0)),
        ("e", lambda pod: setting.queue.activate([pod]), FIT, (0, 1, 0)),
    )
    for name, happened, why, sizes in cases:
        pod = make_pod(name)
        setting.queue.add(pod)
        entry = setting.queue.pop()
        assert entry is not None
        happened(pod)
        setting.queue.put_back(entry, pod, why)
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
