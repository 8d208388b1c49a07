"""NodeResourcesMostAllocated (1.20): a node is better the less of its resources is free."""

from __future__ import annotations

from functools import partial

from kubescheduler.framework.args.args_checks_1_20 import validate_args_1_20
from kubescheduler.framework.args.plugin_args import NodeResourcesMostAllocatedArgs
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.points import Point
from kubescheduler.framework.plugins.node_resources_least_allocated import ALLOCATED
from kubescheduler.framework.plugins.plugin_record import InTreePlugin
from priorities.requested_framework import most_allocated_1_20
from priorities.types import PriorityConfig

NAME = "NodeResourcesMostAllocated"
POINTS = frozenset({Point.SCORE})


def node_resources_most_allocated_1_20(args: NodeResourcesMostAllocatedArgs | None, _: Handle) -> ColumnPlugin:
    """Raises ConfigError for a weight outside 1-100."""
    args = args or NodeResourcesMostAllocatedArgs()
    validate_args_1_20(NAME, args)
    scoring = PriorityConfig(NAME, partial(most_allocated_1_20, args.resources))
    return ColumnPlugin(NAME, POINTS, scoring=scoring)


# --- what it is in each release ---------------------------------------------------------------

DESCRIPTION = ALLOCATED.format("100·T/A", "100")

PLUGIN_1_20 = InTreePlugin(NAME, POINTS, node_resources_most_allocated_1_20, DESCRIPTION, default_weight=1)
