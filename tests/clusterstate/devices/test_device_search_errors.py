"""Which claims for devices are errors, and what gates keep from being asked for or given."""

from __future__ import annotations

import pytest

from clusterstate.devices.device_features import DeviceFeatures
from clusterstate.devices.device_requests import DeviceError
from clusterstate.objects.resource import ALL, DeviceAsk, DeviceConstraint, ResourceClaim, ResourceSlice
from tests.support.device_clusters.device_pools import CHIP, EACH, HERE, PARTS, TAINTED, TWO, half, picked
from tests.support.device_clusters.devices import DRIVER, exactly, first_of, gpu, make_claim, make_slice

ERRORS = {
    "not understood": (
        make_claim("c", exactly(selectors=("device.none == 1",))),
        "claim default/c: selector #0: ",
    ),
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
