"""Which devices a pod's claims get on a node."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clusterstate.objects import FrozenMap, NodeSelectorTerm, Requirement, Toleration
from clusterstate.objects.resource import (
    ALL,
    AllocatedDevice,
    Allocation,
    DeviceAsk,
    DeviceConstraint,
    PendingAllocation,
    Placement,
    ResourceClaim,
    ResourceSlice,
)
from tests.support.device_clusters.device_pools import (
    CHIP,
    EACH,
    GIB,
    HERE,
    PARTS,
    SHARED,
    TAINTED,
    TWO,
    counter_slice,
    half,
    part,
    picked,
)
from tests.support.device_clusters.devices import DRIVER, allocated, exactly, first_of, gpu, make_claim, make_slice

BIG = f'device.capacity["{DRIVER}"].memory.compareTo(quantity("40Gi")) >= 0'

FOUR = make_slice("n", *(gpu(name, {"numa": numa}) for name, numa in (("a", 0), ("b", 1), ("c", 0), ("d", 1))))

SHAREABLE: dict[str, Any] = {"shareable": True, "capacity": FrozenMap({"memory": 40 * GIB})}


def share_of(device: str, gib: int) -> Allocation:
    """What another claim holds of a device on node n."""
    held = AllocatedDevice("r", DRIVER, "n", device, share_id="u", consumed_capacity=FrozenMap({"memory": gib * GIB}))
    return Allocation((held,))


SOME = make_slice(
    "",
    gpu("a", {"numa": 0}, 20),
    pool="some",
    placement=Placement(node_selector=(NodeSelectorTerm((Requirement("kind", "In", ("x",)),)),)),
)

CASES = {
    "the first device": ([make_claim("c")], [TWO], [("r", "a")]),
    "several": ([make_claim("c", exactly(count=2))], [TWO], [("r", "a"), ("r", "b")]),
    "too many": ([make_claim("c", exactly(count=3))], [TWO], None),
    "a selector": ([make_claim("c", exactly(selectors=(BIG,)))], [TWO], [("r", "b")]),
    "no device left for the second claim": (
        [make_claim("c"), make_claim("d", exactly(count=2))],
        [TWO],
        None,
    ),
    "going back over the first request": (
        [make_claim("c", exactly("any"), exactly("first", selectors=(f'{HERE}.model == "x"',)))],
        [TWO],
        [("any", "b"), ("first", "a")],
    ),
    "going back over the first claim": (
        [make_claim("c"), make_claim("d", exactly(selectors=(f'{HERE}.model == "x"',)))],
        [TWO],
        [("r", "b"), ("r", "a")],
    ),
    "all": ([make_claim("c", exactly(allocation_mode=ALL))], [TWO], [("r", "a"), ("r", "b")]),
    "all of none": ([make_claim("c", exactly(allocation_mode=ALL, selectors=("false",)))], [TWO], None),
    "all, one in use": (
        [make_claim("c", exactly(allocation_mode=ALL)), make_claim("d", allocation=allocated("n", "b"))],
        [TWO],
        None,
    ),
    "one in use": ([make_claim("c"), make_claim("d", allocation=allocated("n", "a"))], [TWO], [("r", "b")]),
    "administrators look at what is in use": (
        [make_claim("c", exactly(count=2, admin_access=True)), make_claim("d", allocation=allocated("n", "a"))],
        [TWO],
        [("r", "a"), ("r", "b")],
    ),
    "the same attribute": (
        [make_claim("c", exactly(count=2), constraints=(DeviceConstraint((), f"{DRIVER}/numa"),))],
        [FOUR],
        [("r", "a"), ("r", "c")],
    ),
    "the same attribute in some requests": (
        [
            make_claim(
                "c",
                exactly("x"),
                exactly("y"),
                exactly("z"),
                constraints=(DeviceConstraint(("x", "z"), f"{DRIVER}/numa"),),
            )
        ],
        [FOUR],
        [("x", "a"), ("y", "b"), ("z", "c")],
    ),
    "an attribute that nothing has": (
        [make_claim("c", constraints=(DeviceConstraint((), f"{DRIVER}/none"),))],
        [FOUR],
        None,
    ),
    "an attribute of another driver": (
        [make_claim("c", constraints=(DeviceConstraint((), "other.com/numa"),))],
        [FOUR],
        None,
    ),
    "different attributes": (
        [make_claim("c", exactly(count=2), constraints=(DeviceConstraint((), None, f"{DRIVER}/numa"),))],
        [FOUR],
        [("r", "a"), ("r", "b")],
    ),
    "more different values than there are": (
        [
            make_claim(
                "c",
                exactly("x"),
                exactly("y"),
                exactly("z"),
                constraints=(DeviceConstraint((), None, f"{DRIVER}/numa"),),
            )
        ],
        [FOUR],
        None,
    ),
    "the best alternative": (
        [make_claim("c", first_of("r", DeviceAsk("gpu", "big", (BIG,)), DeviceAsk("gpu", "any")))],
        [TWO],
        [("r/big", "b")],
    ),
    "the next alternative": (
        [make_claim("c", first_of("r", DeviceAsk("gpu", "three", count=3), DeviceAsk("gpu", "two", count=2)))],
        [TWO],
        [("r/two", "a"), ("r/two", "b")],
    ),
    "a constraint on one alternative": (
        [
            make_claim(
                "c",
                first_of("r", DeviceAsk("gpu", "two", count=2), DeviceAsk("gpu", "one")),
                constraints=(DeviceConstraint(("r/two",), f"{DRIVER}/numa"),),
            )
        ],
        [TWO],
        [("r/one", "a")],
    ),
    "counters": ([make_claim("c", exactly(count=2))], [PARTS, CHIP], [("r", "big"), ("r", "half")]),
    "counters used up": ([make_claim("c", exactly(count=3))], [PARTS, CHIP], None),
    "counters taken by others": (
        [make_claim("c", exactly(count=1)), make_claim("d", allocation=allocated("n", "big", pool="p"))],
        [PARTS, CHIP],
        [("r", "half")],
    ),
    "a tainted device": ([make_claim("c")], [TAINTED], [("r", "b")]),
    "a tolerated taint": (
        [make_claim("c", exactly(tolerations=(Toleration("bad", "Exists"),)))],
        [TAINTED],
        [("r", "a")],
    ),
    "all, one tainted": ([make_claim("c", exactly(allocation_mode=ALL))], [TAINTED], None),
    "devices of some nodes": ([make_claim("c")], [SOME], [("r", "a")]),
    "devices placed one by one": ([make_claim("c")], [EACH], [("r", "b")]),
    "devices of other nodes": ([make_claim("c")], [make_slice("m", gpu("a"))], None),
    "an incomplete pool": ([make_claim("c")], [make_slice("n", gpu("a"), slice_count=2)], None),
    "a pool that is whole beside an incomplete one": (
        [make_claim("c")],
        [make_slice("n", gpu("a"), slice_count=2), make_slice("n", gpu("b"), pool="other")],
        [("r", "b")],
    ),
    "an old generation": (
        [make_claim("c")],
        [make_slice("n", gpu("a"), generation=1), make_slice("n", gpu("b"), generation=2)],
        [("r", "b")],
    ),
    "a newer generation on other nodes only": (
        [make_claim("c")],
        [
            make_slice("n", gpu("a"), pool="p", slice_count=2),
            make_slice("m", gpu("b"), pool="p", generation=1, slice_count=2),
        ],
        None,
    ),
    "the rest of the pool is on other nodes": (
        [make_claim("c", exactly(allocation_mode=ALL))],
        [make_slice("n", gpu("a"), pool="p", slice_count=2), make_slice("m", gpu("b"), pool="p", slice_count=2)],
        [("r", "a")],
    ),
    "a device that stands twice in its pool": (
        [make_claim("c")],
        [make_slice("n", gpu("a"), gpu("a")), make_slice("n", gpu("b"), pool="other")],
        [("r", "b")],
    ),
    "devices that bind later come last": (
        [make_claim("c")],
        [make_slice("n", gpu("a", binding_conditions=("Ready",)), pool="a"), make_slice("n", gpu("b"), pool="b")],
        [("r", "b")],
    ),
    "no requests to meet": ([make_claim("c", exactly(count=0))], [TWO], []),
    "an alternative that would be too much": (
        [
            make_claim(
                "c",
                first_of("x", DeviceAsk("gpu", "many", count=20), DeviceAsk("gpu", "few", count=1)),
                first_of("y", DeviceAsk("gpu", "many", count=20), DeviceAsk("gpu", "few", count=2)),
            )
        ],
        [make_slice("n", *(gpu(f"g{i}") for i in range(40)))],
        [*(("x/many", f"g{i}") for i in range(20)), ("y/few", "g20"), ("y/few", "g21")],
    ),
    "a share each": ([make_claim("c", half()), make_claim("d", half())], [SHARED], [("r", "s"), ("r", "s")]),
    "more shares than there is capacity": (
        [make_claim("c", half()), make_claim("d", half()), make_claim("e", half())],
        [SHARED],
        None,
    ),
    "a share beside what others consume": (
        [make_claim("c", half()), make_claim("d", allocation=share_of("s", 20))],
        [SHARED],
        [("r", "s")],
    ),
    "no share beside what others consume": (
        [make_claim("c", half()), make_claim("d", allocation=share_of("s", 21))],
        [SHARED],
        None,
    ),
    "all there is without an amount": (
        [make_claim("c"), make_claim("d", half())],
        [SHARED],
        None,
    ),
    "a capacity that the device lacks": (
        [make_claim("c", exactly(capacity=FrozenMap({"cores": 1000})))],
        [SHARED],
        None,
    ),
    "more capacity than a whole device has": (
        [make_claim("c", exactly(capacity=FrozenMap({"memory": GIB * 30})))],
        [TWO],
        [("r", "b")],
    ),
    "a device held whole is not shared": (
        [make_claim("c", half()), make_claim("d", allocation=allocated("n", "s"))],
        [SHARED],
        None,
    ),
    "counters of a shared device are taken once": (
        [make_claim("c", half()), make_claim("d", half())],
        [
            make_slice("n", msgspec.structs.replace(part("s", 7), **SHAREABLE), pool="p", slice_count=2),
            counter_slice("p", 7, slice_count=2),
        ],
        [("r", "s"), ("r", "s")],
    ),
    "counters of a slice on other nodes": (
        [make_claim("c"), make_claim("d", allocation=allocated("m", "far", pool="p"))],
        [
            make_slice("n", part("near", 4), pool="p", slice_count=3),
            make_slice("m", part("far", 4), pool="p", slice_count=3),
            counter_slice("p", 7, slice_count=3),
        ],
        None,
    ),
    "neighbours alone are compared by distinct attributes": (
        [make_claim("c", exactly(count=3), constraints=(DeviceConstraint((), None, f"{DRIVER}/numa"),))],
        [make_slice("n", *(gpu(name, {"numa": numa}) for name, numa in (("a", 0), ("b", 1), ("c", 0))))],
        [("r", "a"), ("r", "b"), ("r", "c")],
    ),
}


@pytest.mark.parametrize(("claims", "slices", "expected"), CASES.values(), ids=CASES.keys())
def test_what_claims_get(
    claims: list[ResourceClaim], slices: list[ResourceSlice], expected: list[tuple[str, str]] | None
) -> None:
    """The first combination of devices that meets every request and constraint."""
    assert picked(claims, slices) == expected


def test_devices_on_their_way_to_another_pod() -> None:
    """What a pod has reserved is not given to the next one."""
    pending = PendingAllocation(make_claim("other").metadata, allocated("n", "a"), "uid")
    assert picked([make_claim("c")], [TWO], pending) == [("r", "b")]
