"""Which devices a pod's claims get on a node."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.devices.device_requests import DeviceError, DeviceFeatures
from clusterstate.devices.device_search import consumed_capacity, fits_capacity
from clusterstate.objects import (
    ALL,
    AllocatedDevice,
    Allocation,
    Device,
    DeviceAsk,
    DeviceConstraint,
    FrozenMap,
    PendingAllocation,
    RequestPolicy,
    ResourceClaim,
    ResourceSlice,
    Toleration,
)
from tests.support.devices import (
    BIG,
    CHIP,
    DRIVER,
    EACH,
    GIB,
    HERE,
    PARTS,
    SHARED,
    SOME,
    TAINTED,
    TWO,
    allocated,
    counter_slice,
    exactly,
    first_of,
    gpu,
    half,
    make_claim,
    make_slice,
    part,
    picked,
)

FOUR = make_slice("n", *(gpu(name, {"numa": numa}) for name, numa in (("a", 0), ("b", 1), ("c", 0), ("d", 1))))

SHAREABLE: dict[str, Any] = {"shareable": True, "capacity": FrozenMap({"memory": 40 * GIB})}


def share_of(device: str, gib: int) -> Allocation:
    """What another claim holds of a device on node n."""
    held = AllocatedDevice("r", DRIVER, "n", device, share_id="u", consumed_capacity=FrozenMap({"memory": gib * GIB}))
    return Allocation((held,))


C = make_claim("c")


def wants(*constraints: DeviceConstraint, **ask: Any) -> ResourceClaim:
    """A claim of one request."""
    return make_claim("c", exactly(**ask), constraints=constraints)


def taken(device: str) -> ResourceClaim:
    """Another claim, which has a device of node n."""
    return make_claim("d", allocation=allocated("n", device))


def sharing(name: str) -> ResourceClaim:
    """A claim for half of a device."""
    return make_claim(name, half())


CASES: dict[str, Any] = {
    "the first device": ([C], [TWO], "r=a"),
    "several": ([wants(count=2)], [TWO], "r=a r=b"),
    "too many": ([wants(count=3)], [TWO], None),
    "a selector": ([wants(selectors=(BIG,))], [TWO], "r=b"),
    "no device left for the second claim": ([C, make_claim("d", exactly(count=2))], [TWO], None),
    "going back over the first request": (
        [make_claim("c", exactly("any"), exactly("first", selectors=(f'{HERE}.model == "x"',)))],
        [TWO],
        "any=b first=a",
    ),
    "going back over the first claim": (
        [C, make_claim("d", exactly(selectors=(f'{HERE}.model == "x"',)))],
        [TWO],
        "r=b r=a",
    ),
    "all": ([wants(allocation_mode=ALL)], [TWO], "r=a r=b"),
    "all of none": ([wants(allocation_mode=ALL, selectors=("false",))], [TWO], None),
    "all, one in use": ([wants(allocation_mode=ALL), taken("b")], [TWO], None),
    "one in use": ([C, taken("a")], [TWO], "r=b"),
    "administrators look at what is in use": ([wants(count=2, admin_access=True), taken("a")], [TWO], "r=a r=b"),
    "the same attribute": ([wants(DeviceConstraint((), f"{DRIVER}/numa"), count=2)], [FOUR], "r=a r=c"),
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
        "x=a y=b z=c",
    ),
    "an attribute that nothing has": ([wants(DeviceConstraint((), f"{DRIVER}/none"))], [FOUR], None),
    "an attribute of another driver": ([wants(DeviceConstraint((), "other.com/numa"))], [FOUR], None),
    "different attributes": ([wants(DeviceConstraint((), None, f"{DRIVER}/numa"), count=2)], [FOUR], "r=a r=b"),
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
        "r/big=b",
    ),
    "the next alternative": (
        [make_claim("c", first_of("r", DeviceAsk("gpu", "three", count=3), DeviceAsk("gpu", "two", count=2)))],
        [TWO],
        "r/two=a r/two=b",
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
        "r/one=a",
    ),
    "counters": ([wants(count=2)], [PARTS, CHIP], "r=big r=half"),
    "counters used up": ([wants(count=3)], [PARTS, CHIP], None),
    "counters taken by others": (
        [wants(count=1), make_claim("d", allocation=allocated("n", "big", pool="p"))],
        [PARTS, CHIP],
        "r=half",
    ),
    "a tainted device": ([C], [TAINTED], "r=b"),
    "a tolerated taint": ([wants(tolerations=(Toleration("bad", "Exists"),))], [TAINTED], "r=a"),
    "all, one tainted": ([wants(allocation_mode=ALL)], [TAINTED], None),
    "devices of some nodes": ([C], [SOME], "r=a"),
    "devices placed one by one": ([C], [EACH], "r=b"),
    "devices of other nodes": ([C], [make_slice("m", gpu("a"))], None),
    "an incomplete pool": ([C], [make_slice("n", gpu("a"), slice_count=2)], None),
    "a pool that is whole beside an incomplete one": (
        [C],
        [make_slice("n", gpu("a"), slice_count=2), make_slice("n", gpu("b"), pool="other")],
        "r=b",
    ),
    "an old generation": (
        [C],
        [make_slice("n", gpu("a"), generation=1), make_slice("n", gpu("b"), generation=2)],
        "r=b",
    ),
    "a newer generation on other nodes only": (
        [C],
        [
            make_slice("n", gpu("a"), pool="p", slice_count=2),
            make_slice("m", gpu("b"), pool="p", generation=1, slice_count=2),
        ],
        None,
    ),
    "the rest of the pool is on other nodes": (
        [wants(allocation_mode=ALL)],
        [make_slice("n", gpu("a"), pool="p", slice_count=2), make_slice("m", gpu("b"), pool="p", slice_count=2)],
        "r=a",
    ),
    "a device that stands twice in its pool": (
        [C],
        [make_slice("n", gpu("a"), gpu("a")), make_slice("n", gpu("b"), pool="other")],
        "r=b",
    ),
    "devices that bind later come last": (
        [C],
        [make_slice("n", gpu("a", binding_conditions=("Ready",)), pool="a"), make_slice("n", gpu("b"), pool="b")],
        "r=b",
    ),
    "no requests to meet": ([wants(count=0)], [TWO], ""),
    "an alternative that would be too much": (
        [
            make_claim(
                "c",
                first_of("x", DeviceAsk("gpu", "many", count=20), DeviceAsk("gpu", "few", count=1)),
                first_of("y", DeviceAsk("gpu", "many", count=20), DeviceAsk("gpu", "few", count=2)),
            )
        ],
        [make_slice("n", *(gpu(f"g{i}") for i in range(40)))],
        " ".join([*(f"x/many=g{i}" for i in range(20)), "y/few=g20", "y/few=g21"]),
    ),
    "a share each": ([sharing("c"), sharing("d")], [SHARED], "r=s r=s"),
    "more shares than there is capacity": ([sharing("c"), sharing("d"), sharing("e")], [SHARED], None),
    "a share beside what others consume": (
        [sharing("c"), make_claim("d", allocation=share_of("s", 20))],
        [SHARED],
        "r=s",
    ),
    "no share beside what others consume": (
        [sharing("c"), make_claim("d", allocation=share_of("s", 21))],
        [SHARED],
        None,
    ),
    "all there is without an amount": ([C, sharing("d")], [SHARED], None),
    "a capacity that the device lacks": ([wants(capacity=FrozenMap({"cores": 1000}))], [SHARED], None),
    "more capacity than a whole device has": ([wants(capacity=FrozenMap({"memory": GIB * 30}))], [TWO], "r=b"),
    "a device held whole is not shared": ([sharing("c"), taken("s")], [SHARED], None),
    "counters of a shared device are taken once": (
        [sharing("c"), sharing("d")],
        [
            make_slice("n", msgspec.structs.replace(part("s", 7), **SHAREABLE), pool="p", slice_count=2),
            counter_slice(2),
        ],
        "r=s r=s",
    ),
    "counters of a slice on other nodes": (
        [C, make_claim("d", allocation=allocated("m", "far", pool="p"))],
        [
            make_slice("n", part("near", 4), pool="p", slice_count=3),
            make_slice("m", part("far", 4), pool="p", slice_count=3),
            counter_slice(3),
        ],
        None,
    ),
    "neighbours alone are compared by distinct attributes": (
        [wants(DeviceConstraint((), None, f"{DRIVER}/numa"), count=3)],
        [make_slice("n", *(gpu(name, {"numa": numa}) for name, numa in (("a", 0), ("b", 1), ("c", 0))))],
        "r=a r=b r=c",
    ),
}


@pytest.mark.parametrize(("claims", "slices", "expected"), CASES.values(), ids=CASES.keys())
def test_what_claims_get(claims: list[ResourceClaim], slices: list[ResourceSlice], expected: str | None) -> None:
    """The first combination of devices that meets every request and constraint."""
    found = picked(claims, slices)
    assert (None if found is None else " ".join("=".join(pair) for pair in found)) == expected


def test_devices_on_their_way_to_another_pod() -> None:
    """What a pod has reserved is not given to the next one."""
    pending = PendingAllocation(make_claim("other").metadata, allocated("n", "a"), "uid")
    assert picked([make_claim("c")], [TWO], pending) == [("r", "b")]


ERRORS = {
    "not understood": (make_claim("c", exactly(selectors=("device.none == 1",))), "claim default/c: selector #0: "),
    "no such key": (
        make_claim("c", exactly(selectors=("true", f"{HERE}.none == 1"))),
        "claim default/c: selector #1: CEL runtime error: no such key: none",
    ),
    "no condition": (
        make_claim("c", exactly(selectors=(f"{HERE}.model",))),
        "claim default/c: selector #0: CEL runtime error: CEL result of type string could not be converted to bool: "
        "unsupported native conversion from string to 'bool'",
    ),
    "no class": (
        make_claim("c", exactly(cls="none")),
        "claim default/c, request r: could not retrieve device class none: "
        'deviceclass.resource.k8s.io "none" not found',
    ),
    "an unknown mode": (
        make_claim("c", exactly(allocation_mode="Some")),
        "claim default/c, request r: unsupported count mode Some",
    ),
    "a constraint that keeps a request from all devices": (
        make_claim("c", exactly(allocation_mode=ALL), constraints=(DeviceConstraint((), f"{DRIVER}/numa"),)),
        "claim default/c, request r: cannot add device gpu.example.com/n/b because a claim constraint would not be "
        "satisfied",
    ),
    "a constraint without a sort": (
        make_claim("c", constraints=(DeviceConstraint(),)),
        "claim default/c, constraint #0: empty constraint (unsupported constraint type?)",
    ),
    "more than a claim can have": (
        make_claim("c", exactly(count=33)),
        "claim default/c: number of requested devices 33 exceeds the claim limit of 32",
    ),
}


@pytest.mark.parametrize(("claim", "text"), ERRORS.values(), ids=ERRORS.keys())
def test_what_cannot_be_worked_out(claim: ResourceClaim, text: str) -> None:
    """It is an error of the whole pod with upstream's text, not a wrong answer."""
    with pytest.raises(DeviceError) as caught:
        picked([claim], [TWO])
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("slices", "text"),
    [
        ([make_slice("n", gpu("a"), slice_count=2)], "currently being updated"),
        ([make_slice("n", gpu("a"), gpu("a"))], "currently invalid"),
    ],
    ids=["incomplete", "invalid"],
)
def test_all_devices_of_a_pool_that_is_not_whole(slices: list[ResourceSlice], text: str) -> None:
    """A request for all devices is an error then, even beside pools that are whole."""
    request = exactly(allocation_mode=ALL)
    with pytest.raises(DeviceError, match=f"asks for all devices, but resource pool {DRIVER}/n is {text}"):
        picked([make_claim("c", request)], [*slices, make_slice("n", gpu("b"), pool="other")])


def test_an_error_of_a_later_claim_comes_only_when_it_is_its_turn() -> None:
    """A claim that cannot be met keeps later ones from being looked at."""
    wrong = make_claim("d", exactly(selectors=(f"{HERE}.none == 1",)))
    assert picked([make_claim("c", exactly(count=3)), wrong], [TWO]) is None
    with pytest.raises(DeviceError, match="claim default/d: selector #0: CEL runtime error: no such key: none"):
        picked([make_claim("c"), wrong], [TWO])


GATES = {
    "prioritized list": (
        make_claim("c", first_of("r", DeviceAsk("gpu", "one"))),
        {"prioritized_list": False},
        "claim default/c, request r: has subrequests, but the DRAPrioritizedList feature is disabled",
    ),
    "consumable capacity": (
        make_claim("c", half()),
        {"consumable": False},
        "claim default/c, request r: has capacity requests, but the DRAConsumableCapacity feature is disabled",
    ),
}


@pytest.mark.parametrize(("claim", "off", "text"), GATES.values(), ids=GATES.keys())
def test_what_a_gate_keeps_from_being_asked_for(claim: ResourceClaim, off: dict[str, bool], text: str) -> None:
    """It is an error, so that nobody gets less than was asked for."""
    with pytest.raises(DeviceError) as caught:
        picked([claim], [TWO], features=DeviceFeatures(**off))
    assert str(caught.value) == text


OFF = {
    "taints": ([TAINTED], {"taints": False}, [("r", "a")]),
    "counters": ([PARTS, CHIP], {"partitionable": False}, None),
    "placed one by one": ([EACH], {"partitionable": False}, None),
    "binding conditions": (
        [make_slice("n", gpu("a", binding_conditions=("Ready",)), gpu("b"))],
        {"binding": False},
        [("r", "b")],
    ),
}


@pytest.mark.parametrize(("slices", "off", "expected"), OFF.values(), ids=OFF.keys())
def test_gates_of_what_devices_say(
    slices: list[ResourceSlice], off: dict[str, bool], expected: list[tuple[str, str]] | None
) -> None:
    """A device that needs what is off is not given, and taints are not looked at."""
    assert picked([make_claim("c")], slices, features=DeviceFeatures(**off)) == expected


RANGE = RequestPolicy(default=3000, minimum=2000, maximum=8000, step=2000)
VALUES = RequestPolicy(default=1000, valid_values=(1000, 4000))


def device(policy: RequestPolicy | None = None, total: int = 10_000) -> Device:
    """With a capacity ``x``."""
    policies = {} if policy is None else {"x": policy}
    return Device("d", capacity=FrozenMap({"x": total}), policies=FrozenMap(policies))


CONSUMED = {
    "everything without a policy": (None, None, 10_000),
    "what is asked for": (None, 500, 500),
    "the default": (RANGE, None, 3000),
    "at least the minimum": (RANGE, 1, 2000),
    "the minimum itself": (RANGE, 2000, 2000),
    "whole steps": (RANGE, 2001, 4000),
    "steps from the minimum on": (msgspec.structs.replace(RANGE, minimum=3000), 4000, 5000),
    "no steps": (msgspec.structs.replace(RANGE, step=None), 2001, 2001),
    "the next valid value": (VALUES, 1001, 4000),
    "no valid value is enough": (VALUES, 4001, 4001),
    "a policy without limits": (RequestPolicy(default=1), 7, 7),
}


@pytest.mark.parametrize(("policy", "asked", "expected"), CONSUMED.values(), ids=CONSUMED.keys())
def test_what_is_consumed(policy: RequestPolicy | None, asked: int | None, expected: int) -> None:
    """Requests are rounded up as the policy says; without a request it is the default or everything."""
    requested = None if asked is None else {"x": asked}
    assert consumed_capacity(requested, device(policy)) == {"x": expected}


FITS = {
    "room": (None, 4000, 3000, 3000, True),
    "not beside what is held": (None, 4000, 6001, 0, False),
    "not beside what is under way": (None, 4000, 3000, 3001, False),
    "within the range": (RANGE, 7000, 0, 0, True),
    "above the range": (RANGE, 8001, 0, 0, False),
    "the default need not be in the range": (RANGE, None, 0, 0, True),
    "a valid value": (VALUES, 3000, 0, 0, True),
    "more than any valid value": (VALUES, 4001, 0, 0, False),
}


@pytest.mark.parametrize(("policy", "asked", "held", "under_way", "fits"), FITS.values(), ids=FITS.keys())
def test_what_fits(policy: RequestPolicy | None, asked: int | None, held: int, under_way: int, fits: bool) -> None:
    """All shares together stay within the capacity, each within the policy."""
    requested = None if asked is None else {"x": asked}
    assert fits_capacity(requested, device(policy), {"x": held}, {"x": under_way}) is fits


def test_a_capacity_that_is_not_there() -> None:
    """Such a device will not do."""
    assert not fits_capacity({"y": 1}, device(), {}, {})
    assert fits_capacity({}, device(), {}, {})


@given(st.integers(0, 50), st.integers(1, 9), st.integers(0, 100))
def test_law_of_steps(minimum: int, step: int, asked: int) -> None:
    """What is consumed is the least step from the minimum on that is enough."""
    policy = RequestPolicy(minimum=minimum * 1000, step=step * 1000)
    (found,) = consumed_capacity({"x": asked * 1000}, device(policy)).values()
    assert found == next(1000 * n for n in range(minimum, 200, step) if n >= asked)
