"""PodTopologySpread as a plugin."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from clusterstate.cache import ClusterCache
from clusterstate.objects import ObjectMeta, Service, TopologySpreadConstraint
from clusterstate.selectors.spread_constraints import HOSTNAME, spread_rules_1_36
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.pod_topology_spread import (
    PodTopologySpreadArgs,
    pod_topology_spread_1_20,
    pod_topology_spread_1_36,
)
from tests.support.build import Cluster, labels, make_node, make_pod

HANDLE: Any = SimpleNamespace(feature_gates={})
HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"
Factory = Callable[..., Any]
FACTORIES: tuple[Factory, ...] = (pod_topology_spread_1_20, pod_topology_spread_1_36)


@pytest.mark.parametrize(("factory", "prefix"), list(zip(FACTORIES, ("error ", ""), strict=True)))
def test_points_and_texts(factory: Factory, prefix: str) -> None:
    """It takes part in four points; Filter or Score alone fail with the state's text."""
    plugin = factory(None, HANDLE)
    assert plugin.name == plugin.check.name == plugin.scoring.name == "PodTopologySpread"
    assert plugin.points == {Point.PRE_FILTER, Point.FILTER, Point.PRE_SCORE, Point.SCORE}
    missing = 'reading "{}PodTopologySpread" from cycleState: not found'
    assert plugin.filter_alone == prefix + missing.format("PreFilter")
    assert plugin.score_alone == "error " + missing.format("PreScore")


@pytest.mark.parametrize("factory", FACTORIES)
def test_default_constraints(factory: Factory) -> None:
    """A list of hard constraints makes the filter look at pods without any; the built-in ones are soft."""
    args = PodTopologySpreadArgs((TopologySpreadConstraint(1, "zone", HARD),), "List")
    info = Cluster().info(make_pod())
    assert not factory(None, HANDLE).check.applies(info)
    assert factory(args, HANDLE).check.applies(info)


def test_without_the_gate_nothing_is_the_default() -> None:
    """1.20 with DefaultPodTopologySpread off has no built-in constraints."""
    service = Service(ObjectMeta("s", "default"), labels({"app": "x"}))
    cluster = Cluster([make_node("a", {HOSTNAME: "a"})], others=[service])
    info = cluster.info(make_pod(label={"app": "x"}))
    for gate, expected in ((True, [2]), (False, [0])):
        handle: Any = SimpleNamespace(feature_gates={"DefaultPodTopologySpread": gate})
        scoring: Any = pod_topology_spread_1_20(None, handle).scoring
        assert scoring.settle(info, cluster.snapshot, np.zeros(1, np.int64)).tolist() == expected


def test_no_pod_of_the_default_profile_can_share_a_ranking() -> None:
    """Where there are default constraints 1.36's plugin signs no pod, so opportunistic batching never begins."""
    spec = EngineSpec("1.36")
    config = spec.component_config(lambda _: None)
    args = [dict(profile.plugin_config)["PodTopologySpread"] for profile in config.profiles]
    assert [spread_rules_1_36(one.default_constraints, one.defaulting_type).defaults != () for one in args] == [True]
    cache = ClusterCache(spec.release_view())
    points = spec.engine(lambda _: None).scheduler(cache).points(make_pod(scheduler_name="default-scheduler"))
    assert all("PodTopologySpread" in points[name] for name in ("preFilter", "filter", "preScore", "score"))
