"""VolumeBinding's score: how full the storage would be that a node offers for the pod's claims (gate
VolumeCapacityPriority from 1.21 to 1.32, StorageCapacityScoring since).

    utilization = requested·100 / capacity      (100 where capacity is 0 or less than what is requested)
    score = Σ curve(utilization) / classes      over storage classes, halves rounded away from zero

Where volumes are found for the claims, those count; elsewhere, with StorageCapacityScoring, what the node's classes
have left to make volumes of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec
import numpy as np

from clusterstate.growable import IntArray, Mask
from clusterstate.podinfo import PodInfo
from clusterstate.quantity import whole_units
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claim_matching import NONE, BindingRules, ClaimBinding, Delayed, decide
from clusterstate.volumes.claims import VolumeError, claim_class, leads_to_claims
from clusterstate.volumes.volume_decision import RULES_1_36, all_claims
from priorities.score_evidence import Calculation, RuleEvidence, added, formula, one_row, plugin_evidence, size, traced
from priorities.types import MAX_PRIORITY, MAX_UTILIZATION, Point, curve, curve_formula, idiv, round_half_away, scaled

NOTHING = -1
"""Stands where no volume is chosen; the number NONE reads the last place of a table."""

DEFAULT_SHAPE: tuple[Point, ...] = ((0, MAX_PRIORITY), (MAX_UTILIZATION, 0))
"""(utilization in percent, score 0-10)."""
DEFAULT_SHAPE_1_21: tuple[Point, ...] = ((0, 0), (MAX_UTILIZATION, MAX_PRIORITY))
"""The same with gate VolumeCapacityPriority: the fuller the better."""


def score_table(shape: Sequence[Point]) -> IntArray:
    """(101,) the score 0-100 at each utilization; ``shape`` as in the plugin's args, empty for the default."""
    return curve(_points(shape))


def _points(shape: Sequence[Point]) -> list[Point]:
    """With scores 0-100."""
    return scaled(shape or DEFAULT_SHAPE)


def has_volumes_to_find(pod: PodInfo, snapshot: Snapshot) -> bool:
    """Whether a claim of the pod is bound only once a node is chosen."""
    return bool(_delayed(pod, snapshot))


def has_volumes_found(rules: BindingRules, pod: PodInfo, snapshot: Snapshot) -> bool:
    """Whether a volume is found for a claim of the pod on any node. Upstream: 1.30 VolumeBinding.PreScore."""
    delayed = _delayed(pod, snapshot)
    bindings = decide(delayed, snapshot, np.ones(len(snapshot), np.bool_), rules).bindings if delayed else ()
    return any(bool((binding.numbers != NONE).any()) for binding in bindings)


def _delayed(pod: PodInfo, snapshot: Snapshot) -> tuple[Delayed, ...]:
    if not leads_to_claims(pod):
        return ()
    try:
        return all_claims(pod, snapshot.objects).delayed
    except VolumeError:
        return ()


class _Storage(msgspec.Struct):
    """One class's storage: (n,) bytes requested of it, (n,) bytes it has, (n,) bool where it counts."""

    requested: IntArray
    capacity: IntArray
    counts: Mask

    @classmethod
    def none(cls, size: int) -> _Storage:
        return cls(np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.bool_))


def _utilization(requested: IntArray, capacity: IntArray) -> IntArray:
    fits = (capacity != 0) & (requested <= capacity)
    return np.where(fits, idiv(requested * MAX_UTILIZATION, np.where(fits, capacity, 1)), MAX_UTILIZATION)


def storage_scores(table: IntArray, pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) score by the curve ``table``, 0 where there is nothing to score. Upstream: 1.36 VolumeBinding.Score."""
    return _scores(table, _by_class(pod, snapshot), len(snapshot))


def volume_scores_1_21(table: IntArray, rules: BindingRules, pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) the same of volumes alone: a claim that one has to be made for does not count.

    Upstream: 1.21 VolumeBinding.Score with gate VolumeCapacityPriority.
    """
    return _scores(table, _volumes_by_class(pod, snapshot, rules), len(snapshot))


def _scores(table: IntArray, classes: Mapping[str, _Storage], size: int) -> IntArray:
    total, count = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for storage in classes.values():
        total += np.where(storage.counts, table[_utilization(storage.requested, storage.capacity)], 0)
        count += storage.counts
    return round_half_away(total / np.maximum(count, 1))


def _by_class(pod: PodInfo, snapshot: Snapshot) -> dict[str, _Storage]:
    """Storage class → its storage."""
    decision = decide(_delayed(pod, snapshot), snapshot, np.ones(len(snapshot), np.bool_), RULES_1_36)
    classes = _found_by_class(decision.bindings, len(snapshot))
    counted = np.logical_or.reduce([s.counts for s in classes.values()] or [np.zeros(len(snapshot), np.bool_)])
    for provision in decision.provisions:
        if provision.left is not None:
            where = provision.rows & ~counted & (provision.left >= 0)
            storage = classes.setdefault(claim_class(provision.claim), _Storage.none(len(snapshot)))
            storage.requested += where * whole_units(provision.claim.storage)
            storage.capacity = np.where(where, provision.left, storage.capacity)
            storage.counts |= where
    return classes


def _volumes_by_class(pod: PodInfo, snapshot: Snapshot, rules: BindingRules) -> dict[str, _Storage]:
    decision = decide(_delayed(pod, snapshot), snapshot, np.ones(len(snapshot), np.bool_), rules)
    return _found_by_class(decision.bindings, len(snapshot))


def _found_by_class(bindings: Sequence[ClaimBinding], size: int) -> dict[str, _Storage]:
    """Storage class → what the volumes have that are found for claims."""
    classes: dict[str, _Storage] = {}
    for binding in bindings:
        for class_name, capacities in _chosen_capacities(binding).items():
            capacity = capacities[binding.numbers]
            where = capacity != NOTHING
            storage = classes.setdefault(class_name, _Storage.none(size))
            storage.requested += where * whole_units(binding.claim.storage)
            storage.capacity += where * capacity
            storage.counts |= where
    return classes


def _chosen_capacities(binding: ClaimBinding) -> dict[str, IntArray]:
    """Class → bytes of its chosen volumes by number, NOTHING for others."""
    out: dict[str, IntArray] = {}
    for number in np.unique(binding.numbers).tolist():
        volume = None if number == NONE else binding.volumes[number]
        if volume is not None:
            table = out.get(volume.storage_class_name)
            if table is None:
                table = out[volume.storage_class_name] = np.full(len(binding.volumes) + 1, NOTHING, np.int64)
            table[number] = whole_units(volume.storage)
    return out


def storage_evidence(shape: Sequence[Point]) -> RuleEvidence:
    """Of ``storage_scores``; shape: as in ``score_table``."""
    return _evidence(shape, _by_class)


def volume_evidence_1_21(shape: Sequence[Point], rules: BindingRules) -> RuleEvidence:
    """Of ``volume_scores_1_21``."""
    return _evidence(shape, partial(_volumes_by_class, rules=rules))


def _evidence(shape: Sequence[Point], by_class: Callable[[PodInfo, Snapshot], Mapping[str, _Storage]]) -> RuleEvidence:
    points = _points(shape)

    def explain(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        classes = by_class(pod, one_row(snapshot, at))
        there = {name: storage for name, storage in classes.items() if storage.counts[0]}
        used = [_utilization(traced(storage.requested), traced(storage.capacity))[0] for storage in there.values()]
        scores = [curve_formula(formula(each), points) for each in used]
        inputs = {
            name or "no class": {
                "requested": size(int(storage.requested[0])),
                "capacity": size(int(storage.capacity[0])),
            }
            for name, storage in there.items()
        }
        return Calculation(f"round(({added(scores)}) / {max(len(scores), 1)})", inputs)

    return plugin_evidence("VolumeBinding", explain)


def nothing_evidence(gate: str) -> RuleEvidence:
    """Of a score that a feature gate switches off."""
    return plugin_evidence("VolumeBinding", lambda *_: Calculation("0", {gate: "off"}))
