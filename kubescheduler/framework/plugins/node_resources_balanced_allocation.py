"""NodeResourcesBalancedAllocation: a node is better the more alike the shares of its resources are that are in use."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import msgspec

from clusterstate.devices.device_features import DeviceFeatures
from clusterstate.footprint import Footprint
from clusterstate.selectors.pod_keys import spec_alone
from kubescheduler.framework.args.args_type import CPU_AND_MEMORY, RESOURCES, ArgsType, Resources
from kubescheduler.framework.args.field_errors import FieldError, duplicate, invalid
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import InTreePlugin
from kubescheduler.framework.plugins.signed_fields import signed_resources
from priorities.requested_framework import (
    asks_for_any_1_36,
    balance_evidence_1_20,
    balance_evidence_1_36,
    balanced_allocation_1_20,
    balanced_allocation_1_36,
    devices_for,
    no_devices,
    reads_of,
)
from priorities.types import PriorityConfig

NAME = "NodeResourcesBalancedAllocation"
POINTS_1_20 = frozenset({Point.SCORE})
POINTS_1_36 = frozenset({Point.PRE_SCORE, Point.SCORE})


class NodeResourcesBalancedAllocationArgs(msgspec.Struct, frozen=True):
    """1.36."""

    resources: Resources = CPU_AND_MEMORY
    """(resource, 1)."""


def node_resources_balanced_allocation_1_20(_: object, __: Handle) -> ColumnPlugin:
    """The score is 100·(1 - |T_cpu/A_cpu - T_memory/A_memory|), truncated; 0 where one of the two would be used up. T
    is what pods on the node ask for, this one included, and A what the node has; a container that does not ask counts
    as 100 millicores and 200 MiB.

    Upstream: 1.20 NodeResourcesBalancedAllocation.
    """
    scoring = PriorityConfig(
        NAME,
        balanced_allocation_1_20,
        footprint=Footprint(pod_key=spec_alone, equal_for_equal_usage=True),
        evidence=balance_evidence_1_20(NAME),
    )
    return ColumnPlugin(NAME, POINTS_1_20, scoring=scoring)


def node_resources_balanced_allocation_1_36(
    args: NodeResourcesBalancedAllocationArgs | None, handle: Handle
) -> ColumnPlugin:
    """Compares with and without the pod: with s the standard deviation of the used shares,

        S = (1 - s)·100, truncated
        score = 50 + (50 + S with the pod - S without it) / 2, in integers

    from plain requests, without any default for containers that do not ask; nothing is scored for a pod that asks for
    none of the resources.

    Upstream: 1.36 NodeResourcesBalancedAllocation. PreScore skips a pod that asks for none of the resources; the
    weights are not looked at.
    """
    names = tuple(name for name, _ in (args or NodeResourcesBalancedAllocationArgs()).resources)
    devices = devices_for(names, DeviceFeatures.of(handle.feature_gates))
    scoring = PriorityConfig(
        NAME,
        partial(balanced_allocation_1_36, names, devices=devices),
        footprint=Footprint(reads_of(devices), pod_key=spec_alone, equal_for_equal_usage=devices is no_devices),
        pre_score=partial(asks_for_any_1_36, names),
        evidence=balance_evidence_1_36(NAME, names, devices),
    )
    return ColumnPlugin(NAME, POINTS_1_36, scoring=scoring, sign=signed_resources(handle.feature_gates))


# --- args --------------------------------------------------------------------------------------


def _build(resources: Resources = ()) -> NodeResourcesBalancedAllocationArgs:
    return NodeResourcesBalancedAllocationArgs(resources or CPU_AND_MEMORY)


def _errors(args: NodeResourcesBalancedAllocationArgs) -> Iterator[FieldError]:
    seen: set[str] = set()
    for at, (name, weight) in enumerate(args.resources):
        if name in seen:
            yield duplicate(f"resources[{at}].name", name)
        seen.add(name)
        if weight != 1:
            yield invalid(f"resources[{at}].weight", weight, "must be 1")


ARGS = ArgsType(
    NodeResourcesBalancedAllocationArgs,
    (RESOURCES,),
    "The resources to balance. Weights must be 1.",
    build=_build,
    errors=_errors,
    checked_with_config=True,
)


# --- what it is in each release ---------------------------------------------------------------

PLUGIN_1_20 = InTreePlugin(NAME, POINTS_1_20, node_resources_balanced_allocation_1_20, default_weight=1)
PLUGIN_1_36 = InTreePlugin(NAME, POINTS_1_36, node_resources_balanced_allocation_1_36, args=ARGS, default_weight=1)
