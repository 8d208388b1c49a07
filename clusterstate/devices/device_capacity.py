"""What a request consumes of the capacity of a device that allows several allocations."""

from __future__ import annotations

from collections.abc import Mapping

from clusterstate.objects.resource import Device, RequestPolicy
from clusterstate.quantity import whole_units

Consumed = dict[str, int]
"""Capacity → thousandths."""


def consumed_capacity(requested: Mapping[str, int] | None, device: Device) -> Consumed:
    """What a request takes of every capacity of a device, in thousandths.

    An amount that is not requested is the policy's default, else all there is. Upstream: 1.36
    GetConsumedCapacityFromRequest.
    """
    asked = requested or {}
    return {
        name: _consumed(asked.get(name), total, device.policies.get(name)) for name, total in device.capacity.items()
    }


def fits_capacity(
    requested: Mapping[str, int] | None, device: Device, held: Mapping[str, int], under_way: Mapping[str, int]
) -> bool:
    """Whether a request can be added to what allocations (``held``) and this search (``under_way``) consume.

    False also for a capacity that the device lacks and for an amount that its policy forbids. Upstream: 1.36
    CmpRequestOverCapacity.
    """
    if requested is not None and not requested.keys() <= device.capacity.keys():
        return False
    for name, amount in consumed_capacity(requested, device).items():
        policy = device.policies.get(name)
        if policy is not None and _violates(amount, policy):
            return False
        if amount + held.get(name, 0) + under_way.get(name, 0) > device.capacity[name]:
            return False
    return True


def _consumed(asked: int | None, total: int, policy: RequestPolicy | None) -> int:
    if asked is None:
        return total if policy is None or policy.default is None else policy.default
    if policy is None:
        return asked
    if policy.minimum is not None:
        return _stepped(asked, policy.minimum, policy.step)
    return next((valid for valid in policy.valid_values if asked <= valid), asked)


def _stepped(asked: int, minimum: int, step: int | None) -> int:
    """Rounded up to the minimum and whole steps above it."""
    if asked < minimum:
        return minimum
    if step is None or not whole_units(step):
        return asked
    steps = -(-(whole_units(asked) - whole_units(minimum)) // whole_units(step))
    return 1000 * (whole_units(minimum) + whole_units(step) * steps)


def _violates(amount: int, policy: RequestPolicy) -> bool:
    if amount == policy.default:
        return False
    if (policy.minimum, policy.maximum, policy.step) != (None, None, None):
        if policy.maximum is not None and amount > policy.maximum:
            return True
        step = whole_units(policy.step or 0)
        return bool(step) and (whole_units(amount) - whole_units(policy.minimum or 0)) % step != 0
    return bool(policy.valid_values) and amount not in policy.valid_values
