"""Expressions over the elements of lists and maps, and variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from clusterstate.devices.device_values import Domains, NotEvaluatedError, ValueFault
from clusterstate.objects.resource import Device

Term = Callable[[str, Device], Any]

MACROS = ("all", "exists", "exists_one", "filter", "map")
"""Methods whose first argument names a variable."""


@attrs.frozen(eq=False)
class BoundDevice(Device):
    """A device together with the variables that an expression has bound; terms hand it on as the device."""

    device: Device = attrs.field(kw_only=True)
    variables: Mapping[str, Any] = attrs.field(kw_only=True)


def unbound(device: Device) -> Device:
    """The device alone."""
    return device.device if isinstance(device, BoundDevice) else device


def _bound(device: Device, name: str, value: Any) -> BoundDevice:
    known = device.variables if isinstance(device, BoundDevice) else {}
    return BoundDevice(device.name, device=unbound(device), variables={**known, name: value})


def variable_named(name: str) -> Term:
    """What a variable is bound to."""

    def term(_: str, device: Device) -> Any:
        if not isinstance(device, BoundDevice):
            raise NotEvaluatedError(f"{name!r} is not bound")
        return device.variables[name]

    return term


def binding(name: str, value: Term, body: Term) -> Term:
    """``cel.bind(name, value, body)``."""
    return lambda driver, device: body(driver, _bound(device, name, value(driver, device)))


def comprehension(macro: str, receiver: Term, name: str, body: Term) -> Term:
    """``receiver.macro(name, body)`` over the elements of a list or the keys of a map."""
    combine = _COMBINED[macro]

    def term(driver: str, device: Device) -> Any:
        elements = _elements(receiver(driver, device))
        return combine(elements, lambda element: body(driver, _bound(device, name, element)))

    return term


def _elements(value: Any) -> list[Any]:
    if isinstance(value, Domains):
        return value.domains()
    if isinstance(value, list | dict):
        return list(value)
    raise ValueFault("no such overload")


Body = Callable[[Any], Any]


def _decides(decisive: bool) -> Callable[[list[Any], Body], bool]:
    """An element whose body is ``decisive`` decides, even beside one that fails."""

    def combine(elements: Iterable[Any], body: Body) -> bool:
        fault: ValueFault | None = None
        for element in elements:
            try:
                if _truth(body(element)) is decisive:
                    return decisive
            except ValueFault as error:
                fault = fault or error
        if fault is not None:
            raise fault
        return not decisive

    return combine


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueFault("no such overload")
    return value


_COMBINED: dict[str, Callable[[list[Any], Body], Any]] = {
    "all": _decides(decisive=False),
    "exists": _decides(decisive=True),
    "exists_one": lambda elements, body: sum(_truth(body(element)) for element in elements) == 1,
    "filter": lambda elements, body: [element for element in elements if _truth(body(element))],
    "map": lambda elements, body: [body(element) for element in elements],
}
