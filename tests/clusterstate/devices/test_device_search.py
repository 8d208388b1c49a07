"""Which devices a pod's claims get on a node."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from clusterstate.devices.device_demand import Demand, devices_on
from clusterstate.devices.device_requests import DeviceError
from clusterstate.objects import FrozenMap, NodeSelectorTerm, Requirement, Taint, Toleration
from clusterstate.objects.resource import (
    ALL,
    CounterSet,
    Device,
    DeviceAsk,
    DeviceConstraint,
    PendingAllocation,
    Placement,
    ResourceClaim,
    ResourceSlice,
)
from tests.support.build import make_node
from tests.support.devices import (
    DRIVER,
    allocated,
    device_cluster,
    exactly,
    first_of,
    gpu,
    make_claim,
    make_class,
    make_slice,
)

HERE = f'device.attributes["{DRIVER}"]'
BIG = f'device.capacity["{DRIVER}"].memory.compareTo(quantity("40Gi")) >= 0'


def picked(
    claims: Sequence[ResourceClaim], slices: Sequence[ResourceSlice], *others: object
) -> list[tuple[str, str]] | None:
    """(request, device) of what claims get on node n."""
    cluster = device_cluster([make_node("n", {"kind": "x"})], [make_class(), *slices, *others, *claims])
    snapshot = cluster.snapshot
    unallocated = tuple(claim for claim in claims if claim.allocation is None)
    found = devices_on(Demand("default", unallocated), snapshot, 0, "p")
    return None if found is None else [(pick.option.name, pick.offer.device.name) for pick in found[1]]


TWO = make_slice("n", gpu("a", {"numa": 0, "model": "x"}, 20), gpu("b", {"numa": 1, "model": "y"}, 40))
FOUR = make_slice("n", *(gpu(name, {"numa": numa}) for name, numa in (("a", 0), ("b", 1), ("c", 0), ("d", 1))))
COUNTERS = {"slices": 7000}


def part(name: str, share: int) -> Device:
    """A part of a device with 7 slices."""
    return gpu(name, consumes_counters=(CounterSet("chip", FrozenMap({"slices": share * 1000})),))


PARTS = make_slice(
    "n", part("big", 4), part("half", 3), part("whole", 7), shared_counters=(CounterSet("chip", FrozenMap(COUNTERS)),)
)
TAINTED = make_slice("n", gpu("a", taints=(Taint("bad", "", "NoSchedule"),)), gpu("b"))
SOME = make_slice(
    "",
    gpu("a", {"numa": 0}, 20),
    pool="some",
    placement=Placement(node_selector=(NodeSelectorTerm((Requirement("kind", "In", ("x",)),)),)),
)
EACH = make_slice(
    "", gpu("a", placement=Placement("m")), gpu("b", placement=Placement("n")), pool="each", per_device=True
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
        [make_claim("c", exactly(count=3), constraints=(DeviceConstraint((), None, f"{DRIVER}/numa"),))],
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
    "counters": ([make_claim("c", exactly(count=2))], [PARTS], [("r", "big"), ("r", "half")]),
    "counters used up": ([make_claim("c", exactly(count=3))], [PARTS], None),
    "counters taken by others": (
        [make_claim("c", exactly(count=1)), make_claim("d", allocation=allocated("n", "big"))],
        [PARTS],
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
    "an old generation": (
        [make_claim("c")],
        [make_slice("n", gpu("a"), generation=1), make_slice("n", gpu("b"), generation=2)],
        [("r", "b")],
    ),
    "a device that stands twice in its pool": (
        [make_claim("c")],
        [make_slice("n", gpu("a"), gpu("a"))],
        None,
    ),
    "no requests to meet": ([make_claim("c", exactly(count=0))], [TWO], None),
    "more than a claim can have": (
        [make_claim("c", exactly(count=33))],
        [make_slice("n", *(gpu(f"g{i}") for i in range(40)))],
        None,
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


ERRORS = {
    "not understood": (
        make_claim("c", exactly(selectors=("1 + 1",))),
        "claim default/c, request r: selector '1 + 1' cannot be evaluated here: ",
    ),
    "no such key": (
        make_claim("c", exactly(selectors=(f"{HERE}.none == 1",))),
        "runtime error: no such key: none",
    ),
    "no condition": (make_claim("c", exactly(selectors=("device.driver",))), "it is not true or false"),
    "no class": (make_claim("c", exactly(cls="none")), "request r: device class none does not exist"),
}


@pytest.mark.parametrize(("claim", "text"), ERRORS.values(), ids=ERRORS.keys())
def test_what_cannot_be_worked_out(claim: ResourceClaim, text: str) -> None:
    """It is an error with a text that names the selector, not a wrong answer."""
    with pytest.raises(DeviceError) as caught:
        picked([claim], [TWO])
    assert text in str(caught.value)


def test_shared_devices_are_refused() -> None:
    """Devices that allow several allocations are an error where they would be chosen."""
    with pytest.raises(DeviceError, match="allows several allocations"):
        picked([make_claim("c")], [make_slice("n", gpu("a", shareable=True))])
