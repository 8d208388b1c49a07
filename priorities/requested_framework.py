"""How much of a node would be in use: NodeResourcesLeastAllocated, …MostAllocated and …BalancedAllocation, and the
scoring strategies of NodeResourcesFit.

With T = requested (the pod included; cpu and memory with defaults filled in) and A = allocatable, per resource:

    least = (A - T)·100 / A, 0 where T exceeds A        most = min(T, A)·100 / A        ratio = curve(T·100 / A)

in integers; a node's score is their weighted mean. Resources are (name, weight) pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import msgspec
import numpy as np
from numpy.typing import NDArray

from clusterstate.changes import LOCAL, Reads
from clusterstate.devices.device_inventory import READS as DEVICE_READS
from clusterstate.devices.device_inventory import device_totals
from clusterstate.devices.device_requests import DeviceFeatures
from clusterstate.devices.resource_claims import is_device_resource
from clusterstate.growable import IntArray, Mask
from clusterstate.objects import FrozenMap
from clusterstate.podinfo import PodInfo
from clusterstate.quantity import whole_units
from clusterstate.snapshot import Snapshot
from clusterstate.usage import CPU, MEMORY, Amounts, amount, is_scalar_resource
from priorities.score_evidence import (
    Calculation,
    RuleEvidence,
    added,
    formula,
    one_row,
    plugin_evidence,
    resource_inputs,
    traced,
)
from priorities.types import MAX_NODE_SCORE, MAX_UTILIZATION, Point, curve, curve_formula, idiv, round_half_away

Resources = Sequence[tuple[str, int]]
"""(name, weight) pairs."""

Share = Callable[[IntArray, IntArray], IntArray]
"""Of (k, n) requested and allocatable."""

Devices = Callable[[Snapshot, str], tuple[IntArray, IntArray] | None]
"""((n,) devices that nodes see, (n,) those taken) of a resource that a DeviceClass provides; None: of others."""

STANDARD = (CPU, MEMORY)


def no_devices(_: Snapshot, __: str) -> tuple[IntArray, IntArray] | None:
    """No DeviceClass provides the resource."""
    return None


def devices_for(names: Sequence[str], features: DeviceFeatures) -> Devices:
    """What counts as devices while nodes are scored by these resources; ``no_devices`` when none can be one."""
    if features.extended and any(map(is_device_resource, names)):
        return partial(device_totals, features=features)
    return no_devices


def reads_of(devices: Devices) -> Reads:
    """What a score reads that counts devices so."""
    return LOCAL if devices is no_devices else LOCAL | DEVICE_READS


def amounts(names: Sequence[str], pod: PodInfo, snapshot: Snapshot) -> tuple[IntArray, IntArray]:
    """((k, n) requested with the pod, (k, n) allocatable) of k resources; 0 of what no node keeps account of."""
    if tuple(names) == STANDARD:
        return snapshot.nonzero + np.array(pod.usage.scored, np.int64)[:, None], snapshot.allocatable[:2]
    requested, allocatable = np.zeros((2, len(names), len(snapshot)), np.int64)
    for at, name in enumerate(names):
        index = snapshot.resource(name)
        if index is None:
            continue
        allocatable[at] = snapshot.allocatable[index]
        if name in STANDARD:
            requested[at] = snapshot.nonzero[index] + pod.usage.scored[index]
        else:
            requested[at] = snapshot.requested[index] + pod.usage.scored_others.get(name, 0)
    return requested, allocatable


def least(requested: IntArray, allocatable: IntArray) -> IntArray:
    """Higher where more is free; 0 where nothing is allocatable."""
    free = idiv((allocatable - requested) * MAX_NODE_SCORE, np.maximum(allocatable, 1))
    free *= _fits(requested, allocatable)
    return free


def _fits(requested: IntArray, allocatable: IntArray) -> Mask:
    """Elementwise: the resource is there, and no more is asked for than there is."""
    fits: Mask = (requested <= allocatable) & (allocatable != 0)
    return fits


def most(requested: IntArray, allocatable: IntArray) -> IntArray:
    """Higher where less is free, 100 where too much is asked for; 0 where nothing is allocatable."""
    return idiv(np.minimum(requested, allocatable) * MAX_NODE_SCORE, np.maximum(allocatable, 1))


def _weighted(shares: IntArray, weights: Sequence[int]) -> IntArray:
    """(n,) Σ weight·share of (k, n) shares."""
    if any(weight != 1 for weight in weights):
        shares = shares * np.array(weights, np.int64)[:, None]
    total: IntArray = np.add.reduce(shares)
    return total


# --- 1.20 ----------------------------------------------------------------------------------


def most_1_18(requested: IntArray, allocatable: IntArray) -> IntArray:
    """The same; 0 where too much is asked for."""
    return most(requested, allocatable) * _fits(requested, allocatable)


def mean_1_20(share: Share, resources: Resources, pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) 0–100. Every resource has its say, also where a node has none of it; of two equal names the last weight
    counts.

    Upstream: 1.20 NodeResourcesLeastAllocated and NodeResourcesMostAllocated, with ``least`` and ``most``; 1.18 and
    1.19 NodeResourcesMostAllocated, with ``most_1_18``.
    """
    weights = dict(resources)
    return _mean(share(*amounts(tuple(weights), pod, snapshot)), tuple(weights.values()))


def _mean(shares: IntArray, weights: Sequence[int]) -> IntArray:
    return idiv(_weighted(shares, weights), sum(weights) or 1)


# --- 1.36 ----------------------------------------------------------------------------------


def mean_1_36(
    share: Share, resources: Resources, pod: PodInfo, snapshot: Snapshot, devices: Devices = no_devices
) -> IntArray:
    """(n,) 0–100 over the resources that a node has.

    Upstream: 1.36 NodeResourcesFit, strategies LeastAllocated and MostAllocated, with ``least`` and ``most``.
    """
    resources, requested, allocatable = considered_1_36(resources, pod, snapshot, devices)
    weights = [weight for _, weight in resources]
    there = allocatable != 0
    shares = share(requested, allocatable)
    if there.all():
        return _mean(shares, weights)
    return idiv(_weighted(shares, weights), np.maximum(_weighted(there.astype(np.int64), weights), 1))


def requested_to_capacity_ratio_1_36(
    table: IntArray, resources: Resources, pod: PodInfo, snapshot: Snapshot, devices: Devices = no_devices
) -> IntArray:
    """(n,) score by the curve ``table`` over the resources that a node has; those whose curve is at 0 have no say.

    table: (101,), see ``curve``. Upstream: 1.36 NodeResourcesFit, strategy RequestedToCapacityRatio.
    """
    resources, requested, allocatable = considered_1_36(resources, pod, snapshot, devices)
    weights = [weight for _, weight in resources]
    scores = on_curve(table, requested, allocatable)
    total, weight = _weighted(scores, weights), _weighted((scores > 0).astype(np.int64), weights)
    return round_half_away(total / np.maximum(weight, 1))


def on_curve(table: IntArray, requested: IntArray, allocatable: IntArray) -> IntArray:
    """Elementwise the score by the curve; 0 where nothing is allocatable."""
    scores: IntArray = table[np.clip(_utilization(requested, allocatable), 0, MAX_UTILIZATION)] * (allocatable != 0)
    return scores


def _utilization(requested: IntArray, allocatable: IntArray) -> IntArray:
    used = idiv(requested * MAX_UTILIZATION, np.maximum(allocatable, 1))
    used[requested > allocatable] = MAX_UTILIZATION
    return used


def pod_without_overhead(pod: PodInfo) -> PodInfo:
    """The pod as it is scored when its overhead does not count. Upstream: 1.22 calculatePodResourceRequest."""
    usage, overhead = pod.usage, pod.spec.overhead
    cpu, memory = usage.scored
    scored = cpu - whole_units(overhead.get(CPU, 0)), memory - amount(MEMORY, overhead.get(MEMORY, 0))
    others = {name: much - amount(name, overhead.get(name, 0)) for name, much in usage.scored_others.items()}
    bare = msgspec.structs.replace(usage, scored=scored, scored_others=FrozenMap(others))
    return PodInfo(pod.key, bare, pod.used)


def considered_1_36(
    resources: Resources, pod: PodInfo, snapshot: Snapshot, devices: Devices
) -> tuple[Resources, IntArray, IntArray]:
    """(the resources that count for the pod, (k, n) requested with it, (k, n) allocatable)."""
    if tuple(name for name, _ in resources) == STANDARD:
        return resources, *amounts(STANDARD, pod, snapshot)
    resources = counted_1_36(resources, pod.usage.scored_others)
    return resources, *_amounts_1_36(resources, pod, snapshot, devices)


def counted_1_36(resources: Resources, asked: Amounts) -> Resources:
    """The resources that count for a pod that asks for these amounts: scalar ones only if it asks for them."""
    return [(name, weight) for name, weight in resources if asked.get(name, 0) or not is_scalar_resource(name)]


def _amounts_1_36(
    resources: Resources, pod: PodInfo, snapshot: Snapshot, devices: Devices
) -> tuple[IntArray, IntArray]:
    """Nodes that have none of a resource natively may see devices that are one."""
    requested, allocatable = amounts([name for name, _ in resources], pod, snapshot)
    for at, (name, _) in enumerate(resources):
        asked = pod.usage.scored_others.get(name, 0)
        _put_devices(name, snapshot, devices, allocatable[at], requested[at], asked)
    return requested, allocatable


def _put_devices(
    name: str, snapshot: Snapshot, devices: Devices, allocatable: IntArray, requested: IntArray, asked: int = 0
) -> None:
    """Counts devices in the (n,) amounts of nodes that have none of a resource natively but see devices for it.

    asked: what the pod asks for, where that counts as requested.
    """
    of_devices = devices(snapshot, name) if name not in STANDARD else None
    if of_devices is not None:
        seen, taken = of_devices
        instead = (allocatable == 0) & (seen > 0)
        allocatable[instead] = seen[instead]
        requested[instead] = taken[instead] + asked


def asks_for_any_1_36(names: Sequence[str], pod: PodInfo, _: Snapshot) -> bool:
    """Whether the pod asks for any of the resources. Upstream: 1.36 NodeResourcesBalancedAllocation PreScore."""
    used = pod.usage.used
    return any(used.get(name, 0) for name in names)


def balanced_allocation_1_22(
    names: Sequence[str],
    pod: PodInfo,
    snapshot: Snapshot,
    devices: Devices = no_devices,
    amounts: BalanceAmounts | None = None,
) -> IntArray:
    """(n,) (1 - standard deviation of the shares in use, the pod's among them)·100, of what is asked for without any
    defaults. amounts: by default ``plain_amounts``. Upstream: 1.22 to 1.35 NodeResourcesBalancedAllocation.
    """
    _, allocatable, before, asked = (amounts or plain_amounts)(names, pod, snapshot, devices)
    balance: IntArray = _balance(before + asked[:1], allocatable)[0]
    return balance


def balanced_allocation_1_36(
    names: Sequence[str], pod: PodInfo, snapshot: Snapshot, devices: Devices = no_devices
) -> IntArray:
    """(n,) 50 and half of what the pod changes: a node that it balances gains, one that it unbalances loses.

    Balance is (1 - standard deviation of the shares in use)·100, of what is asked for without any defaults; 0 for a
    pod that asks for nothing. Upstream: 1.36 NodeResourcesBalancedAllocation.
    """
    if not asks_for_any_1_36(names, pod, snapshot):
        return np.zeros(len(snapshot), np.int64)
    _, allocatable, before, asked = plain_amounts(names, pod, snapshot, devices)
    with_it, without_it = _balance(before + asked, allocatable)
    return MAX_NODE_SCORE // 2 + idiv(MAX_NODE_SCORE // 2 + with_it - without_it, 2)


BalanceAmounts = Callable[[Sequence[str], PodInfo, Snapshot, Devices], tuple[list[str], IntArray, IntArray, IntArray]]
"""What balance is of; see ``plain_amounts``."""


def amounts_1_22(
    names: Sequence[str], pod: PodInfo, snapshot: Snapshot, devices: Devices
) -> tuple[list[str], IntArray, IntArray, IntArray]:
    """The same; the pod's overhead of cpu counts in whole cores, rounded up, as if they were millicores.

    Upstream: 1.22 to 1.26 calculatePodResourceRequest.
    """
    kept, allocatable, before, asked = plain_amounts(names, pod, snapshot, devices)
    overhead = pod.spec.overhead.get(CPU, 0)
    if overhead and CPU in kept:
        asked[0, kept.index(CPU)] += whole_units(overhead) - amount(CPU, overhead)
    return kept, allocatable, before, asked


def plain_amounts(
    names: Sequence[str], pod: PodInfo, snapshot: Snapshot, devices: Devices
) -> tuple[list[str], IntArray, IntArray, IntArray]:
    """(the k that count, (k, n) allocatable, (k, n) requested without the pod, (2, k, 1) what it adds and 0).

    No defaults are filled in.
    """
    used = pod.usage.used
    if tuple(names) == STANDARD:
        kept, allocatable, before = list(STANDARD), snapshot.allocatable[:2], snapshot.requested[:2]
    else:
        kept = [name for name, _ in counted_1_36([(name, 1) for name in names], used)]
        allocatable, before = np.zeros((2, len(kept), len(snapshot)), np.int64)
        for at, name in enumerate(kept):
            index = snapshot.resource(name)
            if index is not None:
                allocatable[at], before[at] = snapshot.allocatable[index], snapshot.requested[index]
            _put_devices(name, snapshot, devices, allocatable[at], before[at])
    asked = np.array([[used.get(name, 0) for name in kept], [0] * len(kept)], np.int64)
    return kept, allocatable, before, asked[:, :, None]


def _balance(requested: IntArray, allocatable: IntArray) -> IntArray:
    """(m, n) 0–100 of (m, k, n) requested; what a node has none of does not count."""
    there = allocatable != 0
    shares = np.minimum(requested / np.maximum(allocatable, 1), 1.0)
    if len(there) == 2 and there.all():
        deviations = np.abs((shares[:, 0] - shares[:, 1]) / 2)
    else:
        deviations = np.array([_deviation(np.where(there, one, 0.0), there) for one in shares])
    balance: IntArray = ((1 - deviations) * MAX_NODE_SCORE).astype(np.int64)
    return balance


def _deviation(shares: NDArray[np.float64], there: Mask) -> NDArray[np.float64]:
    """(n,) the standard deviation of (k, n) shares, counting those that are there and 0.0 elsewhere.

    Added up one by one in the order of the resources, as the release does; of two it is half their difference, of none
    it is 0.
    """
    if not len(shares):
        return np.zeros(shares.shape[1])
    count = there.sum(axis=0)
    some = np.maximum(count, 1)
    total = np.zeros(shares.shape[1])
    for share in shares:
        total += share
    squares = np.zeros(shares.shape[1])
    for share, here in zip(shares, there, strict=True):
        squares += np.where(here, (share - total / some) * (share - total / some), 0.0)
    first, last = there.argmax(axis=0), len(there) - 1 - there[::-1].argmax(axis=0)
    columns = np.arange(shares.shape[1])
    half = np.abs((shares[first, columns] - shares[last, columns]) / 2)
    return np.where(count > 2, np.sqrt(squares / some), np.where(count == 2, half, 0.0))


# --- evidence ------------------------------------------------------------------------------


def _shown(share: Share, requested: IntArray, allocatable: IntArray, weights: Sequence[int]) -> str:
    """How the weighted mean of (k,) amounts comes about; 0 where nothing weighs anything."""
    if not sum(weights):
        return "0"
    there = (allocatable != 0)[:, None]
    shares = share(traced(requested)[:, None], traced(allocatable)[:, None]) * there
    return formula(_mean(shares, traced(weights).tolist())[0])


def mean_evidence_1_20(name: str, share: Share, resources: Resources) -> RuleEvidence:
    """Of ``mean_1_20``."""

    def explain(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        weights = dict(resources)
        requested, allocatable = (a[:, 0] for a in amounts(tuple(weights), pod, one_row(snapshot, at)))
        mean = _shown(share, requested, allocatable, tuple(weights.values()))
        return Calculation(mean, resource_inputs(weights, requested, allocatable))

    return plugin_evidence(name, explain)


def mean_evidence_1_36(name: str, share: Share, resources: Resources, devices: Devices) -> RuleEvidence:
    """Of ``mean_1_36``."""

    def explain(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        counted, *arrays = considered_1_36(resources, pod, one_row(snapshot, at), devices)
        requested, allocatable = (a[:, 0] for a in arrays)
        there = np.flatnonzero(allocatable)
        mean = _shown(share, requested[there], allocatable[there], [counted[i][1] for i in there.tolist()])
        return Calculation(mean, resource_inputs([n for n, _ in counted], requested, allocatable))

    return plugin_evidence(name, explain)


def ratio_evidence_1_36(name: str, shape: Sequence[Point], resources: Resources, devices: Devices) -> RuleEvidence:
    """Of ``requested_to_capacity_ratio_1_36``; shape: points with scores 0-100."""
    table = curve(shape)

    def explain(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        counted, *arrays = considered_1_36(resources, pod, one_row(snapshot, at), devices)
        requested, allocatable = (a[:, 0] for a in arrays)
        have = np.flatnonzero(on_curve(table, requested, allocatable))
        used = _utilization(traced(requested[have]), traced(allocatable[have]))
        scores = [curve_formula(formula(each), shape) for each in used]
        weights = [counted[i][1] for i in have.tolist()]
        terms = [text if weight == 1 else f"{text} * {weight}" for text, weight in zip(scores, weights, strict=True)]
        mean = f"round(({added(terms)}) / ({added(list(map(str, weights)))}))" if sum(weights) else "0"
        return Calculation(mean, resource_inputs([n for n, _ in counted], requested, allocatable))

    return plugin_evidence(name, explain)


def balance_evidence_1_22(
    name: str, names: Sequence[str], devices: Devices = no_devices, amounts: BalanceAmounts | None = None
) -> RuleEvidence:
    """Of ``balanced_allocation_1_22``."""

    def explain(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        kept, *arrays = (amounts or plain_amounts)(names, pod, one_row(snapshot, at), devices)
        allocatable, used = arrays[0][:, 0], arrays[1][:, 0] + arrays[2][0, :, 0]
        return Calculation(_balance_formula(used, allocatable), resource_inputs(kept, used, allocatable))

    return plugin_evidence(name, explain)


def balance_evidence_1_36(name: str, names: Sequence[str], devices: Devices = no_devices) -> RuleEvidence:
    """Of ``balanced_allocation_1_36``."""
    half = MAX_NODE_SCORE // 2

    def explain(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        if not asks_for_any_1_36(names, pod, snapshot):
            return Calculation("0", {"asked": "nothing"})
        kept, *arrays = plain_amounts(names, pod, one_row(snapshot, at), devices)
        allocatable, before, asked = arrays[0][:, 0], arrays[1][:, 0], arrays[2][0, :, 0]
        with_it, without_it = _balance_formula(before + asked, allocatable), _balance_formula(before, allocatable)
        return Calculation(
            f"{half} + ({half} + {with_it} - {without_it}) // 2", resource_inputs(kept, before + asked, allocatable)
        )

    return plugin_evidence(name, explain)


def _balance_formula(requested: IntArray, allocatable: IntArray) -> str:
    """Of (k,) amounts; what the node has none of does not count."""
    shares = [f"min({r} / {a}, 1.0)" for r, a in zip(requested.tolist(), allocatable.tolist(), strict=True) if a]
    return f"trunc((1 - std({', '.join(shares)})) * {MAX_NODE_SCORE})"
