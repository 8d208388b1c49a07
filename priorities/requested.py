"""LeastRequestedPriority, MostRequestedPriority and BalancedResourceAllocation.

With T = requested (defaults filled in, the pod included) and A = allocatable, for cpu and memory:

    least = (A - T)·10 / A        most = T·10 / A        score = (cpu + memory) / 2

in integers; 0 where A is 0 or T exceeds it. Balanced = (1 - |T_cpu/A_cpu - T_memory/A_memory|)·10.

Each rule stands here twice: over columns, and row by row for a handful of rows, which is what a decision after
a decision asks for; plain numbers are several times faster there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clusterstate.growable import IntArray
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from priorities.normalize import idiv
from priorities.types import MAX_PRIORITY, PriorityArgs, PriorityConfig, PriorityConfigFactory

FEW = 8
"""Up to so many rows are scored one by one."""
EXACT = (2**63 - 1) // MAX_PRIORITY
"""Amounts above it do not fit in 64 bits when multiplied by ten; only the columns wrap as upstream does."""

RowScore = Callable[[int, int, int, int], int]
"""Score of one node: cpu requested, cpu allocatable, memory requested, memory allocatable."""


def totals(pod: PodInfo, snapshot: Snapshot) -> tuple[IntArray, IntArray]:
    """((2, n) requested with the pod, (2, n) allocatable): millicores and bytes."""
    return snapshot.nonzero + np.array(pod.usage.scored, np.int64)[:, None], snapshot.allocatable[:2]


def _row_by_row(score: RowScore, requested: IntArray, allocatable: IntArray) -> IntArray | None:
    """(n,) score of each row, None when there are many of them or an amount is out of all proportion."""
    if requested.shape[1] > FEW:
        return None
    (cpu, memory), (all_cpu, all_memory) = requested.tolist(), allocatable.tolist()
    if max(all_cpu, default=0) > EXACT or max(all_memory, default=0) > EXACT:
        return None
    return np.array(list(map(score, cpu, all_cpu, memory, all_memory)), np.int64)


def _scored(amount: IntArray, requested: IntArray, allocatable: IntArray) -> IntArray:
    quotients = idiv(amount * MAX_PRIORITY, np.maximum(allocatable, 1))
    quotients *= (allocatable != 0) & (requested <= allocatable)
    return idiv(quotients[0] + quotients[1], 2)


def _least(cpu: int, all_cpu: int, memory: int, all_memory: int) -> int:
    by_cpu = (all_cpu - cpu) * MAX_PRIORITY // all_cpu if cpu <= all_cpu and all_cpu else 0
    by_memory = (all_memory - memory) * MAX_PRIORITY // all_memory if memory <= all_memory and all_memory else 0
    return (by_cpu + by_memory) // 2


def least_requested(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) 0–10, higher where more is free. Upstream: 1.4 and 1.16 LeastRequestedPriority."""
    requested, allocatable = totals(pod, snapshot)
    scores = _row_by_row(_least, requested, allocatable)
    return _scored(allocatable - requested, requested, allocatable) if scores is None else scores


def _most(cpu: int, all_cpu: int, memory: int, all_memory: int) -> int:
    by_cpu = cpu * MAX_PRIORITY // all_cpu if cpu <= all_cpu and all_cpu else 0
    by_memory = memory * MAX_PRIORITY // all_memory if memory <= all_memory and all_memory else 0
    return (by_cpu + by_memory) // 2


def most_requested(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) 0–10, higher where less is free. Upstream: 1.4 and 1.16 MostRequestedPriority."""
    requested, allocatable = totals(pod, snapshot)
    scores = _row_by_row(_most, requested, allocatable)
    return _scored(requested, requested, allocatable) if scores is None else scores


def _balanced(cpu: int, all_cpu: int, memory: int, all_memory: int) -> int:
    by_cpu = float(cpu) / float(all_cpu) if all_cpu else 1.0
    by_memory = float(memory) / float(all_memory) if all_memory else 1.0
    return 0 if by_cpu >= 1 or by_memory >= 1 else int((1 - abs(by_cpu - by_memory)) * MAX_PRIORITY)


def balanced_resource_allocation(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) 0–10, higher where cpu and memory are used alike. Upstream: 1.16 BalancedResourceAllocation."""
    requested, allocatable = totals(pod, snapshot)
    scores = _row_by_row(_balanced, requested, allocatable)
    if scores is None:
        some = allocatable != 0
        cpu, memory = np.where(some, requested / np.where(some, allocatable, 1), 1.0)
        scores = ((1 - np.abs(cpu - memory)) * MAX_PRIORITY).astype(np.int64)
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
