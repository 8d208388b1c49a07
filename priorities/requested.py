"""LeastRequestedPriority, MostRequestedPriority and BalancedResourceAllocation.

With T = requested (defaults filled in, the pod included) and A = allocatable, for cpu and memory:

    least = (A - T)·10 / A        most = T·10 / A        score = (cpu + memory) / 2

in integers; 0 where A is 0 or T exceeds it. Balanced = (1 - |T_cpu/A_cpu - T_memory/A_memory|)·10, and with 1.16's gate
BalanceAttachedNodeVolumes (1 - variance of three shares)·10.

Last ResourceLimitsPriority: 1 where the pod's limits would fit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from clusterstate.changes import BY_ROW, Reads
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.growable import IntArray, Mask
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.usage import CPU, MEMORY
from clusterstate.volumes.volume_decision import bound_storage
from priorities.normalize import idiv
from priorities.score_evidence import Calculation, Explain, amount, one_row, priority_evidence, resource_inputs
from priorities.types import (
    MAX_NODE_SCORE,
    MAX_PRIORITY,
    AttachedVolumes,
    PriorityArgs,
    PriorityConfig,
    PriorityConfigFactory,
)


def totals(pod: PodInfo, snapshot: Snapshot) -> tuple[IntArray, IntArray]:
    """((2, n) requested with the pod, (2, n) allocatable): millicores and bytes."""
    return snapshot.nonzero + np.array(pod.usage.scored, np.int64)[:, None], snapshot.allocatable[:2]


def _counts(requested: IntArray, allocatable: IntArray) -> Mask:
    """Elementwise: the resource is there, and no more is asked for than there is."""
    fits: Mask = (allocatable != 0) & (requested <= allocatable)
    return fits


def _scored(amount: IntArray, requested: IntArray, allocatable: IntArray) -> IntArray:
    quotients = idiv(amount * MAX_PRIORITY, np.maximum(allocatable, 1))
    quotients *= _counts(requested, allocatable)
    return idiv(quotients[0] + quotients[1], 2)


def least_requested(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) 0–10, higher where more is free. Upstream: 1.4 and 1.16 LeastRequestedPriority."""
    requested, allocatable = totals(pod, snapshot)
    return _scored(allocatable - requested, requested, allocatable)


def most_requested(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) 0–10, higher where less is free. Upstream: 1.4 and 1.16 MostRequestedPriority."""
    requested, allocatable = totals(pod, snapshot)
    return _scored(requested, requested, allocatable)


def _in_use(requested: IntArray, allocatable: IntArray) -> NDArray[np.float64]:
    """Elementwise the share in use; 1.0 where nothing is allocatable."""
    return np.where(allocatable != 0, requested / np.maximum(allocatable, 1), 1.0)


def balanced_resource_allocation(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) 0–10, higher where cpu and memory are used alike. Upstream: 1.16 BalancedResourceAllocation."""
    requested, allocatable = totals(pod, snapshot)
    cpu, memory = _in_use(requested, allocatable)
    scores: IntArray = ((1 - np.abs(cpu - memory)) * MAX_PRIORITY).astype(np.int64)
    scores[(cpu >= 1) | (memory >= 1)] = 0
    return scores


def balanced_resource_allocation_1_4(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) 0–10: 10 - |…|·10, which rounds differently from (1 - |…|)·10. Upstream: 1.4 BalancedResourceAllocation."""
    requested, allocatable = totals(pod, snapshot)
    cpu, memory = _in_use(requested, allocatable)
    scores: IntArray = (MAX_PRIORITY - np.abs(cpu - memory) * MAX_PRIORITY).astype(np.int64)
    scores[(cpu >= 1) | (memory >= 1)] = 0
    return scores


def balance_with_volumes(
    attached: AttachedVolumes, pod: PodInfo, snapshot: Snapshot, top: int = MAX_PRIORITY
) -> IntArray:
    """(n,) 0–top: (1 - variance)·top of the shares in use of cpu, memory and attachable volumes; 0 where one is full.

    Where no more volumes can be attached, or the pod has none that are counted, of cpu and memory as without the gate.
    Upstream: 1.16 to 1.21 balancedResourceScorer with BalanceAttachedNodeVolumes.
    """
    requested, allocatable = totals(pod, snapshot)
    cpu, memory = _in_use(requested, allocatable)
    parts: NDArray[np.float64] = np.abs(cpu - memory)
    full = (cpu >= 1) | (memory >= 1)
    counts = attached(pod, snapshot)
    if counts is not None:
        counted = counts[1] > 0
        volumes = counts[0] / np.maximum(counts[1], 1)
        mean = (cpu + memory + volumes) / 3
        squares = (cpu - mean) * (cpu - mean) + (memory - mean) * (memory - mean) + (volumes - mean) * (volumes - mean)
        parts = np.where(counted, squares / 3, parts)
        full |= counted & (volumes >= 1)
    scores: IntArray = ((1 - parts) * top).astype(np.int64)
    scores[full] = 0
    return scores


# --- evidence ------------------------------------------------------------------------------


def _inputs(pod: PodInfo, snapshot: Snapshot, at: int) -> tuple[IntArray, IntArray, dict[str, dict[str, str]]]:
    """((2,) requested with the pod, (2,) allocatable, both as inputs) of one row."""
    requested, allocatable = (amounts[:, 0] for amounts in totals(pod, one_row(snapshot, at)))
    return requested, allocatable, resource_inputs((CPU, MEMORY), requested, allocatable)


def _explain_shares(amount: str) -> Explain:
    """Of the mean of two shares. amount: what is counted, of the names requested and allocatable."""

    def explain(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        requested, allocatable, inputs = _inputs(pod, snapshot, at)
        shares = [
            f"{amount.format(requested=r, allocatable=a)} * {MAX_PRIORITY} // {a}" if counts else "0"
            for r, a, counts in zip(requested, allocatable, _counts(requested, allocatable), strict=True)
        ]
        return Calculation(f"({shares[0]} + {shares[1]}) // 2", inputs)

    return explain


def _explain_balance(formula: str) -> Explain:
    """formula: of ``{}``, the difference of the two shares in use."""

    def explain(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        requested, allocatable, inputs = _inputs(pod, snapshot, at)
        if (_in_use(requested, allocatable) >= 1).any():
            return Calculation("0", inputs)
        cpu, memory = (f"{r} / {a}" for r, a in zip(requested, allocatable, strict=True))
        return Calculation(formula.format(f"abs({cpu} - {memory})"), inputs)

    return explain


def explain_with_volumes(attached: AttachedVolumes, plain: Explain, top: int = MAX_PRIORITY) -> Explain:
    """Of ``balance_with_volumes``; plain: of the balance of cpu and memory alone."""

    def explain(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        counts = attached(pod, one_row(snapshot, at))
        if counts is None or counts[1, 0] <= 0:
            return plain(pod, snapshot, at)
        new, room = counts[:, 0].tolist()
        requested, allocatable, inputs = _inputs(pod, snapshot, at)
        inputs["volumes"] = {"requested": str(new), "allocatable": str(room)}
        if (_in_use(requested, allocatable) >= 1).any() or new >= room:
            return Calculation("0", inputs)
        shares = [f"{r} / {a}" for r, a in (*zip(requested, allocatable, strict=True), (new, room))]
        mean = f"({' + '.join(shares)}) / 3"
        squares = " + ".join(f"({share} - {mean}) * ({share} - {mean})" for share in shares)
        return Calculation(f"trunc((1 - ({squares}) / 3) * {top})", inputs)

    return explain


LEAST, MOST = _explain_shares("({allocatable} - {requested})"), _explain_shares("{requested}")
BALANCED_NAME = "BalancedResourceAllocation"
BALANCED = _explain_balance(f"trunc((1 - {{}}) * {MAX_PRIORITY})")
BALANCED_1_4 = _explain_balance(f"trunc({MAX_PRIORITY} - {{}} * {MAX_PRIORITY})")


# --- maps ----------------------------------------------------------------------------------


def _local(name: str, function: Callable[[PodInfo, Snapshot], IntArray], explain: Explain) -> PriorityConfig:
    evidence = priority_evidence(name, explain)
    return PriorityConfig(
        name, function, footprint=Footprint(pod_key=spec_alone, equal_for_equal_usage=True), evidence=evidence
    )


def make_least_requested(_: PriorityArgs) -> PriorityConfig:
    """The mean over cpu and memory of 10·(A - T)/A, in integers: best where most is free. A resource with A = 0 or
    T > A counts 0.

    T is what the node's pods ask for, this pod included, and A is allocatable. A container that does not ask counts as
    100 millicores and 200 MiB.

    Upstream: 1.4 and 1.16 LeastRequestedPriority.
    """
    return _local("LeastRequestedPriority", least_requested, LEAST)


def make_most_requested(_: PriorityArgs) -> PriorityConfig:
    """The mean over cpu and memory of 10·T/A, in integers: best where least is free. A resource with A = 0 or T > A
    counts 0.

    T is what the node's pods ask for, this pod included, and A is allocatable. A container that does not ask counts as
    100 millicores and 200 MiB.

    Upstream: 1.4 and 1.16 MostRequestedPriority.
    """
    return _local("MostRequestedPriority", most_requested, MOST)


def make_balanced_resource_allocation(_: PriorityArgs) -> PriorityConfig:
    """10·(1 - |T_cpu/A_cpu - T_memory/A_memory|), truncated: best where cpu and memory would be used alike. 0 where one
    of the two would be used up. With 1.16's feature gate BalanceAttachedNodeVolumes, where a Max…VolumeCount predicate
    counted the pod's disks: 10·(1 - variance) of the shares of cpu, memory and attachable disks.

    T is what the node's pods ask for, this pod included, and A is allocatable. A container that does not ask counts as
    100 millicores and 200 MiB.

    Upstream: 1.16 BalancedResourceAllocation.
    """
    return _local(BALANCED_NAME, balanced_resource_allocation, BALANCED)


def make_balanced_with_volumes(args: PriorityArgs) -> PriorityConfig:
    """The shares of cpu, memory and attachable disks are balanced, where a Max…VolumeCount predicate counted the pod's
    disks; those of cpu and memory elsewhere.

    Upstream: 1.16 BalancedResourceAllocation with the feature gate BalanceAttachedNodeVolumes.
    """
    return PriorityConfig(
        BALANCED_NAME,
        partial(balance_with_volumes, args.attached),
        footprint=Footprint(BY_ROW | Reads.STORAGE, pod_key=spec_alone, storage=bound_storage),
        evidence=priority_evidence(BALANCED_NAME, explain_with_volumes(args.attached, BALANCED)),
        scaled_to_100=partial(balance_with_volumes, args.attached, top=MAX_NODE_SCORE),
    )


def make_balanced_resource_allocation_1_4(_: PriorityArgs) -> PriorityConfig:
    """10 - |…|·10, which rounds otherwise: for 0.9 and 0.1 it is 2, in 1.16 it is 1.

    Upstream: 1.4 BalancedResourceAllocation.
    """
    return _local(BALANCED_NAME, balanced_resource_allocation_1_4, BALANCED_1_4)


REQUESTED: dict[str, PriorityConfigFactory] = {
    "LeastRequestedPriority": PriorityConfigFactory(make_least_requested),
    "MostRequestedPriority": PriorityConfigFactory(make_most_requested),
    BALANCED_NAME: PriorityConfigFactory(make_balanced_resource_allocation),
}
REQUESTED_1_4: dict[str, PriorityConfigFactory] = {
    **REQUESTED,
    BALANCED_NAME: PriorityConfigFactory(make_balanced_resource_allocation_1_4),
}
BALANCED_WITH_VOLUMES: dict[str, PriorityConfigFactory] = {
    BALANCED_NAME: PriorityConfigFactory(make_balanced_with_volumes)
}
"""The same with 1.16's gate BalanceAttachedNodeVolumes."""


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
