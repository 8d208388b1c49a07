"""RequestedToCapacityRatioPriority: a score read off a curve of how full each resource would be.

    utilization = 100 - (A - T)·100 / A        (100 where A is 0 or T exceeds it)
    score = Σ weight·curve(utilization) / Σ weight        over the resources whose curve is above 0

in integers, but for the last division, which is rounded, halves away from zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, pairwise

import numpy as np

from clusterstate.errors import ConfigError
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.growable import IntArray
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.usage import CPU, MEMORY
from priorities.score_evidence import (
    Calculation,
    Explain,
    RuleEvidence,
    added,
    formula,
    one_row,
    priority_page,
    resource_inputs,
    traced,
)
from priorities.types import (
    MAX_PRIORITY,
    MAX_UTILIZATION,
    Point,
    PriorityArgs,
    PriorityConfig,
    PriorityConfigFactory,
    PriorityFactory,
    curve,
    curve_formula,
    idiv,
    round_half_away,
)

DEFAULT_SHAPE: tuple[Point, ...] = ((0, MAX_PRIORITY), (MAX_UTILIZATION, 0))
DEFAULT_RESOURCES: tuple[tuple[str, int], ...] = ((CPU, 1), (MEMORY, 1))
DEFAULT_WEIGHT = 1
UPSTREAM = "RequestedToCapacityRatioPriority"


def shape_error(shape: Sequence[Point]) -> str | None:
    """The first fault of a curve, in the release's words; None when it has none. Upstream: 1.16 NewFunctionShape."""
    if not shape:
        return "at least one point must be specified"
    return next(chain(_order_errors(shape), _range_errors(shape)), None)


def _order_errors(shape: Sequence[Point]) -> Iterator[str]:
    for i, ((before, _), (here, _)) in enumerate(pairwise(shape)):
        if before >= here:
            yield f"utilization values must be sorted. Utilization[{i}]=={before} >= Utilization[{i + 1}]=={here}"


def _range_errors(shape: Sequence[Point]) -> Iterator[str]:
    for i, (utilization, score) in enumerate(shape):
        if utilization < 0:
            yield f"utilization values must not be less than 0. Utilization[{i}]=={utilization}"
        if utilization > MAX_UTILIZATION:
            yield f"utilization values must not be greater than {MAX_UTILIZATION}. Utilization[{i}]=={utilization}"
        if score < 0:
            yield f"score values must not be less than 0. Score[{i}]=={score}"
        if score > MAX_PRIORITY:
            yield f"score valuses not be greater than {MAX_PRIORITY}. Score[{i}]=={score}"


def resource_weights(resources: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Resource → weight: cpu and memory alike when none is given, 1 for a weight of 0, the last of two wins."""
    return {name: weight or DEFAULT_WEIGHT for name, weight in resources} or dict(DEFAULT_RESOURCES)


def utilization(pod: PodInfo, snapshot: Snapshot, resource: str) -> IntArray:
    """(n,) percent of a resource in use with the pod; 100 where none is allocatable or too much is asked for.

    cpu and memory count with the defaults of pods that do not say. A name that is no resource is 100 everywhere.
    """
    return _utilization(*_amounts(pod, snapshot, resource))


def _utilization(requested: IntArray, allocatable: IntArray) -> IntArray:
    fits = (allocatable != 0) & (requested <= allocatable)
    unused = idiv((allocatable - requested) * MAX_UTILIZATION, np.where(fits, allocatable, 1))
    return np.where(fits, MAX_UTILIZATION - unused, MAX_UTILIZATION)


def _amounts(pod: PodInfo, snapshot: Snapshot, resource: str) -> tuple[IntArray, IntArray]:
    """((n,) requested with the pod, (n,) allocatable); 0 of a name that is no resource."""
    index = snapshot.resource(resource)
    if index is None:
        return np.zeros(len(snapshot), np.int64), np.zeros(len(snapshot), np.int64)
    allocatable = snapshot.allocatable[index]
    if resource in (CPU, MEMORY):
        return snapshot.nonzero[index] + pod.usage.scored[index], allocatable
    return snapshot.requested[index] + pod.usage.used.get(resource, 0), allocatable


def capacity_ratio(table: IntArray, weights: dict[str, int], pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) score by the curve ``table`` (see ``curve``). Upstream: 1.16 RequestedToCapacityRatioResourceAllocation.

    A resource whose curve is at 0 has no say; where none has any, the score is 0.
    """
    scores, total = np.zeros(len(snapshot), np.int64), np.zeros(len(snapshot), np.int64)
    for resource, weight in weights.items():
        score = _on_curve(table, pod, snapshot, resource)
        scores += score * np.int64(weight)
        total += (score > 0) * np.int64(weight)
    some = total != 0
    return np.where(some, round_half_away(scores / np.where(some, total, 1)), 0)


def capacity_ratio_1_13(table: IntArray, pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) the mean of the scores of cpu and memory, truncated.

    Upstream: 1.13 and 1.15 RequestedToCapacityRatioResourceAllocation.
    """
    cpu, memory = (_on_curve(table, pod, snapshot, resource) for resource in (CPU, MEMORY))
    return idiv(cpu + memory, 2)


def _on_curve(table: IntArray, pod: PodInfo, snapshot: Snapshot, resource: str) -> IntArray:
    """(n,) the score of one resource."""
    scores: IntArray = table[np.clip(utilization(pod, snapshot, resource), 0, MAX_UTILIZATION)]
    return scores


def capacity_ratio_evidence(shape: Sequence[Point], weights: dict[str, int]) -> Explain:
    """Of ``capacity_ratio`` with the curve of ``shape``."""
    table = curve(shape)

    def explain(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        row = one_row(snapshot, at)
        inputs: dict[str, dict[str, str]] = {}
        scores, counted = [], []
        for resource, weight in weights.items():
            requested, allocatable = _amounts(pod, row, resource)
            inputs |= resource_inputs((resource,), requested, allocatable)
            if _on_curve(table, pod, row, resource)[0] > 0:
                used = formula(_utilization(traced(requested), traced(allocatable))[0])
                scores.append(f"{curve_formula(used, shape)} * {weight}")
                counted.append(str(weight))
        return Calculation(f"round(({added(scores)}) / ({added(counted)}))" if scores else "0", inputs)

    return explain


def capacity_ratio_evidence_1_13(shape: Sequence[Point]) -> Explain:
    """Of ``capacity_ratio_1_13`` with the curve of ``shape``."""

    def explain(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        row = one_row(snapshot, at)
        inputs: dict[str, dict[str, str]] = {}
        scores = []
        for resource in (CPU, MEMORY):
            requested, allocatable = _amounts(pod, row, resource)
            inputs |= resource_inputs((resource,), requested, allocatable)
            used = formula(_utilization(traced(requested), traced(allocatable))[0])
            scores.append(curve_formula(used, shape))
        return Calculation(f"({added(scores)}) // 2", inputs)

    return explain


def capacity_ratio_factory(
    name: str,
    shape: Sequence[Point] = DEFAULT_SHAPE,
    resources: Iterable[tuple[str, int]] = (),
    heading: str = "argument-requestedtocapacityratioarguments",
) -> PriorityFactory:
    """RequestedToCapacityRatioPriority with the curve `shape` and the weights `resources` (default: cpu 1, memory 1).
    Points must rise in utilisation; between two of them the score is interpolated and truncated toward the earlier one.

    Upstream: 1.16 RequestedToCapacityRatioResourceAllocationPriority, under the name of the policy's entry. shape:
    points of (utilization, score); resources: (name, weight); heading: where its page has it.
    Raises ConfigError for a faulty shape.
    """
    weights = resource_weights(resources)
    table = _checked(shape)

    def score(pod: PodInfo, snapshot: Snapshot) -> IntArray:
        return capacity_ratio(table, weights, pod, snapshot)

    return _by_curve(name, score, capacity_ratio_evidence(shape, weights), heading)


def capacity_ratio_factory_1_13(
    name: str,
    shape: Sequence[Point] = DEFAULT_SHAPE,
    _: Iterable[tuple[str, int]] = (),
    heading: str = "argument-requestedtocapacityratioarguments",
) -> PriorityFactory:
    """The mean of the scores of cpu and memory, truncated. `resources` is not read.

    Upstream: 1.13 RequestedToCapacityRatioResourceAllocationPriority, under the name of the policy's entry.
    Raises ConfigError for a faulty shape.
    """
    table = _checked(shape)

    def score(pod: PodInfo, snapshot: Snapshot) -> IntArray:
        return capacity_ratio_1_13(table, pod, snapshot)

    return _by_curve(name, score, capacity_ratio_evidence_1_13(shape), heading)


def _checked(shape: Sequence[Point]) -> IntArray:
    """The curve. Raises ConfigError for a faulty one."""
    if error := shape_error(shape):
        raise ConfigError(f"invalid RequestedToCapacityRatioPriority arguments: {error}")
    return curve(shape)


def _by_curve(
    name: str, score: Callable[[PodInfo, Snapshot], IntArray], explain: Explain, heading: str
) -> PriorityFactory:
    def make(_: PriorityArgs) -> PriorityConfig:
        return PriorityConfig(
            name,
            score,
            footprint=Footprint(pod_key=spec_alone, equal_for_equal_usage=True),
            evidence=RuleEvidence(UPSTREAM, priority_page(heading), explain),
        )

    return make


def make_requested_to_capacity_ratio(args: PriorityArgs) -> PriorityConfig:
    """A curve of utilisation (0–100 %) gives a score to each resource, the weighted mean of the scores above 0 is
    rounded, halves up. The default curve falls from 10 at 0 % to 0 at 100 %, over cpu and memory alike; the argument
    `requestedToCapacityRatioArguments` sets another.

    Upstream: 1.16 RequestedToCapacityRatioResourceAllocationPriorityDefault.
    """
    return capacity_ratio_factory(UPSTREAM, heading="requestedtocapacityratiopriority")(args)


def make_requested_to_capacity_ratio_1_13(args: PriorityArgs) -> PriorityConfig:
    """The mean of the scores of cpu and memory, truncated.

    Upstream: 1.13 RequestedToCapacityRatioResourceAllocationPriorityDefault.
    """
    return capacity_ratio_factory_1_13(UPSTREAM, heading="requestedtocapacityratiopriority")(args)


CAPACITY_RATIO: dict[str, PriorityConfigFactory] = {
    "RequestedToCapacityRatioPriority": PriorityConfigFactory(make_requested_to_capacity_ratio)
}
CAPACITY_RATIO_1_13: dict[str, PriorityConfigFactory] = {
    "RequestedToCapacityRatioPriority": PriorityConfigFactory(make_requested_to_capacity_ratio_1_13)
}
