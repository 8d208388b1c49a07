"""What requests consume of the capacity of shared devices."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.devices.device_capacity import consumed_capacity, fits_capacity
from clusterstate.objects import FrozenMap
from clusterstate.objects.resource import Device, RequestPolicy

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
