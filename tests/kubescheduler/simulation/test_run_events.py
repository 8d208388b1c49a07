"""What a simulation reports while it runs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clusterstate.cache import ClusterCache
from clusterstate.objects import Node, Pod
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.simulation.simulation import Simulation
from kubescheduler.simulation.timeline import Kind, RunEvent
from kubescheduler.simulation.workload import Arrival, NodeArrival, Workload
from tests.support.build import make_node, make_pod, resources


def one_cpu(name: str, **fields: Any) -> Pod:
    return make_pod(name, requests=resources(cpu=1000), **fields)


def small_node(name: str, cpus: int = 1) -> Node:
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
    events = events_of(release, PREEMPTING, small_node("n"), preempt=True, grace=2.0)
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
        NodeArrival(small_node("n"), 1.0, 5.0),
        NodeArrival(small_node("n", 2), 3.0),
        NodeArrival(small_node("m"), 14.0, 16.0),
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
        "1.16", Workload((Arrival(make_pod("big", requests=resources(cpu=9000))), later)), small_node("n")
    )
    assert lines(events)[:3] == ["0 enqueued big", "0 attempted big", "0 unschedulable big"]
    assert events[1].message == "0/1 nodes are available: 1 Insufficient cpu."
    retried = [event for event in events if event.kind is Kind.RETRIED]
    assert [(event.time, event.attempts) for event in retried] == [(0.0, 7)]


@pytest.mark.parametrize(("release", "kind"), [("1.4", "enqueued"), ("1.20", "ignored"), ("1.36", "ignored")])
def test_pods_of_other_schedulers(release: str, kind: str) -> None:
    """Releases with profiles ignore them."""
    events = events_of(release, Workload((Arrival(one_cpu("a", scheduler_name="x")),)), small_node("n"))
    assert events[0].kind.value == kind


def test_gated_pods() -> None:
    """Why they are held back is told."""
    events = events_of("1.36", Workload((Arrival(one_cpu("a", scheduling_gates=("quota",))),)), small_node("n"))
    assert [event.to_dict() for event in events] == [
        {"time": 0.0, "kind": "gated", "pod": "default/a", "message": "waiting for scheduling gates: [quota]"}
    ]


@pytest.mark.parametrize("release", ["1.4", "1.16", "1.20", "1.36"])
def test_the_same_run_gives_the_same_bytes(release: str) -> None:
    """Every line is JSON."""
    runs = [
        [event.to_json() for event in events_of(release, PREEMPTING, small_node("n"), preempt=True)] for _ in range(2)
    ]
    assert runs[0] == runs[1]
    assert {msgspec.json.decode(line)["kind"] for line in runs[0]} <= {kind.value for kind in Kind}
