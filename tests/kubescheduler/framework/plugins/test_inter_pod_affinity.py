"""InterPodAffinity as a plugin."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from clusterstate.objects import Affinity, LabelSelector, PodAffinity, PodAffinityTerm
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.inter_pod_affinity import (
    InterPodAffinityArgs,
    inter_pod_affinity_1_20,
    inter_pod_affinity_1_36,
)
from tests.support.build import Cluster, labels, make_node, make_pod

HANDLE: Any = SimpleNamespace(feature_gates={})
Factory = Callable[..., Any]
FACTORIES: tuple[Factory, ...] = (inter_pod_affinity_1_20, inter_pod_affinity_1_36)
X = {"app": "x"}
NEEDS_X = Affinity(pod_affinity=PodAffinity((PodAffinityTerm("zone", LabelSelector(labels(X))),)))


@pytest.mark.parametrize(("factory", "prefix"), list(zip(FACTORIES, ("error ", ""), strict=True)))
def test_points_and_texts(factory: Factory, prefix: str) -> None:
    """It takes part in four points; Filter or Score alone fail with the state's text."""
    plugin = factory(None, HANDLE)
    assert plugin.name == plugin.check.name == plugin.scoring.name == "InterPodAffinity"
    assert plugin.points == {Point.PRE_FILTER, Point.FILTER, Point.PRE_SCORE, Point.SCORE}
    assert plugin.filter_alone == f'{prefix}reading "PreFilterInterPodAffinity" from cycleState: not found'
    assert plugin.score_alone == 'failed to read "PreScoreInterPodAffinity" from cycleState: not found'


@pytest.mark.parametrize("factory", FACTORIES)
def test_the_hard_weight_comes_from_the_args(factory: Factory) -> None:
    """It is 1 unless they say otherwise."""
    nodes = [make_node(zone, {"zone": zone}) for zone in "ab"]
    cluster = Cluster(nodes, [make_pod("p", X, node="a", affinity=NEEDS_X)])
    info = cluster.info(make_pod("in", X))
    for args, expected in ((None, [1, 0]), (InterPodAffinityArgs(40), [40, 0])):
        assert factory(args, HANDLE).scoring.map(info, cluster.snapshot).tolist() == expected


def test_ignoring_preferences_of_running_pods() -> None:
    """1.36 skips pods without preferences of their own when the args say so."""
    cluster = Cluster([make_node("a", {"zone": "a"})], [make_pod("p", X, node="a", affinity=NEEDS_X)])
    info = cluster.info(make_pod("in", X))
    for ignores, goes_on in ((False, True), (True, False)):
        plugin: Any = inter_pod_affinity_1_36(InterPodAffinityArgs(1, ignores), HANDLE)
        assert plugin.scoring.pre_score(info, cluster.snapshot) is goes_on
