"""NodeResourcesBalancedAllocation: a node is better the more alike the shares of its resources are that are in use."""

from __future__ import annotations

from functools import partial

from kubescheduler.framework.args.plugin_args import NodeResourcesBalancedAllocationArgs
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.points import Point
from priorities.requested_framework import asks_for_any_1_36, balanced_allocation_1_20, balanced_allocation_1_36
from priorities.types import PriorityConfig

NAME = "NodeResourcesBalancedAllocation"


def node_resources_balanced_allocation_1_20(_: object, __: Handle) -> ColumnPlugin:
    return ColumnPlugin(NAME, frozenset({Point.SCORE}), scoring=PriorityConfig(NAME, balanced_allocation_1_20))


def node_resources_balanced_allocation_1_36(
    args: NodeResourcesBalancedAllocationArgs | None, _: Handle
) -> ColumnPlugin:
    """PreScore skips a pod that asks for none of the resources; the weights are not looked at."""
    names = tuple(name for name, _ in (args or NodeResourcesBalancedAllocationArgs()).resources)
    scoring = PriorityConfig(
        NAME, partial(balanced_allocation_1_36, names), pre_score=partial(asks_for_any_1_36, names)
    )
    return ColumnPlugin(NAME, frozenset({Point.PRE_SCORE, Point.SCORE}), scoring=scoring)
