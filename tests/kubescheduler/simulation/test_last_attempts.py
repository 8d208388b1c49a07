"""Pods that time alone frees: devices that do not get ready are given up when their time for binding is over."""

from __future__ import annotations

import attrs
import pytest

from clusterstate.cache import ClusterCache
from clusterstate.objects import Pod
from clusterstate.objects.resource import ResourceClaim
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.simulation.known_verdicts import LastAttempts
from kubescheduler.simulation.simulation import Simulation
from kubescheduler.simulation.simulation_report import WAITING, PodRecord
from kubescheduler.simulation.workload import Arrival, Workload
from tests.support.build import make_node, make_pod, resources
from tests.support.devices import HELD, SLICES, TODAY, WRITTEN, binding, make_class, pod_with, users

ROOM = resources(cpu=4000, memory=8 << 30, pods=10)
FULL = resources(cpu=0, memory=8 << 30, pods=10)
DEVICES = [make_class(), *SLICES]
SHARED = attrs.evolve(HELD, reserved_for=users("one", "two"))
POD = pod_with("c", requests=resources(cpu=1000))
MISSING = "0/2 nodes are available: 2 resourceclaim not available on the node. still not schedulable"
FULL_THERE = (
    "0/2 nodes are available: 1 Insufficient cpu, 1 resourceclaim not available on the node. still not schedulable"
)


def run(spec: EngineSpec, *cluster: object, pod: Pod = POD) -> PodRecord:
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
    for pod in (POD, plain, other):
        tried.note(pod)
    assert [tried.may_change(pod) for pod in (POD, plain, other)] == [True, False, False]
    assert tried.turn([other, POD, pod_with("c", name="never tried")])
    assert not tried.turn([other])
    now[0] = 6.0
    assert tried.may_change(POD)
    assert not tried.turn([POD])
    del ends["p"]
    tried.note(POD)
    assert not tried.may_change(POD)
    changes[0] = 2
    assert tried.may_change(POD)
