"""Whether the args of a plugin can be used, in the words of release 1.20, which checks them as it builds the plugin."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from clusterstate.api_names import go_quote
from clusterstate.errors import ConfigError
from clusterstate.name_errors import worded_1_20
from clusterstate.selectors.term_errors import node_selector_error_1_20, preferred_error_1_20
from kubescheduler.framework.args.args_checks import SpreadTexts, ignored_errors, spread_errors
from kubescheduler.framework.args.field_errors import INVALID, FieldError, aggregate, invalid, plain
from kubescheduler.framework.args.go_literals import node_selector, preferred_terms
from kubescheduler.framework.args.plugin_args import (
    DefaultPreemptionArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeLabelArgs,
    NodeResourcesFitArgs,
    NodeResourcesLeastAllocatedArgs,
    NodeResourcesMostAllocatedArgs,
    PodTopologySpreadArgs,
    RequestedToCapacityRatioArgs,
    VolumeBindingArgs,
)

PERCENT = range(101)
MOST_WEIGHT = 100
SCORES = range(11)


def validate_args_1_20(name: str, args: Any) -> None:
    """Raises ConfigError with the text at which the release gives up building plugin ``name``; no args are fine."""
    if errors := args_errors_1_20(name, args):
        raise ConfigError(aggregate(errors))


def args_errors_1_20(name: str, args: Any) -> list[FieldError]:
    """What the release tells of the args of plugin ``name``, paths beginning at the args."""
    validator = VALIDATORS_1_20.get(name)
    return [] if validator is None or args is None else list(validator(args))


def _preemption(args: DefaultPreemptionArgs) -> Iterator[FieldError]:
    if args.min_candidate_nodes_percentage not in PERCENT:
        yield plain("minCandidateNodesPercentage is not in the range [0, 100]")
    elif args.min_candidate_nodes_absolute < 0:
        yield plain("minCandidateNodesAbsolute is not in the range [0, inf)")
    elif args.min_candidate_nodes_percentage == 0 == args.min_candidate_nodes_absolute:
        yield plain("both minCandidateNodesPercentage and minCandidateNodesAbsolute cannot be zero")


def _interpod(args: InterPodAffinityArgs) -> Iterator[FieldError]:
    if args.hard_pod_affinity_weight not in PERCENT:
        yield invalid("hardPodAffinityWeight", args.hard_pod_affinity_weight, "not in valid range [0-100]")


def _affinity(args: NodeAffinityArgs) -> Iterator[FieldError]:
    added = args.added_affinity
    if added is None:
        return
    if added.required is not None and (error := node_selector_error_1_20(added.required)):
        path = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"
        yield FieldError(path, error, INVALID, node_selector(added.required))
    if error := preferred_error_1_20(added.preferred):
        path = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"
        yield FieldError(path, error, INVALID, preferred_terms(added.preferred))


def _labels(args: NodeLabelArgs) -> Iterator[FieldError]:
    pairs = (
        (args.present_labels, args.absent_labels),
        (args.present_labels_preference, args.absent_labels_preference),
    )
    for present, absent in pairs:
        both = next((label for label in absent if label in present), None)
        if both is not None:
            lists = f"the present([{' '.join(present)}]) and absent([{' '.join(absent)}]) label list"
            yield plain(f"detecting at least one label (e.g., {go_quote(both)}) that exist in both {lists}")
            return


def _fit(args: NodeResourcesFitArgs) -> Iterator[FieldError]:
    return ignored_errors(args, worded_1_20)


def _allocated(args: NodeResourcesLeastAllocatedArgs | NodeResourcesMostAllocatedArgs) -> Iterator[FieldError]:
    for name, weight in args.resources:
        if weight <= 0:
            yield plain(f"resource Weight of {name} should be a positive value, got {weight}")
            return
        if weight > MOST_WEIGHT:
            yield plain(f"resource Weight of {name} should be less than {MOST_WEIGHT}, got {weight}")
            return


def _spread(args: PodTopologySpreadArgs) -> Iterator[FieldError]:
    return spread_errors(args, _SPREAD)


_SPREAD = SpreadTexts(
    unknown_type=lambda value: invalid("defaultingType", value, 'must be one of {"System", "List"}'),
    low_skew="must be greater than zero",
    worded=worded_1_20,
)


def _ratio(args: RequestedToCapacityRatioArgs) -> Iterator[FieldError]:
    if error := shape_error_1_20(args.shape):
        yield plain(error)
        return
    for name, weight in args.resources:
        if weight < 1:
            yield plain(f"resource {name} weight {weight} must not be less than 1")
            return


def shape_error_1_20(shape: Sequence[tuple[int, int]]) -> str | None:
    """The first fault of a curve of (utilization, score) points."""
    if not shape:
        return "at least one point must be specified"
    for at, ((before, _), (here, _)) in enumerate(pairwise(shape)):
        if before >= here:
            return f"utilization values must be sorted. Utilization[{at}]=={before} >= Utilization[{at + 1}]=={here}"
    ranges = (
        ("utilization values", "Utilization", 0, PERCENT[-1]),
        ("score values", "Score", 1, SCORES[-1]),
    )
    for at, point in enumerate(shape):
        for what, member, which, most in ranges:
            value = point[which]
            if value < 0:
                return f"{what} must not be less than 0. {member}[{at}]=={value}"
            if value > most:
                return f"{what} must not be greater than {most}. {member}[{at}]=={value}"
    return None


def _binding(args: VolumeBindingArgs) -> Iterator[FieldError]:
    if args.bind_timeout_seconds <= 0:
        yield plain(f"invalid BindTimeoutSeconds: {args.bind_timeout_seconds}, must be positive integer")


VALIDATORS_1_20: dict[str, Callable[[Any], Iterator[FieldError]]] = {
    "DefaultPreemption": _preemption,
    "InterPodAffinity": _interpod,
    "NodeAffinity": _affinity,
    "NodeLabel": _labels,
    "NodeResourcesFit": _fit,
    "NodeResourcesLeastAllocated": _allocated,
    "NodeResourcesMostAllocated": _allocated,
    "PodTopologySpread": _spread,
    "RequestedToCapacityRatio": _ratio,
    "VolumeBinding": _binding,
}
"""Plugin → the check of its args."""
