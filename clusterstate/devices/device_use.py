"""Which devices claims hold, and how much of those that several claims share."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

import msgspec

from clusterstate.cluster_objects import ClusterObjects
from clusterstate.objects.resource import Allocation, CounterSet, Device


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


def _allocations(objects: ClusterObjects) -> Iterator[Allocation]:
    for claim in objects.resource_claims.values():
        if claim.allocation is not None:
            yield claim.allocation
    for pending in objects.pending_allocations.values():
        yield pending.allocation


def devices_in_use(objects: ClusterObjects, *, consumable: bool = True) -> InUse:
    """Devices that claims hold or are being given; administrators' access does not count.

    consumable: shares are told apart from whole devices. Upstream: 1.36 GatherAllocatedState.
    """
    out: InUse = {}
    for allocation in _allocations(objects):
        for device in allocation.devices:
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
