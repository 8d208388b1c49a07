"""NodeResourcesLeastAllocated (1.20): a node is better the more of its resources is free."""

from __future__ import annotations

from functools import partial

from kubescheduler.framework.args.args_checks_1_20 import validate_args_1_20
from kubescheduler.framework.args.plugin_args import NodeResourcesLeastAllocatedArgs
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.points import Point
from kubescheduler.framework.plugins.plugin_record import InTreePlugin
from priorities.requested_framework import least_allocated_1_20
from priorities.types import PriorityConfig

NAME = "NodeResourcesLeastAllocated"
POINTS = frozenset({Point.SCORE})


def node_resources_least_allocated_1_20(args: NodeResourcesLeastAllocatedArgs | None, _: Handle) -> ColumnPlugin:
    """Raises ConfigError for a weight outside 1-100."""
    args = args or NodeResourcesLeastAllocatedArgs()
    validate_args_1_20(NAME, args)
    scoring = PriorityConfig(NAME, partial(least_allocated_1_20, args.resources))
    return ColumnPlugin(NAME, POINTS, scoring=scoring)


# --- what it is in each release ---------------------------------------------------------------

ALLOCATED = """
The mean over the resources of {0}, weighted, in integers. T is what pods on the node ask for, this one included, and A
what the node has. A container that does not ask counts as 100 millicores and 200 MiB. A resource with A = 0 scores 0,
and its weight counts; one with T > A scores {1}."""
DESCRIPTION = ALLOCATED.format("100·(A - T)/A", "0")

PLUGIN_1_20 = InTreePlugin(NAME, POINTS, node_resources_least_allocated_1_20, DESCRIPTION, default_weight=1)
