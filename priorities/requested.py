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
from priorities.score_evidence import Calculation, amount, formula, one_row, priority_evidence, resource_inputs, traced
from priorities.types import (
    MAX_NODE_SCORE,
    MAX_PRIORITY,
    AttachedVolumes,
    PriorityArgs,
    PriorityConfig,
    PriorityConfigFactory,
    idiv,
)


def totals(pod: PodInfo, snapshot: Snapshot) -> tuple[IntArray, IntArray]:
    """((2, n) requested with the pod, (2, n) allocatable): millicores and bytes."""
    return snapshot.nonzero + np.array(pod.usage.scored, np.int64)[:, None], snapshot.allocatable[:2]


def _counts(requested: IntArray, allocatable: IntArray) -> Mask:
    """Elementwise: the resource is there, and no more is asked for than there is."""
    fits: Mask = (allocatable != 0) & (requested <= allocatable)
    return fits


def least_requested(pod: PodInfo, snapshot: Snapshot, best: int = MAX_PRIORITY) -> IntArray:
    """(n,) 0–``best``, higher where more is free. Upstream: 1.4 and 1.16 LeastRequestedPriority, with 10."""
    return _least(*totals(pod, snapshot), best)


def most_requested(pod: PodInfo, snapshot: Snapshot, best: int = MAX_PRIORITY) -> IntArray:
    """(n,) 0–``best``, higher where less is free. Upstream: 1.4 and 1.16 MostRequestedPriority, with 10."""
    return _most(*totals(pod, snapshot), best)


def _least(requested: IntArray, allocatable: IntArray, best: int = MAX_PRIORITY) -> IntArray:
    return _scored(allocatable - requested, requested, allocatable, best)


def _most(requested: IntArray, allocatable: IntArray, best: int = MAX_PRIORITY) -> IntArray:
    return _scored(requested, requested, allocatable, best)


def _scored(amount: IntArray, requested: IntArray, allocatable: IntArray, best: int) -> IntArray:
    quotients = idiv(amount * best, np.maximum(allocatable, 1))
    quotients *= (allocatable != 0) & (requested <= allocatable)
    return idiv(quotients[0] + quotients[1], 2)


def _in_use(requested: IntArray, allocatable: IntArray) -> NDArray[np.float64]:
    """Elementwise the share in use; 1.0 where nothing is allocatable."""
    return np.where(allocatable != 0, requested / np.maximum(allocatable, 1), 1.0)


def balanced_resource_allocation(pod: PodInfo, snapshot: Snapshot, best: int = MAX_PRIORITY) -> IntArray:
    """(n,) 0–``best``, higher where cpu and memory are used alike.

    Upstream: 1.16 BalancedResourceAllocation, with 10, and 1.20 NodeResourcesBalancedAllocation, with 100.
    """
    return balanced(*totals(pod, snapshot), best)


def balanced(requested: IntArray, allocatable: IntArray, best: int = MAX_PRIORITY) -> IntArray:
    """(n,) 0–``best`` of (2, n) amounts."""
    cpu, memory = _in_use(requested, allocatable)
    return _unless_full((1 - np.abs(cpu - memory)) * best, (cpu >= 1) | (memory >= 1))


def balanced_resource_allocation_1_4(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) 0–10: 10 - |…|·10, which rounds differently from (1 - |…|)·10. Upstream: 1.4 BalancedResourceAllocation."""
    return _balanced_1_4(*totals(pod, snapshot))


def _balanced_1_4(requested: IntArray, allocatable: IntArray) -> IntArray:
    cpu, memory = _in_use(requested, allocatable)
    return _unless_full(MAX_PRIORITY - np.abs(cpu - memory) * MAX_PRIORITY, (cpu >= 1) | (memory >= 1))


def _unless_full(balance: NDArray[np.float64], full: Mask) -> IntArray:
    scores: IntArray = balance.astype(np.int64)
    scores[full] = 0
    return scores


def balance_with_volumes(
    attached: AttachedVolumes, pod: PodInfo, snapshot: Snapshot, top: int = MAX_PRIORITY
) -> IntArray:
    """(n,) 0–top: (1 - variance)·top of the shares in use of cpu, memory and attachable volumes; 0 where one is full.

    Where no more volumes can be attached, or the pod has none that are counted, of cpu and memory as without the gate.
    Upstream: 1.16 to 1.21 balancedResourceScorer with BalanceAttachedNodeVolumes.
    """
    return _with_volumes(*totals(pod, snapshot), attached(pod, snapshot), top)


def _with_volumes(requested: IntArray, allocatable: IntArray, counts: IntArray | None, top: int) -> IntArray:
    if counts is None:
        return balanced(requested, allocatable, top)
    cpu, memory = _in_use(requested, allocatable)
    counted = counts[1] > 0
    volumes = counts[0] / np.maximum(counts[1], 1)
    mean = (cpu + memory + volumes) / 3
    squares = (cpu - mean) * (cpu - mean) + (memory - mean) * (memory - mean) + (volumes - mean) * (volumes - mean)
    parts = np.where(counted, squares / 3, np.abs(cpu - memory))
    return _unless_full((1 - parts) * top, (cpu >= 1) | (memory >= 1) | (counted & (volumes >= 1)))


# --- evidence ------------------------------------------------------------------------------


Shares = Callable[[IntArray, IntArray], IntArray]
"""(n,) scores of (2, n) amounts: requested with the pod, and allocatable."""


def explain_shares(scores: Shares, pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
    """Of what a rule makes of cpu and memory."""
    requested, allocatable = totals(pod, one_row(snapshot, at))
    inputs = resource_inputs((CPU, MEMORY), requested[:, 0], allocatable[:, 0])
    return Calculation(formula(scores(traced(requested), traced(allocatable))[0]), inputs)


def explain_with_volumes(
    attached: AttachedVolumes, pod: PodInfo, snapshot: Snapshot, at: int, top: int = MAX_PRIORITY
) -> Calculation:
    """Of ``balance_with_volumes``."""
    counts = attached(pod, one_row(snapshot, at))
    shown = None if counts is None or counts[1, 0] <= 0 else counts
    of_volumes = partial(_with_volumes, counts=None if shown is None else traced(shown), top=top)
    found = explain_shares(of_volumes, pod, snapshot, at)
    if shown is None:
        return found
    new, room = shown[:, 0].tolist()
    return Calculation(found.formula, {**found.inputs, "volumes": {"requested": str(new), "allocatable": str(room)}})


BALANCED_NAME = "BalancedResourceAllocation"


# --- maps ----------------------------------------------------------------------------------


def _local(
    name: str, function: Callable[..., IntArray], scores: Shares, finer: Callable[..., IntArray] | None = None
) -> PriorityConfig:
    return PriorityConfig(
        name,
        function,
        footprint=Footprint(pod_key=spec_alone, equal_for_equal_usage=True),
        evidence=priority_evidence(name, partial(explain_shares, scores)),
        map_to_100=partial(finer or function, best=MAX_NODE_SCORE),
    )


def make_least_requested(_: PriorityArgs) -> PriorityConfig:
    """The mean over cpu and memory of 10·(A - T)/A, in integers: best where most is free. A resource with A = 0 or
    T > A counts 0.

    T is what the node's pods ask for, this pod included, and A is allocatable. A container that does not ask counts as
    100 millicores and 200 MiB.

    Upstream: 1.4 and 1.16 LeastRequestedPriority.
    """
    return _local("LeastRequestedPriority", least_requested, _least)


def make_most_requested(_: PriorityArgs) -> PriorityConfig:
    """The mean over cpu and memory of 10·T/A, in integers: best where least is free. A resource with A = 0 or T > A
    counts 0.

    T is what the node's pods ask for, this pod included, and A is allocatable. A container that does not ask counts as
    100 millicores and 200 MiB.

    Upstream: 1.4 and 1.16 MostRequestedPriority.
    """
    return _local("MostRequestedPriority", most_requested, _most)


def make_balanced_resource_allocation(_: PriorityArgs) -> PriorityConfig:
    """10·(1 - |T_cpu/A_cpu - T_memory/A_memory|), truncated: best where cpu and memory would be used alike. 0 where one
    of the two would be used up. With 1.16's feature gate BalanceAttachedNodeVolumes, where a Max…VolumeCount predicate
    counted the pod's disks: 10·(1 - variance) of the shares of cpu, memory and attachable disks.

    T is what the node's pods ask for, this pod included, and A is allocatable. A container that does not ask counts as
    100 millicores and 200 MiB.

    Upstream: 1.16 BalancedResourceAllocation.
    """
    return _local(BALANCED_NAME, balanced_resource_allocation, balanced)


def make_balanced_with_volumes(args: PriorityArgs) -> PriorityConfig:
    """The shares of cpu, memory and attachable disks are balanced, where a Max…VolumeCount predicate counted the pod's
    disks; those of cpu and memory elsewhere.

    Upstream: 1.16 BalancedResourceAllocation with the feature gate BalanceAttachedNodeVolumes.
    """
    return PriorityConfig(
        BALANCED_NAME,
        partial(balance_with_volumes, args.attached),
        footprint=Footprint(BY_ROW | Reads.STORAGE, pod_key=spec_alone, storage=bound_storage),
        evidence=priority_evidence(BALANCED_NAME, partial(explain_with_volumes, args.attached)),
        map_to_100=partial(balance_with_volumes, args.attached, top=MAX_NODE_SCORE),
    )


def make_balanced_resource_allocation_1_4(_: PriorityArgs) -> PriorityConfig:
    """10 - |…|·10, which rounds otherwise: for 0.9 and 0.1 it is 2, in 1.16 it is 1.

    Upstream: 1.4 BalancedResourceAllocation.
    """
    return _local(BALANCED_NAME, balanced_resource_allocation_1_4, _balanced_1_4, balanced_resource_allocation)


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
