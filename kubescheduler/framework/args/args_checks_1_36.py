"""Whether the args of a plugin can be used, in the words of release 1.36.

It checks them with the whole configuration, but for those of NodeResourcesFit: these as it builds the plugin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from clusterstate.api_names import go_quote
from clusterstate.errors import ConfigError
from clusterstate.name_errors import worded_1_36
from clusterstate.selectors.term_errors import node_selector_errors_1_36, preferred_errors_1_36
from kubescheduler.framework.args.args_checks import LIST, SYSTEM, SpreadTexts, ignored_errors, spread_errors
from kubescheduler.framework.args.field_errors import (
    INVALID,
    FieldError,
    aggregate,
    duplicate,
    forbidden,
    invalid,
    required,
    unsupported,
)
from kubescheduler.framework.args.plugin_args import (
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ScoringStrategy,
    VolumeBindingArgs,
)
from kubescheduler.framework.contract.go_durations import SECOND, format_duration

PERCENT = range(101)
WEIGHTS = range(1, 101)
SCORES = range(11)
RATIO = "RequestedToCapacityRatio"
STRATEGIES = ("LeastAllocated", "MostAllocated", RATIO)
CHECKED_WHEN_BUILT = "NodeResourcesFit"


def validate_args_1_36(name: str, args: Any) -> None:
    """Raises ConfigError with the text at which the release gives up building plugin ``name``; no args are fine."""
    if name == CHECKED_WHEN_BUILT and (errors := args_errors_1_36(name, args)):
        raise ConfigError(aggregate(errors))


def args_errors_1_36(name: str, args: Any) -> list[FieldError]:
    """What is wrong with the args of plugin ``name``, paths beginning at the args."""
    validator = VALIDATORS_1_36.get(name)
    return [] if validator is None or args is None else list(validator(args))


def _preemption(args: DefaultPreemptionArgs) -> Iterator[FieldError]:
    percentage, absolute = "minCandidateNodesPercentage", "minCandidateNodesAbsolute"
    if args.min_candidate_nodes_percentage not in PERCENT:
        yield invalid(percentage, args.min_candidate_nodes_percentage, "not in valid range [0, 100]")
    if args.min_candidate_nodes_absolute < 0:
        yield invalid(absolute, args.min_candidate_nodes_absolute, "not in valid range [0, inf)")
    if args.min_candidate_nodes_percentage == 0 == args.min_candidate_nodes_absolute:
        yield invalid(percentage, 0, f"cannot be zero at the same time as {absolute}")
        yield invalid(absolute, 0, f"cannot be zero at the same time as {percentage}")


def _interpod(args: InterPodAffinityArgs) -> Iterator[FieldError]:
    if args.hard_pod_affinity_weight not in PERCENT:
        yield invalid("hardPodAffinityWeight", args.hard_pod_affinity_weight, "not in valid range [0, 100]")


def _affinity(args: NodeAffinityArgs) -> Iterator[FieldError]:
    added = args.added_affinity
    if added is None:
        return
    required_path = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"
    preferred_path = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"
    texts = (
        *node_selector_errors_1_36(added.required or (), required_path),
        *preferred_errors_1_36(added.preferred, preferred_path),
    )
    for text in texts:
        path, _, told = text.partition(": ")
        kind, _, rest = told.partition(": ")
        yield FieldError(path, rest, kind)


def _balanced(args: NodeResourcesBalancedAllocationArgs) -> Iterator[FieldError]:
    seen: set[str] = set()
    for at, (name, weight) in enumerate(args.resources):
        if name in seen:
            yield duplicate(f"resources[{at}].name", name)
        seen.add(name)
        if weight != 1:
            yield invalid(f"resources[{at}].weight", weight, "must be 1")


def _spread(args: PodTopologySpreadArgs) -> Iterator[FieldError]:
    return spread_errors(args, _SPREAD)


_SPREAD = SpreadTexts(
    unknown_type=lambda value: unsupported("defaultingType", value, (SYSTEM, LIST)),
    low_skew="not in valid range (0, inf)",
    worded=worded_1_36,
)


def _binding(args: VolumeBindingArgs) -> Iterator[FieldError]:
    if args.bind_timeout_seconds < 0:
        text = "invalid BindTimeoutSeconds, should not be a negative value"
        yield invalid("bindTimeoutSeconds", args.bind_timeout_seconds, text)
    if args.shape:
        points = ",".join(f'{{"Utilization":{utilization},"Score":{score}}}' for utilization, score in args.shape)
        text = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        yield FieldError("shape", text, INVALID, f"[{points}]")


def _dynamic(args: DynamicResourcesArgs) -> Iterator[FieldError]:
    if args.filter_timeout < 0:
        yield _invalid_duration("filterTimeout", args.filter_timeout, "must be zero or positive")
    if args.binding_timeout < SECOND:
        yield _invalid_duration("bindingTimeout", args.binding_timeout, "must be at least 1 second")


def _invalid_duration(path: str, nanoseconds: int, text: str) -> FieldError:
    return FieldError(path, text, INVALID, go_quote(format_duration(nanoseconds)))


def _fit(args: NodeResourcesFitArgs) -> Iterator[FieldError]:
    yield from ignored_errors(args, worded_1_36)
    if args.scoring_strategy is None:
        yield required("scoringStrategy", "ScoringStrategy field is required")
    else:
        yield from (error.under("scoringStrategy") for error in _strategy_errors(args.scoring_strategy))


def _strategy_errors(strategy: ScoringStrategy) -> Iterator[FieldError]:
    if strategy.type not in STRATEGIES:
        yield unsupported("type", strategy.type, STRATEGIES)
    for at, (name, weight) in enumerate(strategy.resources):
        if weight not in WEIGHTS:
            text = f"resource weight of {name} not in valid range (0, 100]"
            yield invalid(f"resources[{at}].weight", weight, text)
    if strategy.type == RATIO and strategy.shape is None:
        yield required("requestedToCapacityRatio", f"must be specified when type is {RATIO}")
    elif strategy.type != RATIO and strategy.shape is not None:
        yield forbidden("requestedToCapacityRatio", f"must be nil when type is not {RATIO}")
    elif strategy.shape is not None:
        yield from (error.under("shape") for error in shape_errors_1_36(strategy.shape))


def shape_errors_1_36(shape: Sequence[tuple[int, int]]) -> Iterator[FieldError]:
    """The faults of a curve of (utilization, score) points, paths beginning at the list."""
    if not shape:
        yield required("", "at least one point must be specified")
        return
    for at, ((before, _), (here, _)) in enumerate(pairwise(shape), start=1):
        if before >= here:
            yield invalid(f"[{at}].utilization", here, "values must be sorted in increasing order")
            break
    for at, (utilization, score) in enumerate(shape):
        if utilization not in PERCENT:
            yield invalid(f"[{at}].utilization", utilization, "not in valid range [0, 100]")
        if score not in SCORES:
            yield invalid(f"[{at}].score", score, "not in valid range [0, 10]")


VALIDATORS_1_36: dict[str, Callable[[Any], Iterator[FieldError]]] = {
    "DefaultPreemption": _preemption,
    "DynamicResources": _dynamic,
    "InterPodAffinity": _interpod,
    "NodeAffinity": _affinity,
    "NodeResourcesBalancedAllocation": _balanced,
    "NodeResourcesFit": _fit,
    "PodTopologySpread": _spread,
    "VolumeBinding": _binding,
}
"""Plugin → the check of its args."""
