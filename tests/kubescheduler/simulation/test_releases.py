"""Simulations of several releases: gates, other schedulers' pods, events that help, and what is said of who waits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import msgspec
import pytest

from clusterstate.cache import ClusterCache
from clusterstate.errors import SchedulingError
from clusterstate.objects import Affinity, Pod
from kubescheduler.core.status import Status
from kubescheduler.engine.framework_engine import ProfiledScheduler
from kubescheduler.engine.spec import EngineSpec, PodScheduler
from kubescheduler.framework.plugin_loading import with_plugin
from kubescheduler.framework.profile_map import order_of
from kubescheduler.simulation.simulation import Simulation
from kubescheduler.simulation.simulation_report import Report
from kubescheduler.simulation.workload import Arrival, NodeArrival, Workload
from tests.support.build import labels, make_node, make_pod, resources


def one_cpu(name: str, **fields: Any) -> Pod:
    return make_pod(name, requests=resources(cpu=1000), **fields)


def small_node(name: str, cpus: int = 1) -> Any:
    return make_node(name, {"zone": name}, allocatable=resources(cpu=1000 * cpus, memory=8 << 30, pods=10))


def scheduler_of(spec: EngineSpec, cluster: Sequence[Any]) -> PodScheduler:
    return spec.engine(print).scheduler(ClusterCache.of(cluster, spec.release_view()))


def simulated(release: str | EngineSpec, cluster: Sequence[Any], *arrivals: Arrival, **options: Any) -> Report:
    spec = EngineSpec(release) if isinstance(release, str) else release
    nodes = options.pop("nodes", ())
    return Simulation(scheduler_of(spec, cluster), Workload(arrivals, nodes), **options).run()


def story(report: Report) -> dict[str, tuple[Any, ...]]:
    """Pod → (outcome, node, attempts, left)."""
    return {r.pod.metadata.name: (r.outcome, r.node, r.attempts, r.left) for r in report.pods}


@pytest.fixture(params=["1.16", "1.20", "1.36"])
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_pod_waits_until_another_leaves(release: str) -> None:
    """It is tried when that happens: its back-off is long over."""
    report = simulated(
        release, [small_node("n")], Arrival(one_cpu("a"), duration=15.5), Arrival(one_cpu("b"), at=3.0, duration=1.0)
    )
    assert story(report) == {"a": ("finished", "n", 1, 15.5), "b": ("finished", "n", 2, 16.5)}
    assert report.every_pod_had_a_node
    assert report.waits() == [0.0, 12.5]


@pytest.mark.parametrize(("name", "placed"), [("1.16", 5.0), ("1.20", 5.0), ("1.36", 3.4)])
def test_a_move_during_the_backoff(name: str, placed: float) -> None:
    """Until 1.36 the next whole second after its end is waited for; 1.36, with nothing else to do, does not wait."""
    report = simulated(name, [small_node("n")], Arrival(one_cpu("a"), duration=3.4), Arrival(one_cpu("b"), at=3.3))
    assert report.pods[1].placed == placed


@pytest.mark.parametrize(("name", "attempts"), [("1.20", 4), ("1.36", 2)])
def test_events_that_cannot_help(name: str, attempts: int) -> None:
    """1.36 leaves a pod alone whose node affinity no node meets when pods leave, until five minutes are over."""
    picky = one_cpu("picky", node_selector=labels({"disk": "ssd"}))
    leaving = (Arrival(one_cpu(f"p{at}"), duration=5.0 * at) for at in (1, 2, 3))
    report = simulated(name, [small_node("n", 4)], Arrival(picky), *leaving)
    assert story(report)["picky"] == ("pending", "", attempts, None)


def test_a_node_that_joins_helps(release: str) -> None:
    """Whoever fitted nowhere for want of room; more room on a node that is there helps too."""
    bigger = NodeArrival(small_node("n", 3), at=20.0)
    report = simulated(
        release,
        [small_node("n")],
        *(Arrival(one_cpu(name)) for name in "abc"),
        nodes=(NodeArrival(small_node("m"), at=10.0), bigger),
    )
    assert [(r.node, r.placed) for r in report.pods] == [("n", 0.0), ("m", 10.0), ("n", 20.0)]


def test_gated_pods_are_never_tried() -> None:
    """They wait for their gates; 1.20 knows no gates."""
    gated = one_cpu("gated", scheduling_gates=("quota", "image"))
    report = simulated("1.36", [small_node("n")], Arrival(gated), Arrival(one_cpu("a"), at=1000.0))
    assert story(report)["gated"] == ("pending", "", 0, None)
    assert report.pods[0].message == "waiting for scheduling gates: [quota image]"
    assert [(r.reason, r.pods) for r in report.reasons()] == [(report.pods[0].message, 1)]
    assert report.samples[-1].pending == 1


def test_other_schedulers_pods_are_ignored(release: str) -> None:
    """They stay pending until they are withdrawn."""
    other = one_cpu("other", scheduler_name="volcano")
    report = simulated(
        release, [small_node("n")], Arrival(other, leaves_at=5.0), Arrival(msgspec.structs.replace(other), at=9.0)
    )
    assert story(report)["other"] == ("pending", "", 0, None)
    one_name = "the pod names scheduler volcano, and this one is default-scheduler"
    profiles = 'profile not found for scheduler name "volcano"'
    assert report.pods[-1].message == (one_name if release == "1.16" else profiles)
    assert [sample.pending for sample in report.samples] == [1, 0, 1]


def test_preemption(release: str) -> None:
    """The victim leaves, the pod is nominated and takes its place; without it the pod waits."""
    arrivals = (Arrival(one_cpu("low")), Arrival(one_cpu("high", priority=5), at=1.0))
    report = simulated(release, [small_node("n")], *arrivals, preempt=True, grace=2.0)
    assert story(report) == {"low": ("preempted", "n", 1, 3.0), "high": ("running", "n", 2, None)}
    assert [(p.time, p.pod, p.node, p.victims) for p in report.preemptions] == [
        (1.0, "default/high", "n", ("default/low",))
    ]
    report = simulated(release, [small_node("n")], *arrivals)
    assert story(report)["high"] == ("pending", "", 1, None)
    assert not report.preemptions


def test_a_preemptor_waits_for_its_victims(release: str) -> None:
    """While they leave it evicts nobody else, although by then a node can be had whose pod is of less importance."""
    cordoned = msgspec.structs.replace(small_node("n2"), unschedulable=True)
    report = simulated(
        release,
        [small_node("n1"), cordoned, one_cpu("low", node="n1", priority=1), one_cpu("lowest", node="n2")],
        Arrival(one_cpu("high", priority=5)),
        preempt=True,
        grace=60.0,
        nodes=(NodeArrival(small_node("n2"), at=20.0),),
    )
    assert story(report)["high"] == ("running", "n1", 3, None)
    assert [(p.time, p.victims) for p in report.preemptions] == [(0.0, ("default/low",))]


def test_preemption_of_a_pod_of_the_cluster(release: str) -> None:
    """A pod that runs from the start leaves as one of the workload does, and is asked to once."""
    cluster = [small_node("n"), one_cpu("low", node="n")]
    report = simulated(release, cluster, Arrival(one_cpu("high", priority=5), at=1.0), preempt=True, grace=2.0)
    assert story(report) == {"low": ("preempted", "n", 0, 3.0), "high": ("running", "n", 2, None)}
    assert [(p.time, p.pod, p.victims) for p in report.preemptions] == [(1.0, "default/high", ("default/low",))]


def test_the_message_tells_of_preemption_in_1_36() -> None:
    """Whether or not anybody preempts: it is part of the release's own text."""
    arrivals = (Arrival(one_cpu("a")), Arrival(one_cpu("b"), at=1.0))
    messages = [simulated(name, [small_node("n")], *arrivals).pods[1].message for name in ("1.20", "1.36")]
    assert messages[0] == "0/1 nodes are available: 1 Insufficient cpu."
    assert messages[1].startswith("0/1 nodes are available: 1 Insufficient cpu. ")
    assert "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod." in messages[1]


def test_the_configurations_backoff_counts(tmp_path: Path) -> None:
    """A pod that is moved during it comes back when it ends."""
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1beta1\nkind: KubeSchedulerConfiguration\n"
        "leaderElection: {leaderElect: false}\npodInitialBackoffSeconds: 20\npodMaxBackoffSeconds: 40\n"
    )
    spec = EngineSpec("1.20", config_file=str(config))
    report = simulated(spec, [small_node("n")], Arrival(one_cpu("a"), duration=3.0), Arrival(one_cpu("b")))
    assert report.pods[1].placed == 20.0


def test_pods_that_err_are_tried_again_in_1_36(monkeypatch: pytest.MonkeyPatch) -> None:
    """After every back-off, without an event; attempts are counted to the end of what happens."""
    bad = one_cpu("bad", affinity=Affinity())

    class Erring:
        name = "Erring"

        def filter(self, state: Any, pod: Pod, node_info: Any) -> Status | None:
            if pod.metadata.name == "bad":
                raise SchedulingError("out of order")
            return None

    spec = EngineSpec("1.36", plugins=(with_plugin("Erring", lambda args, handle: Erring()),))
    profile = "- schedulerName: default-scheduler\n  plugins: {multiPoint: {enabled: [{name: Erring}]}}\n"
    text = f"apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n{profile}"
    monkeypatch.setattr("kubescheduler.config.config_text.read_text", lambda path: text)
    spec = msgspec.structs.replace(spec, config_file="config.yaml")
    report = simulated(spec, [small_node("n", 2)], Arrival(bad), Arrival(one_cpu("late"), at=30.5))
    # after 1, 2, 4, 8 and 10 seconds, and the second in which each of these ends
    assert story(report)["bad"] == ("pending", "", 1 + len([2, 5, 10, 19, 30]) + 1, None)
    assert report.pods[0].message == 'running "Erring" filter plugin: out of order'


@pytest.mark.parametrize("release", ["1.20", "1.36"])
def test_queue_sort_plugins_of_ones_own(release: str) -> None:
    """Their order is the queue's; the scheduler's own needs no comparing."""
    scheduler = scheduler_of(EngineSpec(release), [small_node("n")])
    assert isinstance(scheduler, ProfiledScheduler)
    assert order_of(scheduler.profiles).__name__ == "by_priority"

    class Profiles:
        def less(self, one: Any, other: Any) -> bool:
            return bool(one.pod.metadata.name < other.pod.metadata.name)

    order = order_of(Profiles())  # type: ignore[arg-type]
    entries = [attrs.make_class("Entry", ["pod"])(one_cpu(name)) for name in "ba"]
    assert [entry.pod.metadata.name for entry in sorted(entries, key=order)] == ["a", "b"]
