"""ResourceLimitsPriority (feature gate ResourceLimitsPriorityFunction): 1 where the pod's limits would fit."""

from __future__ import annotations

import numpy as np

from clusterstate.changes import Reads
from clusterstate.growable import IntArray, Mask
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from priorities.types import PriorityArgs, PriorityConfig, PriorityConfigFactory


def resource_limits(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) 1 where the cpu limit or the memory limit is set and no more than what is allocatable, otherwise 0.

    Upstream: 1.16 ResourceLimitsPriorityMap.
    """
    held: Mask = np.zeros(len(snapshot), np.bool_)
    for limit, allocatable in zip(pod.usage.limits, snapshot.allocatable, strict=False):
        if limit:
            held |= (allocatable != 0) & (limit <= allocatable)
    return held.astype(np.int64)


def unlimited(pod: PodInfo) -> int | None:
    """0 for a pod without cpu and memory limits."""
    return None if any(pod.usage.limits) else 0


def _make_resource_limits(_: PriorityArgs) -> PriorityConfig:
    return PriorityConfig("ResourceLimitsPriority", resource_limits, reads=Reads.NODE, constant=unlimited)


RESOURCE_LIMITS: dict[str, PriorityConfigFactory] = {
    "ResourceLimitsPriority": PriorityConfigFactory(_make_resource_limits)
}
