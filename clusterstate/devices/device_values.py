"""The values that expressions about devices work with."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import total_ordering
from typing import Any

import attrs

from clusterstate.objects.resource import Device, DeviceAttribute
from clusterstate.quantity import parse_quantity

_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")


class NotEvaluatedError(Exception):
    """An expression, or a part of one, that is not understood here."""


class CompileFault(Exception):
    """An expression that is no CEL of Kubernetes, or no condition: its text is a CEL compile error."""


class ValueFault(Exception):
    """An expression that is understood but fails for this device: CEL calls it a runtime error."""


@total_ordering
@attrs.frozen(order=False)
class Quantity:
    """An amount in thousandths."""

    thousandths: int

    def __lt__(self, other: Quantity) -> bool:
        return self.thousandths < other.thousandths


@total_ordering
@attrs.frozen(order=False)
class Version:
    """A semantic version."""

    ranks: tuple[Any, ...]
    """Its three numbers, then what orders prereleases before the release."""

    def __lt__(self, other: Version) -> bool:
        return self.ranks < other.ranks


def quantity(text: str) -> Quantity:
    """CEL's ``quantity(text)``. Raises ValueFault for a text that is none."""
    try:
        return Quantity(parse_quantity(text))
    except ValueError as error:
        raise ValueFault(str(error)) from error


def version(text: str) -> Version:
    """Raises ValueFault for a text that is no semantic version."""
    match = _VERSION.fullmatch(text)
    if match is None:
        raise ValueFault(f'"{text}" is not a semantic version such as 1.2.3')
    major, minor, patch, prerelease = match.groups()
    tail = (1,) if prerelease is None else (0, *(map(_rank, prerelease.split("."))))
    return Version((int(major), int(minor), int(patch), tail))


def _rank(identifier: str) -> tuple[int, int, str]:
    return (0, int(identifier), "") if identifier.isdigit() else (1, 0, identifier)


@attrs.frozen
class Domains:
    """``device.attributes`` or ``device.capacity``: domain → name → value. An unknown domain has no names.

    A name without a domain is in the driver's.
    """

    driver: str
    values: Mapping[str, Any]
    read: Callable[[Any], Any]

    def domains(self) -> list[str]:
        """The domains that have names, in order."""
        return sorted({key.rpartition("/")[0] or self.driver for key in self.values})

    def domain(self, domain: str) -> dict[str, Any]:
        """The values of one domain, by name without the domain."""
        found = {}
        for key, value in self.values.items():
            prefix, _, name = key.rpartition("/")
            if (prefix or self.driver) == domain:
                found[name] = self.read(value)
        return found


def read_attribute(attribute: DeviceAttribute) -> Any:
    """The value of a device's attribute as expressions see it."""
    return version(str(attribute.value)) if attribute.kind == "version" else attribute.value


def member(driver: str, device: Device, name: str) -> Any:
    """What ``device.<name>`` is in an expression."""
    match name:
        case "driver":
            return driver
        case "attributes":
            return Domains(driver, device.attributes, read_attribute)
        case "capacity":
            return Domains(driver, device.capacity, Quantity)
        case "allowMultipleAllocations":
            return device.shareable
    raise NotEvaluatedError(f"device.{name} is not known")


def attribute(driver: str, device: Device, name: str) -> DeviceAttribute | None:
    """An attribute by its full name, ``domain/name``."""
    found = device.attributes.get(name)
    if found is None:
        domain, _, bare = name.rpartition("/")
        if domain == driver:
            found = device.attributes.get(bare)
    return found


def as_condition(found: Any) -> bool:
    """The result of an expression whose type is only known now. Raises ValueFault for what is not true or false."""
    if isinstance(found, bool):
        return found
    name = type_name(found)
    raise ValueFault(f"CEL result of type {name} could not be converted to bool: {_UNCONVERTED.get(name, '')}")


_UNCONVERTED = {
    "string": "unsupported native conversion from string to 'bool'",
    "int": "unsupported type conversion from 'int' to bool",
    "double": "unsupported type conversion from 'double' to bool",
}
"""Type → why it is no condition."""


def type_name(value: Any) -> str:
    """The type of a value in the words of CEL."""
    for kind, name in _TYPE_NAMES:
        if isinstance(value, kind):
            return name
    raise NotEvaluatedError(f"a value of type {type(value).__name__} is not known")


_TYPE_NAMES: tuple[tuple[Any, str], ...] = (
    (bool, "bool"),
    (int, "int"),
    (float, "double"),
    (str, "string"),
    (type(None), "null_type"),
    (list, "list"),
    (dict, "map"),
    (Domains, "map"),
    (Quantity, "kubernetes.Quantity"),
    (Version, "kubernetes.Semver"),
)
