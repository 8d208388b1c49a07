"""NodeResourcesFit."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from clusterstate.changes import LOCAL, Reads
from clusterstate.objects import Container, DeviceClass, FrozenMap, ObjectMeta
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.node_resources_balanced_allocation import (
    NodeResourcesBalancedAllocationArgs,
    node_resources_balanced_allocation_1_36,
)
from kubescheduler.framework.plugins.node_resources_fit import (
    NodeResourcesFitArgs,
    ScoringStrategy,
    node_resources_fit_1_20,
    node_resources_fit_1_22,
    node_resources_fit_1_24,
    node_resources_fit_1_26,
    node_resources_fit_1_28,
    node_resources_fit_1_30,
    node_resources_fit_1_36,
)
from kubescheduler.releases import v1_20, v1_36
from tests.support.build import Cluster, make_node, make_pod, resources
from tests.support.custom.extender_asking import HANDLE, check_of, refused, scores, scoring_of
from tests.support.devices import DRIVER, allocated, gpu, make_claim, make_class, make_slice

GPU = "example.com/gpu"
GPUS = FrozenMap({**resources(cpu=2000, memory=2000), GPU: 2000})
NODES = [
    make_node("small", allocatable=resources(cpu=1000, memory=1000, pods=9)),
    make_node("large", allocatable=FrozenMap({**resources(cpu=4000, memory=8000, pods=9), GPU: 4000})),
    make_node("full", allocatable=resources(cpu=9000, memory=9000)),
]
RUNNING = [make_pod("r", node="large", requests=resources(cpu=3000, memory=0))]


def test_where_it_takes_part() -> None:
    """It scores since 1.36; without PreFilter its Filter fails."""
    old, new = node_resources_fit_1_20(None, HANDLE), node_resources_fit_1_36(None, HANDLE)
    assert old.points == {Point.PRE_FILTER, Point.FILTER}
    assert new.points == {Point.PRE_FILTER, Point.FILTER, Point.PRE_SCORE, Point.SCORE, Point.PLACEMENT_SCORE}
    assert old.scoring is None
    assert (
        old.filter_alone == new.filter_alone == 'error reading "PreFilterNodeResourcesFit" from cycleState: not found'
    )
    assert old.score_alone is new.score_alone is None


def test_reasons_and_codes() -> None:
    """1.36 knows which nodes are too small at all; 1.20 has one code."""
    pod = make_pod(requests=resources(cpu=2000))
    expected = {"Too many pods": ["full"], "Insufficient cpu": ["small", "large"]}
    old, cluster = node_resources_fit_1_20(None, HANDLE), Cluster(NODES, RUNNING, view=v1_20.VIEW)
    assert refused(old, cluster, pod) == expected
    assert check_of(old).beyond is None
    assert not any(map(check_of(old).unresolvable, expected))

    new, cluster = node_resources_fit_1_36(None, HANDLE), Cluster(NODES, RUNNING, view=v1_36.VIEW)
    assert refused(new, cluster, pod) == expected
    beyond = check_of(new).beyond
    assert beyond is not None
    assert beyond(cluster.info(pod), cluster.snapshot).tolist() == [True, False, False]
    assert not any(map(check_of(new).unresolvable, expected))


IGNORING = [NodeResourcesFitArgs((GPU,)), NodeResourcesFitArgs((), ("example.com",))]


@pytest.mark.parametrize("args", IGNORING, ids=["name", "group"])
def test_ignored_resources(args: NodeResourcesFitArgs) -> None:
    """They are asked for elsewhere."""
    pod = make_pod(requests=FrozenMap({GPU: 9000}))
    for view, make in ((v1_20.VIEW, node_resources_fit_1_20), (v1_36.VIEW, node_resources_fit_1_36)):
        cluster = Cluster(NODES[:2], view=view)
        assert refused(make(args, HANDLE), cluster, pod) == {}
        assert refused(make(None, HANDLE), cluster, pod) == {f"Insufficient {GPU}": ["small", "large"]}


@pytest.mark.parametrize(("gate", "refusing"), [(True, ["large"]), (False, ["small", "large"])])
def test_what_a_device_class_provides(gate: bool, refusing: list[str]) -> None:
    """A node without any of it natively may have devices, if the gate is on."""
    provider = DeviceClass(ObjectMeta("gpus"), extended_resource_name=GPU)
    handle: Any = SimpleNamespace(feature_gates={"DRAExtendedResource": gate})
    cluster = Cluster(NODES[:2], others=[provider], view=v1_36.VIEW)
    pod = make_pod(requests=FrozenMap({GPU: 9000}))
    assert refused(node_resources_fit_1_36(None, handle), cluster, pod) == {f"Insufficient {GPU}": refusing}


def test_what_it_reads() -> None:
    """Each node alone; device classes only for pods that ask for scalar resources."""
    footprint = check_of(node_resources_fit_1_36(None, HANDLE)).footprint
    assert footprint.narrow is not None
    cluster = Cluster(NODES, view=v1_36.VIEW)
    plain, gpu = cluster.info(make_pod(requests=resources(cpu=1))), cluster.info(make_pod(requests=GPUS))
    assert (footprint.narrow(plain), footprint.narrow(gpu)) == (LOCAL, LOCAL | Reads.RESOURCES)
    assert footprint.is_row_local(gpu, cluster.snapshot)


SHAPE = ((0, 0), (100, 10))
STRATEGIES = {
    "default": (None, [100, 25]),
    "least": (ScoringStrategy(), [100, 25]),
    "most": (ScoringStrategy("MostAllocated", (("cpu", 1),)), [0, 75]),
    "ratio": (ScoringStrategy("RequestedToCapacityRatio", (("cpu", 2),), SHAPE), [0, 75]),
    "scalars-that-are-not-asked-for": (ScoringStrategy("MostAllocated", ((GPU, 5), ("cpu", 1))), [0, 75]),
}


@pytest.mark.parametrize(("strategy", "expected"), STRATEGIES.values(), ids=STRATEGIES)
def test_scoring_strategies(strategy: ScoringStrategy | None, expected: list[int]) -> None:
    """Scores are as they come; every pod is scored."""
    args = None if strategy is None else NodeResourcesFitArgs(scoring_strategy=strategy)
    plugin = node_resources_fit_1_36(args, HANDLE)
    nodes = [make_node("small", allocatable=resources(cpu=1000)), make_node("large", allocatable=resources(cpu=4000))]
    cluster, pod = Cluster(nodes, RUNNING, view=v1_36.VIEW), make_pod(requests=resources(cpu=0, memory=0))
    assert scores(plugin, cluster, pod) == (expected, expected)
    assert scoring_of(plugin).pre_score(cluster.info(pod), cluster.snapshot)


SEEN = [
    make_slice("small", gpu("a"), gpu("b"), gpu("c", {"old": True})),
    make_slice("large", gpu("a")),
    make_claim("used", allocation=allocated("small", "a")),
    make_class("gpus", f'!("old" in device.attributes["{DRIVER}"])', extended_resource_name=GPU),
]


@pytest.mark.parametrize(("gate", "expected"), [(True, [100, 33]), (False, [0, 33])])
def test_devices_are_scored(gate: bool, expected: list[int]) -> None:
    """Where a node has none of the resource natively: of two devices of the class one is held, the pod adds one."""
    args = NodeResourcesFitArgs(scoring_strategy=ScoringStrategy("MostAllocated", ((GPU, 1),)))
    plugin = node_resources_fit_1_36(args, _handle(gate))
    assert scoring_of(plugin).footprint.reads == (LOCAL | Reads.RESOURCES | Reads.ALL_NODES if gate else LOCAL)
    nodes = [make_node("small"), make_node("large", allocatable=resources(**{GPU: 3}))]
    cluster, pod = Cluster(nodes, others=SEEN, view=v1_36.VIEW), make_pod(requests=FrozenMap({GPU: 1000}))
    assert scores(plugin, cluster, pod)[0] == expected


def test_devices_are_balanced() -> None:
    """NodeResourcesBalancedAllocation counts them likewise: from one of two devices in use to both."""
    args = NodeResourcesBalancedAllocationArgs((("cpu", 1), (GPU, 1)))
    plugin = node_resources_balanced_allocation_1_36(args, _handle(gate=True))
    cluster = Cluster([make_node("small", allocatable=resources(cpu=1000))], others=SEEN, view=v1_36.VIEW)
    pod = make_pod(requests=FrozenMap({GPU: 1000, "cpu": 500}))
    assert scores(plugin, cluster, pod)[0] == [50 + (50 + 75 - 75) // 2]


def _handle(gate: bool) -> Any:
    return SimpleNamespace(feature_gates={"DRAExtendedResource": gate})


# --- between 1.24 and 1.33 -----------------------------------------------------------------

OFF = "Pod has a restartable init container and the SidecarContainers feature is disabled"


@pytest.mark.parametrize(
    ("factory", "asked", "expected"),
    [
        (node_resources_fit_1_30, resources(memory=1), {}),
        (node_resources_fit_1_28, {GPU: 0}, {}),
        (node_resources_fit_1_26, resources(memory=1), {"Insufficient cpu": ["over"]}),
        (node_resources_fit_1_26, {GPU: 0}, {"Insufficient cpu": ["over"]}),
        (node_resources_fit_1_24, {GPU: 0}, {"Insufficient cpu": ["over"], f"Insufficient {GPU}": ["over"]}),
    ],
)
def test_nodes_that_are_overcommitted(factory: Any, asked: Any, expected: dict[str, list[str]]) -> None:
    """Before 1.28 what a pod does not ask for is tested, too, and before 1.26 what it asks for with 0."""
    room = FrozenMap({**resources(cpu=1000, memory=1000, pods=9), GPU: 1000})
    taken = FrozenMap({**resources(cpu=2000), GPU: 2000})
    cluster = Cluster(
        [make_node("over", allocatable=room)], [make_pod("r", node="over", requests=taken)], view=v1_20.VIEW
    )
    plugin = factory(None, HANDLE)
    assert refused(plugin, cluster, make_pod(requests=FrozenMap(asked))) == expected
    assert check_of(plugin).beyond is None


def test_pods_with_sidecars_where_there_are_none() -> None:
    """Refused node by node, since 1.30 as a whole; not with the feature gate on."""
    handle: Any = SimpleNamespace(feature_gates={"SidecarContainers": False})
    cluster = Cluster(NODES[:1], view=v1_36.VIEW)
    pod = make_pod(init_containers=(Container("s", restart_policy="Always"),))
    by_node, whole = node_resources_fit_1_28(None, handle), node_resources_fit_1_30(None, handle)
    assert refused(by_node, cluster, pod) == {OFF: ["small"]}
    assert check_of(by_node).unresolvable(OFF)
    evidence = check_of(by_node).evidence
    assert evidence is not None
    assert "found s" in evidence.explain(cluster.info(pod), cluster.snapshot.take(np.array([0])), OFF).text
    assert refused(whole, cluster, pod) == {}
    pre_filter = check_of(whole).pre_filter
    assert pre_filter is not None
    assert pre_filter(cluster.info(pod), cluster.snapshot).reasons == (OFF,)
    assert refused(node_resources_fit_1_28(None, HANDLE), cluster, pod) == {}


@pytest.mark.parametrize("make", [node_resources_fit_1_20, node_resources_fit_1_22, node_resources_fit_1_36])
def test_equal_amounts_have_equal_answers(make: Any) -> None:
    """Whatever a release scores by is kept by the amounts of a node, overhead or none."""
    plugin = make(None, HANDLE)
    rules = [rule for rule in (plugin.check, plugin.scoring) if rule is not None]
    assert all(rule.footprint.equal_for_equal_usage is True for rule in rules)
