"""NodeResourcesBalancedAllocation: a node is better the more alike the shares of its resources are that are in use."""

from __future__ import annotations

from functools import partial

from kubescheduler.framework.args.plugin_args import NodeResourcesBalancedAllocationArgs
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.points import Point
from kubescheduler.framework.plugins.plugin_record import InTreePlugin
from priorities.requested_framework import asks_for_any_1_36, balanced_allocation_1_20, balanced_allocation_1_36
from priorities.types import PriorityConfig

NAME = "NodeResourcesBalancedAllocation"
POINTS_1_20 = frozenset({Point.SCORE})
POINTS_1_36 = frozenset({Point.PRE_SCORE, Point.SCORE})


def node_resources_balanced_allocation_1_20(_: object, __: Handle) -> ColumnPlugin:
    return ColumnPlugin(NAME, POINTS_1_20, scoring=PriorityConfig(NAME, balanced_allocation_1_20))


def node_resources_balanced_allocation_1_36(
    args: NodeResourcesBalancedAllocationArgs | None, _: Handle
) -> ColumnPlugin:
    """PreScore skips a pod that asks for none of the resources; the weights are not looked at."""
    names = tuple(name for name, _ in (args or NodeResourcesBalancedAllocationArgs()).resources)
    scoring = PriorityConfig(
        NAME, partial(balanced_allocation_1_36, names), pre_score=partial(asks_for_any_1_36, names)
    )
    return ColumnPlugin(NAME, POINTS_1_36, scoring=scoring)


# --- what it is in each release ---------------------------------------------------------------

DESCRIPTION = """
1.20: 100·(1 - |T_cpu/A_cpu - T_memory/A_memory|), truncated; 0 where one of the two would be used up. 1.36 compares
with and without the pod: with s the standard deviation of the used shares,

    S = (1 - s)·100, truncated
    score = 50 + (50 + S with the pod - S without it) / 2, in integers

from plain requests, without any default for containers that do not ask; nothing is scored for a pod that asks for none
of the resources."""

PLUGIN_1_20 = InTreePlugin(NAME, POINTS_1_20, node_resources_balanced_allocation_1_20, DESCRIPTION, default_weight=1)
PLUGIN_1_36 = InTreePlugin(NAME, POINTS_1_36, node_resources_balanced_allocation_1_36, DESCRIPTION, default_weight=1)
