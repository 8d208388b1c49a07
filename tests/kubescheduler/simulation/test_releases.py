"""Simulations of several releases: who waits and why, what helps, and plugins after the decision."""

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
from kubescheduler.simulation.timeline import PATIENCE, Kind, RunEvent
from kubescheduler.simulation.workload import Arrival, NodeArrival, Workload
from tests.support.build import labels, make_node, make_pod, resources
from tests.support.deciders import Gang
from tests.support.storage import claiming, make_claim, make_class, make_volume, on_nodes


def one_cpu(name: str, **fields: Any) -> Pod:
    return make_pod(name, requests=resources(cpu=1000), **fields)


def small_node(name: str, cpus: int = 1) -> Any:
    return make_node(
        name, {"zone": name, "host": name}, allocatable=resources(cpu=1000 * cpus, memory=8 << 30, pods=10)
    )


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


def test_pods_that_err_are_tried_again_in_1_36() -> None:
    """After every back-off, without an event; attempts are counted to the end of what happens."""
    bad = one_cpu("bad", affinity=Affinity())

    class Erring:
        name = "Custom"

        def filter(self, state: Any, pod: Pod, node_info: Any) -> Status | None:
            if pod.metadata.name == "bad":
                raise SchedulingError("out of order")
            return None

    workload = Workload((Arrival(bad), Arrival(one_cpu("late"), at=30.5)))
    report, _, _ = run("1.36", lambda *_: Erring(), "filter", workload, small_node("n", 2))
    # after 1, 2, 4, 8 and 10 seconds, and the second in which each of these ends
    assert story(report)["bad"] == ("pending", "", 1 + len([2, 5, 10, 19, 30]) + 1, None)
    assert report.pods[0].message == 'running "Custom" filter plugin: out of order'


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


VERSIONS = {"1.20": "v1beta1", "1.36": "v1"}
RELEASES = pytest.mark.parametrize("release", list(VERSIONS))


def run(
    release: str, factory: Any, points: str, workload: Workload, *cluster: Any
) -> tuple[Report, list[RunEvent], ClusterCache]:
    """A simulation with a custom plugin at some points."""
    enabled = {point: {"enabled": [{"name": "Custom"}]} for point in points.split()}
    component = {
        "apiVersion": f"kubescheduler.config.k8s.io/{VERSIONS[release]}",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "profiles": [{"schedulerName": "default-scheduler", "plugins": enabled}],
    }
    spec = EngineSpec(release, plugins=(with_plugin("Custom", factory),), component=component)
    cache = ClusterCache.of(cluster, spec.release_view())
    events: list[RunEvent] = []
    report = Simulation(spec.engine(print).scheduler(cache), workload, listen=events.append).run()
    return report, events, cache


def gang_run(
    release: str, size: int, *arrivals: Arrival, nodes: tuple[NodeArrival, ...] = ()
) -> tuple[Report, list[RunEvent], ClusterCache]:
    """Pods of a gang, on a node for three of them unless nodes come."""
    there = () if nodes else (small_node("n", 3),)
    return run(release, lambda _, handle: Gang(handle, size, 10.0), "permit", Workload(arrivals, nodes), *there)


def placements(report: Report) -> dict[str, tuple[Any, ...]]:
    return {r.pod.metadata.name: (r.outcome, r.node, r.placed, r.attempts) for r in report.pods}


@RELEASES
def test_a_gang_is_held_until_it_is_complete(release: str) -> None:
    """Its places count meanwhile; nothing is bound before the last pod has come."""
    pods = (Arrival(one_cpu("a")), Arrival(one_cpu("b")), Arrival(one_cpu("c"), at=4.5))
    report, events, _ = gang_run(release, 3, *pods)
    assert placements(report) == dict.fromkeys("abc", ("running", "n", 4.5, 1))
    assert [(e.time, e.pod) for e in events if e.kind is Kind.WAITING] == [(0.0, "default/a"), (0.0, "default/b")]
    assert [(s.time, s.pending, s.used[0]) for s in report.samples] == [(0.0, 2, 2000), (4.5, 0, 3000)]
    assert report.end == 4.5


@attrs.define
class Marks:
    """Writes a condition of its own, with no more than the API asks for."""

    handle: Any
    name: str = "Custom"

    def permit(self, state: Any, pod: Pod, node_name: str) -> tuple[Status | None, float]:
        self.handle.client.patch_pod_status(pod, {"conditions": [{"type": "example.com/Seen", "status": "True"}]})
        return None, 0.0


@RELEASES
def test_a_condition_that_a_plugin_writes(release: str) -> None:
    """It stays with the pod, also without a reason."""
    workload = Workload((Arrival(one_cpu("a")),))
    report, _, cache = run(release, lambda _, handle: Marks(handle), "permit", workload, small_node("n"))
    assert placements(report) == {"a": ("running", "n", 0.0, 1)}
    (bound,) = cache.pods()
    assert [(one.type, one.status) for one in bound.conditions] == [("example.com/Seen", "True")]


@RELEASES
def test_an_incomplete_gang_is_given_up_over_and_over(release: str) -> None:
    """Ten simulated seconds after its places were kept; half an hour later the run ends."""
    report, events, cache = gang_run(release, 3, Arrival(one_cpu("a")), Arrival(one_cpu("b")))
    failed = [event for event in events if event.kind is Kind.BINDING_FAILED]
    assert [(event.time, event.pod) for event in failed[:2]] == [(10.0, "default/a"), (10.0, "default/b")]
    assert "rejected due to timeout after waiting 10s at plugin Custom" in failed[0].message
    assert {record.outcome for record in report.pods} == {"pending"}
    assert PATIENCE < report.end < PATIENCE + 400
    assert [pod for pod in cache.pods() if not cache.is_assumed(pod)] == []


@RELEASES
def test_a_held_pod_that_is_deleted_gives_its_place_back(release: str) -> None:
    """It does not come back to the queue."""
    report, _, cache = gang_run(release, 3, Arrival(one_cpu("a"), leaves_at=3.0))
    assert placements(report) == {"a": ("withdrawn", "", None, 1)}
    assert (report.end, cache.pods()) == (3.0, [])


@RELEASES
def test_a_node_leaves_with_pods_that_are_held(release: str) -> None:
    """They are not bound there; their time-out ends the wait."""
    report, events, _ = gang_run(release, 2, Arrival(one_cpu("a")), nodes=(NodeArrival(small_node("n"), 0.0, 3.0),))
    assert placements(report)["a"][0] == "pending"
    assert [event.time for event in events if event.kind is Kind.BINDING_FAILED] == [10.0]


@attrs.define
class Refusing:
    """Refuses every pod before it is bound, and counts what is taken back."""

    taken_back: list[str]
    name: str = "Custom"

    def reserve(self, state: Any, pod: Pod, node_name: str) -> None: ...

    def unreserve(self, state: Any, pod: Pod, node_name: str) -> None:
        self.taken_back.append(pod.metadata.name)

    def pre_bind(self, state: Any, pod: Pod, node_name: str) -> Status:
        return Status.unschedulable("not yet")


@RELEASES
def test_what_a_plugin_refuses_before_the_binding_is_taken_back(release: str) -> None:
    """The run ends, though every failure may give the other pods hope."""
    taken_back: list[str] = []
    workload = Workload((Arrival(one_cpu("a")), Arrival(one_cpu("b"))))
    report, _, cache = run(release, lambda *_: Refusing(taken_back), "reserve preBind", workload, small_node("n", 3))
    assert {record.outcome for record in report.pods} == {"pending"}
    assert "not yet" in report.pods[0].message
    assert len(taken_back) == sum(record.attempts for record in report.pods)
    assert cache.pods() == []


@RELEASES
def test_claims_are_bound_with_their_pod(release: str) -> None:
    """The volume is no longer there for the next pod, whose claim gets another one, or none."""
    waits = make_class("late", "kubernetes.io/no-provisioner")
    claims = [make_claim(name, storage_class="late") for name in ("one", "two")]
    volume = make_volume("v", storage_class_name="late", phase="Available", node_affinity=on_nodes("n"))
    scheduler = scheduler_of(EngineSpec(release), [small_node("n", 3), waits, *claims, volume])
    pods = (Arrival(claiming("one", name="a")), Arrival(claiming("two", name="b"), at=1.0))
    report, cache = Simulation(scheduler, Workload(pods)).run(), scheduler.cache
    assert [record.outcome for record in report.pods] == ["running", "pending"]
    bound = cache.objects.persistent_volume_claims["default", "one"]
    assert (bound.volume_name, bound.phase) == ("v", "Bound")
    claim_ref = cache.objects.persistent_volumes["v"].claim_ref
    assert claim_ref.name == "one"


@RELEASES
def test_volumes_are_made_for_claims(release: str) -> None:
    """For a class with a provisioner, once the pod's node is chosen."""
    waits = make_class("made", "example.com/disks")
    scheduler = scheduler_of(EngineSpec(release), [small_node("n"), waits, make_claim("c", storage_class="made")])
    report, cache = Simulation(scheduler, Workload((Arrival(claiming("c")),))).run(), scheduler.cache
    assert [(record.outcome, record.placed) for record in report.pods] == [("running", 0.0)]
    claim = cache.objects.persistent_volume_claims["default", "c"]
    assert claim.volume_name in cache.objects.persistent_volumes
