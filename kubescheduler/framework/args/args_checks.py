"""What releases 1.20 and 1.36 check alike in the args of plugins."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs

from clusterstate.objects import TopologySpreadConstraint
from kubescheduler.framework.args.field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    label_name_errors,
    required,
    unsupported,
)
from kubescheduler.framework.args.plugin_args import NodeResourcesFitArgs, PodTopologySpreadArgs

SYSTEM, LIST = "System", "List"
ACTIONS = ("DoNotSchedule", "ScheduleAnyway")

Worded = Callable[[str], str]
"""A text about a name as the release has it."""


def ignored_errors(args: NodeResourcesFitArgs, worded: Worded) -> Iterator[FieldError]:
    """ignoredResources and ignoredResourceGroups."""
    for at, name in enumerate(args.ignored_resources):
        yield from label_name_errors(f"ignoredResources[{at}]", name, worded)
    for at, group in enumerate(args.ignored_resource_groups):
        path = f"ignoredResourceGroups[{at}]"
        if "/" in group:
            yield invalid(path, group, "resource group name can't contain '/'")
        yield from label_name_errors(path, group, worded)


@attrs.frozen
class SpreadTexts:
    """What the releases say differently of PodTopologySpreadArgs."""

    unknown_type: Callable[[str], FieldError]
    low_skew: str
    worded: Worded


def spread_errors(args: PodTopologySpreadArgs, texts: SpreadTexts) -> Iterator[FieldError]:
    if args.defaulting_type not in (SYSTEM, LIST):
        yield texts.unknown_type(args.defaulting_type)
    elif args.defaulting_type == SYSTEM and args.default_constraints:
        yield invalid("defaultingType", SYSTEM, "when .defaultConstraints are not empty")
    seen: set[tuple[str, str]] = set()
    for at, constraint in enumerate(args.default_constraints):
        path = f"defaultConstraints[{at}]"
        yield from _constraint_errors(constraint, path, texts)
        pair = (constraint.topology_key, constraint.when_unsatisfiable)
        if pair in seen:
            yield duplicate(path, f"{{{', '.join(pair)}}}")
        seen.add(pair)


def _constraint_errors(constraint: TopologySpreadConstraint, path: str, texts: SpreadTexts) -> Iterator[FieldError]:
    if constraint.max_skew <= 0:
        yield invalid(f"{path}.maxSkew", constraint.max_skew, texts.low_skew)
    if not constraint.topology_key:
        yield required(f"{path}.topologyKey", "can not be empty")
    else:
        yield from label_name_errors(f"{path}.topologyKey", constraint.topology_key, texts.worded)
    if not constraint.when_unsatisfiable:
        yield required(f"{path}.whenUnsatisfiable", "can not be empty")
    elif constraint.when_unsatisfiable not in ACTIONS:
        yield unsupported(f"{path}.whenUnsatisfiable", constraint.when_unsatisfiable, ACTIONS)
    if constraint.label_selector is not None:
        text = "constraint must not define a selector, as they deduced for each pod"
        yield forbidden(f"{path}.labelSelector", text)
