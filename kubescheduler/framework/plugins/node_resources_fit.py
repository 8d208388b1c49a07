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
FILTERS = frozenset({Point.PRE_FILTER, Point.FILTER})
UNPREPARED = 'error reading "PreFilterNodeResourcesFit" from cycleState: not found'
PLAIN = frozenset({CPU, MEMORY, EPHEMERAL_STORAGE})


def _ignored(args: NodeResourcesFitArgs) -> Ignored:
    return Ignored(frozenset(args.ignored_resources), frozenset(args.ignored_resource_groups))


def node_resources_fit_1_20(args: NodeResourcesFitArgs | None, _: Handle) -> ColumnPlugin:
    """Raises ConfigError for ignored names that cannot be those of resources or groups."""
    args = args or NodeResourcesFitArgs()
    validate_args_1_20(NAME, args)
    check = FitPredicate(NAME, partial(rule.node_resources_fit_1_20, ignored=_ignored(args)), amounts=True)
    return ColumnPlugin(NAME, FILTERS, check, filter_alone=UNPREPARED)


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
    return ColumnPlugin(NAME, FILTERS | {Point.PRE_SCORE, Point.SCORE}, check, scoring, filter_alone=UNPREPARED)


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
