"""RequestedToCapacityRatio (1.20): a score read off a curve of how full each resource would be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise

import msgspec

from clusterstate.errors import ConfigError
from clusterstate.footprint import Footprint, spec_alone
from kubescheduler.framework.args.args_type import (
    CPU_AND_MEMORY,
    RESOURCES,
    SCORES,
    SHAPE,
    ArgsType,
    Resources,
    Shape,
    shape_errors,
)
from kubescheduler.framework.args.field_errors import PERCENT, FieldError, invalid, plain, refuse
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import InTreePlugin
from priorities.capacity_ratio import capacity_ratio, capacity_ratio_evidence
from priorities.normalize import curve, scaled
from priorities.requested_framework import no_devices, ratio_evidence_1_36, requested_to_capacity_ratio_1_36
from priorities.score_evidence import plugin_evidence
from priorities.types import PriorityConfig

NAME = "RequestedToCapacityRatio"
POINTS = frozenset({Point.SCORE})


class RequestedToCapacityRatioArgs(msgspec.Struct, frozen=True):
    """1.20."""

    shape: Shape = ()
    """(utilization 0-100, score 0-10) points."""
    resources: Resources = CPU_AND_MEMORY
    """(resource, weight of at least 1)."""


def requested_to_capacity_ratio_1_18(args: RequestedToCapacityRatioArgs | None, handle: Handle) -> ColumnPlugin:
    """Without resources, as from a Policy, they are cpu and memory alike.

    Upstream: 1.18 RequestedToCapacityRatio. Raises ConfigError for a faulty shape, none at all included, and for a
    weight below 1.
    """
    if args is not None and not args.resources:
        args = msgspec.structs.replace(args, resources=CPU_AND_MEMORY)
    return requested_to_capacity_ratio_1_20(args, handle)


def requested_to_capacity_ratio_1_22(args: RequestedToCapacityRatioArgs | None, _: Handle) -> ColumnPlugin:
    """Utilisation is truncated, not rounded up. A resource that a node does not have, and another than cpu and memory
    that the pod does not ask for, have no say.

    Upstream: 1.22 RequestedToCapacityRatio. Raises ConfigError without args, for a faulty shape, none at all included,
    and for a weight below 1.
    """
    if args is None:
        raise ConfigError("want args to be of type RequestedToCapacityRatioArgs, got <nil>")
    refuse(_errors_1_21(args))
    shape, resources = scaled(args.shape), tuple(dict(args.resources).items())
    scoring = PriorityConfig(
        NAME,
        partial(requested_to_capacity_ratio_1_36, curve(shape), resources),
        footprint=Footprint(pod_key=spec_alone, equal_for_equal_usage=True),
        evidence=ratio_evidence_1_36(NAME, shape, resources, no_devices),
    )
    return ColumnPlugin(NAME, POINTS, scoring=scoring)


def requested_to_capacity_ratio_1_21(args: RequestedToCapacityRatioArgs | None, _: Handle) -> ColumnPlugin:
    """The same score.

    Upstream: 1.21 RequestedToCapacityRatio. Raises ConfigError for a faulty shape, none at all included, and for a
    weight below 1.
    """
    args = args or RequestedToCapacityRatioArgs()
    refuse(_errors_1_21(args))
    return _plugin(args)


def requested_to_capacity_ratio_1_20(args: RequestedToCapacityRatioArgs | None, _: Handle) -> ColumnPlugin:
    """A curve of utilisation (0–100 %) gives 0–10 points to each resource; the weighted mean of those above 0, times
    ten, is rounded, halves up. In 1.36 a strategy of NodeResourcesFit.

    Upstream: 1.20 RequestedToCapacityRatio. Raises ConfigError for a faulty shape, none at all included, and for a
    weight below 1.
    """
    args = args or RequestedToCapacityRatioArgs()
    refuse(_errors(args))
    return _plugin(args)


def _plugin(args: RequestedToCapacityRatioArgs) -> ColumnPlugin:
    shape, weights = scaled(args.shape), dict(args.resources)
    evidence = plugin_evidence(NAME, capacity_ratio_evidence(shape, weights))
    scoring = PriorityConfig(
        NAME,
        partial(capacity_ratio, curve(shape), weights),
        footprint=Footprint(pod_key=spec_alone, equal_for_equal_usage=True),
        evidence=evidence,
    )
    return ColumnPlugin(NAME, POINTS, scoring=scoring)


# --- args --------------------------------------------------------------------------------------


def _build(shape: Shape = (), resources: Resources = ()) -> RequestedToCapacityRatioArgs:
    return RequestedToCapacityRatioArgs(shape, resources or CPU_AND_MEMORY)


def _errors(args: RequestedToCapacityRatioArgs) -> Iterator[FieldError]:
    if error := shape_error_1_20(args.shape):
        yield plain(error)
        return
    for name, weight in args.resources:
        if weight < 1:
            yield plain(f"resource {name} weight {weight} must not be less than 1")
            return


def _errors_1_21(args: RequestedToCapacityRatioArgs) -> Iterator[FieldError]:
    """Upstream: 1.21 ValidateRequestedToCapacityRatioArgs."""
    yield from (error.under("shape") for error in shape_errors(args.shape, "utilization values must be sorted"))
    for at, (name, weight) in enumerate(args.resources):
        if weight < 1:
            text = f"resource weight of {name} not in valid range [1, inf)"
            yield invalid(f"resources[{at}].weight", weight, text)


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


ARGS = ArgsType(
    RequestedToCapacityRatioArgs,
    (SHAPE, RESOURCES),
    """
Needs a `shape`. Points rise in utilisation, within 0–100, with scores 0–10; weights are at least 1.""",
    build=_build,
    errors=_errors,
)


# --- what it is in each release ---------------------------------------------------------------

ARGS_1_21 = msgspec.structs.replace(ARGS, errors=_errors_1_21)
PLUGIN_1_20 = InTreePlugin(NAME, POINTS, requested_to_capacity_ratio_1_20, args=ARGS)
PLUGIN_1_18 = msgspec.structs.replace(PLUGIN_1_20, make=requested_to_capacity_ratio_1_18)
PLUGIN_1_21 = InTreePlugin(NAME, POINTS, requested_to_capacity_ratio_1_21, args=ARGS_1_21)
PLUGIN_1_22 = msgspec.structs.replace(PLUGIN_1_21, make=requested_to_capacity_ratio_1_22)
