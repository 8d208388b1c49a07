"""What storage classes can still provision where, as CSIStorageCapacity objects say (1.36)."""

from __future__ import annotations

import numpy as np

from clusterstate.changes import Reads
from clusterstate.growable import Mask
from clusterstate.objects import CSIStorageCapacity, LabelSelector, PersistentVolumeClaim, StorageClass
from clusterstate.quantity import whole_units
from clusterstate.selectors.label_selectors_framework import compile_selector
from clusterstate.selectors.matching import SelectorError
from clusterstate.selectors.node_selection import requirements_mask
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claim_matching import Capacity

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
