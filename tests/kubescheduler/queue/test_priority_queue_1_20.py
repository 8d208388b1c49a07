"""The queue of 1.20: which events move whom."""

from __future__ import annotations

import msgspec

from clusterstate.objects import Affinity, LabelSelector, PodAffinity, PodAffinityTerm
from tests.support.build import labels, make_node, make_pod
from tests.support.queues import FIT, Setting


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
