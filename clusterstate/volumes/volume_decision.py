"""What is to be done about the volumes of a pod on the node that was chosen for it, and what its classes of storage can
still provide there."""

from __future__ import annotations

import msgspec
import numpy as np

from clusterstate.changes import Reads
from clusterstate.cluster_objects import ClusterObjects
from clusterstate.growable import Mask
from clusterstate.objects import (
    CSIStorageCapacity,
    LabelSelector,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from clusterstate.podinfo import PodInfo
from clusterstate.quantity import whole_units
from clusterstate.selectors.matching import SelectorError
from clusterstate.selectors.node_selection import requirements_mask
from clusterstate.selectors.term_errors import compile_selector
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claim_matching import (
    BindingRules,
    Capacity,
    attributes_fault,
    could_hold,
    could_hold_1_36,
    decide,
)
from clusterstate.volumes.claims import PodClaims, pod_claims, volume_class
from clusterstate.volumes.claims_framework import claim_volumes

UNKNOWN = -1


def capacity_for(claim: PersistentVolumeClaim, storage_class: StorageClass, snapshot: Snapshot) -> Capacity | None:
    """Where a volume for the claim can be made, and what is left there; None where nobody keeps account of it.

    The first object that has room for the claim and selects the node counts; one without a node topology selects
    none. Upstream: 1.36 hasEnoughCapacity.
    """
    driver = snapshot.objects.csi_drivers.get(storage_class.provisioner)
    if not claim.storage or driver is None or not driver.storage_capacity:
        return None
    size = whole_units(claim.storage)
    enough, left = np.zeros(len(snapshot), np.bool_), np.full(len(snapshot), UNKNOWN, np.int64)
    for capacity in _capacities(snapshot).get(storage_class.metadata.name, ()):
        if _largest(capacity) >= size:
            here = _selected(snapshot, capacity.node_topology) & ~enough
            left[here] = UNKNOWN if capacity.capacity is None else whole_units(capacity.capacity)
            enough |= here
    return enough, left


def _capacities(snapshot: Snapshot) -> dict[str, list[CSIStorageCapacity]]:
    return snapshot.derived("capacities by class", Reads.STORAGE_CLASSES, lambda: _by_class(snapshot))


def _by_class(snapshot: Snapshot) -> dict[str, list[CSIStorageCapacity]]:
    out: dict[str, list[CSIStorageCapacity]] = {}
    for capacity in snapshot.objects.csi_storage_capacities.values():
        out.setdefault(capacity.storage_class_name, []).append(capacity)
    return out


def _largest(capacity: CSIStorageCapacity) -> int:
    """The largest volume in bytes, below 0 when nobody says."""
    limit = capacity.capacity if capacity.maximum_volume_size is None else capacity.maximum_volume_size
    return UNKNOWN if limit is None else whole_units(limit)


def _selected(snapshot: Snapshot, selector: LabelSelector | None) -> Mask:
    try:
        matcher = compile_selector(selector)
    except SelectorError:
        return np.zeros(len(snapshot), np.bool_)
    return np.zeros(len(snapshot), np.bool_) if matcher.never else requirements_mask(snapshot, matcher.requirements)


RULES_1_20 = BindingRules(volume_class, could_hold)
RULES_1_20_WITH_CAPACITY = BindingRules(volume_class, could_hold, capacity=capacity_for)
"""With gate CSIStorageCapacity."""
RULES_1_36 = BindingRules(volume_class, could_hold_1_36, capacity=capacity_for)
RULES_WITHOUT_ATTRIBUTES = msgspec.structs.replace(RULES_1_36, fault=attributes_fault)
"""From 1.31 on, with gate VolumeAttributesClass off."""


class PodVolumes(msgspec.Struct, frozen=True):
    """What is decided about a pod's volumes on one node."""

    bindings: tuple[tuple[PersistentVolumeClaim, PersistentVolume], ...] = ()
    """Claims with the volumes chosen for them."""
    provisions: tuple[PersistentVolumeClaim, ...] = ()
    """Claims for which a volume is to be made."""


def all_claims(pod: PodInfo, objects: ClusterObjects) -> PodClaims:
    """The pod's claims, those of ephemeral volumes included. Raises VolumeError as ``pod_claims`` does."""
    return pod_claims(pod, objects, (volume.claim_name for volume in claim_volumes(pod.spec)))


def bindings_for(pod: PodInfo, snapshot: Snapshot, row: int, rules: BindingRules) -> PodVolumes:
    """What binding the pod to a row that fits means for its claims. Raises VolumeError as ``pod_claims`` does."""
    delayed = all_claims(pod, snapshot.objects).delayed
    if not delayed:
        return PodVolumes()
    there = snapshot.take(np.array([row]))
    decision = decide(delayed, there, np.ones(1, np.bool_), rules)
    return PodVolumes(
        tuple((one.claim, volume) for one in decision.bindings if (volume := one.volume(0)) is not None),
        tuple(provision.claim for provision in decision.provisions if provision.rows[0]),
    )
