"""The plugins that score resources, and ImageLocality."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.node_resources_balanced_allocation import (
    NodeResourcesBalancedAllocationArgs,
    node_resources_balanced_allocation_1_20,
    node_resources_balanced_allocation_1_36,
)
from kubescheduler.releases import v1_20, v1_36
from predicates.types import FitPredicate
from tests.support.build import Cluster, make_node, make_pod, resources
from tests.support.custom.extender_asking import HANDLE, scores, scoring_of

NODES = [make_node("a", allocatable=resources(cpu=4000, memory=8000)), make_node("b", allocatable=resources(cpu=4000))]
ASKED = make_pod(requests=resources(cpu=1000, memory=4000))


@pytest.mark.parametrize(
    ("attached", "expected"),
    [
        pytest.param([1, 2], 98, id="half-of-what-can-be-attached"),
        pytest.param([1, 1], 0, id="all-that-can-be-attached"),
        pytest.param([-1, 0], 75, id="not-counted-there"),
        pytest.param(None, 75, id="no-disks"),
    ],
)
def test_balanced_allocation_with_volumes_in_1_20(attached: list[int] | None, expected: int) -> None:
    """With the gate the variance of three shares counts, where a Filter plugin counted the pod's disks."""
    left = None if attached is None else np.array(attached)[:, None]
    check = FitPredicate("EBSLimits", lambda *_: {}, attached=lambda *_: left)
    runner = SimpleNamespace(filter_checks=lambda: (FitPredicate("NodeName", lambda *_: {}), check))
    handle: Any = SimpleNamespace(feature_gates={"BalanceAttachedNodeVolumes": True}, runner=runner)
    plugin = node_resources_balanced_allocation_1_20(None, handle)
    assert scores(plugin, Cluster(NODES[:1], view=v1_20.VIEW), ASKED)[0] == [expected]


def test_balanced_allocation_of_1_36() -> None:
    """A pod that asks for none of its resources is skipped."""
    cluster = Cluster(NODES, view=v1_36.VIEW)
    plugin = node_resources_balanced_allocation_1_36(None, HANDLE)
    assert plugin.points == {Point.PRE_SCORE, Point.SCORE}
    assert scores(plugin, cluster, ASKED)[0] == [68, 75]
    storage = node_resources_balanced_allocation_1_36(
        NodeResourcesBalancedAllocationArgs((("ephemeral-storage", 1),)), HANDLE
    )
    asked = [scoring_of(p).pre_score(cluster.info(ASKED), cluster.snapshot) for p in (plugin, storage)]
    assert asked == [True, False]


@pytest.mark.parametrize(
    ("factory", "score"),
    [("node_resources_balanced_allocation_1_22", 75), ("node_resources_balanced_allocation_1_27", 100)],
)
def test_overhead_of_the_pod_in_the_balance(factory: str, score: int) -> None:
    """Up to 1.26 half a core of overhead counts as one millicore."""
    from kubescheduler.framework.plugins import node_resources_balanced_allocation as plugin

    cluster = Cluster([make_node("n", allocatable=resources(cpu=1000, memory=1000, pods=9))], view=v1_36.VIEW)
    pod = make_pod(overhead=resources(cpu=500, memory=500))
    scoring = getattr(plugin, factory)(None, HANDLE).scoring
    assert scoring.map(cluster.info(pod), cluster.snapshot).tolist() == [score]
