"""RequestedToCapacityRatioPriority: a score read off a curve of how full each resource would be.

    utilization = 100 - (A - T)·100 / A        (100 where A is 0 or T exceeds it)
    score = Σ weight·curve(utilization) / Σ weight        over the resources whose curve is above 0

in integers, but for the last division, which is rounded, halves away from zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise

import numpy as np

from clusterstate.errors import ConfigError
from clusterstate.growable import IntArray
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.usage import CPU, MEMORY
from priorities.normalize import MAX_UTILIZATION, Point, curve, idiv, round_half_away
from priorities.types import MAX_PRIORITY, PriorityArgs, PriorityConfig, PriorityConfigFactory, PriorityFactory

DEFAULT_SHAPE: tuple[Point, ...] = ((0, MAX_PRIORITY), (MAX_UTILIZATION, 0))
DEFAULT_RESOURCES: tuple[tuple[str, int], ...] = ((CPU, 1), (MEMORY, 1))
DEFAULT_WEIGHT = 1


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
    index = snapshot.resource(resource)
    if index is None:
        return np.full(len(snapshot), MAX_UTILIZATION, np.int64)
    allocatable = snapshot.allocatable[index]
    if resource in (CPU, MEMORY):
        requested = snapshot.nonzero[index] + pod.usage.scored[index]
    else:
        requested = snapshot.requested[index] + pod.usage.used.get(resource, 0)
    fits = (allocatable != 0) & (requested <= allocatable)
    unused = idiv((allocatable - requested) * MAX_UTILIZATION, np.where(fits, allocatable, 1))
    return np.where(fits, MAX_UTILIZATION - unused, MAX_UTILIZATION)


def capacity_ratio(table: IntArray, weights: dict[str, int], pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) score by the curve ``table`` (see ``curve``). Upstream: 1.16 RequestedToCapacityRatioResourceAllocation.

    A resource whose curve is at 0 has no say; where none has any, the score is 0.
    """
    scores, total = np.zeros(len(snapshot), np.int64), np.zeros(len(snapshot), np.int64)
    for resource, weight in weights.items():
        score = table[np.clip(utilization(pod, snapshot, resource), 0, MAX_UTILIZATION)]
        scores += score * np.int64(weight)
        total += (score > 0) * np.int64(weight)
    some = total != 0
    return np.where(some, round_half_away(scores / np.where(some, total, 1)), 0)


def capacity_ratio_factory(
    name: str, shape: Sequence[Point] = DEFAULT_SHAPE, resources: Iterable[tuple[str, int]] = ()
) -> PriorityFactory:
    """The priority that a policy entry with ``requestedToCapacityRatioArguments`` builds under its own name.

    shape: points of (utilization, score); resources: (name, weight). Raises ConfigError for a faulty shape.
    """
    error = shape_error(shape)
    if error:
        raise ConfigError(f"invalid RequestedToCapacityRatioPriority arguments: {error}")
    weights = resource_weights(resources)

    def make(_: PriorityArgs) -> PriorityConfig:
        table = curve(shape)

        def score(pod: PodInfo, snapshot: Snapshot) -> IntArray:
            return capacity_ratio(table, weights, pod, snapshot)

        return PriorityConfig(name, score)

    return make


CAPACITY_RATIO: dict[str, PriorityConfigFactory] = {
    "RequestedToCapacityRatioPriority": PriorityConfigFactory(
        capacity_ratio_factory("RequestedToCapacityRatioPriority")
    )
}
