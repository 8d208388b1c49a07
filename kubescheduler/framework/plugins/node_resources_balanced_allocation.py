"""NodeResourcesBalancedAllocation: a node is better the more alike the shares of its resources are that are in use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import msgspec

from clusterstate.changes import BY_ROW, Reads
from clusterstate.devices.device_requests import DeviceFeatures
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.growable import IntArray
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.volume_decision import bound_storage
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.document_schema import (
    CPU_AND_MEMORY,
    RESOURCES_COUNTED_ONCE,
    ArgsType,
    FieldError,
    Resources,
    duplicate,
    invalid,
)
from kubescheduler.framework.plugins.plugin_record import InTreePlugin, signed_resources
from predicates.types import attached_last
from priorities.requested import (
    balance_with_volumes,
    balanced,
    balanced_resource_allocation,
    explain_shares,
    explain_with_volumes,
)
from priorities.requested_framework import (
    Devices,
    amounts_1_22,
    asks_for_any_1_36,
    balance_evidence_1_22,
    balance_evidence_1_36,
    balanced_allocation_1_22,
    balanced_allocation_1_36,
    devices_for,
    no_devices,
    reads_of,
)
from priorities.score_evidence import RuleEvidence, plugin_evidence
from priorities.types import MAX_NODE_SCORE, PriorityConfig, goes_on

NAME = "NodeResourcesBalancedAllocation"
VOLUMES_GATE = "BalanceAttachedNodeVolumes"
POINTS_1_20 = frozenset({Point.SCORE})
POINTS_1_36 = frozenset({Point.PRE_SCORE, Point.SCORE})


class NodeResourcesBalancedAllocationArgs(msgspec.Struct, frozen=True):
    """1.36."""

    resources: Resources = CPU_AND_MEMORY
    """(resource, 1)."""


def node_resources_balanced_allocation_1_20(_: object, handle: Handle) -> ColumnPlugin:
    """The score is 100·(1 - |T_cpu/A_cpu - T_memory/A_memory|), truncated; 0 where one of the two would be used up. T
    is what pods on the node ask for, this one included, and A what the node has; a container that does not ask counts
    as 100 millicores and 200 MiB. With feature gate BalanceAttachedNodeVolumes, where EBSLimits or the like counted the
    pod's disks: 100·(1 - variance) of the shares of cpu, memory and attachable disks.

    Upstream: 1.20 NodeResourcesBalancedAllocation.
    """
    if handle.feature_gates.get(VOLUMES_GATE, False):
        return ColumnPlugin(NAME, POINTS_1_20, scoring=_with_volumes(handle))
    scoring = PriorityConfig(
        NAME,
        partial(balanced_resource_allocation, best=MAX_NODE_SCORE),
        footprint=Footprint(pod_key=spec_alone, equal_for_equal_usage=True),
        evidence=plugin_evidence(NAME, partial(explain_shares, partial(balanced, best=MAX_NODE_SCORE))),
    )
    return ColumnPlugin(NAME, POINTS_1_20, scoring=scoring)


def _with_volumes(handle: Handle) -> PriorityConfig:
    def attached(pod: PodInfo, snapshot: Snapshot) -> IntArray | None:
        return attached_last(handle.runner.filter_checks(), pod, snapshot)

    return PriorityConfig(
        NAME,
        partial(balance_with_volumes, attached, top=MAX_NODE_SCORE),
        footprint=Footprint(BY_ROW | Reads.STORAGE, pod_key=spec_alone, storage=bound_storage),
        evidence=plugin_evidence(NAME, partial(explain_with_volumes, attached, top=MAX_NODE_SCORE)),
    )


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
    asks = partial(asks_for_any_1_36, _names(args))
    return _balancing(args, handle, balanced_allocation_1_36, balance_evidence_1_36, asks)


def node_resources_balanced_allocation_1_33(
    args: NodeResourcesBalancedAllocationArgs | None, handle: Handle
) -> ColumnPlugin:
    """With s the standard deviation of the used shares, the pod's requests included, the score is (1 - s)·100,
    truncated, from plain requests, without any default for containers that do not ask; nothing is scored for a pod that
    asks for none of the resources.

    Upstream: 1.33 NodeResourcesBalancedAllocation, whose PreScore skips such a pod.
    """
    asks = partial(asks_for_any_1_36, _names(args))
    return _balancing(args, handle, balanced_allocation_1_22, balance_evidence_1_22, asks)


def node_resources_balanced_allocation_1_22(
    args: NodeResourcesBalancedAllocationArgs | None, handle: Handle
) -> ColumnPlugin:
    """As in 1.27, but the pod's overhead of cpu counts in whole cores, rounded up, as if they were millicores.

    Upstream: 1.22 NodeResourcesBalancedAllocation.
    """
    if not handle.feature_gates.get("PodOverhead", True):
        return node_resources_balanced_allocation_1_27(args, handle)
    formula = partial(balanced_allocation_1_22, amounts=amounts_1_22)
    return _balancing(args, handle, formula, partial(balance_evidence_1_22, amounts=amounts_1_22), goes_on)


def node_resources_balanced_allocation_1_27(
    args: NodeResourcesBalancedAllocationArgs | None, handle: Handle
) -> ColumnPlugin:
    """As in 1.33, but a pod that asks for nothing is scored by what others use.

    Upstream: 1.27 NodeResourcesBalancedAllocation.
    """
    return _balancing(args, handle, balanced_allocation_1_22, balance_evidence_1_22, goes_on)


def _balancing(
    args: NodeResourcesBalancedAllocationArgs | None,
    handle: Handle,
    formula: Callable[..., IntArray],
    evidence: Callable[[str, tuple[str, ...], Devices], RuleEvidence],
    asks: Callable[[PodInfo, Snapshot], bool],
) -> ColumnPlugin:
    """asks: whether a pod is scored at all."""
    names = _names(args)
    devices = devices_for(names, DeviceFeatures.of(handle.feature_gates))
    scoring = PriorityConfig(
        NAME,
        partial(formula, names, devices=devices),
        footprint=Footprint(reads_of(devices), pod_key=spec_alone, equal_for_equal_usage=devices is no_devices),
        pre_score=asks,
        evidence=evidence(NAME, names, devices),
    )
    return ColumnPlugin(NAME, POINTS_1_36, scoring=scoring, sign=signed_resources(handle.feature_gates))


def _names(args: NodeResourcesBalancedAllocationArgs | None) -> tuple[str, ...]:
    return tuple(name for name, _ in (args or NodeResourcesBalancedAllocationArgs()).resources)


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
    (RESOURCES_COUNTED_ONCE,),
    "The resources to balance. Weights must be 1.",
    build=_build,
    errors=_errors,
    checked_with_config=True,
)


# --- what it is in each release ---------------------------------------------------------------

PLUGIN_1_20 = InTreePlugin(NAME, POINTS_1_20, node_resources_balanced_allocation_1_20, default_weight=1)
PLUGIN_1_22 = InTreePlugin(NAME, POINTS_1_20, node_resources_balanced_allocation_1_22, args=ARGS, default_weight=1)
PLUGIN_1_33 = InTreePlugin(NAME, POINTS_1_36, node_resources_balanced_allocation_1_33, args=ARGS, default_weight=1)
PLUGIN_1_36 = InTreePlugin(NAME, POINTS_1_36, node_resources_balanced_allocation_1_36, args=ARGS, default_weight=1)
PLUGIN_1_27 = msgspec.structs.replace(PLUGIN_1_36, make=node_resources_balanced_allocation_1_27)
