"""The devices of a cluster: which nodes see them, and which nodes offer the same."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter

import msgspec
import numpy as np

from clusterstate.changes import Reads
from clusterstate.devices.device_features import EVERYTHING, DeviceFeatures
from clusterstate.devices.device_pools import Piece, Pool, PoolId, pools_of
from clusterstate.devices.device_use import NOTHING_USED, InUse, PoolUse, devices_in_use
from clusterstate.growable import IntArray, Mask
from clusterstate.objects.resource import Placement, ResourceSlice
from clusterstate.selectors.node_selection import node_affinity_mask
from clusterstate.snapshot import Snapshot


class Layout(msgspec.Struct, frozen=True, eq=False):
    """Where devices are, whoever holds them."""

    slices: tuple[ResourceSlice, ...]
    """All that there are."""
    groups: tuple[tuple[Piece, ...], ...]
    """What some nodes see; the first is nothing."""
    pools: tuple[tuple[Pool, ...], ...]
    """Of every group."""
    contents: tuple[tuple[int, ...], ...]
    """Of every group's pools; equal for pools between which a search sees no difference."""
    codes: IntArray
    """(N,) each row's group."""

    def codes_of(self, snapshot: Snapshot) -> IntArray:
        """(n,) the groups of a snapshot's rows; rows without a node object see nothing."""
        rows = snapshot.row_numbers
        known = rows < len(self.codes)
        out = np.zeros(len(rows), np.int64)
        out[known] = self.codes[rows[known]]
        return out


class Inventory(msgspec.Struct, frozen=True, eq=False):
    """Devices, and which of them are in use."""

    layout: Layout
    in_use: InUse
    alike: IntArray
    """(G,) of every group the first one that offers the same, only on other nodes."""

    def use_of(self, pool: Pool) -> PoolUse:
        """What is in use of a pool."""
        return self.in_use.get((pool.driver, pool.name), NOTHING_USED)


def inventory(snapshot: Snapshot, features: DeviceFeatures = EVERYTHING) -> Inventory:
    """Kept until a node or an object of dynamic resources changes."""
    whole = snapshot.whole()
    key = ("device_inventory", features)
    return snapshot.derived(key, Reads.RESOURCES | Reads.ALL_NODES, lambda: _inventory(whole, features))


def _inventory(snapshot: Snapshot, features: DeviceFeatures) -> Inventory:
    layout = device_layout(snapshot, features)
    in_use = devices_in_use(snapshot.objects, consumable=features.consumable)
    return Inventory(layout, in_use, _alike(layout, in_use))


def _alike(layout: Layout, in_use: InUse) -> IntArray:
    """(G,) the first group between which and this one an allocation cannot tell the difference."""
    used = {pool: use.content() for pool, use in in_use.items()}
    first: dict[Hashable, int] = {}
    out = np.empty(len(layout.groups), np.int64)
    for code, (pools, contents) in enumerate(zip(layout.pools, layout.contents, strict=True)):
        key = tuple((content, used.get((p.driver, p.name))) for p, content in zip(pools, contents, strict=True))
        out[code] = first.setdefault(key, code)
    return out


# --- where devices are ---------------------------------------------------------------------


def device_layout(snapshot: Snapshot, features: DeviceFeatures = EVERYTHING) -> Layout:
    """Kept until a node or a ResourceSlice changes."""
    slices = tuple(snapshot.objects.resource_slices.values())
    kept: dict[DeviceFeatures, Layout] = snapshot.derived("device_layouts", Reads.ALL_NODES, dict)
    layout = kept.get(features)
    if layout is None or len(layout.slices) != len(slices) or any(map(_differ, layout.slices, slices)):
        layout = kept[features] = _layout(snapshot.whole(), slices, features)
    return layout


def _differ(one: ResourceSlice, other: ResourceSlice) -> bool:
    return one is not other


def _layout(snapshot: Snapshot, slices: tuple[ResourceSlice, ...], features: DeviceFeatures) -> Layout:
    ordered = sorted(slices, key=lambda piece: (piece.driver, piece.pool, piece.metadata.name))
    whole: dict[PoolId, Sequence[ResourceSlice]] = {
        key: tuple(of_pool) for key, of_pool in groupby(ordered, attrgetter("driver", "pool"))
    }
    lots = [lot for piece in ordered for lot in _lots(piece, features)]
    keys, codes = _grouped(*_placed(lots, snapshot), len(snapshot))
    groups = tuple(tuple(_pieces([lots[index] for index in key])) for key in keys)
    pools = tuple(pools_of(group, whole, features) for group in groups)
    known: dict[Hashable, int] = {}
    contents = tuple(tuple(known.setdefault(pool.content(), len(known)) for pool in group) for group in pools)
    return Layout(slices, groups, pools, contents, codes)


class _Lot(msgspec.Struct, frozen=True, eq=False):
    """Devices of a slice that the same nodes see."""

    slice: ResourceSlice
    place: Placement
    here: tuple[int, ...] | None = None
    """The positions of the devices, where they are placed one by one."""


def _lots(piece: ResourceSlice, features: DeviceFeatures) -> Iterator[_Lot]:
    if not features.partitionable and (piece.per_device or piece.shared_counters):
        return
    if piece.shared_counters:
        node = piece.placement.node_name
        yield _Lot(piece, Placement(node_name=node) if node else Placement(all_nodes=True))
    elif not piece.per_device:
        yield _Lot(piece, piece.placement)
    else:
        places: dict[Placement, list[int]] = {}
        for at, device in enumerate(piece.devices):
            places.setdefault(device.placement, []).append(at)
        for place, here in places.items():
            yield _Lot(piece, place, tuple(here))


def _pieces(lots: Sequence[_Lot]) -> Iterator[Piece]:
    """What one node sees, its lots put together by slice."""
    for piece, of_slice in groupby(lots, attrgetter("slice")):
        parts = [lot.here for lot in of_slice]
        one_by_one = [at for part in parts if part is not None for at in part]
        yield Piece(piece, None if None in parts else tuple(sorted(one_by_one)))


def _placed(lots: Sequence[_Lot], snapshot: Snapshot) -> tuple[dict[int, Mask], dict[int, list[int]]]:
    """(lot → (N,) bool, row → the lots of that node alone)."""
    by_row: dict[int, list[int]] = {}
    broad: dict[int, Mask] = {}
    for index, lot in enumerate(lots):
        place = lot.place
        if place.node_name:
            row = snapshot.row_of(place.node_name)
            if row is not None:
                by_row.setdefault(row, []).append(index)
        elif place.all_nodes:
            broad[index] = snapshot.has_node
        else:
            broad[index] = node_affinity_mask(snapshot, place.node_selector or ())
    return broad, by_row


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
