"""What is to be done about the volumes of a pod on the node that was chosen for it, and what its classes of storage can
still provide there.

At the end: what a rule reads of claims and volumes for one pod. While that is equal, other claims and volumes may
change; storage classes, CSI nodes, attachments and what other pods use are compared in any case.
"""

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
from clusterstate.selectors.matching import SelectorError, compile_selector
from clusterstate.selectors.node_selection import requirements_mask
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claim_matching import (
    BindingRules,
    Capacity,
    ClassOf,
    attributes_fault,
    could_hold,
    could_hold_1_36,
    decide,
    volume_index,
)
from clusterstate.volumes.claims import PodClaims, claim_class, claim_volumes, pod_claims, volume_class

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


LedTo = tuple[PersistentVolumeClaim | None, PersistentVolume | None, int]
"""(a claim, the volume that it names, the version of the volumes that it could be bound to)."""


def bound_storage(pod: PodInfo, snapshot: Snapshot) -> tuple[LedTo, ...]:
    """The pod's claims, and the volumes that they name."""
    return tuple((claim, volume, 0) for claim, volume in _claims(pod, snapshot))


def storage_to_bind(class_of: ClassOf, pod: PodInfo, snapshot: Snapshot) -> tuple[LedTo, ...]:
    """The same, and all volumes of the class of a claim that names none. class_of: as the release lists volumes."""
    return tuple(
        (claim, volume, 0 if claim is None or claim.volume_name else _version(claim, class_of, snapshot))
        for claim, volume in _claims(pod, snapshot)
    )


def _claims(pod: PodInfo, snapshot: Snapshot) -> list[tuple[PersistentVolumeClaim | None, PersistentVolume | None]]:
    objects = snapshot.objects
    found = []
    for named in claim_volumes(pod.spec):
        claim = objects.persistent_volume_claims.get((pod.namespace, named.claim_name))
        found.append((claim, None if claim is None else objects.persistent_volumes.get(claim.volume_name)))
    return found


def _version(claim: PersistentVolumeClaim, class_of: ClassOf, snapshot: Snapshot) -> int:
    return volume_index(snapshot, class_of).of(claim_class(claim)).version
