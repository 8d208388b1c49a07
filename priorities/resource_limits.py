"""ResourceLimitsPriority (feature gate ResourceLimitsPriorityFunction): 1 where the pod's limits would fit."""

from __future__ import annotations

import numpy as np

from clusterstate.changes import Reads
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.growable import IntArray, Mask
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.usage import CPU, MEMORY
from priorities.score_evidence import Calculation, amount, one_row, priority_evidence
from priorities.types import PriorityArgs, PriorityConfig, PriorityConfigFactory


def resource_limits(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) 1 where the cpu limit or the memory limit is set and no more than what is allocatable, otherwise 0.

    Upstream: 1.16 ResourceLimitsPriorityMap.
    """
    held: Mask = np.zeros(len(snapshot), np.bool_)
    for limit, allocatable in zip(pod.usage.limits, snapshot.allocatable, strict=False):
        held |= _holds(limit, allocatable)
    return held.astype(np.int64)


def _holds(limit: int, allocatable: IntArray) -> Mask:
    """(n,) bool: there is a limit, and it is no more than what is allocatable."""
    return (allocatable != 0) & (limit <= allocatable) if limit else np.zeros(len(allocatable), np.bool_)


def explain_resource_limits(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
    """Of ``resource_limits``."""
    allocatable = one_row(snapshot, at).allocatable
    each = list(zip((CPU, MEMORY), pod.usage.limits, allocatable, strict=False))
    inputs = {
        name: {"limit": amount(name, limit) if limit else "none", "allocatable": amount(name, int(there[0]))}
        for name, limit, there in each
    }
    cpu, memory = (int(_holds(limit, there)[0]) for _, limit, there in each)
    return Calculation(f"max({cpu}, {memory})", inputs)


def unlimited(pod: PodInfo) -> int | None:
    """0 for a pod without cpu and memory limits."""
    return None if any(pod.usage.limits) else 0


def make_resource_limits(_: PriorityArgs) -> PriorityConfig:
    """1 where the pod's cpu limit or its memory limit is set and no more than allocatable, otherwise 0.

    Upstream: 1.16 ResourceLimitsPriorityMap.
    """
    return PriorityConfig(
        "ResourceLimitsPriority",
        resource_limits,
        footprint=Footprint(Reads.NODE, pod_key=spec_alone),
        constant=unlimited,
        evidence=priority_evidence("ResourceLimitsPriority", explain_resource_limits),
    )


RESOURCE_LIMITS: dict[str, PriorityConfigFactory] = {
    "ResourceLimitsPriority": PriorityConfigFactory(make_resource_limits)
}
