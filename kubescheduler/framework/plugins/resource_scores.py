"""Scores of resources before NodeResourcesFit had strategies: NodeResourcesLeastAllocated, …MostAllocated,
RequestedToCapacityRatio and, of limits, NodeResourceLimits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import msgspec

from clusterstate.errors import ConfigError
from clusterstate.footprint import Footprint, spec_alone
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.document_schema import (
    CPU_AND_MEMORY,
    PERCENT,
    RESOURCES,
    RESOURCES_COUNTED_ONCE,
    SCORES,
    SHAPE,
    ArgsType,
    FieldError,
    Resources,
    Shape,
    invalid,
    plain,
    refuse,
    shape_errors,
)
from kubescheduler.framework.plugins.plugin_record import InTreePlugin
from priorities.capacity_ratio import capacity_ratio, capacity_ratio_evidence
from priorities.requested import explain_resource_limits, resource_limits, unlimited
from priorities.requested_framework import (
    Share,
    least,
    mean_1_20,
    mean_1_36,
    mean_evidence_1_20,
    mean_evidence_1_36,
    most,
    most_1_18,
    no_devices,
    ratio_evidence_1_36,
    requested_to_capacity_ratio_1_36,
)
from priorities.score_evidence import RuleEvidence, plugin_evidence
from priorities.types import Map, PriorityConfig, curve, scaled

# --- NodeResourcesLeastAllocated -------------------------------------------------------------

NODE_RESOURCES_LEAST_ALLOCATED = "NodeResourcesLeastAllocated"
NODE_RESOURCES_LEAST_ALLOCATED_POINTS = frozenset({Point.SCORE})


class NodeResourcesLeastAllocatedArgs(msgspec.Struct, frozen=True):
    """1.20."""

    resources: Resources = CPU_AND_MEMORY
    """(resource, weight 1-100)."""


MOST_WEIGHT = 100


def weight_errors(resources: Resources) -> Iterator[FieldError]:
    """The first weight that is out of range. Upstream: 1.20 validateResources."""
    for name, weight in resources:
        if weight <= 0:
            yield plain(f"resource Weight of {name} should be a positive value, got {weight}")
            return
        if weight > MOST_WEIGHT:
            yield plain(f"resource Weight of {name} should be less than {MOST_WEIGHT}, got {weight}")
            return


def weight_errors_1_21(resources: Resources) -> Iterator[FieldError]:
    """Every weight that is out of range. Upstream: 1.21 validateResources."""
    for at, (name, weight) in enumerate(resources):
        if not 0 < weight <= MOST_WEIGHT:
            text = f"resource weight of {name} not in valid range (0, {MOST_WEIGHT}]"
            yield invalid(f"resources[{at}].weight", weight, text)


def _mean_of_present_1_22(name: str, given: Resources, share: Share) -> ColumnPlugin:
    """Of NodeResourcesLeastAllocated and NodeResourcesMostAllocated of 1.22, the last weight of a resource counting.

    Raises ConfigError for a weight outside 1-100.
    """
    refuse(weight_errors_1_21(given))
    resources = tuple(dict(given).items())
    return _scoring(name, partial(mean_1_36, share, resources), mean_evidence_1_36(name, share, resources, no_devices))


def _mean_1_20(
    name: str,
    resources: Resources,
    share: Share,
    errors: Callable[[Resources], Iterator[FieldError]] = weight_errors,
) -> ColumnPlugin:
    """The same of 1.18 to 1.21. Raises ConfigError for a weight outside 1-100."""
    refuse(errors(resources))
    return _scoring(name, partial(mean_1_20, share, resources), mean_evidence_1_20(name, share, resources))


def _scoring(name: str, score: Map, evidence: RuleEvidence) -> ColumnPlugin:
    footprint = Footprint(pod_key=spec_alone, equal_for_equal_usage=True)
    return ColumnPlugin(
        name,
        NODE_RESOURCES_LEAST_ALLOCATED_POINTS,
        scoring=PriorityConfig(name, score, footprint=footprint, evidence=evidence),
    )


def node_resources_least_allocated_1_18(_: Any, handle: Handle) -> ColumnPlugin:
    """Cpu and memory alike, whatever a configuration says.

    Upstream: 1.18 NodeResourcesLeastAllocated.
    """
    return node_resources_least_allocated_1_20(None, handle)


def node_resources_least_allocated_1_22(args: NodeResourcesLeastAllocatedArgs | None, _: Handle) -> ColumnPlugin:
    """A resource that a node does not have, and another than cpu and memory that the pod does not ask for, are left out
    of the mean.

    Upstream: 1.22 NodeResourcesLeastAllocated. Raises ConfigError for a weight outside 1-100.
    """
    args = args or NodeResourcesLeastAllocatedArgs()
    return _mean_of_present_1_22(NODE_RESOURCES_LEAST_ALLOCATED, args.resources, least)


def node_resources_least_allocated_1_21(args: NodeResourcesLeastAllocatedArgs | None, _: Handle) -> ColumnPlugin:
    """The same score.

    Upstream: 1.21 NodeResourcesLeastAllocated. Raises ConfigError for a weight outside 1-100.
    """
    args = args or NodeResourcesLeastAllocatedArgs()
    return _mean_1_20(NODE_RESOURCES_LEAST_ALLOCATED, args.resources, least, weight_errors_1_21)


def node_resources_least_allocated_1_20(args: NodeResourcesLeastAllocatedArgs | None, _: Handle) -> ColumnPlugin:
    """The mean over the resources of 100·(A - T)/A, weighted, in integers. T is what pods on the node ask for, this one
    included, and A what the node has. A container that does not ask counts as 100 millicores and 200 MiB. A resource
    with A = 0 scores 0, and its weight counts; one with T > A scores 0.

    Upstream: 1.20 NodeResourcesLeastAllocated. Raises ConfigError for a weight outside 1-100.
    """
    args = args or NodeResourcesLeastAllocatedArgs()
    return _mean_1_20(NODE_RESOURCES_LEAST_ALLOCATED, args.resources, least)


# --- args --------------------------------------------------------------------------------------


def _node_resources_least_allocated_build(resources: Resources = ()) -> NodeResourcesLeastAllocatedArgs:
    return NodeResourcesLeastAllocatedArgs(resources or CPU_AND_MEMORY)


NODE_RESOURCES_LEAST_ALLOCATED_ARGS = ArgsType(
    NodeResourcesLeastAllocatedArgs,
    (RESOURCES,),
    "Weights are 1–100.",
    build=_node_resources_least_allocated_build,
    errors=lambda args: weight_errors(args.resources),
)


NODE_RESOURCES_LEAST_ALLOCATED_1_18 = InTreePlugin(
    NODE_RESOURCES_LEAST_ALLOCATED,
    NODE_RESOURCES_LEAST_ALLOCATED_POINTS,
    node_resources_least_allocated_1_18,
    default_weight=1,
)
NODE_RESOURCES_LEAST_ALLOCATED_ARGS_1_21 = msgspec.structs.replace(
    NODE_RESOURCES_LEAST_ALLOCATED_ARGS, errors=lambda args: weight_errors_1_21(args.resources)
)
NODE_RESOURCES_LEAST_ALLOCATED_1_20 = msgspec.structs.replace(
    NODE_RESOURCES_LEAST_ALLOCATED_1_18,
    make=node_resources_least_allocated_1_20,
    args=NODE_RESOURCES_LEAST_ALLOCATED_ARGS,
)
NODE_RESOURCES_LEAST_ALLOCATED_1_21 = msgspec.structs.replace(
    NODE_RESOURCES_LEAST_ALLOCATED_1_20,
    make=node_resources_least_allocated_1_21,
    args=NODE_RESOURCES_LEAST_ALLOCATED_ARGS_1_21,
)
NODE_RESOURCES_LEAST_ALLOCATED_1_22 = msgspec.structs.replace(
    NODE_RESOURCES_LEAST_ALLOCATED_1_21, make=node_resources_least_allocated_1_22
)


# --- NodeResourcesMostAllocated --------------------------------------------------------------

NODE_RESOURCES_MOST_ALLOCATED = "NodeResourcesMostAllocated"
NODE_RESOURCES_MOST_ALLOCATED_POINTS = frozenset({Point.SCORE})


class NodeResourcesMostAllocatedArgs(msgspec.Struct, frozen=True):
    """1.20."""

    resources: Resources = CPU_AND_MEMORY
    """(resource, weight 1-100)."""


def node_resources_most_allocated_1_19(args: NodeResourcesMostAllocatedArgs | None, _: Handle) -> ColumnPlugin:
    """A resource with T > A scores 0.

    Upstream: 1.19 NodeResourcesMostAllocated. Raises ConfigError for a weight outside 1-100.
    """
    args = args or NodeResourcesMostAllocatedArgs()
    return _mean_1_20(NODE_RESOURCES_MOST_ALLOCATED, args.resources, most_1_18)


def node_resources_most_allocated_1_18(_: Any, __: Handle) -> ColumnPlugin:
    """Cpu and memory alike, whatever a configuration says. A resource with T > A scores 0.

    Upstream: 1.18 NodeResourcesMostAllocated.
    """
    return _mean_1_20(NODE_RESOURCES_MOST_ALLOCATED, CPU_AND_MEMORY, most_1_18)


def node_resources_most_allocated_1_22(args: NodeResourcesMostAllocatedArgs | None, _: Handle) -> ColumnPlugin:
    """A resource that a node does not have, and another than cpu and memory that the pod does not ask for, are left out
    of the mean.

    Upstream: 1.22 NodeResourcesMostAllocated. Raises ConfigError for a weight outside 1-100.
    """
    args = args or NodeResourcesMostAllocatedArgs()
    return _mean_of_present_1_22(NODE_RESOURCES_MOST_ALLOCATED, args.resources, most)


def node_resources_most_allocated_1_21(args: NodeResourcesMostAllocatedArgs | None, _: Handle) -> ColumnPlugin:
    """The same score.

    Upstream: 1.21 NodeResourcesMostAllocated. Raises ConfigError for a weight outside 1-100.
    """
    args = args or NodeResourcesMostAllocatedArgs()
    return _mean_1_20(NODE_RESOURCES_MOST_ALLOCATED, args.resources, most, weight_errors_1_21)


def node_resources_most_allocated_1_20(args: NodeResourcesMostAllocatedArgs | None, _: Handle) -> ColumnPlugin:
    """The mean over the resources of 100·T/A, weighted, in integers. T is what pods on the node ask for, this one
    included, and A what the node has. A container that does not ask counts as 100 millicores and 200 MiB. A resource
    with A = 0 scores 0, and its weight counts; one with T > A scores 100.

    Upstream: 1.20 NodeResourcesMostAllocated. Raises ConfigError for a weight outside 1-100.
    """
    args = args or NodeResourcesMostAllocatedArgs()
    return _mean_1_20(NODE_RESOURCES_MOST_ALLOCATED, args.resources, most)


# --- args --------------------------------------------------------------------------------------


def _node_resources_most_allocated_build(resources: Resources = ()) -> NodeResourcesMostAllocatedArgs:
    return NodeResourcesMostAllocatedArgs(resources or CPU_AND_MEMORY)


NODE_RESOURCES_MOST_ALLOCATED_ARGS = msgspec.structs.replace(
    NODE_RESOURCES_LEAST_ALLOCATED_ARGS,
    record=NodeResourcesMostAllocatedArgs,
    build=_node_resources_most_allocated_build,
)


NODE_RESOURCES_MOST_ALLOCATED_1_18 = InTreePlugin(
    NODE_RESOURCES_MOST_ALLOCATED,
    NODE_RESOURCES_MOST_ALLOCATED_POINTS,
    node_resources_most_allocated_1_18,
    default_weight=1,
)
NODE_RESOURCES_MOST_ALLOCATED_1_19 = msgspec.structs.replace(
    NODE_RESOURCES_MOST_ALLOCATED_1_18, make=node_resources_most_allocated_1_19, args=NODE_RESOURCES_MOST_ALLOCATED_ARGS
)
NODE_RESOURCES_MOST_ALLOCATED_ARGS_1_21 = msgspec.structs.replace(
    NODE_RESOURCES_MOST_ALLOCATED_ARGS, errors=lambda args: weight_errors_1_21(args.resources)
)
NODE_RESOURCES_MOST_ALLOCATED_1_20 = msgspec.structs.replace(
    NODE_RESOURCES_MOST_ALLOCATED_1_19, make=node_resources_most_allocated_1_20
)
NODE_RESOURCES_MOST_ALLOCATED_1_21 = msgspec.structs.replace(
    NODE_RESOURCES_MOST_ALLOCATED_1_20,
    make=node_resources_most_allocated_1_21,
    args=NODE_RESOURCES_MOST_ALLOCATED_ARGS_1_21,
)
NODE_RESOURCES_MOST_ALLOCATED_1_22 = msgspec.structs.replace(
    NODE_RESOURCES_MOST_ALLOCATED_1_21, make=node_resources_most_allocated_1_22
)


# --- RequestedToCapacityRatio ----------------------------------------------------------------

REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"
REQUESTED_TO_CAPACITY_RATIO_POINTS = frozenset({Point.SCORE})


class RequestedToCapacityRatioArgs(msgspec.Struct, frozen=True):
    """1.20."""

    shape: Shape = ()
    """(utilization 0-100, score 0-10) points."""
    resources: Resources = CPU_AND_MEMORY
    """(resource, weight of at least 1)."""


def requested_to_capacity_ratio_1_18(args: RequestedToCapacityRatioArgs | None, handle: Handle) -> ColumnPlugin:
    """Without resources, as from a Policy, they are cpu and memory alike.

    Upstream: 1.18 RequestedToCapacityRatio. Raises ConfigError for a faulty shape, none at all included, and for a
    weight below 1.
    """
    if args is not None and not args.resources:
        args = msgspec.structs.replace(args, resources=CPU_AND_MEMORY)
    return requested_to_capacity_ratio_1_20(args, handle)


def requested_to_capacity_ratio_1_22(args: RequestedToCapacityRatioArgs | None, _: Handle) -> ColumnPlugin:
    """Utilisation is truncated, not rounded up. A resource that a node does not have, and another than cpu and memory
    that the pod does not ask for, have no say.

    Upstream: 1.22 RequestedToCapacityRatio. Raises ConfigError without args, for a faulty shape, none at all included,
    and for a weight below 1.
    """
    if args is None:
        raise ConfigError("want args to be of type RequestedToCapacityRatioArgs, got <nil>")
    refuse(_errors_1_21(args))
    shape, resources = scaled(args.shape), tuple(dict(args.resources).items())
    scoring = PriorityConfig(
        REQUESTED_TO_CAPACITY_RATIO,
        partial(requested_to_capacity_ratio_1_36, curve(shape), resources),
        footprint=Footprint(pod_key=spec_alone, equal_for_equal_usage=True),
        evidence=ratio_evidence_1_36(REQUESTED_TO_CAPACITY_RATIO, shape, resources, no_devices),
    )
    return ColumnPlugin(REQUESTED_TO_CAPACITY_RATIO, REQUESTED_TO_CAPACITY_RATIO_POINTS, scoring=scoring)


def requested_to_capacity_ratio_1_21(args: RequestedToCapacityRatioArgs | None, _: Handle) -> ColumnPlugin:
    """The same score.

    Upstream: 1.21 RequestedToCapacityRatio. Raises ConfigError for a faulty shape, none at all included, and for a
    weight below 1.
    """
    args = args or RequestedToCapacityRatioArgs()
    refuse(_errors_1_21(args))
    return _plugin(args)


def requested_to_capacity_ratio_1_20(args: RequestedToCapacityRatioArgs | None, _: Handle) -> ColumnPlugin:
    """A curve of utilisation (0–100 %) gives 0–10 points to each resource; the weighted mean of those above 0, times
    ten, is rounded, halves up. In 1.36 a strategy of NodeResourcesFit.

    Upstream: 1.20 RequestedToCapacityRatio. Raises ConfigError for a faulty shape, none at all included, and for a
    weight below 1.
    """
    args = args or RequestedToCapacityRatioArgs()
    refuse(_errors(args))
    return _plugin(args)


def _plugin(args: RequestedToCapacityRatioArgs) -> ColumnPlugin:
    shape, weights = scaled(args.shape), dict(args.resources)
    evidence = plugin_evidence(REQUESTED_TO_CAPACITY_RATIO, capacity_ratio_evidence(shape, weights))
    scoring = PriorityConfig(
        REQUESTED_TO_CAPACITY_RATIO,
        partial(capacity_ratio, curve(shape), weights),
        footprint=Footprint(pod_key=spec_alone, equal_for_equal_usage=True),
        evidence=evidence,
    )
    return ColumnPlugin(REQUESTED_TO_CAPACITY_RATIO, REQUESTED_TO_CAPACITY_RATIO_POINTS, scoring=scoring)


# --- args --------------------------------------------------------------------------------------


def _requested_to_capacity_ratio_build(shape: Shape = (), resources: Resources = ()) -> RequestedToCapacityRatioArgs:
    return RequestedToCapacityRatioArgs(shape, resources or CPU_AND_MEMORY)


def _errors(args: RequestedToCapacityRatioArgs) -> Iterator[FieldError]:
    if error := shape_error_1_20(args.shape):
        yield plain(error)
        return
    for name, weight in args.resources:
        if weight < 1:
            yield plain(f"resource {name} weight {weight} must not be less than 1")
            return


def _errors_1_21(args: RequestedToCapacityRatioArgs) -> Iterator[FieldError]:
    """Upstream: 1.21 ValidateRequestedToCapacityRatioArgs."""
    yield from (error.under("shape") for error in shape_errors(args.shape))
    for at, (name, weight) in enumerate(args.resources):
        if weight < 1:
            text = f"resource weight of {name} not in valid range [1, inf)"
            yield invalid(f"resources[{at}].weight", weight, text)


def shape_error_1_20(shape: Sequence[tuple[int, int]]) -> str | None:
    """The first fault of a curve of (utilization, score) points."""
    if not shape:
        return "at least one point must be specified"
    for at, ((before, _), (here, _)) in enumerate(pairwise(shape)):
        if before >= here:
            return f"utilization values must be sorted. Utilization[{at}]=={before} >= Utilization[{at + 1}]=={here}"
    ranges = (
        ("utilization values", "Utilization", 0, PERCENT[-1]),
        ("score values", "Score", 1, SCORES[-1]),
    )
    for at, point in enumerate(shape):
        for what, member, which, highest in ranges:
            value = point[which]
            if value < 0:
                return f"{what} must not be less than 0. {member}[{at}]=={value}"
            if value > highest:
                return f"{what} must not be greater than {highest}. {member}[{at}]=={value}"
    return None


REQUESTED_TO_CAPACITY_RATIO_ARGS = ArgsType(
    RequestedToCapacityRatioArgs,
    (SHAPE, RESOURCES),
    """
Needs a `shape`. Points rise in utilisation, within 0–100, with scores 0–10; weights are at least 1.""",
    build=_requested_to_capacity_ratio_build,
    errors=_errors,
)


REQUESTED_TO_CAPACITY_RATIO_ARGS_1_18 = msgspec.structs.replace(
    REQUESTED_TO_CAPACITY_RATIO_ARGS, fields=(SHAPE, RESOURCES_COUNTED_ONCE)
)
REQUESTED_TO_CAPACITY_RATIO_ARGS_1_21 = msgspec.structs.replace(REQUESTED_TO_CAPACITY_RATIO_ARGS, errors=_errors_1_21)
REQUESTED_TO_CAPACITY_RATIO_ARGS_1_22 = msgspec.structs.replace(
    REQUESTED_TO_CAPACITY_RATIO_ARGS_1_21, fields=(SHAPE, RESOURCES_COUNTED_ONCE)
)
REQUESTED_TO_CAPACITY_RATIO_1_20 = InTreePlugin(
    REQUESTED_TO_CAPACITY_RATIO,
    REQUESTED_TO_CAPACITY_RATIO_POINTS,
    requested_to_capacity_ratio_1_20,
    args=REQUESTED_TO_CAPACITY_RATIO_ARGS,
)
REQUESTED_TO_CAPACITY_RATIO_1_18 = msgspec.structs.replace(
    REQUESTED_TO_CAPACITY_RATIO_1_20,
    make=requested_to_capacity_ratio_1_18,
    args=REQUESTED_TO_CAPACITY_RATIO_ARGS_1_18,
)
REQUESTED_TO_CAPACITY_RATIO_1_21 = InTreePlugin(
    REQUESTED_TO_CAPACITY_RATIO,
    REQUESTED_TO_CAPACITY_RATIO_POINTS,
    requested_to_capacity_ratio_1_21,
    args=REQUESTED_TO_CAPACITY_RATIO_ARGS_1_21,
)
REQUESTED_TO_CAPACITY_RATIO_1_22 = msgspec.structs.replace(
    REQUESTED_TO_CAPACITY_RATIO_1_21,
    make=requested_to_capacity_ratio_1_22,
    args=REQUESTED_TO_CAPACITY_RATIO_ARGS_1_22,
)


# --- NodeResourceLimits ----------------------------------------------------------------------

NODE_RESOURCE_LIMITS = "NodeResourceLimits"
NODE_RESOURCE_LIMITS_POINTS = frozenset({Point.PRE_SCORE, Point.SCORE})
NODE_RESOURCE_LIMITS_GATE = "ResourceLimitsPriorityFunction"


def node_resource_limits_1_18(_: Any, __: Handle) -> ColumnPlugin:
    """1 where the node has as much cpu or memory as the pod's limits, else 0. Part of the profiles only when feature
    gate ResourceLimitsPriorityFunction is on.

    Upstream: 1.18 NodeResourceLimits.
    """
    scoring = PriorityConfig(
        NODE_RESOURCE_LIMITS,
        resource_limits,
        footprint=Footprint(pod_key=spec_alone),
        constant=unlimited,
        evidence=plugin_evidence(NODE_RESOURCE_LIMITS, explain_resource_limits),
    )
    return ColumnPlugin(NODE_RESOURCE_LIMITS, NODE_RESOURCE_LIMITS_POINTS, scoring=scoring)


NODE_RESOURCE_LIMITS_1_18 = InTreePlugin(
    NODE_RESOURCE_LIMITS,
    NODE_RESOURCE_LIMITS_POINTS,
    node_resource_limits_1_18,
    default_weight=1,
    gate=NODE_RESOURCE_LIMITS_GATE,
    gate_default=False,
)
