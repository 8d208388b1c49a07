"""Pools of devices, and which of them claims get on a node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from clusterstate.devices.device_demand import Demand, devices_on
from clusterstate.devices.device_features import EVERYTHING, DeviceFeatures
from clusterstate.objects import FrozenMap, ObjectMeta, Taint
from clusterstate.objects.resource import CounterSet, Device, DeviceRequest, Placement, ResourceClaim, ResourceSlice
from tests.support.build import make_node
from tests.support.device_clusters.devices import DRIVER, device_cluster, exactly, gpu, make_class, make_slice

HERE = f'device.attributes["{DRIVER}"]'


def picked(
    claims: Sequence[ResourceClaim],
    slices: Sequence[ResourceSlice],
    *others: object,
    features: DeviceFeatures = EVERYTHING,
) -> list[tuple[str, str]] | None:
    """(request, device) of what claims get on node n."""
    cluster = device_cluster([make_node("n", {"kind": "x"})], [make_class(), *slices, *others, *claims])
    snapshot = cluster.snapshot
    unallocated = tuple(claim for claim in claims if claim.allocation is None)
    found = devices_on(Demand("default", unallocated, features=features), snapshot, 0, "p")
    return None if found is None else [(pick.option.name, pick.offer.device.name) for pick in found[1]]


TWO = make_slice("n", gpu("a", {"numa": 0, "model": "x"}, 20), gpu("b", {"numa": 1, "model": "y"}, 40))


def part(name: str, share: int) -> Device:
    """A part of a device with 7 slices."""
    return gpu(name, consumes_counters=(CounterSet("chip", FrozenMap({"slices": share * 1000})),))


def counter_slice(pool: str, most: int, **fields: Any) -> ResourceSlice:
    """The counters of a pool stand in a slice of their own."""
    total = CounterSet("chip", FrozenMap({"slices": most * 1000}))
    made = make_slice("n", pool=pool, shared_counters=(total,), **fields)
    return msgspec.structs.replace(made, metadata=ObjectMeta(f"{pool}-counters"))


PARTS = make_slice("n", part("big", 4), part("half", 3), part("whole", 7), pool="p", slice_count=2)
CHIP = counter_slice("p", 7, slice_count=2)
GIB = 1000 << 30

SHARED = make_slice("n", gpu("s", shareable=True, gib=40))


def half() -> DeviceRequest:
    """Half of the capacity of SHARED."""
    return exactly(capacity=FrozenMap({"memory": 20 * GIB}))


TAINTED = make_slice("n", gpu("a", taints=(Taint("bad", "", "NoSchedule"),)), gpu("b"))

EACH = make_slice(
    "", gpu("a", placement=Placement("m")), gpu("b", placement=Placement("n")), pool="each", per_device=True
)
