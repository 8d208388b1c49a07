"""The devices of a cluster: the pools that there are and what is left of them, which nodes see them, and which nodes
offer the same."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from operator import attrgetter, is_not

import msgspec
import numpy as np

from clusterstate.changes import Reads
from clusterstate.cluster_objects import ClusterObjects
from clusterstate.devices.device_requests import EVERYTHING, DeviceError, DeviceFeatures, class_selectors
from clusterstate.devices.resource_claims import classes_by_resource
from clusterstate.growable import IntArray, Mask
from clusterstate.objects import CounterSet, Device, DeviceClass, Placement, ResourceSlice
from clusterstate.selectors.node_selection import node_affinity_mask
from clusterstate.snapshot import Snapshot


class PoolUse(msgspec.Struct, frozen=True, eq=False):
    """What is in use of one pool."""

    dedicated: set[str] = msgspec.field(default_factory=set)
    """Devices that one claim holds alone."""
    shared: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)
    """Devices that claims share → capacity → thousandths that are consumed."""

    def content(self) -> Hashable:
        """Equal for pools of which the same is in use."""
        shares = {name: frozenset(consumed.items()) for name, consumed in self.shared.items()}
        return frozenset(self.dedicated), frozenset(shares.items())

    def holds(self, name: str) -> bool:
        """Whether some claim has the device, or a share of it."""
        return name in self.dedicated or name in self.shared

    def shares(self, name: str) -> Mapping[str, int]:
        """What is consumed of a device that claims share."""
        return self.shared.get(name, {})


NOTHING_USED = PoolUse()

InUse = dict[tuple[str, str], PoolUse]
"""(driver, pool) → what is in use of it; a pool of which nothing is in use may be missing."""


def _devices_in_use(objects: ClusterObjects, *, consumable: bool) -> InUse:
    """Devices that claims hold or are being given; administrators' access does not count.

    consumable: shares are told apart from whole devices. Upstream: 1.36 GatherAllocatedState.
    """
    out: InUse = {}
    held = [claim.allocation for claim in objects.resource_claims.values()]
    for allocation in (*held, *(pending.allocation for pending in objects.pending_allocations.values())):
        for device in allocation.devices if allocation is not None else ():
            if device.admin_access:
                continue
            use = out.setdefault((device.driver, device.pool), PoolUse())
            if device.share_id is None or not consumable:
                use.dedicated.add(device.device)
                continue
            consumed = use.shared.setdefault(device.device, {})
            for name, amount in device.consumed_capacity.items():
                consumed[name] = consumed.get(name, 0) + amount
    return out


CounterName = tuple[str, str]
"""(counter set, counter)."""

Counters = dict[CounterName, int]
"""Amounts in thousandths."""


def counters(sets: tuple[CounterSet, ...]) -> Counters:
    """Amounts by (counter set, counter)."""
    return {(entry.name, counter): amount for entry in sets for counter, amount in entry.counters.items()}


def counters_left(totals: Counters, consumers: tuple[Device, ...], use: PoolUse) -> Counters:
    """What devices in use leave of a pool's counters; below 0 where they take more than there is."""
    left = dict(totals)
    for device in consumers:
        if use.holds(device.name):
            for name, amount in counters(device.consumes_counters).items():
                if name in left:
                    left[name] -= amount
    return left


PoolId = tuple[str, str]
"""(driver, pool)."""


class Piece(msgspec.Struct, frozen=True):
    """A ResourceSlice that a node sees."""

    slice: ResourceSlice
    here: tuple[int, ...] | None = None
    """The positions of the devices that the node can use, where devices are placed one by one; None: all."""

    def devices(self) -> Iterator[tuple[Device, bool]]:
        """The devices, and whether the node can use them."""
        return ((device, self.here is None or at in self.here) for at, device in enumerate(self.slice.devices))


class Pool(msgspec.Struct, frozen=True, eq=False):
    """What one node sees of a pool. An incomplete or invalid one has no devices to give."""

    driver: str
    name: str
    incomplete: bool = False
    """Slices of the newest generation are missing."""
    invalid: bool = False
    """Names of devices or counter sets stand twice, or devices consume counters that are not there."""
    pieces: tuple[Piece, ...] = ()
    totals: Counters = msgspec.field(default_factory=dict)
    """Its shared counters."""
    consumers: tuple[Device, ...] = ()
    """The devices anywhere in the pool that consume counters."""

    @property
    def id(self) -> str:
        """As messages name it."""
        return f"{self.driver}/{self.name}"

    @property
    def binds_later(self) -> bool:
        """Some device has binding conditions: such pools are looked at last."""
        return any(device.binding_conditions for piece in self.pieces for device in piece.slice.devices)

    def content(self) -> Hashable:
        """Everything a search depends on, besides what is in use; the names of pools are not part of it."""
        pieces = tuple((piece.slice.devices, piece.here) for piece in self.pieces)
        return self.driver, self.incomplete, self.invalid, pieces, frozenset(self.totals.items()), self.consumers


def _pools_of(
    seen: Iterable[Piece], whole: dict[PoolId, Sequence[ResourceSlice]], features: DeviceFeatures
) -> tuple[Pool, ...]:
    """The pools of a node in the order they are searched: by driver and name, those that bind later at the end.

    seen: the slices that the node sees. whole: all slices of every pool. Upstream: 1.36 GatherPools.
    """
    by_pool: dict[PoolId, list[Piece]] = {}
    for piece in seen:
        by_pool.setdefault((piece.slice.driver, piece.slice.pool), []).append(piece)
    found = (_pool(key, by_pool[key], whole[key], features) for key in sorted(by_pool))
    return tuple(sorted((pool for pool in found if pool is not None), key=lambda pool: pool.binds_later))


def _pool(key: PoolId, seen: list[Piece], whole: Sequence[ResourceSlice], features: DeviceFeatures) -> Pool | None:
    """None for a pool of which a newer generation exists on other nodes."""
    newest = max(piece.slice.generation for piece in seen)
    seen = sorted(
        (piece for piece in seen if piece.slice.generation == newest), key=lambda piece: piece.slice.metadata.name
    )
    expected = seen[0].slice.slice_count
    others: list[ResourceSlice] = []
    if len(seen) != expected:
        if any(piece.generation > newest for piece in whole):
            return None
        current = [piece for piece in whole if piece.generation == newest]
        if len(current) != expected:
            return Pool(*key, incomplete=True)
        names = {piece.slice.metadata.name for piece in seen}
        others = [piece for piece in current if piece.metadata.name not in names]
    return _complete(key, seen, others, features)


def _complete(key: PoolId, seen: list[Piece], others: list[ResourceSlice], features: DeviceFeatures) -> Pool:
    """others: slices of the pool that the node does not see. Upstream: 1.36 buildPool."""
    if not features.partitionable:
        return Pool(*key, invalid=_repeats(seen), pieces=tuple(seen))
    of_devices = [piece for piece in seen if not piece.slice.shared_counters]
    sets = [entry for piece in seen for entry in piece.slice.shared_counters]
    totals = counters(tuple(sets))
    everywhere = (*(piece.slice for piece in seen), *others)
    consumers = tuple(device for piece in everywhere for device in piece.devices if device.consumes_counters)
    if (
        _repeats(of_devices)
        or len({entry.name for entry in sets}) != len(sets)
        or any(counters(device.consumes_counters).keys() - totals.keys() for device in consumers)
    ):
        return Pool(*key, invalid=True)
    return Pool(*key, pieces=tuple(of_devices), totals=totals, consumers=consumers if totals else ())


def _repeats(pieces: Iterable[Piece]) -> bool:
    names = [device.name for piece in pieces for device in piece.slice.devices]
    return len(set(names)) != len(names)


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


READS = Reads.RESOURCES | Reads.ALL_NODES


def inventory(snapshot: Snapshot, features: DeviceFeatures = EVERYTHING) -> Inventory:
    """Kept until a node or an object of dynamic resources changes."""
    whole = snapshot.whole()
    return snapshot.derived(("device_inventory", features), READS, lambda: _inventory(whole, features))


def _inventory(snapshot: Snapshot, features: DeviceFeatures) -> Inventory:
    layout = _device_layout(snapshot, features)
    in_use = _devices_in_use(snapshot.objects, consumable=features.consumable)
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


def _device_layout(snapshot: Snapshot, features: DeviceFeatures) -> Layout:
    """Kept until a node or a ResourceSlice changes."""
    slices = tuple(snapshot.objects.resource_slices.values())
    kept: dict[DeviceFeatures, Layout] = snapshot.derived("device_layouts", Reads.ALL_NODES, dict)
    layout = kept.get(features)
    if layout is None or len(layout.slices) != len(slices) or any(map(is_not, layout.slices, slices)):
        layout = kept[features] = _layout(snapshot.whole(), slices, features)
    return layout


def _layout(snapshot: Snapshot, slices: tuple[ResourceSlice, ...], features: DeviceFeatures) -> Layout:
    ordered = sorted(slices, key=lambda piece: (piece.driver, piece.pool, piece.metadata.name))
    whole: dict[PoolId, Sequence[ResourceSlice]] = {
        key: tuple(of_pool) for key, of_pool in groupby(ordered, attrgetter("driver", "pool"))
    }
    lots = [lot for piece in ordered for lot in _lots(piece, features)]
    keys, codes = _grouped(*_placed(lots, snapshot), len(snapshot))
    groups = tuple(tuple(_pieces([lots[index] for index in key])) for key in keys)
    pools = tuple(_pools_of(group, whole, features) for group in groups)
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
