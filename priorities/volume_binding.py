"""VolumeBinding's score: how full the storage would be that a node offers for the pod's claims (1.36, gate
StorageCapacityScoring).

    utilization = requested·100 / capacity      (100 where capacity is 0 or less than what is requested)
    score = Σ curve(utilization) / classes      over storage classes, halves rounded away from zero

Where volumes are found for the claims, those count; elsewhere what the node's classes have left to make volumes of.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from clusterstate.growable import IntArray, Mask
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claim_matching import Delayed, decide
from clusterstate.volumes.claims import VolumeError, claim_class
from clusterstate.volumes.claims_framework import leads_to_claims
from clusterstate.volumes.storage_capacity import whole_bytes
from clusterstate.volumes.volume_decision import RULES_1_36, all_claims
from priorities.normalize import MAX_UTILIZATION, Point, curve, idiv, round_half_away
from priorities.types import MAX_NODE_SCORE, MAX_PRIORITY

DEFAULT_SHAPE: tuple[Point, ...] = ((0, MAX_PRIORITY), (MAX_UTILIZATION, 0))
"""(utilization in percent, score 0-10)."""


def score_table(shape: Sequence[Point]) -> IntArray:
    """(101,) the score 0-100 at each utilization; ``shape`` as in the plugin's args, empty for the default."""
    scale = MAX_NODE_SCORE // MAX_PRIORITY
    return curve([(utilization, score * scale) for utilization, score in shape or DEFAULT_SHAPE])


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


@attrs.define
class _Storage:
    """One class's storage: (n,) bytes requested of it, (n,) bytes it has, (n,) bool where it counts."""

    requested: IntArray
    capacity: IntArray
    counts: Mask

    @classmethod
    def none(cls, size: int) -> _Storage:
        return cls(np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.bool_))

    def utilization(self) -> IntArray:
        fits = (self.capacity != 0) & (self.requested <= self.capacity)
        percent = idiv(self.requested * MAX_UTILIZATION, np.where(fits, self.capacity, 1))
        return np.where(fits, percent, MAX_UTILIZATION)


def storage_scores(table: IntArray, pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) score by the curve ``table``, 0 where there is nothing to score. Upstream: 1.36 VolumeBinding.Score."""
    size = len(snapshot)
    delayed = _delayed(pod, snapshot)
    decision = decide(delayed, snapshot, np.ones(size, np.bool_), RULES_1_36)
    found = np.zeros(size, np.bool_)
    classes: dict[str, _Storage] = {}
    for claim, volume, where in decision.bindings:
        storage = classes.setdefault(volume.storage_class_name, _Storage.none(size))
        storage.requested += where * whole_bytes(claim.storage)
        storage.capacity += where * whole_bytes(volume.storage)
        storage.counts |= where
        found |= where
    for provision in decision.provisions:
        if provision.left is not None:
            where = provision.rows & ~found & (provision.left >= 0)
            storage = classes.setdefault(claim_class(provision.claim), _Storage.none(size))
            storage.requested += where * whole_bytes(provision.claim.storage)
            storage.capacity = np.where(where, provision.left, storage.capacity)
            storage.counts |= where
    total, count = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for storage in classes.values():
        total += np.where(storage.counts, table[storage.utilization()], 0)
        count += storage.counts
    return round_half_away(total / np.maximum(count, 1))
