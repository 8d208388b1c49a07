"""NodeResourcesFit: what the pod asks for is still free; since 1.36 also which node is best by what is in use."""

from __future__ import annotations

from functools import partial

from clusterstate.changes import LOCAL, Reads
from clusterstate.devices.extended_resources import delegated_resources
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.usage import CPU, EPHEMERAL_STORAGE, MEMORY
from kubescheduler.framework.args.args_checks_1_20 import validate_args_1_20
from kubescheduler.framework.args.args_checks_1_36 import validate_args_1_36
from kubescheduler.framework.args.plugin_args import NodeResourcesFitArgs, ScoringStrategy
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.points import Point
from kubescheduler.framework.plugins.plugin_record import BY_NODE, UNSCHEDULABLE, InTreePlugin, PluginReason
from kubescheduler.queue.cluster_events import DEVICE_CLASS, NODE, POD, Action
from kubescheduler.queue.queueing_hints import Registered
from predicates import resources as rule
from predicates.resources import Ignored
from predicates.types import FitPredicate
from priorities.normalize import curve, scaled
from priorities.requested_framework import (
    Devices,
    least_allocated_1_36,
    most_allocated_1_36,
    no_devices,
    requested_to_capacity_ratio_1_36,
)
from priorities.types import Map, PriorityConfig

NAME = "NodeResourcesFit"
POINTS_1_20 = frozenset({Point.PRE_FILTER, Point.FILTER})
POINTS_1_36 = POINTS_1_20 | {Point.PRE_SCORE, Point.SCORE}
UNPREPARED = 'error reading "PreFilterNodeResourcesFit" from cycleState: not found'
PLAIN = frozenset({CPU, MEMORY, EPHEMERAL_STORAGE})


def _ignored(args: NodeResourcesFitArgs) -> Ignored:
    return Ignored(frozenset(args.ignored_resources), frozenset(args.ignored_resource_groups))


def node_resources_fit_1_20(args: NodeResourcesFitArgs | None, _: Handle) -> ColumnPlugin:
    """Raises ConfigError for ignored names that cannot be those of resources or groups."""
    args = args or NodeResourcesFitArgs()
    validate_args_1_20(NAME, args)
    check = FitPredicate(NAME, partial(rule.node_resources_fit_1_20, ignored=_ignored(args)), amounts=True)
    return ColumnPlugin(NAME, POINTS_1_20, check, filter_alone=UNPREPARED)


# --- 1.36 ------------------------------------------------------------------------------------


def node_resources_fit_1_36(
    args: NodeResourcesFitArgs | None, handle: Handle, *, devices: Devices = no_devices
) -> ColumnPlugin:
    """A row is beyond help where the pod asks for more than the node has at all.

    devices: how many devices stand for an extended resource while nodes are scored. Raises ConfigError for faulty args.
    """
    args = args or NodeResourcesFitArgs()
    validate_args_1_36(NAME, args)
    backed = provided_by_class if handle.feature_gates.get("DRAExtendedResource", True) else rule.by_no_class
    ignored = _ignored(args)
    check = FitPredicate(
        NAME,
        partial(rule.node_resources_fit_1_36, ignored=ignored, backed=backed),
        reads=LOCAL | Reads.RESOURCES,
        narrow=_reads,
        alone=_always_alone,
        amounts=True,
        beyond=partial(rule.beyond_allocatable_1_36, ignored=ignored, backed=backed),
    )
    scoring = PriorityConfig(
        NAME,
        _strategy(args.scoring_strategy or ScoringStrategy(), devices),
        reads=LOCAL if devices is no_devices else LOCAL | Reads.RESOURCES,
    )
    return ColumnPlugin(NAME, POINTS_1_36, check, scoring, filter_alone=UNPREPARED)


def provided_by_class(snapshot: Snapshot, resource: str) -> bool:
    """Whether a DeviceClass provides a resource."""
    return resource in delegated_resources(snapshot)


def _reads(pod: PodInfo) -> Reads:
    """Only scalar resources may be devices."""
    return LOCAL if PLAIN.issuperset(pod.usage.request) else LOCAL | Reads.RESOURCES


def _always_alone(_: PodInfo, __: Snapshot) -> bool:
    return True


def _strategy(strategy: ScoringStrategy, devices: Devices) -> Map:
    if strategy.type == "LeastAllocated":
        return partial(least_allocated_1_36, strategy.resources, devices=devices)
    if strategy.type == "MostAllocated":
        return partial(most_allocated_1_36, strategy.resources, devices=devices)
    table = curve(scaled(strategy.shape or ()))
    return partial(requested_to_capacity_ratio_1_36, table, strategy.resources, devices=devices)


# --- what it is in each release ---------------------------------------------------------------

DESCRIPTION = """
Fails where the node already runs as many pods as it allows, or where what the pod asks for is not free: cpu, memory,
ephemeral storage, and every other resource it names. 1.20 tests cpu, memory and ephemeral storage once anything at all
is asked for, so an overcommitted node refuses pods that want nothing of what is short; 1.36 tests what is asked for.
1.36 answers UnschedulableAndUnresolvable where the pod asks for more than the node has at all, counts sidecars,
pod-level requests and resizes, and scores by `scoringStrategy`: LeastAllocated, MostAllocated or
RequestedToCapacityRatio. There a resource that the node does not have, and another than cpu and memory that the pod
does not ask for, are left out."""
REASONS = (PluginReason("Too many pods", UNSCHEDULABLE),)
REASONS_1_20 = (PluginReason("Insufficient <RESOURCE>", UNSCHEDULABLE), *REASONS)
REASONS_1_36 = (PluginReason("Insufficient <RESOURCE>", BY_NODE), *REASONS)
EVENTS = (
    Registered(POD, Action.DELETE),
    Registered(POD, Action.POD_SCALE_DOWN),
    Registered(NODE, Action.ADD | Action.NODE_ALLOCATABLE),
    Registered(DEVICE_CLASS, Action.ADD | Action.UPDATE),
)

PLUGIN_1_20 = InTreePlugin(NAME, POINTS_1_20, node_resources_fit_1_20, DESCRIPTION, reasons=REASONS_1_20)
PLUGIN_1_36 = InTreePlugin(
    NAME, POINTS_1_36, node_resources_fit_1_36, DESCRIPTION, reasons=REASONS_1_36, default_weight=1, events=EVENTS
)
