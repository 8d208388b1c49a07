"""LeastRequestedPriority, MostRequestedPriority and BalancedResourceAllocation.

With T = requested (defaults filled in, the pod included) and A = allocatable, for cpu and memory:

    least = (A - T)·10 / A        most = T·10 / A        score = (cpu + memory) / 2

in integers; 0 where A is 0 or T exceeds it. Balanced = (1 - |T_cpu/A_cpu - T_memory/A_memory|)·10.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clusterstate.growable import IntArray
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from priorities.normalize import idiv
from priorities.types import MAX_PRIORITY, PriorityArgs, PriorityConfig, PriorityConfigFactory


def totals(pod: PodInfo, snapshot: Snapshot) -> tuple[IntArray, IntArray]:
    """((2, n) requested with the pod, (2, n) allocatable): millicores and bytes."""
    return snapshot.nonzero + np.array(pod.usage.scored, np.int64)[:, None], snapshot.allocatable[:2]


def _scored(amount: IntArray, requested: IntArray, allocatable: IntArray) -> IntArray:
    quotients = idiv(amount * MAX_PRIORITY, np.maximum(allocatable, 1))
    quotients *= (allocatable != 0) & (requested <= allocatable)
    return idiv(quotients[0] + quotients[1], 2)


def least_requested(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) 0–10, higher where more is free. Upstream: 1.4 and 1.16 LeastRequestedPriority."""
    requested, allocatable = totals(pod, snapshot)
    return _scored(allocatable - requested, requested, allocatable)


def most_requested(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) 0–10, higher where less is free. Upstream: 1.4 and 1.16 MostRequestedPriority."""
    requested, allocatable = totals(pod, snapshot)
    return _scored(requested, requested, allocatable)


def balanced_resource_allocation(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) 0–10, higher where cpu and memory are used alike. Upstream: 1.16 BalancedResourceAllocation."""
    requested, allocatable = totals(pod, snapshot)
    cpu, memory = np.where(allocatable != 0, requested / np.maximum(allocatable, 1), 1.0)
    scores: IntArray = ((1 - np.abs(cpu - memory)) * MAX_PRIORITY).astype(np.int64)
    scores[(cpu >= 1) | (memory >= 1)] = 0
    return scores


def balanced_resource_allocation_1_4(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) 0–10: 10 - |…|·10, which rounds otherwise than (1 - |…|)·10. Upstream: 1.4 BalancedResourceAllocation."""
    requested, allocatable = totals(pod, snapshot)
    cpu, memory = np.where(allocatable != 0, requested / np.maximum(allocatable, 1), 1.0)
    scores: IntArray = (MAX_PRIORITY - np.abs(cpu - memory) * MAX_PRIORITY).astype(np.int64)
    scores[(cpu >= 1) | (memory >= 1)] = 0
    return scores


def _local(name: str, function: Callable[[PodInfo, Snapshot], IntArray]) -> PriorityConfigFactory:
    def make(_: PriorityArgs) -> PriorityConfig:
        return PriorityConfig(name, function)

    return PriorityConfigFactory(make)


REQUESTED: dict[str, PriorityConfigFactory] = {
    "LeastRequestedPriority": _local("LeastRequestedPriority", least_requested),
    "MostRequestedPriority": _local("MostRequestedPriority", most_requested),
    "BalancedResourceAllocation": _local("BalancedResourceAllocation", balanced_resource_allocation),
}
REQUESTED_1_4: dict[str, PriorityConfigFactory] = {
    **REQUESTED,
    "BalancedResourceAllocation": _local("BalancedResourceAllocation", balanced_resource_allocation_1_4),
}
