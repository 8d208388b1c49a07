"""Laws that the plugins about nodes obey, over random clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.objects import NodeSelectorTerm, PreferredSchedulingTerm, Requirement
from clusterstate.snapshot import PodChange
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.plugins import (
    node_affinity,
    nodes,
    services,
)
from kubescheduler.framework.plugins.node_affinity import AddedAffinity, NodeAffinityArgs
from kubescheduler.framework.plugins.nodes import NodeLabelArgs
from kubescheduler.framework.plugins.services import ServiceAffinityArgs
from tests.predicates.test_laws import POD_PARTS, clusters
from tests.support.build import Cluster, make_pod
from tests.support.custom.extender_asking import HANDLE, check_of, scores, scoring_of, verdict

HAS_ZONE = NodeSelectorTerm((Requirement("zone", "Exists"),))
ADDED = NodeAffinityArgs(AddedAffinity((HAS_ZONE,), (PreferredSchedulingTerm(3, HAS_ZONE),)))
PLUGINS: dict[str, ColumnPlugin] = {
    "NodeName 1.20": nodes.node_name_1_20(None, HANDLE),
    "NodeName 1.36": nodes.node_name_1_36(None, HANDLE),
    "NodeUnschedulable": nodes.node_unschedulable(None, HANDLE),
    "TaintToleration 1.20": nodes.taint_toleration_1_20(None, HANDLE),
    "TaintToleration 1.36": nodes.taint_toleration_1_36(None, HANDLE),
    "NodeAffinity 1.20": node_affinity.node_affinity_1_20(ADDED, HANDLE),
    "NodeAffinity 1.36": node_affinity.node_affinity_1_36(None, HANDLE),
    "NodePorts 1.20": nodes.node_ports_1_20(None, HANDLE),
    "NodePorts 1.36": nodes.node_ports_1_36(None, HANDLE),
    "NodeLabel": nodes.node_label_1_20(NodeLabelArgs(("zone",), ("disk",), ("disk",), ("zone",)), HANDLE),
    "NodePreferAvoidPods": nodes.node_prefer_avoid_pods_1_20(None, HANDLE),
    "ServiceAffinity": services.service_affinity_1_20(ServiceAffinityArgs(("zone",), ("disk",)), HANDLE),
    "SelectorSpread": services.selector_spread_1_20(None, HANDLE),
    "NodeDeclaredFeatures": nodes.node_declared_features_1_36(None, HANDLE),
}
FILTERS = {name: plugin for name, plugin in PLUGINS.items() if plugin.check is not None}
SCORES = {name: plugin for name, plugin in PLUGINS.items() if plugin.scoring is not None}


def failing(plugin: ColumnPlugin, cluster: Cluster, pod: Any, snapshot: Any) -> dict[str, list[bool]]:
    """Reasons that fail nowhere left out."""
    found = verdict(plugin, cluster, pod, snapshot)
    assert all(mask.dtype == np.bool_ and mask.shape == (len(snapshot),) for mask in found.values())
    return {reason: mask.tolist() for reason, mask in found.items() if mask.any()}


def some_rows(data: st.DataObject, cluster: Cluster) -> list[int]:
    rows: list[int] = data.draw(st.lists(st.integers(0, len(cluster.snapshot) - 1), unique=True, min_size=1))
    return rows


@given(world=clusters(), fields=POD_PARTS, data=st.data())
def test_a_subset_of_rows_fails_alike(world: Any, fields: Any, data: st.DataObject) -> None:
    """A row's verdict does not depend on which other rows are asked about."""
    cluster, pod = Cluster(*world), make_pod(**fields)
    rows = some_rows(data, cluster)
    for name, plugin in FILTERS.items():
        whole = failing(plugin, cluster, pod, cluster.snapshot)
        some = failing(plugin, cluster, pod, cluster.snapshot.take(np.array(rows)))
        picked = {reason: [mask[row] for row in rows] for reason, mask in whole.items()}
        assert some == {reason: mask for reason, mask in picked.items() if any(mask)}, name


@given(world=clusters(), fields=POD_PARTS)
def test_a_node_fails_for_one_reason(world: Any, fields: Any) -> None:
    """These plugins stop at the first; and where one does not apply nothing fails."""
    cluster, pod = Cluster(*world), make_pod(**fields)
    info = cluster.info(pod)
    for name, plugin in FILTERS.items():
        masks = list(failing(plugin, cluster, pod, cluster.snapshot).values())
        assert not masks or np.sum(masks, axis=0).max() == 1, name
        rule = check_of(plugin)
        if not rule.applies(info):
            assert not any(mask.any() for mask in rule.check(info, cluster.snapshot).values()), name


@given(world=clusters(), fields=POD_PARTS, more=POD_PARTS)
def test_a_pod_thought_away_counts_like_one_that_is_gone(world: Any, fields: Any, more: Any) -> None:
    """What would happen without a pod is what happens without it."""
    nodes, pods, others = world
    extra, pod = make_pod("extra", node="n0", **more), make_pod(**fields)
    if any(other.node_name == "n0" for other in pods):
        return
    cluster, real = Cluster(nodes, [*pods, extra], others), Cluster(*world)
    thought = cluster.snapshot.what_if([PodChange(0, cluster.info(extra), -1, pod=extra)])
    for name, plugin in FILTERS.items():
        assert failing(plugin, cluster, pod, thought) == failing(plugin, real, pod, real.snapshot), name


@given(world=clusters(), fields=POD_PARTS, data=st.data())
def test_scores_are_in_range_and_raw_ones_do_not_depend_on_other_rows(
    world: Any, fields: Any, data: st.DataObject
) -> None:
    """0 to 100 after normalising; a constant is what would come out."""
    cluster, pod = Cluster(*world), make_pod(**fields)
    rows = some_rows(data, cluster)
    for name, plugin in SCORES.items():
        raw, final = scores(plugin, cluster, pod, rows)
        assert all(0 <= score <= 100 for score in final), name
        assert raw == scoring_of(plugin).map(cluster.info(pod), cluster.snapshot)[rows].tolist(), name
