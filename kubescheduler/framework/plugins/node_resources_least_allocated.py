"""NodeResourcesLeastAllocated (1.20): a node is better the more of its resources is free."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec

from clusterstate.footprint import Footprint
from clusterstate.growable import IntArray
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.pod_keys import spec_alone
from clusterstate.snapshot import Snapshot
from kubescheduler.framework.args.args_type import CPU_AND_MEMORY, RESOURCES, ArgsType, Resources
from kubescheduler.framework.args.field_errors import FieldError, invalid, plain, refuse
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import InTreePlugin
from priorities.requested_framework import (
    ShareFormula,
    least_allocated_1_20,
    least_allocated_1_36,
    least_formula,
    mean_evidence_1_20,
    mean_evidence_1_36,
    no_devices,
)
from priorities.types import PriorityConfig

NAME = "NodeResourcesLeastAllocated"
POINTS = frozenset({Point.SCORE})


class NodeResourcesLeastAllocatedArgs(msgspec.Struct, frozen=True):
    """1.20."""

    resources: Resources = CPU_AND_MEMORY
    """(resource, weight 1-100)."""


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
    return mean_of_present_1_22(NAME, args.resources, least_allocated_1_36, least_formula)


def mean_of_present_1_22(
    name: str,
    given: Resources,
    score: Callable[[Resources, PodInfo, Snapshot], IntArray],
    formula: ShareFormula,
) -> ColumnPlugin:
    """Of NodeResourcesLeastAllocated and NodeResourcesMostAllocated of 1.22, the last weight of a resource counting.

    Raises ConfigError for a weight outside 1-100.
    """
    refuse(weight_errors_1_21(given))
    resources = tuple(dict(given).items())
    scoring = PriorityConfig(
        name,
        partial(score, resources),
        footprint=Footprint(pod_key=spec_alone, equal_for_equal_usage=True),
        evidence=mean_evidence_1_36(name, formula, resources, no_devices),
    )
    return ColumnPlugin(name, POINTS, scoring=scoring)


def node_resources_least_allocated_1_21(args: NodeResourcesLeastAllocatedArgs | None, _: Handle) -> ColumnPlugin:
    """The same score.

    Upstream: 1.21 NodeResourcesLeastAllocated. Raises ConfigError for a weight outside 1-100.
    """
    args = args or NodeResourcesLeastAllocatedArgs()
    refuse(weight_errors_1_21(args.resources))
    return _plugin(args)


def node_resources_least_allocated_1_20(args: NodeResourcesLeastAllocatedArgs | None, _: Handle) -> ColumnPlugin:
    """The mean over the resources of 100·(A - T)/A, weighted, in integers. T is what pods on the node ask for, this one
    included, and A what the node has. A container that does not ask counts as 100 millicores and 200 MiB. A resource
    with A = 0 scores 0, and its weight counts; one with T > A scores 0.

    Upstream: 1.20 NodeResourcesLeastAllocated. Raises ConfigError for a weight outside 1-100.
    """
    args = args or NodeResourcesLeastAllocatedArgs()
    refuse(weight_errors(args.resources))
    return _plugin(args)


def _plugin(args: NodeResourcesLeastAllocatedArgs) -> ColumnPlugin:
    scoring = PriorityConfig(
        NAME,
        partial(least_allocated_1_20, args.resources),
        footprint=Footprint(pod_key=spec_alone, equal_for_equal_usage=True),
        evidence=mean_evidence_1_20(NAME, least_formula, args.resources),
    )
    return ColumnPlugin(NAME, POINTS, scoring=scoring)


# --- args --------------------------------------------------------------------------------------


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


def _build(resources: Resources = ()) -> NodeResourcesLeastAllocatedArgs:
    return NodeResourcesLeastAllocatedArgs(resources or CPU_AND_MEMORY)


ARGS = ArgsType(
    NodeResourcesLeastAllocatedArgs,
    (RESOURCES,),
    "Weights are 1–100.",
    build=_build,
    errors=lambda args: weight_errors(args.resources),
)


# --- what it is in each release ---------------------------------------------------------------

PLUGIN_1_18 = InTreePlugin(NAME, POINTS, node_resources_least_allocated_1_18, default_weight=1)
ARGS_1_21 = msgspec.structs.replace(ARGS, errors=lambda args: weight_errors_1_21(args.resources))
PLUGIN_1_20 = InTreePlugin(NAME, POINTS, node_resources_least_allocated_1_20, args=ARGS, default_weight=1)
PLUGIN_1_21 = InTreePlugin(NAME, POINTS, node_resources_least_allocated_1_21, args=ARGS_1_21, default_weight=1)
PLUGIN_1_22 = msgspec.structs.replace(PLUGIN_1_21, make=node_resources_least_allocated_1_22)
