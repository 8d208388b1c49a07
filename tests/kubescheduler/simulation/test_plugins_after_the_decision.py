"""Plugins from Reserve on in a simulation: pods that are held, claims that are bound, bindings that fail."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from clusterstate.cache import ClusterCache
from clusterstate.objects import Pod
from kubescheduler.core.status import Code, Status
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.framework.plugin_loading import with_plugin
from kubescheduler.simulation.simulation import Simulation
from kubescheduler.simulation.simulation_report import Report
from kubescheduler.simulation.timeline import PATIENCE, Kind, RunEvent
from kubescheduler.simulation.workload import Arrival, NodeArrival, Workload
from tests.support.build import make_node, make_pod, resources
from tests.support.storage import claiming, make_claim, make_class, make_volume, on_nodes

VERSIONS = {"1.20": "v1beta1", "1.36": "v1"}
RELEASES = pytest.mark.parametrize("release", list(VERSIONS))


def one_cpu(name: str, **fields: Any) -> Pod:
    return make_pod(name, requests=resources(cpu=1000), **fields)


def small_node(name: str, cpus: int = 1) -> Any:
    return make_node(name, {"host": name}, allocatable=resources(cpu=1000 * cpus, memory=8 << 30, pods=10))


@attrs.define
class Gang:
    """Holds the pods of a gang for ten seconds, until ``size`` of them have places."""

    handle: Any
    size: int
    name: str = "Custom"

    def permit(self, state: Any, pod: Pod, node_name: str) -> tuple[Status | None, float]:
        waiting = self.handle.waiting_pods()
        if len(waiting) + 1 < self.size:
            return Status(Code.Wait), 10.0
        for held in waiting:
            held.allow(self.name)
        return None, 0.0


def run(
    release: str, factory: Any, points: str, workload: Workload, *cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> tuple[Report, list[RunEvent], ClusterCache]:
    """A simulation with a custom plugin at some points."""
    enabled = ", ".join(f"{point}: {{enabled: [{{name: Custom}}]}}" for point in points.split())
    text = (
        f"apiVersion: kubescheduler.config.k8s.io/{VERSIONS[release]}\nkind: KubeSchedulerConfiguration\n"
        f"leaderElection: {{leaderElect: false}}\nprofiles:\n- schedulerName: default-scheduler\n"
        f"  plugins: {{{enabled}}}\n"
    )
    monkeypatch.setattr("kubescheduler.config.config_text.read_text", lambda path: text)
    spec = EngineSpec(release, plugins=(with_plugin("Custom", factory),), config_file="config.yaml")
    cache = ClusterCache.of(cluster, spec.release_view())
    events: list[RunEvent] = []
    report = Simulation(spec.engine(print).scheduler(cache), workload, listen=events.append).run()
    return report, events, cache


def story(report: Report) -> dict[str, tuple[Any, ...]]:
    return {r.pod.metadata.name: (r.outcome, r.node, r.placed, r.attempts) for r in report.pods}


@RELEASES
def test_a_gang_is_held_until_it_is_complete(release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its places count meanwhile; nothing is bound before the last pod has come."""
    pods = (Arrival(one_cpu("a")), Arrival(one_cpu("b")), Arrival(one_cpu("c"), at=4.5))
    report, events, _ = run(
        release,
        lambda args, handle: Gang(handle, 3),
        "permit",
        Workload(pods),
        small_node("n", 3),
        monkeypatch=monkeypatch,
    )
    assert story(report) == dict.fromkeys("abc", ("running", "n", 4.5, 1))
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
def test_a_condition_that_a_plugin_writes(release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stays with the pod, also without a reason."""
    workload = Workload((Arrival(one_cpu("a")),))
    report, _, cache = run(
        release, lambda args, handle: Marks(handle), "permit", workload, small_node("n"), monkeypatch=monkeypatch
    )
    assert story(report) == {"a": ("running", "n", 0.0, 1)}
    (bound,) = cache.pods()
    assert [(one.type, one.status) for one in bound.conditions] == [("example.com/Seen", "True")]


@RELEASES
def test_an_incomplete_gang_is_given_up_over_and_over(release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten simulated seconds after its places were kept; half an hour later the run ends."""
    report, events, cache = run(
        release,
        lambda args, handle: Gang(handle, 3),
        "permit",
        Workload((Arrival(one_cpu("a")), Arrival(one_cpu("b")))),
        small_node("n", 3),
        monkeypatch=monkeypatch,
    )
    failed = [event for event in events if event.kind is Kind.BINDING_FAILED]
    assert [(event.time, event.pod) for event in failed[:2]] == [(10.0, "default/a"), (10.0, "default/b")]
    assert "rejected due to timeout after waiting 10s at plugin Custom" in failed[0].message
    assert {record.outcome for record in report.pods} == {"pending"}
    assert PATIENCE < report.end < PATIENCE + 400
    assert [pod for pod in cache.pods() if not cache.is_assumed(pod)] == []


@RELEASES
def test_a_held_pod_that_is_deleted_gives_its_place_back(release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not come back to the queue."""
    report, _, cache = run(
        release,
        lambda args, handle: Gang(handle, 3),
        "permit",
        Workload((Arrival(one_cpu("a"), leaves_at=3.0),)),
        small_node("n", 3),
        monkeypatch=monkeypatch,
    )
    assert story(report) == {"a": ("withdrawn", "", None, 1)}
    assert (report.end, cache.pods()) == (3.0, [])


@RELEASES
def test_a_node_leaves_with_pods_that_are_held(release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not bound there; their time-out ends the wait."""
    report, events, _ = run(
        release,
        lambda args, handle: Gang(handle, 2),
        "permit",
        Workload((Arrival(one_cpu("a")),), (NodeArrival(small_node("n"), 0.0, 3.0),)),
        monkeypatch=monkeypatch,
    )
    assert story(report)["a"][0] == "pending"
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
def test_what_a_plugin_refuses_before_the_binding_is_taken_back(release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run ends, though every failure may give the other pods hope."""
    taken_back: list[str] = []
    report, _, cache = run(
        release,
        lambda args, handle: Refusing(taken_back),
        "reserve preBind",
        Workload((Arrival(one_cpu("a")), Arrival(one_cpu("b")))),
        small_node("n", 3),
        monkeypatch=monkeypatch,
    )
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
    spec = EngineSpec(release)
    cache = ClusterCache.of([small_node("n", 3), waits, *claims, volume], spec.release_view())
    pods = (Arrival(claiming("one", name="a")), Arrival(claiming("two", name="b"), at=1.0))
    report = Simulation(spec.engine(print).scheduler(cache), Workload(pods)).run()
    assert [record.outcome for record in report.pods] == ["running", "pending"]
    bound = cache.objects.persistent_volume_claims["default", "one"]
    assert (bound.volume_name, bound.phase) == ("v", "Bound")
    claim_ref = cache.objects.persistent_volumes["v"].claim_ref
    assert claim_ref is not None
    assert claim_ref.name == "one"


@RELEASES
def test_volumes_are_made_for_claims(release: str) -> None:
    """For a class with a provisioner, once the pod's node is chosen."""
    waits = make_class("made", "example.com/disks")
    spec = EngineSpec(release)
    cache = ClusterCache.of([small_node("n"), waits, make_claim("c", storage_class="made")], spec.release_view())
    report = Simulation(spec.engine(print).scheduler(cache), Workload((Arrival(claiming("c")),))).run()
    assert [(record.outcome, record.placed) for record in report.pods] == [("running", 0.0)]
    claim = cache.objects.persistent_volume_claims["default", "c"]
    assert claim.volume_name in cache.objects.persistent_volumes
