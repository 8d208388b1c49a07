"""A device as expressions see it. Upstream: k8s.io/dynamic-resource-allocation cel/compile.go."""

from __future__ import annotations

from functools import lru_cache

from clusterstate.objects import Device, DeviceAttribute
from kubecel import ValueFault, types
from kubecel.functions.kubernetes_types import of_thousandths, semver
from kubecel.values import CelMap, DefaultMap, Value, go_name, type_name

FIELDS = {
    "driver": types.STRING,
    "allowMultipleAllocations": types.BOOL,
    "attributes": types.map_of(types.STRING, types.map_of(types.STRING, types.ANY)),
    "capacity": types.map_of(types.STRING, types.map_of(types.STRING, types.QUANTITY)),
}
"""Field of ``device`` → its type. What type an attribute has only its value shows."""


class _Same:
    """A device as a key: equal to itself alone, so that no contents are compared."""

    __slots__ = ("device",)

    def __init__(self, device: Device) -> None:
        self.device = device

    def __hash__(self) -> int:
        return id(self.device)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.device is self.device


def subject_of(driver: str, device: Device) -> CelMap:
    """The value of ``device``. Raises ValueFault for an attribute that has no value of its kind."""
    return _subject(driver, _Same(device))


@lru_cache(maxsize=8192)
def _subject(driver: str, same: _Same) -> CelMap:
    device = same.device
    attributes = {name: _read(name, attribute) for name, attribute in device.attributes.items()}
    capacity = {name: of_thousandths(amount) for name, amount in device.capacity.items()}
    return CelMap.of_texts(
        {
            "driver": driver,
            "allowMultipleAllocations": device.shareable,
            "attributes": _by_domain(driver, attributes),
            "capacity": _by_domain(driver, capacity),
        }
    )


def _read(name: str, attribute: DeviceAttribute) -> Value:
    if attribute.kind != "version":
        return attribute.value
    try:
        return semver(str(attribute.value))
    except ValueFault as fault:
        raise ValueFault(f"attribute {name}: parse semantic version: {fault}") from None


def _by_domain(driver: str, values: dict[str, Value]) -> DefaultMap:
    """Domain → name → value; a name without a domain is in the driver's. An unknown domain has no names."""
    found: dict[str, dict[str, Value]] = {}
    for key, value in values.items():
        domain, slash, name = key.partition("/")
        found.setdefault(domain if slash else driver, {})[name if slash else key] = value
    domains = DefaultMap()
    domains.entries = {domain: (domain, CelMap.of_texts(names)) for domain, names in found.items()}
    return domains


def as_condition(found: Value) -> bool:
    """The result of an expression whose type is only known now. Raises ValueFault for what is not true or false."""
    if isinstance(found, bool):
        return found
    name = type_name(found)
    reason = _UNCONVERTED.get(name) or f"type conversion error from '{go_name(found).removeprefix('cel.')}' to 'bool'"
    raise ValueFault(f"CEL result of type {name} could not be converted to bool: {reason}")


_UNCONVERTED = {
    "string": "unsupported native conversion from string to 'bool'",
    "int": "unsupported type conversion from 'int' to bool",
    "double": "unsupported type conversion from 'double' to bool",
}
"""Type → why it is no condition."""
