"""What the args of plugins become, with the defaults of each release."""

from __future__ import annotations

from typing import Any

from clusterstate.objects import (
    NO_LABELS,
    Labels,
    LabelSelector,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
    Requirement,
    TopologySpreadConstraint,
)
from kubescheduler.framework.args.plugin_args import (
    CPU_AND_MEMORY,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesLeastAllocatedArgs,
    NodeResourcesMostAllocatedArgs,
    PodTopologySpreadArgs,
    RequestedToCapacityRatioArgs,
    ScoringStrategy,
)

Pairs = tuple[tuple[str, int], ...]
Shape = tuple[tuple[int, int], ...]
Constraints = tuple[TopologySpreadConstraint, ...]

NO_TERM = NodeSelectorTerm()


def resource(name: str = "", weight: int = 0) -> tuple[str, int]:
    return name, weight or 1


def point(utilization: int = 0, score: int = 0) -> tuple[int, int]:
    return utilization, score


def shape_of(shape: Shape = ()) -> Shape:
    return shape


def strategy(type: str = "", resources: Pairs = (), shape: Shape | None = None) -> ScoringStrategy:  # noqa: A002
    return ScoringStrategy(type, resources or CPU_AND_MEMORY, shape)


def balanced(resources: Pairs = ()) -> NodeResourcesBalancedAllocationArgs:
    return NodeResourcesBalancedAllocationArgs(resources or CPU_AND_MEMORY)


def least(resources: Pairs = ()) -> NodeResourcesLeastAllocatedArgs:
    return NodeResourcesLeastAllocatedArgs(resources or CPU_AND_MEMORY)


def most(resources: Pairs = ()) -> NodeResourcesMostAllocatedArgs:
    return NodeResourcesMostAllocatedArgs(resources or CPU_AND_MEMORY)


def ratio(shape: Shape = (), resources: Pairs = ()) -> RequestedToCapacityRatioArgs:
    return RequestedToCapacityRatioArgs(shape, resources or CPU_AND_MEMORY)


def spread_1_20(default_constraints: Constraints = (), defaulting_type: str = "") -> PodTopologySpreadArgs:
    """The System constraints are for those that name none of their own."""
    return PodTopologySpreadArgs(default_constraints, defaulting_type or ("List" if default_constraints else "System"))


def spread_without_system(default_constraints: Constraints = (), defaulting_type: str = "") -> PodTopologySpreadArgs:
    """With feature gate DefaultPodTopologySpread off."""
    return PodTopologySpreadArgs(default_constraints, defaulting_type or "List")


def spread_1_36(default_constraints: Constraints = (), defaulting_type: str = "") -> PodTopologySpreadArgs:
    return PodTopologySpreadArgs(default_constraints, defaulting_type or "System")


def requirement(key: str = "", operator: str = "", values: tuple[str, ...] = ()) -> Requirement:
    return Requirement(key, operator, values)


def terms_of(terms: tuple[NodeSelectorTerm, ...] = ()) -> tuple[NodeSelectorTerm, ...]:
    return terms


def preferred(weight: int = 0, preference: NodeSelectorTerm = NO_TERM) -> PreferredSchedulingTerm:
    return PreferredSchedulingTerm(weight, preference)


def selector(match_labels: Labels = NO_LABELS, expressions: tuple[Requirement, ...] = ()) -> LabelSelector:
    return LabelSelector(match_labels, expressions)


def constraint(
    max_skew: int = 0, topology_key: str = "", when_unsatisfiable: str = "", **given: Any
) -> TopologySpreadConstraint:
    return TopologySpreadConstraint(max_skew, topology_key, when_unsatisfiable, **given)
