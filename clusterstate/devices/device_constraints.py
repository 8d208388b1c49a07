"""What the devices of a claim have to have in common, or each of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import msgspec

from clusterstate.devices.device_attributes import attribute
from clusterstate.devices.device_requests import DeviceError, Option
from clusterstate.objects.resource import Device, DeviceAttribute, DeviceConstraint, ResourceClaim


class Constraint(Protocol):
    """Told of every device that is chosen and given back; what it is told is all it knows."""

    def add(self, option: Option, driver: str, device: Device) -> bool:
        """Whether the device may be chosen beside the others; then it counts as chosen."""
        ...

    def remove(self, option: Option) -> None:
        """A device that was added is given back."""
        ...


class MatchAttribute(msgspec.Struct, eq=False):
    """All devices have the same value. Upstream: 1.36 matchAttributeConstraint."""

    requests: tuple[str, ...]
    name: str
    value: DeviceAttribute | None = None
    count: int = 0

    def add(self, option: Option, driver: str, device: Device) -> bool:
        """Whether the device has the attribute, with the value of the devices chosen before."""
        if not option.is_among(self.requests):
            return True
        found = attribute(driver, device, self.name)
        if found is None:
            return False
        if not self.count:
            self.value = found
        elif found != self.value:
            return False
        self.count += 1
        return True

    def remove(self, option: Option) -> None:
        """One device less."""
        if option.is_among(self.requests):
            self.count -= 1


class DistinctAttribute(msgspec.Struct, eq=False):
    """Every request has another value. Upstream: 1.36 distinctAttributeConstraint.

    It remembers one value for each request, the last one: of a request for several devices, only neighbours are
    compared.
    """

    requests: tuple[str, ...]
    name: str
    values: dict[str, DeviceAttribute] = msgspec.field(default_factory=dict)
    count: int = 0

    def add(self, option: Option, driver: str, device: Device) -> bool:
        """Whether the device has the attribute, with a value that no request is remembered for."""
        if not option.is_among(self.requests):
            return True
        found = attribute(driver, device, self.name)
        if found is None or (self.count and found in self.values.values()):
            return False
        self.values[option.request] = found
        self.count += 1
        return True

    def remove(self, option: Option) -> None:
        """One device less; the value of its request is forgotten."""
        if option.is_among(self.requests):
            self.values.pop(option.request, None)
            self.count -= 1


def constraints_of(claim: ResourceClaim) -> tuple[Constraint, ...]:
    """The constraints of a claim before any device is chosen. Raises DeviceError for one of an unknown sort."""
    return tuple(_constraint(claim, *pair) for pair in enumerate(claim.spec.constraints))


def _constraint(claim: ResourceClaim, at: int, given: DeviceConstraint) -> Constraint:
    if given.match_attribute is not None:
        return MatchAttribute(given.requests, given.match_attribute)
    if given.distinct_attribute is not None:
        return DistinctAttribute(given.requests, given.distinct_attribute)
    raise DeviceError(f"claim {claim.key}, constraint #{at}: empty constraint (unsupported constraint type?)")


def all_take(constraints: Iterable[Constraint], option: Option, driver: str, device: Device) -> bool:
    """Whether every constraint takes the device; if not, none of them counts it."""
    taken: list[Constraint] = []
    for constraint in constraints:
        if not constraint.add(option, driver, device):
            for other in taken:
                other.remove(option)
            return False
        taken.append(constraint)
    return True
