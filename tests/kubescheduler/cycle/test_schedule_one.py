"""SchedulerLoop: which pods are tried, and attempts from the queue to the node, and back when something fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import attrs
import msgspec
import pytest

from algorithmprovider.custom_code import CustomCodeError
from clusterstate.cache import ClusterCache
from clusterstate.errors import SchedulingError
from clusterstate.objects import Pod
from kubescheduler.core.status import Code, Status
from kubescheduler.cycle.cycle_rules import PODS_TO_ACTIVATE
from kubescheduler.cycle.event_handlers import EventHandlers
from kubescheduler.cycle.schedule_one import SchedulerLoop
from kubescheduler.engine.loop_parts import loop_parts
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.plugin import PreFlight
from tests.support.build import make_node, make_pod, resources
from tests.support.deciders import Gang, Recorder, answers, plugin
from tests.support.queues import BOTH, SKIP, WAIT, Bench, SimpleQueue, U, bench


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
        assert (failure.cause.reason, failure.message) == ("SchedulerError", text)


@pytest.mark.parametrize("release", BOTH)
def test_a_pod_without_uid(release: str) -> None:
    """It cannot be assumed either."""
    pod = make_pod()
    pod = msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, uid=""))
    with bench(release, latest=lambda pod: None) as b:
        failure = b.try_one(pod).outcome()
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


class Taken(Recorder):
    """A client that takes every binding, after something else happened."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        super().__init__()
        self._meanwhile = meanwhile

    def bind(self, pod: Pod, node_name: str) -> None:
        self._meanwhile()


@attrs.define(eq=False)
class Setting:
    """A loop, what informers report to it, and the pods that they know."""

    loop: SchedulerLoop
    handlers: EventHandlers
    cache: ClusterCache
    known: dict[str, Pod]

    def changed(self, old: Pod | None, new: Pod | None) -> None:
        pod = old if new is None else new
        self.known.pop(pod.key, None)
        if new is not None:
            self.known[new.key] = new
        with self.loop.cycles.services.lock:
            self.handlers.changed(old, new)

    def tried(self) -> list[str]:
        """The names of the pods that are tried."""
        return [attempt.pod.metadata.name for attempt in self.loop.settle()]


@contextmanager
def setting(release: str, meanwhile: Callable[[Setting], object] = lambda _: None) -> Iterator[Setting]:
    """One node with room for one pod."""
    engine = EngineSpec(release=release).engine(lambda _: None)
    scheduler = engine.scheduler(ClusterCache(engine.view))
    made: list[Setting] = []
    client = Taken(lambda: meanwhile(made[0]))
    parts = loop_parts(scheduler, lambda services: msgspec.structs.replace(services, client=client), preempt=False)
    known: dict[str, Pod] = {}
    with SchedulerLoop(parts, latest=lambda pod: known.get(pod.key)) as loop:
        made.append(Setting(loop, EventHandlers(loop.cycles), parts.services.cache, known))
        made[0].handlers.changed(None, make_node("n", allocatable=resources(cpu=1000, pods=10)))
        yield made[0]


LIVE = pytest.mark.parametrize("release", ["1.16", "1.20", "1.36"])


@LIVE
def test_pods_that_go_unseen(release: str) -> None:
    """A pod that was bound and deleted while nobody watched takes up no room."""
    pod = make_pod("p", requests=resources(cpu=1000))
    with setting(release) as found:
        found.changed(None, pod)
        assert found.tried() == ["p"]
        assert pod in found.cache
        found.changed(pod, None)
        assert pod not in found.cache


@LIVE
def test_pods_that_go_while_they_are_bound(release: str) -> None:
    """The same where the pod is known to be gone before the answer to its binding comes."""
    pod = make_pod("p", requests=resources(cpu=1000))
    with setting(release, lambda found: found.changed(pod, None)) as found:
        found.changed(None, pod)
        assert found.tried() == ["p"]
        assert pod not in found.cache


@pytest.mark.parametrize("another", [pytest.param(False, id="it goes"), pytest.param(True, id="another comes")])
def test_a_pod_that_goes_while_it_is_tried(another: bool) -> None:
    """The queue gives it up: else it notes all that happens in the cluster for its sake, for good (1.36)."""
    pod = make_pod("p", requests=resources(cpu=2000))
    other = msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, uid="another"))
    with setting("1.36") as found:
        found.changed(None, pod)
        found.known.clear()
        if another:
            found.known[pod.key] = other
        assert found.tried() == ["p"]
        queue = found.loop.cycles.queue
        assert queue.in_flight()[0] == 0


@pytest.mark.parametrize(
    ("given", "patched"),
    [
        ({"pre_bind": None}, True),
        ({"pre_bind": None, "pre_bind_pre_flight": SKIP}, False),
        ({"pre_bind": None, "pre_bind_pre_flight": PreFlight()}, True),
    ],
    ids=["silent", "skip", "works"],
)
def test_the_expected_node_is_written_down(given: dict[str, Any], patched: bool) -> None:
    """Only when binding will take its time, and only if the gate is on."""
    for gates, expected in (({}, patched), ({"NominatedNodeNameForExpectation": False}, False)):
        with bench("1.36", plugin("A", **answers(**given)), writes=True, feature_gates=gates) as b:
            b.try_one(make_pod())
            assert (("default/p", {"nominatedNodeName": "n1"}) in b.recorder.patches) == expected


@pytest.mark.parametrize("works", [True, False])
def test_the_expected_node_is_taken_back(works: bool) -> None:
    """With the condition that says why the pod was not bound, where it was written down in the attempt."""
    skips = {} if works else {"pre_bind_pre_flight": SKIP}
    with bench("1.36", plugin("A", **answers(pre_bind=None, bind=U, **skips)), writes=True) as b:
        assert b.try_one(make_pod()).outcome() is not None
        said = [sorted(patch) for _, patch in b.recorder.patches]
        assert said == ([["nominatedNodeName"], ["conditions", "nominatedNodeName"]] if works else [["conditions"]])
        assert [patch.get("nominatedNodeName") for _, patch in b.recorder.patches] == (["n1", ""] if works else [None])


def test_plugins_that_skip_do_not_run() -> None:
    """What PreFlight said counts in PreBind, if the gate is on."""
    made = plugin("A", **answers(pre_bind=U, pre_bind_pre_flight=SKIP))
    with bench("1.36", made) as b:
        assert b.try_one(make_pod()).outcome() is None
    with bench("1.36", made, feature_gates={"NominatedNodeNameForExpectation": False}) as b:
        assert b.try_one(make_pod()).outcome() is not None


def test_a_binding_can_be_cancelled_for_another_pod() -> None:
    """While PreBind runs, also when its plugins do not look."""
    for looks, message in (
        (True, 'running PreBind plugin "A": preempted by DefaultPreemption'),
        (False, "preempted by DefaultPreemption"),
    ):
        started = threading.Event()

        def work(state: CycleState, *_: Any, looks: bool = looks, started: threading.Event = started) -> None:
            started.set()
            state.cancellation.wait(10)
            if looks:
                state.cancellation.check()

        with bench("1.36", plugin("A", pre_bind=work)) as b:
            b.add(make_pod())
            (attempt,) = b.loop.run()
            assert started.wait(10)
            working = b.framework.handle.pod_in_pre_bind("default/p")
            assert working.cancel("preempted by DefaultPreemption")
            failure = attempt.outcome()
            assert (failure.cause.reason, failure.message) == ("SchedulerError", message)
            assert b.framework.handle.pod_in_pre_bind("default/p") is None


@attrs.frozen
class Settings:
    bind_verb: str = "bind"


@attrs.define
class BindingExtender:
    config: Settings
    interested: bool = True
    error: str = ""
    bound: list[str] = attrs.field(factory=list)

    def is_interested(self, pod: Pod) -> bool:
        return self.interested

    def bind(self, pod: Pod, node_name: str) -> None:
        if self.error:
            raise SchedulingError(self.error)
        self.bound.append(node_name)


@pytest.mark.parametrize("release", BOTH)
def test_an_extender_binds(release: str) -> None:
    """The first that is interested and can; plugins are not asked."""
    extenders = [
        BindingExtender(Settings(""), error="cannot"),
        BindingExtender(Settings(), interested=False, error="not interested"),
        BindingExtender(Settings()),
        BindingExtender(Settings(), error="too late"),
    ]
    with bench(release, plugin("A", **answers(bind=U)), extenders=extenders) as b:
        assert b.try_one(make_pod()).outcome() is None
    assert extenders[2].bound == ["n1"]


@pytest.mark.parametrize(("release", "moved"), [("1.20", 0), ("1.36", 1)])
@pytest.mark.parametrize("answer", [U, SchedulingError("x")], ids=["rejected", "error"])
def test_a_failed_binding_is_an_event_for_other_pods(release: str, moved: int, answer: Any) -> None:
    """In 1.36 the place that came free is an event for all pods but the one that left it."""
    with bench(release, plugin("A", **answers(pre_bind=answer))) as b:
        b.try_one(make_pod("q", {"node": "error"}))
        b.try_one(make_pod())
        assert len(b.queue.unschedulable()) == 2 - moved
        following = b.loop.run_once()
        assert (following.pod.metadata.name if following else None) == ("q" if moved else None)


@pytest.mark.parametrize(("release", "tried"), [("1.20", []), ("1.36", ["q"])])
@pytest.mark.parametrize("point", ["permit", "post_bind"])
def test_plugins_activate_pods(release: str, tried: list[str], point: str) -> None:
    """Pods that a plugin of 1.36 leaves in the state are tried next."""
    other = make_pod("q", {"node": "error"})

    def ask(state: CycleState, pod: Pod, node_name: str) -> Any:
        pods = state.get(PODS_TO_ACTIVATE)
        if pods is not None:
            pods["q"] = other
        return (None, 0) if point == "permit" else None

    with bench(release, plugin("A", **{point: ask})) as b:
        b.try_one(other)
        b.try_one(make_pod())
        assert [attempt.pod.metadata.name for attempt in b.loop.run()] == tried


def test_a_plugin_that_breaks_is_not_hidden() -> None:
    """What is no scheduling error comes out of ``drain``."""
    with bench("1.36", plugin("A", **answers(pre_bind=KeyError("bug")))) as b:
        b.add(make_pod())
        b.loop.run()
        with pytest.raises(CustomCodeError, match="plugin A, pre_bind, pod default/p, node n1: KeyError: 'bug'"):
            b.loop.drain()


def test_writes_that_fail_are_noted() -> None:
    """A status that cannot be written does not change the attempt."""

    @attrs.define
    class Refusing(Recorder):
        def patch_pod_status(self, pod: Pod, status: Any) -> None:
            raise SchedulingError("refused")

    with bench("1.36", plugin("A", **answers(pre_bind=U))) as b:
        b.services.client = Refusing()
        failure = b.try_one(make_pod()).outcome()
        assert failure.message == "u"
        assert b.recorder.troubles == [
            "updating the nominated node of default/p: refused",
            "updating the status of default/p: refused",
        ]


def test_many_pods_side_by_side() -> None:
    """Bindings of many pods do not disturb one another or the attempts that go on meanwhile."""
    with bench("1.36", plugin("A", **answers(pre_bind=None, reserve=None))) as b:
        b.add(*[make_pod(f"p{at}", {"node": f"n{at % 2 + 1}"}) for at in range(200)])
        assert [attempt.outcome() for attempt in b.loop.settle()] == [None] * 200
        assert b.services.cache.snapshot().pod_count.tolist() == [100, 100]


@contextmanager
def gang_bench(release: str, size: int) -> Iterator[Bench]:
    gang = Gang(None, size, 60.0, "Gang")
    with bench(release, gang) as b:
        gang.handle = b.framework.handle
        yield b


@pytest.mark.parametrize("release", BOTH)
def test_a_gang_is_bound_together(release: str) -> None:
    """Nobody is bound until the last one has arrived."""
    with gang_bench(release, 4) as b:
        for at in range(3):
            b.add(make_pod(f"p{at}"))
        early = b.loop.run()
        assert len(b.framework.handle.waiting_pods()) == 3
        assert b.bound() == {}
        b.add(make_pod("p3", {"node": "n2"}))
        late = b.loop.settle()
        assert [attempt.outcome() for attempt in (*early, *late)] == [None] * 4
        assert b.bound() == {"p0": "n1", "p1": "n1", "p2": "n1", "p3": "n2"}
        assert b.framework.handle.waiting_pods() == ()


@pytest.mark.parametrize(
    ("release", "before", "after"),
    [("1.20", 'pod "p0" rejected while waiting on permit: ', ""), ("1.36", "0/1 nodes are available: 1 ", ".")],
)
def test_a_gang_that_is_never_complete(release: str, before: str, after: str) -> None:
    """Time runs out, and everybody goes back to the queue."""
    with gang_bench(release, 3) as b:
        b.add(make_pod("p0"), make_pod("p1"))
        attempts = b.loop.run()
        b.time.advance(60)
        b.loop.drain()
        failures = [attempt.outcome() for attempt in attempts]
        timeout = "rejected due to timeout after waiting 1m0s at plugin Gang"
        assert [failure and failure.cause.reason for failure in failures] == ["Unschedulable"] * 2
        assert failures[0].message == before + timeout + after
        assert b.services.cache.pods() == []
        assert len(b.queue) == 2


def test_a_waiting_pod_is_rejected() -> None:
    """As when it is deleted."""
    with gang_bench("1.36", 2) as b:
        b.add(make_pod())
        (attempt,) = b.loop.run()
        assert b.framework.handle.reject_waiting_pod("default/p")
        failure = attempt.outcome()
        assert failure.message == "0/1 nodes are available: 1 removed."


def test_closing_rejects_who_still_waits() -> None:
    """No thread is left behind."""
    with gang_bench("1.36", 2) as b:
        b.add(make_pod())
        (attempt,) = b.loop.run()
    assert attempt.outcome() is not None


def test_a_failing_pre_flight_ends_the_wait() -> None:
    """The pod is not among the waiting ones any more."""
    made = plugin("A", **answers(permit=(WAIT, 60), pre_bind=None, pre_bind_pre_flight=SchedulingError("x")))
    with bench("1.36", made) as b:
        assert b.try_one(make_pod()).outcome() is not None
        assert b.framework.handle.waiting_pods() == ()
