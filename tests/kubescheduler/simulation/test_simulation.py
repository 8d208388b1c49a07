"""Simulations of small clusters: who is placed when, who waits, who has to go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import msgspec
import pytest

from clusterstate.cache import ClusterCache
from clusterstate.objects import (
    Affinity,
    LabelSelector,
    Node,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    ResourceClaim,
    Service,
)
from kubescheduler.core.attempt import GenericScheduler
from kubescheduler.cycle.schedule_one import refused_binding
from kubescheduler.engine.engine_flags import EngineFlags
from kubescheduler.engine.framework_engine import FrameworkEngine
from kubescheduler.engine.legacy_engine import algorithm_for
from kubescheduler.engine.loop_parts import loop_parts
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.extender.client import HTTPExtender
from kubescheduler.simulation.simulation import LastAttempts, Simulation
from kubescheduler.simulation.simulation_report import WAITING, Level, PodRecord, ReasonCount, Report
from kubescheduler.simulation.timeline import Kind, RunEvent
from kubescheduler.simulation.workload import ON_BINDING, ON_FINISH, Arrival, Chain, NodeArrival, Workload
from tests.support.build import cache_of, labels, make_node, make_pod, resources
from tests.support.custom.extender_asking import POD, Asking, node
from tests.support.devices import HELD, SLICES, TODAY, WRITTEN, binding, make_class, pod_with, users


def one_cpu(name: str, **fields: Any) -> Pod:
    return make_pod(name, requests=resources(cpu=1000), **fields)


def small_node(name: str, cpus: int = 1) -> Node:
    return make_node(name, {"zone": name}, allocatable=resources(cpu=1000 * cpus, memory=8 << 30, pods=10))


def scheduler_for(objects: Sequence[Any], extenders: Sequence[Any] = ()) -> GenericScheduler:
    algorithm = msgspec.structs.replace(algorithm_for(EngineFlags(), None, None), extenders=tuple(extenders))
    return GenericScheduler(algorithm, cache_of(objects))


def simulated(cluster: Sequence[Any], *arrivals: Arrival, preempt: bool = False, **workload: Any) -> Report:
    grace = workload.pop("grace", 0.0)
    return Simulation(scheduler_for(cluster), Workload(arrivals, **workload), preempt=preempt, grace=grace).run()


def story(report: Report) -> dict[str, tuple[Any, ...]]:
    """Pod → (outcome, node, placed, left)."""
    return {r.pod.metadata.name: (r.outcome, r.node, r.placed, r.left) for r in report.pods}


def test_higher_priority_goes_first() -> None:
    """Of the pods of one moment."""
    report = simulated([small_node("n")], Arrival(one_cpu("low")), Arrival(one_cpu("high", priority=5)))
    assert story(report)["high"][1] == "n"
    assert [record.pod.metadata.name for record in report.pending] == ["low"]
    assert not report.every_pod_had_a_node


def test_pods_that_fit_nowhere_are_counted_by_reason() -> None:
    """With the nodes that gave the reason, over all these pods; the last attempts follow the last change."""
    odd = one_cpu("odd", node_selector=labels({"disk": "ssd"}))
    report = simulated(
        [small_node("n1"), small_node("n2")],
        Arrival(make_pod("big", requests=resources(cpu=5000))),
        Arrival(odd),
        Arrival(make_pod("late"), at=1000.0),
    )
    assert report.reasons() == [
        ReasonCount("Insufficient cpu", 1, 2),
        ReasonCount("node(s) didn't match node selector", 1, 2),
    ]
    assert report.pending[0].message == "0/2 nodes are available: 2 Insufficient cpu."
    assert report.pods[0].attempts == len([0, *range(90, 1081, 90)])
    assert report.end == 1080.0


def test_a_pod_deleted_before_it_was_placed_is_withdrawn() -> None:
    """A pod that comes and goes at one moment is tried in between."""
    report = simulated(
        [small_node("n")],
        Arrival(make_pod("big", requests=resources(cpu=5000)), leaves_at=7.0),
        Arrival(one_cpu("short"), at=2.0, leaves_at=2.0),
    )
    assert story(report) == {"big": ("withdrawn", "", None, 7.0), "short": ("finished", "n", 2.0, 2.0)}


@pytest.mark.parametrize(("grace", "placed"), [(0.0, 11.0), (30.0, 40.0)])
def test_preemption(grace: float, placed: float) -> None:
    """The preemptor is nominated and placed when its victim has left and its back-off is over."""
    report = simulated(
        [small_node("n")],
        Arrival(one_cpu("low")),
        Arrival(one_cpu("high", priority=5), at=10.0),
        Arrival(one_cpu("middle", priority=3), at=10.5),
        preempt=True,
        grace=grace,
    )
    assert story(report) == {
        "low": ("preempted", "n", 0.0, 10.0 + grace),
        "high": ("running", "n", placed, None),
        "middle": ("pending", "", None, None),
    }
    assert [(p.time, p.pod, p.node, p.victims) for p in report.preemptions] == [
        (10.0, "default/high", "n", ("default/low",))
    ]


def test_lower_nominations_are_taken_back() -> None:
    """A higher preemptor on the node that a lower one waits for."""
    report = simulated(
        [small_node("n")],
        Arrival(one_cpu("low")),
        Arrival(one_cpu("middle", priority=3), at=10.0),
        Arrival(one_cpu("high", priority=5), at=12.0),
        preempt=True,
        grace=60.0,
    )
    assert story(report)["high"] == ("running", "n", 70.0, None)
    middle = report.pods[1]
    assert (middle.outcome, middle.pod.nominated_node_name) == ("pending", "")


def test_nodes_join_and_leave() -> None:
    """A new node is a reason to try again; a node takes its pods with it."""
    report = simulated([], Arrival(one_cpu("a")), nodes=(NodeArrival(small_node("n"), at=20.0, leaves_at=50.0),))
    assert story(report) == {"a": ("lost", "n", 20.0, 50.0)}
    assert [(s.time, s.capacity[0]) for s in report.samples] == [(0.0, 0), (20.0, 1000), (50.0, 0)]
    assert report.nodes[0].changes[-1] == (50.0, (0, 0, 0))


def test_a_placed_pod_moves_those_that_must_be_near_it() -> None:
    """Nothing else would, before the minute is over."""
    term = PodAffinityTerm("zone", LabelSelector(labels({"app": "web"})))
    waiting = make_pod("near", affinity=Affinity(pod_affinity=PodAffinity((term,))))
    report = simulated([small_node("n")], Arrival(waiting), Arrival(make_pod("web", {"app": "web"}), at=5.0))
    assert story(report)["near"] == ("running", "n", 5.0, None)


def test_chains() -> None:
    """The next pod comes when one is bound, or has finished."""
    pods = [one_cpu(f"p{i}") for i in range(3)]
    for on, times in ((ON_FINISH, [0.0, 4.0, 8.0]), (ON_BINDING, [0.0, 0.0, 0.0])):
        first, *rest = [Arrival(pod, duration=4.0, chain="c") for pod in pods]
        report = simulated([small_node("n", cpus=3)], first, chains={"c": Chain(on, tuple(rest))})
        assert [record.placed for record in report.pods] == times


def test_an_ordered_chain_stops_where_a_pod_is_not_bound() -> None:
    """The third pod never comes."""
    first, *rest = [Arrival(one_cpu(f"p{i}"), chain="c") for i in range(3)]
    report = simulated([small_node("n")], first, chains={"c": Chain(ON_BINDING, tuple(rest))})
    assert [record.outcome for record in report.pods] == ["running", "pending"]


def test_utilisation() -> None:
    """Per resource over the cluster and per node: a step at every moment that changed something."""
    report = simulated(
        [small_node("a"), small_node("b", cpus=3)],
        Arrival(one_cpu("p"), duration=10.0),
        Arrival(make_pod("q", requests=resources(cpu=3000)), at=5.0, duration=15.0),
        objects=(Service(make_pod().metadata),),
    )
    assert report.resources == ("cpu", "memory", "pods")
    assert [(s.time, s.pending, s.used[0], s.used[2]) for s in report.samples] == [
        (0.0, 0, 1000, 1),
        (5.0, 1, 1000, 1),
        (10.0, 0, 3000, 1),
        (25.0, 0, 0, 0),
    ]
    assert report.level(0) == Level(mean=(10 * 0.25 + 15 * 0.75) / 25, peak=0.75, last=0.0)
    first, second = report.nodes
    assert (first.name, first.changes) == ("a", [(0.0, (0, 0, 0))])
    assert [(time, used[0]) for time, used in second.changes] == [(0.0, 1000), (10.0, 3000), (25.0, 0)]
    assert report.node_level(second, 0).peak == 1.0


def test_equal_pods_are_judged_once_while_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred replicas that fit nowhere cost one decision; each has its own record."""
    calls: list[Pod] = []
    decide = GenericScheduler.decide
    monkeypatch.setattr(GenericScheduler, "decide", lambda self, pod, **k: calls.append(pod) or decide(self, pod, **k))
    arrivals = [Arrival(make_pod(f"p{i}", requests=resources(cpu=9000))) for i in range(100)]
    report = simulated([small_node("n")], *arrivals)
    assert len(calls) == 1
    assert [record.message for record in report.pods] == ["0/1 nodes are available: 1 Insufficient cpu."] * 100
    assert report.counts()["attempts"] == 100


def test_progress_is_told() -> None:
    """Events done and known; both grow."""
    told: list[tuple[int, int]] = []
    workload = Workload((Arrival(one_cpu("a"), duration=2.0), Arrival(one_cpu("b"), at=1.0)))
    Simulation(scheduler_for([small_node("n")]), workload, progress=lambda *news: told.append(news)).run()
    assert told[0] == (1, 3)
    assert told[-1] == (3, 3)


def legacy_scheduler(*extenders: HTTPExtender) -> GenericScheduler:
    amounts = resources(cpu=4000, memory=8 << 30, pods=10)
    nodes: list[Node] = [msgspec.structs.replace(node(name), allocatable=amounts) for name in ("n0", "n1")]
    return scheduler_for(nodes, extenders)


def bound_run(*extenders: HTTPExtender) -> Report:
    scheduler = legacy_scheduler(*extenders)
    return Simulation(scheduler, Workload((Arrival(make_pod("p")), Arrival(make_pod("q"), at=5.0)))).run()


def test_the_first_with_a_bind_verb_binds(asking: Asking) -> None:
    """Without one the pod is bound at once."""
    silent, first, second = asking("good", bind_verb=""), asking("good"), asking("shout")
    for extenders, refused in (((silent, first, second), None), ((silent,), None), ((silent, second), "no")):
        text = None if refused is None else f"Binding rejected: {refused}"
        assert refused_binding(loop_parts(legacy_scheduler(*extenders)), POD, "n0") == text


def test_pods_are_bound(asking: Asking) -> None:
    """By an extender that filters and scores as well."""
    assert [record.outcome for record in bound_run(asking("good")).pods] == ["running", "running"]


def test_refused_bindings(asking: Asking) -> None:
    """The pods wait, with the extender's text, and nothing is left on the nodes."""
    report = bound_run(asking("shout", filter_verb="", prioritize_verb=""))
    assert [record.message for record in report.pods] == ["Binding rejected: no"] * 2
    assert report.reasons() == [ReasonCount("Binding rejected: no", 2, 0)]
    assert report.samples[-1].used[-1] == 0


@pytest.mark.parametrize(
    ("release", "ignorable", "message"),
    [
        ("1.20", False, "binding rejected: no"),
        ("1.20", True, "binding rejected: no"),
        ("1.36", False, "no"),
        ("1.36", True, ""),
    ],
)
def test_refused_bindings_of_framework_releases(asking: Asking, release: str, ignorable: bool, message: str) -> None:
    """In the release's words; 1.36 passes over an extender that may be ignored."""
    extender = asking("shout", filter_verb="", prioritize_verb="", ignorable=ignorable)
    engine = EngineSpec(release).engine(print)
    assert isinstance(engine, FrameworkEngine)
    nodes = [msgspec.structs.replace(node("n"), allocatable=resources(cpu=4000, memory=8 << 30, pods=10))]
    scheduler = msgspec.structs.replace(engine, extenders=(extender,)).scheduler(cache_of(nodes, engine.view))
    report = Simulation(scheduler, Workload((Arrival(make_pod("p")), Arrival(make_pod("q"), at=5.0)))).run()
    assert [record.message for record in report.pods] == [message] * 2


ROOM = resources(cpu=4000, memory=8 << 30, pods=10)
FULL = resources(cpu=0, memory=8 << 30, pods=10)
DEVICES = [make_class(), *SLICES]
SHARED = attrs.evolve(HELD, reserved_for=users("one", "two"))
LAST_POD = pod_with("c", requests=resources(cpu=1000))
MISSING = "0/2 nodes are available: 2 resourceclaim not available on the node. still not schedulable"
FULL_THERE = (
    "0/2 nodes are available: 1 Insufficient cpu, 1 resourceclaim not available on the node. still not schedulable"
)


def run(spec: EngineSpec, *cluster: object, pod: Pod = LAST_POD) -> PodRecord:
    cache = ClusterCache.of(cluster, spec.release_view())
    report = Simulation(spec.engine(print).scheduler(cache), Workload((Arrival(pod),), epoch=TODAY)).run()
    return report.pods[0]


def with_claim(claim: ResourceClaim, timeout: str = "10m") -> PodRecord:
    """A pod that shares a device of node a with others; that node has no room for the pod, and no other the device.

    Devices are looked at before room.
    """
    names = ("PrioritySort", "DynamicResources", "NodeResourcesFit", "DefaultBinder")
    profile = {
        "plugins": {"multiPoint": {"disabled": [{"name": "*"}], "enabled": [{"name": name} for name in names]}},
        "pluginConfig": [{"name": "DynamicResources", "args": {"bindingTimeout": timeout}}],
    }
    version = "kubescheduler.config.k8s.io/v1"
    component = {"apiVersion": version, "kind": "KubeSchedulerConfiguration", "profiles": [profile]}
    nodes = [make_node("a", allocatable=FULL), make_node("b", allocatable=ROOM)]
    return run(EngineSpec("1.36", component=component), *nodes, *DEVICES, claim)


@pytest.mark.parametrize(
    ("timeout", "seconds"), [("10m", 600), ("90m", 5400)], ids=["the default", "longer than a run's patience"]
)
def test_time_alone_ends_the_wait_for_a_device(timeout: str, seconds: int) -> None:
    """The pod is tried again and again, though nothing happens; when the time is over, node a will not do either."""
    record = with_claim(binding(SHARED, since=WRITTEN, node="a"), timeout)
    assert (record.outcome, record.message) == (WAITING, MISSING)
    assert record.attempts > seconds // 330


@pytest.mark.parametrize(
    "claim",
    [SHARED, binding(SHARED, node="a"), binding(SHARED, ("Ready", "True"), since=WRITTEN, node="a")],
    ids=["no conditions", "no time known", "ready"],
)
def test_a_run_ends_where_time_changes_nothing(claim: ResourceClaim) -> None:
    """One attempt tells all."""
    record = with_claim(claim)
    assert (record.outcome, record.message, record.attempts) == (WAITING, FULL_THERE, 1)


def test_what_was_said_holds_until_something_changes() -> None:
    """The cluster, or the time of a claim; only pods with claims are asked for theirs."""
    ends, now, changes = {"p": 5.0}, [4.0], [1]
    tried = LastAttempts(lambda pod: ends.get(pod.metadata.name), lambda: now[0], lambda: changes[0])
    plain, other = make_pod("p", namespace="other"), pod_with("c", name="q")
    for pod in (LAST_POD, plain, other):
        tried.note(pod)
    assert [tried.may_change(pod) for pod in (LAST_POD, plain, other)] == [True, False, False]
    assert tried.turn([other, LAST_POD, pod_with("c", name="never tried")])
    assert not tried.turn([other])
    now[0] = 6.0
    assert tried.may_change(LAST_POD)
    assert not tried.turn([LAST_POD])
    del ends["p"]
    tried.note(LAST_POD)
    assert not tried.may_change(LAST_POD)
    changes[0] = 2
    assert tried.may_change(LAST_POD)


def tiny_node(name: str, cpus: int = 1) -> Node:
    return make_node(name, allocatable=resources(cpu=1000 * cpus, memory=8 << 30, pods=10))


def events_of(release: str, workload: Workload, *nodes: Node, **options: Any) -> list[RunEvent]:
    spec = EngineSpec(release)
    scheduler = spec.engine(print).scheduler(ClusterCache.of(nodes, spec.release_view()))
    events: list[RunEvent] = []
    Simulation(scheduler, workload, listen=events.append, **options).run()
    return events


def lines(events: list[RunEvent]) -> list[str]:
    """``time kind pod node``, without what is empty."""
    return [
        " ".join([f"{e.time:g}", e.kind.value, *filter(None, (e.pod.removeprefix("default/"), e.node))]) for e in events
    ]


PREEMPTING = Workload((Arrival(one_cpu("low")), Arrival(one_cpu("high", priority=5, scheduler_name=""), at=1.0)))


@pytest.mark.parametrize("release", ["1.16", "1.20", "1.36"])
def test_preemption_is_told_step_by_step(release: str) -> None:
    """The pod is nominated, its victim is asked to leave and leaves, the pod is bound."""
    events = events_of(release, PREEMPTING, tiny_node("n"), preempt=True, grace=2.0)
    told = [line for line in lines(events) if line.split()[1] not in ("enqueued", "unschedulable", "backed-off")]
    middle = ["1 nominated high n", "1 evicted low n"]
    assert told[:3] == ["0 attempted low n", "0 bound low n", "1 attempted high"]
    assert sorted(told[3:5]) == sorted(middle)
    assert told[5:] == ["3 left low n", "3 attempted high n", "3 bound high n"]
    evicted = next(event for event in events if event.kind is Kind.EVICTED)
    assert evicted.by == "default/high"


def test_nodes_that_come_change_and_leave() -> None:
    """A node whose manifest comes again is changed; the first manifest's end is of no account then."""
    nodes = (
        NodeArrival(tiny_node("n"), 1.0, 5.0),
        NodeArrival(tiny_node("n", 2), 3.0),
        NodeArrival(tiny_node("m"), 14.0, 16.0),
    )
    arrivals = (Arrival(one_cpu("a")), Arrival(one_cpu("b")), Arrival(one_cpu("c")))
    events = events_of("1.20", Workload(arrivals, nodes))
    told = [line for line in lines(events) if "node-" in line or "bound" in line or "left" in line]
    assert [line for line in told if "node-" in line] == [
        "1 node-added n",
        "3 node-changed n",
        "14 node-added m",
        "16 node-removed m",
    ]
    assert [line for line in told if "node-" not in line] == [
        "1 bound a n",
        "3 bound b n",
        "14 bound c m",
        "16 left c m",
    ]


def test_where_a_pod_waits() -> None:
    """After an attempt that failed; attempts that were only counted are summed up."""
    later = Arrival(one_cpu("late"), at=700.0)
    events = events_of(
        "1.16", Workload((Arrival(make_pod("big", requests=resources(cpu=9000))), later)), tiny_node("n")
    )
    assert lines(events)[:3] == ["0 enqueued big", "0 attempted big", "0 unschedulable big"]
    assert events[1].message == "0/1 nodes are available: 1 Insufficient cpu."
    retried = [event for event in events if event.kind is Kind.RETRIED]
    assert [(event.time, event.attempts) for event in retried] == [(0.0, 7)]


@pytest.mark.parametrize(("release", "kind"), [("1.4", "enqueued"), ("1.20", "ignored"), ("1.36", "ignored")])
def test_pods_of_other_schedulers(release: str, kind: str) -> None:
    """Releases with profiles ignore them."""
    events = events_of(release, Workload((Arrival(one_cpu("a", scheduler_name="x")),)), tiny_node("n"))
    assert events[0].kind.value == kind


def test_gated_pods() -> None:
    """Why they are held back is told."""
    events = events_of("1.36", Workload((Arrival(one_cpu("a", scheduling_gates=("quota",))),)), tiny_node("n"))
    assert [event.to_dict() for event in events] == [
        {"time": 0.0, "kind": "gated", "pod": "default/a", "message": "waiting for scheduling gates: [quota]"}
    ]


@pytest.mark.parametrize("release", ["1.4", "1.16", "1.20", "1.36"])
def test_the_same_run_gives_the_same_bytes(release: str) -> None:
    """Every line is JSON."""
    runs = [
        [event.to_json() for event in events_of(release, PREEMPTING, tiny_node("n"), preempt=True)] for _ in range(2)
    ]
    assert runs[0] == runs[1]
    assert {msgspec.json.decode(line)["kind"] for line in runs[0]} <= {kind.value for kind in Kind}
