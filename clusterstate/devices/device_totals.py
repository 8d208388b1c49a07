"""How many devices stand for an extended resource on every node, while nodes are scored."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from clusterstate.changes import Reads
from clusterstate.devices.device_features import EVERYTHING, DeviceFeatures
from clusterstate.devices.device_inventory import Inventory, inventory
from clusterstate.devices.device_pools import Piece
from clusterstate.devices.device_requests import DeviceError, class_selectors
from clusterstate.devices.device_use import NOTHING_USED
from clusterstate.devices.extended_resources import classes_by_resource
from clusterstate.growable import IntArray
from clusterstate.objects.resource import Device, DeviceClass
from clusterstate.snapshot import Snapshot

READS = Reads.RESOURCES | Reads.ALL_NODES


def device_totals(
    snapshot: Snapshot, resource: str, features: DeviceFeatures = EVERYTHING
) -> tuple[IntArray, IntArray] | None:
    """((n,) devices of the resource's DeviceClass that nodes see, (n,) those of them that claims hold).

    None for a resource that no class provides; 0 where a selector fails. Slices count whatever their generation.
    Upstream: 1.36 calculateDRAExtendedResourceAllocatableRequest.
    """
    name = classes_by_resource(snapshot).get(resource)
    if name is None:
        return None
    stock = inventory(snapshot, features)
    device_class = snapshot.objects.device_classes[name]
    totals = snapshot.derived(("device_totals", name, features), READS, lambda: _by_group(stock, device_class))
    seen, taken = totals[:, stock.layout.codes_of(snapshot)]
    return seen, taken


def _by_group(stock: Inventory, device_class: DeviceClass) -> IntArray:
    """(2, G) devices that are seen, and those that are held, of every group of nodes."""
    return np.array([_of_group(pieces, stock, device_class) for pieces in stock.layout.groups], np.int64).T


def _of_group(pieces: Iterable[Piece], stock: Inventory, device_class: DeviceClass) -> tuple[int, int]:
    seen = taken = 0
    for piece in pieces:
        use = stock.in_use.get((piece.slice.driver, piece.slice.pool), NOTHING_USED)
        for device, here in piece.devices():
            matches = _matches(device_class, piece.slice.driver, device) if here else False
            if matches is None:
                return 0, 0
            seen += matches
            taken += matches and use.holds(device.name)
    return seen, taken


@lru_cache(maxsize=65_536)
def _matches(device_class: DeviceClass, driver: str, device: Device) -> bool | None:
    """Whether the class selects the device; None when a selector fails."""
    try:
        return all(selector.matches(driver, device) for selector in class_selectors(device_class))
    except DeviceError:
        return None
