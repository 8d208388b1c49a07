"""The queue of 1.16: which pod is next, when failed ones return, and what moves them."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, precondition, rule

from clusterstate.errors import ClusterStateError
from clusterstate.objects import (
    Affinity,
    LabelSelector,
    NodeCondition,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    Requirement,
    StorageClass,
    Taint,
)
from kubescheduler.queue.entry import Backoff, KeyedHeap, QueueEntry, queue_order
from kubescheduler.queue.queue_policy import (
    BackoffsByKey,
    changes_more_than_status,
    node_update_moves,
    object_change_moves,
    wants_to_be_near,
)
from tests.support.build import labels, make_node, make_pod, resources
from tests.support.queues import ERROR, Setting


def near(app: str, **term: Any) -> Affinity:
    selector = LabelSelector(labels({"app": app}))
    return Affinity(pod_affinity=PodAffinity((PodAffinityTerm("zone", selector, **term),)))


@pytest.mark.parametrize(
    ("attempts", "seconds"), [(0, 1), (1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (6, 10), (2000, 10)]
)
def test_the_wait_doubles_up_to_ten_seconds(attempts: int, seconds: float) -> None:
    """1, 2, 4, 8, 10, 10 …."""
    assert BackoffsByKey(Backoff()).seconds(attempts) == seconds


def test_a_failure_during_the_wait_does_not_lengthen_it() -> None:
    """The counter rises when the wait is over; a record idle for more than ten seconds is forgotten."""
    backoffs = BackoffsByKey(Backoff())
    pod, other = (QueueEntry(make_pod(name), 0.0, 0.0) for name in ("p", "other"))
    ends = []
    for now in (0.0, 0.5, 1.0, 2.0, 3.0):
        backoffs.failed(pod, now)
        ends.append(pod.backoff_until)
    assert ends == [1.0, 1.0, 3.0, 3.0, 7.0]
    backoffs.failed(other, 13.0)
    backoffs.failed(pod, 13.0)
    assert pod.backoff_until == 21.0
    backoffs.failed(other, 23.5)
    backoffs.failed(pod, 23.5)
    assert pod.backoff_until == 24.5


def test_a_failed_pod_waits_for_an_event() -> None:
    """Without a move it is unschedulable; a move during its back-off takes it to the back-off queue."""
    setting = Setting("1.16")
    pod = make_pod("a")
    setting.queue.add(pod)
    setting.fail(pod)
    assert setting.queue.sizes == (0, 0, 1)
    setting.now = 0.5
    setting.queue.node_added(make_node("n3"))
    assert setting.queue.sizes == (0, 1, 0)
    setting.flush_until(setting.now + 0.4)
    assert setting.pop() is None
    setting.flush_until(setting.now + 0.1)
    assert setting.pop() == pod


def test_a_move_after_the_backoff_makes_active() -> None:
    """There is nothing left to wait for."""
    setting = Setting("1.16")
    pod = make_pod("a")
    setting.queue.add(pod)
    setting.fail(pod)
    setting.now = 1.5
    setting.queue.node_added(make_node("n3"))
    assert setting.queue.sizes == (1, 0, 0)


@pytest.mark.parametrize(("when", "sizes"), [("before", (0, 0, 1)), ("during", (0, 1, 0)), ("after", (0, 1, 0))])
def test_a_move_during_or_after_the_attempt_is_not_missed(when: str, sizes: tuple[int, int, int]) -> None:
    """Then the pod waits out its back-off only: the event may have come too late for the attempt."""
    setting = Setting("1.16")
    pod, other = make_pod("a"), make_pod("b")
    setting.queue.add(pod)
    if when == "before":
        setting.queue.node_added(make_node("n3"))
    entry = setting.queue.pop()
    assert entry is not None
    if when == "after":
        setting.queue.add(other)
        assert setting.pop() == other
    if when != "before":
        setting.queue.node_added(make_node("n3"))
    setting.queue.put_back(entry, pod, ERROR)
    assert setting.queue.sizes == sizes


def test_an_assigned_pod_moves_those_that_must_be_near_it() -> None:
    """Others stay, also when they merely prefer to be near."""
    setting = Setting("1.16")
    waiting = make_pod("near", affinity=near("web"))
    for pod in (waiting, make_pod("plain"), make_pod("other", affinity=near("db"))):
        setting.queue.add(pod)
        setting.fail(pod)
    setting.now = 2.0
    setting.queue.assigned_pod_added(make_pod("w", {"app": "web"}, node="n1"))
    assert setting.popped() == ["near"]


@pytest.mark.parametrize(
    ("term", "placed", "expected"),
    [
        ({}, make_pod("w", {"app": "web"}), True),
        ({}, make_pod("w", {"app": "db"}), False),
        ({}, make_pod("w", {"app": "web"}, namespace="other"), False),
        ({"namespaces": ("other",)}, make_pod("w", {"app": "web"}, namespace="other"), True),
    ],
    ids=["match", "labels", "namespace", "named namespace"],
)
def test_terms_match_namespace_and_labels(term: dict[str, Any], placed: Pod, expected: bool) -> None:
    """A term without namespaces looks into its pod's own."""
    assert wants_to_be_near(make_pod(affinity=near("web", **term)), placed) is expected


def test_an_invalid_term_picks_nothing() -> None:
    """It is no reason to stop either."""
    bad = LabelSelector(match_expressions=(Requirement("a", "Odd"),))
    affinity = Affinity(pod_affinity=PodAffinity((PodAffinityTerm("zone", bad),)))
    assert not wants_to_be_near(make_pod(affinity=affinity), make_pod("w"))
    assert not wants_to_be_near(make_pod(affinity=Affinity()), make_pod("w"))


NODE = make_node("n", conditions=(NodeCondition("Ready", "True"),))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (NODE, NODE, False),
        (msgspec.structs.replace(NODE, unschedulable=True), NODE, True),
        (NODE, msgspec.structs.replace(NODE, unschedulable=True), False),
        (NODE, msgspec.structs.replace(NODE, allocatable=resources(cpu=1)), True),
        (NODE, msgspec.structs.replace(NODE, metadata=ObjectMeta("n", labels=labels({"a": "b"}))), True),
        (NODE, msgspec.structs.replace(NODE, taints=(Taint("a"),)), True),
        (NODE, msgspec.structs.replace(NODE, conditions=(NodeCondition("Ready", "False"),)), True),
        (NODE, msgspec.structs.replace(NODE, images=()), False),
    ],
    ids=["same", "schedulable again", "cordoned", "allocatable", "labels", "taints", "conditions", "images"],
)
def test_which_node_updates_move(old: Any, new: Any, expected: bool) -> None:
    """Only those that may let a pod in."""
    assert node_update_moves(old, new) is expected


def test_which_storage_classes_move() -> None:
    """Those that bind when the first pod comes."""
    assert object_change_moves(None, StorageClass(ObjectMeta("s"), volume_binding_mode="WaitForFirstConsumer"))
    assert not object_change_moves(None, StorageClass(ObjectMeta("s"), volume_binding_mode="Immediate"))


def test_unschedulable_pods_move_after_a_minute() -> None:
    """At the first tick of thirty seconds at which they have lain for more than sixty."""
    setting = Setting("1.16")
    pod = make_pod("a")
    setting.queue.add(pod)
    setting.fail(pod)
    setting.flush_until(setting.now + 89)
    assert setting.pop() is None
    setting.flush_until(setting.now + 1)
    assert (setting.now, setting.pop()) == (90.0, pod)


@pytest.mark.parametrize(
    ("state", "labelled", "active"),
    [("active", False, True), ("backoff", False, True), ("unschedulable", False, False), ("unschedulable", True, True)],
)
def test_updates(state: str, labelled: bool, active: bool) -> None:
    """In back-off any update makes active; of an unschedulable pod one that touches more than its status."""
    setting = Setting("1.16")
    old = make_pod("a")
    new = msgspec.structs.replace(old, nominated_node_name="n1")
    if labelled:
        new = msgspec.structs.replace(new, metadata=msgspec.structs.replace(old.metadata, labels=labels({"a": "b"})))
    setting.queue.add(old)
    if state != "active":
        setting.fail(old)
    if state == "backoff":
        setting.queue.node_added(make_node("n3"))
    setting.queue.update(old, new)
    assert setting.queue.pending() == [new]
    assert (setting.pop() == new) is active
    assert [pod.key for pod in setting.cache.nominated()["n1"]] == [new.key]


def manifest(**changed: Any) -> dict[str, Any]:
    """A pod's, with other metadata."""
    metadata = {"name": "a", "resourceVersion": "1", "generation": 1, "managedFields": [], **changed}
    return {"metadata": metadata, "spec": {}, "status": {"conditions": sorted(changed)}}


@pytest.mark.parametrize(
    ("changed", "more"),
    [
        pytest.param({}, False, id="nothing"),
        pytest.param({"resourceVersion": "2", "generation": 2}, False, id="version, generation, status"),
        pytest.param({"managedFields": [{"manager": "kube-scheduler"}]}, True, id="managedFields"),
        pytest.param({"finalizers": ["example.com/a"]}, True, id="finalizers"),
    ],
)
def test_manifests_count_as_updates(changed: dict[str, Any], more: bool) -> None:
    """All that a manifest says but its status, version and generation, where both are kept."""
    pod = make_pod("a")
    old, new = (msgspec.structs.replace(pod, manifest=said) for said in (manifest(), manifest(**changed)))
    assert changes_more_than_status(old, new) is more
    assert not changes_more_than_status(pod, new)
    assert not changes_more_than_status(old, pod)


def test_an_update_of_an_unknown_pod_adds_it() -> None:
    """It was assigned to nobody we know of."""
    setting = Setting("1.16")
    setting.queue.update(make_pod("a"), make_pod("a"))
    assert setting.queue.sizes == (1, 0, 0)


@pytest.mark.parametrize(
    ("old", "new", "kept"), [("", "", "n1"), ("", "n2", "n2"), ("n1", "", None), ("n1", "n2", "n2")]
)
def test_nominations_in_memory_survive_updates_that_say_nothing(old: str, new: str, kept: str | None) -> None:
    """An update that carries a nomination on either side takes over what the new object says."""
    setting = Setting("1.16")
    before, after = make_pod("a", nominated=old), make_pod("a", nominated=new)
    setting.queue.add(before)
    setting.queue.nominate(before, "n1")
    setting.queue.update(before, after)
    assert list(setting.cache.nominated()) == ([kept] if kept else [])


def test_deletion_takes_pod_nomination_and_backoff_away() -> None:
    """A pod of the same name begins anew."""
    setting = Setting("1.16")
    pod = make_pod("a", nominated="n1")
    setting.queue.add(pod)
    setting.fail(pod)
    setting.queue.delete(pod)
    assert (len(setting.queue), setting.cache.nominated(), pod in setting.queue) == (0, {}, False)
    setting.queue.add(pod)
    setting.fail(pod)
    setting.now = 1.0
    setting.queue.node_added(make_node("n3"))
    assert setting.pop() == pod


@pytest.mark.parametrize("state", ["activeQ", "backoffQ", "unschedulableQ"])
def test_a_pod_cannot_come_back_twice(state: str) -> None:
    """Upstream's text names the queue it is in."""
    setting = Setting("1.16")
    pod = make_pod("a")
    setting.queue.add(pod)
    if state != "activeQ":
        setting.fail(pod)
    if state == "backoffQ":
        setting.queue.node_added(make_node("n3"))
    with pytest.raises(ClusterStateError, match=f"^pod is already present in {state}$"):
        setting.queue.put_back(QueueEntry(pod, 0.0, 0.0), pod, ERROR)


def test_queue_order_passes_over_what_is_not_pending() -> None:
    """Assigned, finished and deleted pods, and other objects."""
    pods = [
        make_pod("a", node="n"),
        make_pod("b", deleting=True),
        msgspec.structs.replace(make_pod("c"), phase="Failed"),
    ]
    assert queue_order([*pods, make_node("n"), make_pod("d"), make_pod("e", priority=1)]) == [
        make_pod("e", priority=1),
        make_pod("d"),
    ]


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
    assert (heap.pop(), heap.peek()) == (None, None)
