"""The devices of a cluster: which nodes see them, which are in use, and what their pools have left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from itertools import groupby

import attrs
import numpy as np

from clusterstate.changes import Reads
from clusterstate.cluster_objects import ClusterObjects
from clusterstate.growable import IntArray, Mask
from clusterstate.objects.resource import Allocation, CounterSet, Device, Placement, ResourceSlice
from clusterstate.selectors.node_selection import node_affinity_mask
from clusterstate.snapshot import Snapshot

DeviceId = tuple[str, str, str]
"""(driver, pool, device)."""

InUse = dict[tuple[str, str], set[str]]
"""(driver, pool) → names of devices."""

CounterName = tuple[str, str]
"""(counter set, counter)."""


@attrs.frozen(eq=False)
class Pool:
    """Slices of one pool, of its newest generation."""

    driver: str
    name: str
    slices: tuple[ResourceSlice, ...]
    usable: bool
    """Whether all slices are there, and no device is in two of them."""
    left: dict[CounterName, int]
    """Shared counters that devices in use have not taken, in thousandths."""
    taken: set[str]
    """The names of devices in use."""


@attrs.frozen(eq=False)
class Lot:
    """Devices of one pool that the same nodes see."""

    pool: Pool
    devices: tuple[Device, ...]
    place: Placement
    taken: frozenset[str]
    """The names of those in use."""

    @property
    def content(self) -> Hashable:
        """Everything an allocation depends on; the names of pools are not part of it."""
        pool = self.pool
        return pool.driver, pool.usable, frozenset(pool.left.items()), self.devices, self.taken


@attrs.frozen(eq=False)
class Inventory:
    """The free devices of a cluster, by groups of nodes that see the same ones."""

    groups: tuple[tuple[Lot, ...], ...]
    """The lots that some nodes see; the first group is empty."""
    alike: IntArray
    """(G,) int64: for each group the first one that offers the same on other nodes."""
    codes: IntArray
    """(N,) int64: each row's group."""

    def codes_of(self, snapshot: Snapshot) -> IntArray:
        """(n,) the groups of a snapshot's rows; rows without a node object see nothing."""
        rows = snapshot.row_numbers
        known = rows < len(self.codes)
        out = np.zeros(len(rows), np.int64)
        out[known] = self.codes[rows[known]]
        return out


def inventory(snapshot: Snapshot) -> Inventory:
    """Kept until a node or an object of dynamic resources changes."""
    whole = snapshot.whole()
    return snapshot.derived("device_inventory", Reads.RESOURCES | Reads.ALL_NODES, lambda: _inventory(whole))


# --- what is in use ------------------------------------------------------------------------


def _allocations(objects: ClusterObjects) -> Iterator[Allocation]:
    for claim in objects.resource_claims.values():
        if claim.allocation is not None:
            yield claim.allocation
    for pending in objects.pending_allocations.values():
        yield pending.allocation


def devices_in_use(objects: ClusterObjects) -> InUse:
    """Devices that claims hold; administrators' access does not count."""
    out: InUse = {}
    for allocation in _allocations(objects):
        for device in allocation.devices:
            if not device.admin_access:
                out.setdefault((device.driver, device.pool), set()).add(device.device)
    return out


# --- pools ---------------------------------------------------------------------------------


def _pools(objects: ClusterObjects, in_use: InUse) -> list[Pool]:
    def key(piece: ResourceSlice) -> tuple[str, str]:
        return piece.driver, piece.pool

    slices = sorted(objects.resource_slices.values(), key=lambda piece: (*key(piece), piece.metadata.name))
    return [_pool(*name, tuple(of_pool), in_use.get(name, set())) for name, of_pool in groupby(slices, key)]


def _pool(driver: str, name: str, slices: tuple[ResourceSlice, ...], taken: set[str]) -> Pool:
    newest = max(piece.generation for piece in slices)
    slices = tuple(piece for piece in slices if piece.generation == newest)
    devices = [device for piece in slices for device in piece.devices]
    once = len({device.name for device in devices}) == len(devices)
    left: Counter[CounterName] = Counter()
    for piece in slices:
        left.update(counters(piece.shared_counters))
    for device in devices if left else ():
        if device.name in taken:
            left.subtract(counters(device.consumes_counters))
    return Pool(driver, name, slices, len(slices) == slices[0].slice_count and once, dict(left), taken)


def counters(sets: Iterable[CounterSet]) -> dict[CounterName, int]:
    """Amounts by (counter set, counter)."""
    return {(entry.name, counter): amount for entry in sets for counter, amount in entry.counters.items()}


# --- lots ----------------------------------------------------------------------------------


def _lots(pool: Pool) -> Iterator[Lot]:
    for piece in pool.slices:
        if not piece.per_device:
            yield _lot(pool, piece.devices, piece.placement)
            continue
        for place, devices in groupby(piece.devices, lambda device: device.placement):
            yield _lot(pool, tuple(devices), place)


def _lot(pool: Pool, devices: tuple[Device, ...], place: Placement) -> Lot:
    taken = frozenset(device.name for device in devices if device.name in pool.taken) if pool.taken else frozenset()
    return Lot(pool, devices, place, taken)


def _inventory(snapshot: Snapshot) -> Inventory:
    pools = _pools(snapshot.objects, devices_in_use(snapshot.objects))
    lots = [lot for pool in pools for lot in _lots(pool)]
    by_row: dict[int, list[int]] = {}
    broad: dict[int, Mask] = {}
    for index, lot in enumerate(lots):
        place = lot.place
        if place.node_name:
            row = snapshot.row_of(place.node_name)
            if row is not None:
                by_row.setdefault(row, []).append(index)
        else:
            broad[index] = snapshot.has_node if place.all_nodes else _selected(snapshot, place)
    keys, codes = _grouped(broad, by_row, len(snapshot))
    groups = tuple(tuple(lots[index] for index in key) for key in keys)
    return Inventory(groups, _alike(groups), codes)


def _selected(snapshot: Snapshot, place: Placement) -> Mask:
    return node_affinity_mask(snapshot, place.node_selector or ())


def _grouped(broad: dict[int, Mask], by_row: dict[int, list[int]], size: int) -> tuple[list[tuple[int, ...]], IntArray]:
    """(group → its lots, row → group). broad: lot → (size,) bool, by_row: row → the lots of that node alone."""
    everywhere, of_row = _patterns(broad, size)
    groups: dict[tuple[int, ...], int] = {(): 0}
    codes = np.array([groups.setdefault(key, len(groups)) for key in everywhere], np.int64)[of_row]
    for row, own in by_row.items():
        key = tuple(sorted((*everywhere[of_row[row]], *own)))
        codes[row] = groups.setdefault(key, len(groups))
    return list(groups), codes


def _patterns(broad: dict[int, Mask], size: int) -> tuple[list[tuple[int, ...]], IntArray]:
    """(the distinct sets of lots that rows see, row → one of them)."""
    if not broad or not size:
        return [()], np.zeros(size, np.int64)
    table = np.array(list(broad.values()), np.bool_).T
    patterns, of_row = np.unique(table, axis=0, return_inverse=True)
    lots = list(broad)
    return [tuple(lots[at] for at in np.flatnonzero(pattern)) for pattern in patterns], of_row.reshape(-1)


def _alike(groups: tuple[tuple[Lot, ...], ...]) -> IntArray:
    """(G,) the first group that is the same to an allocation."""
    contents: dict[Lot, int] = {}
    known: dict[Hashable, int] = {}
    for lot in {lot: None for lots in groups for lot in lots}:
        contents[lot] = known.setdefault(lot.content, len(known))
    first: dict[Hashable, int] = {}
    out = np.empty(len(groups), np.int64)
    for code, lots in enumerate(groups):
        pools = {lot.pool: None for lot in lots}
        order = {pool: at for at, pool in enumerate(pools)}
        out[code] = first.setdefault(tuple((contents[lot], order[lot.pool]) for lot in lots), code)
    return out
