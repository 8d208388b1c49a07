"""What the queues of releases between those that are described whole do otherwise."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from clusterstate.objects import Container, ContainerPort, Node, Pod, Taint
from kubescheduler.framework.plugins.plugin_record import events_by_plugin
from kubescheduler.queue.entry import Place
from kubescheduler.queue.queueing_hints import QueueingHints
from kubescheduler.queue.scheduling_queue import SchedulingQueue
from kubescheduler.releases.lookup import RELEASES
from tests.support.build import labels, make_node, make_pod, resources
from tests.support.queues import ERROR, MAKERS, Rejection, Setting

POD = make_pod("p")


def setting(release: str, monkeypatch: pytest.MonkeyPatch) -> Setting:
    """The queue of any release with plugins."""
    rules = RELEASES[release].framework_rules
    policy = rules.queue()
    hints = QueueingHints(events_by_plugin(rules.plugins) if policy.events is None else policy.events)
    monkeypatch.setitem(MAKERS, release, partial(SchedulingQueue, policy=policy, hints=hints))
    return Setting(release)


def rejected_by(*plugins: str) -> Rejection:
    return Rejection(frozenset(plugins))


MORE_CPU = (make_node("n1"), make_node("n1", allocatable=resources(cpu=64)))
LABELLED = (make_node("n1"), make_node("n1", label={"a": "b"}))


@pytest.mark.parametrize(
    ("plugin", "update", "moving"),
    [
        ("NodeAffinity", MORE_CPU, {"1.20", "1.21", "1.24", "1.31"}),
        ("NodeAffinity", LABELLED, {"1.20", "1.21", "1.22", "1.24", "1.31", "1.32"}),
        ("NodeResourcesFit", LABELLED, {"1.20", "1.24", "1.31"}),
        ("NodeResourcesFit", MORE_CPU, {"1.20", "1.21", "1.22", "1.24", "1.31", "1.32"}),
        ("VolumeBinding", MORE_CPU, {"1.20", "1.21", "1.22"}),
    ],
    ids=["affinity amounts", "affinity labels", "fit labels", "fit amounts", "volumes amounts"],
)
def test_updates_of_nodes(
    plugin: str, update: tuple[Node, Node], moving: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They move a pod if a plugin that rejected it registered them."""
    found = set()
    for release in ("1.20", "1.21", "1.22", "1.24", "1.31", "1.32"):
        here = setting(release, monkeypatch)
        here.add_and_fail(POD, why=rejected_by(plugin))
        here.queue.node_updated(*update)
        if here.queue.place(POD) is not Place.UNSCHEDULABLE:
            found.add(release)
    assert found == moving


PORT = (Container("c", ports=(ContainerPort(80),)),)
SELECTING = make_pod("p", node_selector=labels({"a": "b"}))


@pytest.mark.parametrize(
    ("pod", "node", "passes"),
    [
        (POD, make_node("n1"), True),
        (make_pod("p", containers=PORT), make_node("n1"), False),
        (SELECTING, make_node("n1"), False),
        (SELECTING, make_node("n1", {"a": "b"}), True),
        (make_pod("p", requests=resources(cpu=4001)), make_node("n1"), False),
        (POD, make_node("n1", taints=[Taint("a", "", "NoSchedule")]), False),
        (POD, make_node("n1", taints=[Taint("a", "", "NoExecute")]), True),
        (POD, make_node("n1", unschedulable=True), True),
    ],
)
def test_a_first_look_at_a_node(pod: Pod, node: Node, passes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """From 1.22 to 1.31 a node moves only pods that resources, ports, selector and NoSchedule taints let there."""
    for release in ("1.21", "1.22", "1.27", "1.31", "1.32"):
        here = setting(release, monkeypatch)
        here.cache.add(make_pod("held", node="n1", containers=PORT))
        here.add_and_fail(pod, why=ERROR)
        here.cache.add_node(node)
        here.queue.node_added(node)
        moved = here.queue.place(pod) is not Place.UNSCHEDULABLE
        assert moved is (passes or release in ("1.21", "1.32")), release


@pytest.mark.parametrize("release", ["1.21", "1.27", "1.31"])
def test_any_event_moves_a_pod_that_erred(release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No plugin rejected it, so nothing is known of what would help."""
    here = setting(release, monkeypatch)
    here.add_and_fail(POD, why=ERROR)
    assert here.queue.place(POD) is Place.UNSCHEDULABLE
    here.queue.node_updated(*LABELLED)
    assert here.queue.place(POD) is Place.BACKOFF


@pytest.mark.parametrize(
    ("release", "place"), [("1.20", Place.ACTIVE), ("1.21", Place.BACKOFF), ("1.31", Place.BACKOFF)]
)
def test_a_pod_in_back_off_changes(release: str, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """From 1.21 on it goes on waiting."""
    here = setting(release, monkeypatch)
    here.add_and_fail(POD, why=rejected_by("NodeResourcesFit"))
    here.queue.node_added(make_node("n2"))
    assert here.queue.place(POD) is Place.BACKOFF
    here.queue.update(POD, make_pod("p", label={"a": "b"}))
    assert here.queue.place(POD) is place


@pytest.mark.parametrize(("release", "seconds"), [("1.23", 90.0), ("1.24", 330.0), ("1.31", 330.0), ("1.36", 330.0)])
def test_how_long_a_pod_lies(release: str, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an event it is tried again after 60 seconds, from 1.24 on after 300."""
    here = setting(release, monkeypatch)
    here.now = 15.0
    here.add_and_fail(POD, why=rejected_by("NodeName"))
    assert here.queue.next_flush() == seconds


@pytest.mark.parametrize(
    ("release", "rejections", "errors"), [("1.32", 2.5, 4.5), ("1.33", 3.0, 5.0), ("1.34", 3.0, 2.0)]
)
def test_back_offs(release: str, rejections: float, errors: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their ends are whole seconds from 1.33 on; from 1.34 on errors are counted apart."""

    def end_after(*failures: Rejection) -> float:
        here = setting(release, monkeypatch)
        here.now = 0.5
        here.queue.add(POD)
        for why in failures:
            entry = here.queue.pop()
            assert entry is not None
            here.queue.put_back(entry, POD, why)
            here.queue.activate([POD])
        [entry] = here.queue.entries()
        return entry.backoff_until + (1.0 if RELEASES[release].framework_rules.queue().tries_early else 0.0)

    why = rejected_by("NodeName")
    assert (end_after(why, why), end_after(why, why, ERROR)) == (rejections, errors)


@pytest.mark.parametrize(("release", "early"), [("1.32", False), ("1.33", True)])
def test_pods_that_need_not_wait(release: str, early: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """From 1.33 on a pod in back-off is tried when there is nothing else to do."""
    here = setting(release, monkeypatch)
    here.add_and_fail(POD, why=rejected_by("NodeName"))
    here.queue.node_added(make_node("n3"))
    assert here.queue.place(POD) is Place.BACKOFF
    assert (here.pop() is not None) is early


@pytest.mark.parametrize(("release", "kept"), [("1.27", False), ("1.28", True), ("1.29", False), ("1.32", True)])
def test_events_during_an_attempt(release: str, kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they are kept, one that no plugin registered does not have the pod tried again."""
    here = setting(release, monkeypatch)
    here.queue.add(POD)
    entry = here.queue.pop()
    assert entry is not None
    here.queue.node_updated(*LABELLED)
    here.queue.put_back(entry, POD, rejected_by("VolumeRestrictions"))
    assert here.queue.place(POD) is (Place.UNSCHEDULABLE if kept else Place.BACKOFF)


def gated(pod: Pod, _: str) -> Any:
    return pod.metadata.labels.get("gated") and rejected_by_gates


class _Gates:
    plugin, message = "SchedulingGates", "waiting"


rejected_by_gates = _Gates()


def test_a_held_back_pod_that_changes_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """1.27 asks PreEnqueue plugins again."""
    setting("1.27", monkeypatch)
    here = Setting("1.27", pre_enqueue=gated)
    held = make_pod("p", label={"gated": "yes"})
    here.queue.add(held)
    here.queue.update(held, make_pod("p", label={"gated": "yes", "a": "b"}))
    assert here.queue.place(held) is Place.GATED
    here.queue.update(held, POD)
    assert here.queue.place(POD) is Place.ACTIVE
