"""VolumeBinding's score: how full the storage would be that a node offers for the pod's claims (1.36, gate
StorageCapacityScoring).

    utilization = requested·100 / capacity      (100 where capacity is 0 or less than what is requested)
    score = Σ curve(utilization) / classes      over storage classes, halves rounded away from zero

Where volumes are found for the claims, those count; elsewhere what the node's classes have left to make volumes of.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from clusterstate.growable import IntArray, Mask
from clusterstate.podinfo import PodInfo
from clusterstate.quantity import whole_units
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claim_matching import NONE, ClaimBinding, Delayed, decide
from clusterstate.volumes.claims import VolumeError, claim_class
from clusterstate.volumes.claims_framework import leads_to_claims
from clusterstate.volumes.volume_decision import RULES_1_36, all_claims
from priorities.normalize import MAX_UTILIZATION, Point, curve, curve_formula, idiv, round_half_away, scaled
from priorities.score_evidence import Calculation, RuleEvidence, added, one_row, plugin_evidence, size
from priorities.types import MAX_PRIORITY

NOTHING = -1
"""Stands where no volume is chosen; the number NONE reads the last place of a table."""

DEFAULT_SHAPE: tuple[Point, ...] = ((0, MAX_PRIORITY), (MAX_UTILIZATION, 0))
"""(utilization in percent, score 0-10)."""


def score_table(shape: Sequence[Point]) -> IntArray:
    """(101,) the score 0-100 at each utilization; ``shape`` as in the plugin's args, empty for the default."""
    return curve(_points(shape))


def _points(shape: Sequence[Point]) -> list[Point]:
    """With scores 0-100."""
    return scaled(shape or DEFAULT_SHAPE)


def has_volumes_to_find(pod: PodInfo, snapshot: Snapshot) -> bool:
    """Whether a claim of the pod is bound only once a node is chosen."""
    return bool(_delayed(pod, snapshot))


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

    def utilization(self) -> IntArray:
        fits = self._fits()
        percent = idiv(self.requested * MAX_UTILIZATION, np.where(fits, self.capacity, 1))
        return np.where(fits, percent, MAX_UTILIZATION)

    def _fits(self) -> Mask:
        fits: Mask = (self.capacity != 0) & (self.requested <= self.capacity)
        return fits

    def formula(self) -> str:
        """The utilization of the only row."""
        if not self._fits()[0]:
            return str(MAX_UTILIZATION)
        return f"{self.requested[0]} * {MAX_UTILIZATION} // {self.capacity[0]}"


def storage_scores(table: IntArray, pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) score by the curve ``table``, 0 where there is nothing to score. Upstream: 1.36 VolumeBinding.Score."""
    total, count = np.zeros(len(snapshot), np.int64), np.zeros(len(snapshot), np.int64)
    for storage in _by_class(pod, snapshot).values():
        total += np.where(storage.counts, table[storage.utilization()], 0)
        count += storage.counts
    return round_half_away(total / np.maximum(count, 1))


def _by_class(pod: PodInfo, snapshot: Snapshot) -> dict[str, _Storage]:
    """Storage class → its storage."""
    size = len(snapshot)
    delayed = _delayed(pod, snapshot)
    decision = decide(delayed, snapshot, np.ones(size, np.bool_), RULES_1_36)
    found = np.zeros(size, np.bool_)
    classes: dict[str, _Storage] = {}
    for binding in decision.bindings:
        for class_name, capacities in _chosen_capacities(binding).items():
            capacity = capacities[binding.numbers]
            where = capacity != NOTHING
            storage = classes.setdefault(class_name, _Storage.none(size))
            storage.requested += where * whole_units(binding.claim.storage)
            storage.capacity += where * capacity
            storage.counts |= where
            found |= where
    for provision in decision.provisions:
        if provision.left is not None:
            where = provision.rows & ~found & (provision.left >= 0)
            storage = classes.setdefault(claim_class(provision.claim), _Storage.none(size))
            storage.requested += where * whole_units(provision.claim.storage)
            storage.capacity = np.where(where, provision.left, storage.capacity)
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
    points = _points(shape)

    def explain(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        classes = _by_class(pod, one_row(snapshot, at))
        there = {name: storage for name, storage in classes.items() if storage.counts[0]}
        scores = [curve_formula(storage.formula(), points) for storage in there.values()]
        inputs = {
            name or "no class": {
                "requested": size(int(storage.requested[0])),
                "capacity": size(int(storage.capacity[0])),
            }
            for name, storage in there.items()
        }
        return Calculation(f"round(({added(scores)}) / {max(len(scores), 1)})", inputs)

    return plugin_evidence("VolumeBinding", explain)


def explain_nothing(_: PodInfo, __: Snapshot, ___: int) -> Calculation:
    """Of a score that is switched off."""
    return Calculation("0", {"StorageCapacityScoring": "off"})


NOTHING_EVIDENCE = plugin_evidence("VolumeBinding", explain_nothing)
