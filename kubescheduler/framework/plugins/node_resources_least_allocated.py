"""NodeResourcesLeastAllocated (1.20): a node is better the more of its resources is free."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec

from clusterstate.footprint import Footprint, spec_alone
from clusterstate.growable import IntArray
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.framework.args.args_type import CPU_AND_MEMORY, RESOURCES, ArgsType, Resources
from kubescheduler.framework.args.field_errors import FieldError, invalid, plain, refuse
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import InTreePlugin
from priorities.requested_framework import (
    ShareFormula,
    least_allocated_1_20,
    least_allocated_1_36,
    least_formula,
    mean_evidence_1_20,
    mean_evidence_1_36,
    no_devices,
)
from priorities.score_evidence import RuleEvidence
from priorities.types import Map, PriorityConfig

NAME = "NodeResourcesLeastAllocated"
POINTS = frozenset({Point.SCORE})

MeanScore = Callable[[Resources, PodInfo, Snapshot], IntArray]
"""(n,) 0-100, the weighted mean of what the resources score."""


class NodeResourcesLeastAllocatedArgs(msgspec.Struct, frozen=True):
    """1.20."""

    resources: Resources = CPU_AND_MEMORY
    """(resource, weight 1-100)."""


MOST_WEIGHT = 100


def weight_errors(resources: Resources) -> Iterator[FieldError]:
    """The first weight that is out of range. Upstream: 1.20 validateResources."""
    for name, weight in resources:
        if weight <= 0:
            yield plain(f"resource Weight of {name} should be a positive value, got {weight}")
            return
        if weight > MOST_WEIGHT:
            yield plain(f"resource Weight of {name} should be less than {MOST_WEIGHT}, got {weight}")
            return


def weight_errors_1_21(resources: Resources) -> Iterator[FieldError]:
    """Every weight that is out of range. Upstream: 1.21 validateResources."""
    for at, (name, weight) in enumerate(resources):
        if not 0 < weight <= MOST_WEIGHT:
            text = f"resource weight of {name} not in valid range (0, {MOST_WEIGHT}]"
            yield invalid(f"resources[{at}].weight", weight, text)


def mean_of_present_1_22(
    name: str,
    given: Resources,
    score: MeanScore,
    formula: ShareFormula,
) -> ColumnPlugin:
    """Of NodeResourcesLeastAllocated and NodeResourcesMostAllocated of 1.22, the last weight of a resource counting.

    Raises ConfigError for a weight outside 1-100.
    """
    refuse(weight_errors_1_21(given))
    resources = tuple(dict(given).items())
    return _scoring(name, partial(score, resources), mean_evidence_1_36(name, formula, resources, no_devices))


def mean_1_20(
    name: str,
    resources: Resources,
    score: MeanScore,
    formula: ShareFormula,
    errors: Callable[[Resources], Iterator[FieldError]] = weight_errors,
) -> ColumnPlugin:
    """The same of 1.18 to 1.21. Raises ConfigError for a weight outside 1-100."""
    refuse(errors(resources))
    return _scoring(name, partial(score, resources), mean_evidence_1_20(name, formula, resources))


def _scoring(name: str, score: Map, evidence: RuleEvidence) -> ColumnPlugin:
    footprint = Footprint(pod_key=spec_alone, equal_for_equal_usage=True)
    return ColumnPlugin(name, POINTS, scoring=PriorityConfig(name, score, footprint=footprint, evidence=evidence))


def node_resources_least_allocated_1_18(_: Any, handle: Handle) -> ColumnPlugin:
    """Cpu and memory alike, whatever a configuration says.

    Upstream: 1.18 NodeResourcesLeastAllocated.
    """
    return node_resources_least_allocated_1_20(None, handle)


def node_resources_least_allocated_1_22(args: NodeResourcesLeastAllocatedArgs | None, _: Handle) -> ColumnPlugin:
    """A resource that a node does not have, and another than cpu and memory that the pod does not ask for, are left out
    of the mean.

    Upstream: 1.22 NodeResourcesLeastAllocated. Raises ConfigError for a weight outside 1-100.
    """
    args = args or NodeResourcesLeastAllocatedArgs()
    return mean_of_present_1_22(NAME, args.resources, least_allocated_1_36, least_formula)


def node_resources_least_allocated_1_21(args: NodeResourcesLeastAllocatedArgs | None, _: Handle) -> ColumnPlugin:
    """The same score.

    Upstream: 1.21 NodeResourcesLeastAllocated. Raises ConfigError for a weight outside 1-100.
    """
    args = args or NodeResourcesLeastAllocatedArgs()
    return mean_1_20(NAME, args.resources, least_allocated_1_20, least_formula, weight_errors_1_21)


def node_resources_least_allocated_1_20(args: NodeResourcesLeastAllocatedArgs | None, _: Handle) -> ColumnPlugin:
    """The mean over the resources of 100·(A - T)/A, weighted, in integers. T is what pods on the node ask for, this one
    included, and A what the node has. A container that does not ask counts as 100 millicores and 200 MiB. A resource
    with A = 0 scores 0, and its weight counts; one with T > A scores 0.

    Upstream: 1.20 NodeResourcesLeastAllocated. Raises ConfigError for a weight outside 1-100.
    """
    args = args or NodeResourcesLeastAllocatedArgs()
    return mean_1_20(NAME, args.resources, least_allocated_1_20, least_formula)


# --- args --------------------------------------------------------------------------------------


def _build(resources: Resources = ()) -> NodeResourcesLeastAllocatedArgs:
    return NodeResourcesLeastAllocatedArgs(resources or CPU_AND_MEMORY)


ARGS = ArgsType(
    NodeResourcesLeastAllocatedArgs,
    (RESOURCES,),
    "Weights are 1–100.",
    build=_build,
    errors=lambda args: weight_errors(args.resources),
)


# --- what it is in each release ---------------------------------------------------------------

PLUGIN_1_18 = InTreePlugin(NAME, POINTS, node_resources_least_allocated_1_18, default_weight=1)
ARGS_1_21 = msgspec.structs.replace(ARGS, errors=lambda args: weight_errors_1_21(args.resources))
PLUGIN_1_20 = InTreePlugin(NAME, POINTS, node_resources_least_allocated_1_20, args=ARGS, default_weight=1)
PLUGIN_1_21 = InTreePlugin(NAME, POINTS, node_resources_least_allocated_1_21, args=ARGS_1_21, default_weight=1)
PLUGIN_1_22 = msgspec.structs.replace(PLUGIN_1_21, make=node_resources_least_allocated_1_22)
