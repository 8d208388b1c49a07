"""Pools of devices as one node sees them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

import msgspec

from clusterstate.devices.device_features import DeviceFeatures
from clusterstate.devices.device_use import Counters, counters
from clusterstate.objects.resource import Device, ResourceSlice

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


def pools_of(
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
    seen = sorted((piece for piece in seen if piece.slice.generation == newest), key=_name)
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


def _name(piece: Piece) -> str:
    return piece.slice.metadata.name


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
