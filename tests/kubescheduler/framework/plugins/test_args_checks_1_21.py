"""What 1.21 finds wrong with args of plugins when it makes them."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from clusterstate.errors import ConfigError
from clusterstate.objects import TopologySpreadConstraint
from kubescheduler.framework.plugins.inter_pod_affinity import InterPodAffinityArgs, inter_pod_affinity_1_21
from kubescheduler.framework.plugins.nodes import NodeLabelArgs, node_label_1_21
from kubescheduler.framework.plugins.pod_topology_spread import PodTopologySpreadArgs, pod_topology_spread_1_21
from kubescheduler.framework.plugins.resource_scores import (
    NodeResourcesLeastAllocatedArgs,
    NodeResourcesMostAllocatedArgs,
    RequestedToCapacityRatioArgs,
    node_resources_least_allocated_1_21,
    node_resources_most_allocated_1_21,
    requested_to_capacity_ratio_1_21,
)
from kubescheduler.framework.plugins.volume_binding import VolumeBindingArgs, volume_binding_1_21

HANDLE: Any = SimpleNamespace(feature_gates={}, sleep=None)


@pytest.mark.parametrize(
    ("make", "args", "text"),
    [
        pytest.param(
            inter_pod_affinity_1_21,
            InterPodAffinityArgs(101),
            "hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]",
            id="hard-weight",
        ),
        pytest.param(
            node_label_1_21,
            NodeLabelArgs(("a", "b"), ("b", "a")),
            '[presentLabels[0]: Invalid value: "a": conflict with absentLabels[1], '
            'presentLabels[1]: Invalid value: "b": conflict with absentLabels[0]]',
            id="labels",
        ),
        pytest.param(
            node_resources_least_allocated_1_21,
            NodeResourcesLeastAllocatedArgs((("cpu", 101),)),
            "resources[0].weight: Invalid value: 101: resource weight of cpu not in valid range (0, 100]",
            id="least",
        ),
        pytest.param(
            node_resources_most_allocated_1_21,
            NodeResourcesMostAllocatedArgs((("cpu", -1),)),
            "resources[0].weight: Invalid value: -1: resource weight of cpu not in valid range (0, 100]",
            id="most",
        ),
        pytest.param(
            requested_to_capacity_ratio_1_21,
            RequestedToCapacityRatioArgs(((10, 1), (5, 11)), (("cpu", -1),)),
            "[shape[1].utilization: Invalid value: 5: utilization values must be sorted in increasing order, "
            "shape[1].score: Invalid value: 11: not in valid range [0, 10], "
            "resources[0].weight: Invalid value: -1: resource weight of cpu not in valid range [1, inf)]",
            id="ratio",
        ),
        pytest.param(
            requested_to_capacity_ratio_1_21,
            RequestedToCapacityRatioArgs(),
            "shape: Required value: at least one point must be specified",
            id="no-shape",
        ),
        pytest.param(
            pod_topology_spread_1_21,
            PodTopologySpreadArgs((TopologySpreadConstraint(0, "zone", "ScheduleAnyway"),), "Some"),
            '[defaultingType: Unsupported value: "Some": supported values: "System", "List", '
            "defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)]",
            id="spread",
        ),
        pytest.param(
            volume_binding_1_21,
            VolumeBindingArgs(-1),
            "bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value",
            id="timeout",
        ),
    ],
)
def test_all_faults_are_told_with_their_fields(make: Callable[..., Any], args: Any, text: str) -> None:
    """At once."""
    with pytest.raises(ConfigError) as refusal:
        make(args, HANDLE)
    assert str(refusal.value) == text
