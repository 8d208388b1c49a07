"""Evidence of every plugin that scores: what it says comes to the very scores, over random clusters."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.cache import ClusterCache
from clusterstate.objects import (
    Container,
    CSIDriver,
    CSIStorageCapacity,
    DeviceAsk,
    LabelSelector,
    NodeSelectorTerm,
    ObjectMeta,
    PreferredSchedulingTerm,
    Requirement,
    TopologySpreadConstraint,
)
from kubescheduler.framework.contract.handle import Handle, Services
from kubescheduler.framework.contract.plugin import points_of
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.deciding.adapters import column_score
from kubescheduler.framework.plugins.inter_pod_affinity import InterPodAffinityArgs
from kubescheduler.framework.plugins.node_affinity import AddedAffinity, NodeAffinityArgs
from kubescheduler.framework.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocationArgs
from kubescheduler.framework.plugins.node_resources_fit import NodeResourcesFitArgs, ScoringStrategy
from kubescheduler.framework.plugins.nodes import NodeLabelArgs
from kubescheduler.framework.plugins.pod_topology_spread import PodTopologySpreadArgs
from kubescheduler.framework.plugins.resource_scores import (
    NodeResourcesLeastAllocatedArgs,
    NodeResourcesMostAllocatedArgs,
    RequestedToCapacityRatioArgs,
)
from kubescheduler.framework.plugins.services import ServiceAffinityArgs
from kubescheduler.releases.lookup import release_named
from priorities.types import PriorityConfig, PriorityError
from tests.support.build import labels, make_node, make_pod, resources
from tests.support.devices import device_cluster, first_of, gpu, make_claim, make_class, make_slice, pod_with
from tests.support.laws import costly
from tests.support.references.formulas import explained, is_heading
from tests.support.rich_worlds import ARGS as DEFAULTS
from tests.support.rich_worlds import HOST, IN_TREE, ZONE, DrawnCluster, in_tree, incoming, worlds
from tests.support.storage import claiming, make_volume, on_nodes
from tests.support.storage import make_claim as storage_claim
from tests.support.storage import make_class as storage_class

MIXED = (("cpu", 3), ("memory", 1), ("example.com/gpu", 5), ("ephemeral-storage", 2))
SHAPE = ((0, 1), (30, 9), (60, 0), (100, 7))
SOFT = tuple(TopologySpreadConstraint(skew, key, "ScheduleAnyway") for skew, key in ((1, ZONE), (3, HOST)))
ADDED = AddedAffinity(preferred=(PreferredSchedulingTerm(3, NodeSelectorTerm((Requirement("disk", "Exists"),))),))

ARGS: dict[str, list[Any]] = {
    "NodeResourcesLeastAllocated": [NodeResourcesLeastAllocatedArgs(MIXED)],
    "NodeResourcesMostAllocated": [NodeResourcesMostAllocatedArgs(), NodeResourcesMostAllocatedArgs(MIXED)],
    "NodeResourcesBalancedAllocation": [NodeResourcesBalancedAllocationArgs(MIXED)],
    "NodeResourcesFit": [
        NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(kind, names, shape))
        for kind, shape in (("LeastAllocated", None), ("MostAllocated", None), ("RequestedToCapacityRatio", SHAPE))
        for names in (MIXED, MIXED[:2])
    ],
    "RequestedToCapacityRatio": [RequestedToCapacityRatioArgs(SHAPE, MIXED)],
    "NodeAffinity": [NodeAffinityArgs(ADDED)],
    "NodeLabel": [NodeLabelArgs((), (), ("disk",), ("old", ZONE))],
    "ServiceAffinity": [ServiceAffinityArgs((), (ZONE, "disk"))],
    "InterPodAffinity": [InterPodAffinityArgs(0), InterPodAffinityArgs(40)],
    "PodTopologySpread": [PodTopologySpreadArgs(SOFT, "List")],
}
"""Args besides the defaults, under which rules have more to say."""


def made(release: str, name: str, args: Any) -> PriorityConfig | None:
    """A plugin's column rules for Score; None: it has no Score."""
    handle = Handle(Services(release, ClusterCache(release_named(release).default_view)), "p")
    plugin = IN_TREE[release][name].make(args, handle)
    return column_score(plugin) if Point.SCORE in points_of(plugin) else None


def configs(release: str) -> list[PriorityConfig]:
    """Every plugin that scores, with its defaults (for some those of the random clusters) and with ``ARGS``."""
    asked = [(name, args) for name in IN_TREE[release] for args in (DEFAULTS.get(name), *ARGS.get(name, []))]
    return [config for name, args in asked if (config := made(release, name, args)) is not None]


CONFIGS = {release: configs(release) for release in IN_TREE}


@pytest.mark.parametrize("release", CONFIGS)
@costly
@given(world=worlds(), pod=incoming, data=st.data())
def test_formulas_come_to_the_scores(release: str, world: DrawnCluster, pod: Any, data: st.DataObject) -> None:
    """Of every node that fits, whichever those are, before and after normalising."""
    snapshot = world.cache(release).snapshot()
    rows = np.array(data.draw(st.lists(st.integers(0, len(snapshot) - 1), min_size=1, unique=True)), np.int64)
    info = snapshot.info(pod)
    for config in CONFIGS[release]:
        with contextlib.suppress(PriorityError):
            if config.pre_score(info, snapshot):
                explained(config, release, info, snapshot.take(rows))


@pytest.mark.parametrize("release", IN_TREE)
def test_every_plugin_that_scores_has_evidence(release: str) -> None:
    """A plugin that comes with the scheduler and scores without evidence fails here."""
    scoring = [plugin for plugin in in_tree(release).values() if Point.SCORE in points_of(plugin)]
    assert len(scoring) >= 8
    for plugin in scoring:
        config = column_score(plugin)
        assert config is not None, f"{plugin.name} scores without column rules"
        assert config.evidence is not None, f"{plugin.name} of {release} says nothing of its scores"
        assert config.evidence.upstream == plugin.name
        assert is_heading(config.evidence.page)
        assert (config.evidence.normalise is None) == (config.reduce is None)


# --- what random clusters have too little of ---------------------------------------------------


def test_devices_by_alternatives() -> None:
    """The place of the alternative that each node can give, of 8."""
    best_two = first_of("r", DeviceAsk("gpu", "two", count=2), DeviceAsk("gpu", "one", count=1))
    nodes = [make_node("one"), make_node("two"), make_node("none")]
    slices = [make_slice("one", gpu("a")), make_slice("two", gpu("a"), gpu("b"))]
    cluster = device_cluster(nodes, [make_class(), make_claim("c", best_two), *slices])
    config = column_score(in_tree("1.36")["DynamicResources"])
    assert config is not None
    found = explained(config, "1.36", cluster.info(pod_with("c")), cluster.snapshot)
    assert [one.formula for one in found] == ["(8 - 1)", "(8 - 0)", "0"]
    assert [one.normalisation for one in found] == ["7 * 100 // 8", "8 * 100 // 8", "0 * 100 // 8"]
    assert found[1].inputs["places of the alternatives chosen"] == ["r/two: 0"]


def test_storage_by_how_full_it_would_be() -> None:
    """Volumes that are found count, elsewhere what a class has left; the mean over classes, rounded."""
    release = "1.36"
    cache = ClusterCache.of(
        [
            *(make_node(name, {"host": name}) for name in "abc"),
            storage_class("late", "d.io"),
            storage_class("fast", "d.io"),
            CSIDriver(ObjectMeta("d.io"), storage_capacity=True),
            storage_claim("c", storage_class="late", storage=5000),
            storage_claim("d", storage_class="fast", storage=1000),
            make_volume("v", storage_class_name="late", phase="Available", storage=10_000, node_affinity=on_nodes("a")),
            make_volume("w", storage_class_name="fast", phase="Available", storage=3000, node_affinity=on_nodes("a")),
            CSIStorageCapacity(ObjectMeta("k", "x"), "late", LabelSelector(labels({"host": "b"})), 9000, None),
            CSIStorageCapacity(ObjectMeta("l", "x"), "fast", LabelSelector(labels({"host": "b"})), 4000, None),
        ],
        release_named(release).default_view,
    )
    services = Services(release, cache, feature_gates={"StorageCapacityScoring": True})
    config = column_score(IN_TREE[release]["VolumeBinding"].make(None, Handle(services, "p")))
    assert config is not None
    snapshot = cache.snapshot()
    found = explained(config, release, snapshot.info(claiming("c", "d")), snapshot)
    curves = "curve(1 * 100 // 3, (0, 100), (100, 0)) + curve(5 * 100 // 10, (0, 100), (100, 0))"
    assert found[0].formula == f"round(({curves}) / 2)"
    assert found[1].inputs["late"] == {"requested": "5", "capacity": "9"}
    assert found[1].inputs["fast"] == {"requested": "1", "capacity": "4"}
    assert found[2].formula == "round((0) / 1)"


def test_balance_of_three_resources() -> None:
    """The standard deviation of more than two shares, with and without the pod."""
    config = made("1.36", "NodeResourcesBalancedAllocation", NodeResourcesBalancedAllocationArgs(MIXED))
    assert config is not None
    allocatable = resources(cpu=4000, memory=8 << 30, **{"example.com/gpu": 7})
    nodes = [make_node("a", allocatable=allocatable), make_node("b")]
    wanted = resources(cpu=1000, memory=1 << 30, **{"example.com/gpu": 2})
    cache = ClusterCache.of([*nodes, make_pod("r", node="a", requests=wanted)], release_named("1.36").default_view)
    info = cache.snapshot().info(make_pod(containers=(Container("c", requests=wanted),)))
    found = explained(config, "1.36", info, cache.snapshot())
    assert found[0].formula.count("2 / 7") == 1
    assert found[0].formula.count("4 / 7") == 1
