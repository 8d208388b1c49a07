"""The args of plugins that have a type of their own, with their defaults; field names are the JSON names in snake_case.

Defaults are those of a plugin for which the configuration says nothing. One record serves all releases; a member that a
release does not know keeps its default there.
"""

from __future__ import annotations

from typing import Any

import attrs

from clusterstate.objects import NodeSelectorTerm, PreferredSchedulingTerm, TopologySpreadConstraint

CPU_AND_MEMORY: tuple[tuple[str, int], ...] = (("cpu", 1), ("memory", 1))
"""(resource, weight) that count when none are named."""


@attrs.frozen
class DefaultPreemptionArgs:
    min_candidate_nodes_percentage: int = 10
    min_candidate_nodes_absolute: int = 100


@attrs.frozen
class InterPodAffinityArgs:
    hard_pod_affinity_weight: int = 1
    ignore_preferred_terms_of_existing_pods: bool = False


@attrs.frozen
class ScoringStrategy:
    """type: LeastAllocated, MostAllocated or RequestedToCapacityRatio. shape: (utilization 0-100, score 0-10) points,
    None when the configuration has no requestedToCapacityRatio."""

    type: str = "LeastAllocated"
    resources: tuple[tuple[str, int], ...] = CPU_AND_MEMORY
    shape: tuple[tuple[int, int], ...] | None = None


@attrs.frozen
class NodeResourcesFitArgs:
    """scoring_strategy: 1.36; None when the configuration takes it away."""

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy | None = ScoringStrategy()


@attrs.frozen
class NodeResourcesBalancedAllocationArgs:
    """1.36."""

    resources: tuple[tuple[str, int], ...] = CPU_AND_MEMORY


@attrs.frozen
class NodeResourcesLeastAllocatedArgs:
    """1.20."""

    resources: tuple[tuple[str, int], ...] = CPU_AND_MEMORY


@attrs.frozen
class NodeResourcesMostAllocatedArgs:
    """1.20."""

    resources: tuple[tuple[str, int], ...] = CPU_AND_MEMORY


@attrs.frozen
class RequestedToCapacityRatioArgs:
    """1.20. shape: (utilization 0-100, score 0-10) points."""

    shape: tuple[tuple[int, int], ...] = ()
    resources: tuple[tuple[str, int], ...] = CPU_AND_MEMORY


@attrs.frozen
class PodTopologySpreadArgs:
    """default_constraints: those of a pod that has none; their selectors are None. defaulting_type: System or List."""

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: str = "System"


@attrs.frozen
class AddedAffinity:
    """required: None when absent, () matches no node."""

    required: tuple[NodeSelectorTerm, ...] | None = None
    preferred: tuple[PreferredSchedulingTerm, ...] = ()


@attrs.frozen
class NodeAffinityArgs:
    added_affinity: AddedAffinity | None = None


@attrs.frozen
class VolumeBindingArgs:
    bind_timeout_seconds: int = 600
    shape: tuple[tuple[int, int], ...] = ()


@attrs.frozen
class NodeLabelArgs:
    """1.20."""

    present_labels: tuple[str, ...] = ()
    absent_labels: tuple[str, ...] = ()
    present_labels_preference: tuple[str, ...] = ()
    absent_labels_preference: tuple[str, ...] = ()


@attrs.frozen
class ServiceAffinityArgs:
    """1.20."""

    affinity_labels: tuple[str, ...] = ()
    anti_affinity_labels_preference: tuple[str, ...] = ()


@attrs.frozen
class DynamicResourcesArgs:
    """1.36; durations in nanoseconds."""

    filter_timeout: int = 10_000_000_000
    binding_timeout: int = 600_000_000_000


ArgsType = type[Any]

ARGS_1_20: dict[str, ArgsType] = {
    "DefaultPreemption": DefaultPreemptionArgs,
    "InterPodAffinity": InterPodAffinityArgs,
    "NodeAffinity": NodeAffinityArgs,
    "NodeLabel": NodeLabelArgs,
    "NodeResourcesFit": NodeResourcesFitArgs,
    "NodeResourcesLeastAllocated": NodeResourcesLeastAllocatedArgs,
    "NodeResourcesMostAllocated": NodeResourcesMostAllocatedArgs,
    "PodTopologySpread": PodTopologySpreadArgs,
    "RequestedToCapacityRatio": RequestedToCapacityRatioArgs,
    "ServiceAffinity": ServiceAffinityArgs,
    "VolumeBinding": VolumeBindingArgs,
}
"""Plugin → the type of its args, release 1.20."""

ARGS_1_36: dict[str, ArgsType] = {
    "DefaultPreemption": DefaultPreemptionArgs,
    "DynamicResources": DynamicResourcesArgs,
    "InterPodAffinity": InterPodAffinityArgs,
    "NodeAffinity": NodeAffinityArgs,
    "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs,
    "NodeResourcesFit": NodeResourcesFitArgs,
    "PodTopologySpread": PodTopologySpreadArgs,
    "VolumeBinding": VolumeBindingArgs,
}
"""Plugin → the type of its args, release 1.36."""
