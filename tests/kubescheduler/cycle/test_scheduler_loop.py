"""SchedulerLoop: which pods are tried, and attempts from the queue to the node, and back when something fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from clusterstate.errors import SchedulingError
from clusterstate.objects import Pod
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.cycle_state import CycleState
from tests.support.build import make_pod
from tests.support.frames import answers, plugin
from tests.support.queues.loop_bench import BOTH, SKIP, U, bench
from tests.support.queues.simple_queue import SimpleQueue


@pytest.mark.parametrize("release", BOTH)
def test_a_pod_is_bound(release: str) -> None:
    """Every point is passed in order, with one state, and the pod is in the cache in the end."""
    told: list[str] = []

    def note(point: str, answer: Any = None) -> Callable[..., Any]:
        def method(state: CycleState, pod: Pod, node_name: str) -> Any:
            told.append(f"{point} {pod.node_name} {node_name} {state.get('seen')}")
            state.write("seen", point)
            return answer

        return method

    made = plugin(
        "A",
        reserve=note("reserve"),
        permit=note("permit", (None, 0)),
        pre_bind=note("pre_bind"),
        bind=note("bind"),
        post_bind=note("post_bind"),
    )
    with bench(release, made) as b:
        attempt = b.try_one(make_pod())
        assert attempt.outcome() is None
        assert attempt.node_name == "n1"
        assert b.bound() == {"p": "n1"}
    assert told == [
        "reserve n1 n1 None",
        "permit n1 n1 reserve",
        "pre_bind n1 n1 permit",
        "bind n1 n1 pre_bind",
        "post_bind n1 n1 bind",
    ]
    note_text = "Successfully assigned default/p to n1"
    assert b.recorder.events == [("default/p", "Normal", "Scheduled", "Binding", note_text)]
    assert ("attempt", "scheduled", "default-scheduler", 0.0) in b.recorder.told


def test_with_an_api_the_pod_stays_assumed() -> None:
    """It is confirmed when it is seen on its node."""
    with bench("1.36", writes=True) as b:
        b.try_one(make_pod())
        assert b.bound() == {}
        assert b.services.cache.is_assumed(make_pod())


def test_an_assumed_pod_of_1_20_expires() -> None:
    """Two minutes after its binding, unless somebody confirms it; 1.36 waits for ever."""
    for release, expired in (("1.20", ["default/p"]), ("1.36", [])):
        with bench(release, writes=True) as b:
            b.try_one(make_pod())
            b.time.advance(120)
            assert b.loop.sweep() == []
            b.time.advance(1)
            assert [pod.key for pod in b.loop.sweep()] == expired


# --- what fails --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "given", "reason", "message"),
    [
        ("1.20", {"reserve": U}, "SchedulerError", 'running Reserve plugin "A": u'),
        ("1.36", {"reserve": U}, "Unschedulable", "0/1 nodes are available: 1 u."),
        ("1.20", {"permit": (U, 0)}, "Unschedulable", 'rejected pod "p" by permit plugin "A": u'),
        ("1.36", {"permit": (U, 0)}, "Unschedulable", "0/1 nodes are available: 1 u."),
        ("1.20", {"pre_bind": U}, "SchedulerError", 'running PreBind plugin "A": u'),
        ("1.36", {"pre_bind": U}, "Unschedulable", "u"),
        ("1.20", {"bind": U}, "SchedulerError", 'binding rejected: running Bind plugin "A": u'),
        ("1.36", {"bind": U}, "Unschedulable", "u"),
        ("1.20", {"bind": SKIP}, "SchedulerError", "binding rejected: bind status: Skip, "),
        (
            "1.36",
            {"pre_bind": None, "pre_bind_pre_flight": SchedulingError("x")},
            "SchedulerError",
            'running PreBindPreFlight "A": x',
        ),
    ],
)
def test_what_fails_is_taken_back(release: str, given: dict[str, Any], reason: str, message: str) -> None:
    """The node is free again, Reserve plugins are told, and the pod waits in the queue."""
    unreserved: list[str] = []
    made = plugin("A", **{"reserve": lambda *_: None, **answers(**given)}, unreserve=lambda *_: unreserved.append("A"))
    with bench(release, made, writes=True) as b:
        pod = make_pod()
        failure = b.try_one(pod).outcome()
        assert failure is not None
        assert (failure.cause.reason, failure.message, failure.cause.node_name) == (reason, message, "n1")
        assert pod not in b.services.cache
        assert unreserved == ["A"]
        assert b.queue.unschedulable() == [pod]
        assert b.recorder.events == [("default/p", "Warning", "FailedScheduling", "Scheduling", message)]
        condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
        *earlier, last = b.recorder.patches
        taken_back = {"nominatedNodeName": ""} if earlier == [("default/p", {"nominatedNodeName": "n1"})] else {}
        assert last == ("default/p", {"conditions": [condition], **taken_back})


def test_nobody_binds_in_1_36() -> None:
    """There is no error, so there is no event."""
    with bench("1.36", plugin("A", **answers(bind=SKIP))) as b:
        failure = b.try_one(make_pod()).outcome()
        assert failure is not None
        assert failure.cause.code is Code.Skip
        assert b.recorder.events == []
        assert len(b.queue.unschedulable()) == 1


@pytest.mark.parametrize(
    ("release", "label", "reason", "message"),
    [
        ("1.20", "", "Unschedulable", "0/2 nodes are available: ."),
        ("1.20", "error", "Unschedulable", "broken"),
        ("1.36", "error", "SchedulerError", "broken"),
    ],
)
def test_no_node_is_chosen(release: str, label: str, reason: str, message: str) -> None:
    """The algorithm's own text is told."""
    with bench(release) as b:
        attempt = b.try_one(make_pod(label={"node": label}))
        failure = attempt.outcome()
        assert failure is not None
        assert (failure.cause.reason, failure.message, attempt.node_name) == (reason, message, "")


def test_a_note_is_formatted_on_its_way() -> None:
    """The event's note goes through whatever the release does to it, the condition does not."""
    with bench("1.20", format_note=str.upper, writes=True) as b:
        b.try_one(make_pod(label={"node": "error"}))
        assert b.recorder.events[0][-1] == "BROKEN"
        assert b.recorder.patches[0][1]["conditions"][0]["message"] == "broken"


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("1.20", "pod default/p is in the cache, so can't be assumed"),
        ("1.36", "pod default/p(default/p) is in the cache, so can't be assumed"),
    ],
)
def test_a_pod_that_is_placed_already(release: str, text: str) -> None:
    """It cannot be assumed."""
    with bench(release) as b:
        b.services.cache.add_pod(make_pod(node="n2"))
        failure = b.try_one(make_pod()).outcome()
        assert failure is not None
        assert (failure.cause.reason, failure.message) == ("SchedulerError", text)


@pytest.mark.parametrize("release", BOTH)
def test_a_pod_without_uid(release: str) -> None:
    """It cannot be assumed either."""
    pod = make_pod()
    pod = msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, uid=""))
    with bench(release, latest=lambda pod: None) as b:
        failure = b.try_one(pod).outcome()
        assert failure is not None
        assert failure.message == "cannot get cache key for pod with empty UID"


# --- which pods are tried ----------------------------------------------------------------------


@pytest.mark.parametrize("release", BOTH)
def test_other_schedulers_pods_are_dropped(release: str) -> None:
    """That is only noted."""
    with bench(release) as b:
        attempt = b.try_one(make_pod(scheduler_name="other"))
        assert (attempt.decision, attempt.node_name) == (None, "")
        assert b.recorder.troubles == ['profile not found for scheduler name "other"']
        assert len(b.queue) == 0


@pytest.mark.parametrize("release", BOTH)
def test_deleted_pods_are_passed_over(release: str) -> None:
    """An event tells so."""
    with bench(release) as b:
        assert b.try_one(make_pod(deleting=True)).decision is None
        note = "skip schedule deleting pod: default/p"
        assert b.recorder.events == [("default/p", "Warning", "FailedScheduling", "Scheduling", note)]


def test_assumed_pods_are_passed_over() -> None:
    """1.20 tries a changed one again, in vain."""
    changed = make_pod(label={"a": "b"})
    with bench("1.36", writes=True) as b:
        b.try_one(make_pod())
        assert b.try_one(changed).passed_over == "pod default/p is assumed already"
    with bench("1.20", writes=True) as b:
        b.try_one(make_pod())
        assert b.try_one(make_pod()).passed_over
        failure = b.try_one(changed).outcome()
        assert failure is not None
        assert failure.message.endswith("so can't be assumed")


def test_gated_pods_wait() -> None:
    """A pod that PreEnqueue refuses is not tried until it is let in."""
    closed = {"p"}

    def gate(pod: Pod) -> Status | None:
        return Status.unschedulable("closed") if pod.metadata.name in closed else None

    with bench("1.36", plugin("Gate", pre_enqueue=gate)) as b:
        b.add(make_pod(), make_pod("q"))
        assert b.queue.gated() == {"default/p": "Gate"}
        assert [attempt.pod.metadata.name for attempt in b.loop.settle()] == ["q"]
        b.queue.move_all()
        assert b.loop.settle() == []
        closed.clear()
        b.queue.move_all()
        assert [attempt.pod.metadata.name for attempt in b.loop.settle()] == ["p"]
        assert b.bound() == {"p": "n1", "q": "n1"}


@pytest.mark.parametrize(
    ("release", "now", "queued"),
    [
        ("1.20", None, 0),
        ("1.36", None, 0),
        ("1.36", make_pod(node="n2"), 0),
        ("1.36", make_pod(namespace="other"), 0),
        ("1.20", make_pod(label={"new": ""}), 1),
    ],
    ids=["gone", "gone too", "bound", "another", "newer"],
)
def test_the_newest_pod_is_put_back(release: str, now: Pod | None, queued: int) -> None:
    """What the pod has become decides whether it is tried again."""
    with bench(release, latest=lambda pod: now) as b:
        b.try_one(make_pod(label={"node": "error"}))
        assert b.queue.unschedulable() == ([now] if queued else [])


def test_a_pod_that_came_back_meanwhile() -> None:
    """It is not put back twice."""
    queue: list[SimpleQueue] = []

    def arrives(pod: Pod) -> Pod:
        queue[0].add(pod)
        return pod

    with bench("1.36", latest=arrives) as b:
        queue.append(b.queue)
        b.try_one(make_pod(label={"node": "error"}))
        assert b.recorder.troubles == ["Pod default/p is already present in the active queue"]
