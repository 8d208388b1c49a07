"""NodeResourcesMostAllocated (1.20): a node is better the less of its resources is free."""

from __future__ import annotations

from typing import Any

import msgspec

from kubescheduler.framework.args.args_type import CPU_AND_MEMORY, Resources
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.node_resources_least_allocated import ARGS as LEAST_ALLOCATED_ARGS
from kubescheduler.framework.plugins.node_resources_least_allocated import (
    mean_1_20,
    mean_of_present_1_22,
    weight_errors_1_21,
)
from kubescheduler.framework.plugins.plugin_record import InTreePlugin
from priorities.requested_framework import (
    most_allocated_1_18,
    most_allocated_1_20,
    most_allocated_1_36,
    most_formula,
    most_formula_1_18,
)

NAME = "NodeResourcesMostAllocated"
POINTS = frozenset({Point.SCORE})


class NodeResourcesMostAllocatedArgs(msgspec.Struct, frozen=True):
    """1.20."""

    resources: Resources = CPU_AND_MEMORY
    """(resource, weight 1-100)."""


def node_resources_most_allocated_1_19(args: NodeResourcesMostAllocatedArgs | None, _: Handle) -> ColumnPlugin:
    """A resource with T > A scores 0.

    Upstream: 1.19 NodeResourcesMostAllocated. Raises ConfigError for a weight outside 1-100.
    """
    args = args or NodeResourcesMostAllocatedArgs()
    return mean_1_20(NAME, args.resources, most_allocated_1_18, most_formula_1_18)


def node_resources_most_allocated_1_18(_: Any, __: Handle) -> ColumnPlugin:
    """Cpu and memory alike, whatever a configuration says. A resource with T > A scores 0.

    Upstream: 1.18 NodeResourcesMostAllocated.
    """
    return mean_1_20(NAME, CPU_AND_MEMORY, most_allocated_1_18, most_formula_1_18)


def node_resources_most_allocated_1_22(args: NodeResourcesMostAllocatedArgs | None, _: Handle) -> ColumnPlugin:
    """A resource that a node does not have, and another than cpu and memory that the pod does not ask for, are left out
    of the mean.

    Upstream: 1.22 NodeResourcesMostAllocated. Raises ConfigError for a weight outside 1-100.
    """
    args = args or NodeResourcesMostAllocatedArgs()
    return mean_of_present_1_22(NAME, args.resources, most_allocated_1_36, most_formula)


def node_resources_most_allocated_1_21(args: NodeResourcesMostAllocatedArgs | None, _: Handle) -> ColumnPlugin:
    """The same score.

    Upstream: 1.21 NodeResourcesMostAllocated. Raises ConfigError for a weight outside 1-100.
    """
    args = args or NodeResourcesMostAllocatedArgs()
    return mean_1_20(NAME, args.resources, most_allocated_1_20, most_formula, weight_errors_1_21)


def node_resources_most_allocated_1_20(args: NodeResourcesMostAllocatedArgs | None, _: Handle) -> ColumnPlugin:
    """The mean over the resources of 100·T/A, weighted, in integers. T is what pods on the node ask for, this one
    included, and A what the node has. A container that does not ask counts as 100 millicores and 200 MiB. A resource
    with A = 0 scores 0, and its weight counts; one with T > A scores 100.

    Upstream: 1.20 NodeResourcesMostAllocated. Raises ConfigError for a weight outside 1-100.
    """
    args = args or NodeResourcesMostAllocatedArgs()
    return mean_1_20(NAME, args.resources, most_allocated_1_20, most_formula)


# --- args --------------------------------------------------------------------------------------


def _build(resources: Resources = ()) -> NodeResourcesMostAllocatedArgs:
    return NodeResourcesMostAllocatedArgs(resources or CPU_AND_MEMORY)


ARGS = msgspec.structs.replace(LEAST_ALLOCATED_ARGS, record=NodeResourcesMostAllocatedArgs, build=_build)


# --- what it is in each release ---------------------------------------------------------------

PLUGIN_1_18 = InTreePlugin(NAME, POINTS, node_resources_most_allocated_1_18, default_weight=1)
PLUGIN_1_19 = InTreePlugin(NAME, POINTS, node_resources_most_allocated_1_19, args=ARGS, default_weight=1)
ARGS_1_21 = msgspec.structs.replace(ARGS, errors=lambda args: weight_errors_1_21(args.resources))
PLUGIN_1_20 = InTreePlugin(NAME, POINTS, node_resources_most_allocated_1_20, args=ARGS, default_weight=1)
PLUGIN_1_21 = InTreePlugin(NAME, POINTS, node_resources_most_allocated_1_21, args=ARGS_1_21, default_weight=1)
PLUGIN_1_22 = msgspec.structs.replace(PLUGIN_1_21, make=node_resources_most_allocated_1_22)
