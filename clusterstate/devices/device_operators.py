"""The operators of expressions about devices: each makes a term out of terms."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from clusterstate.devices.device_values import Domains, ValueFault
from clusterstate.objects.resource import Device

Term = Callable[[str, Device], Any]

_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def constant(value: Any) -> Term:
    """A term of one value."""
    return lambda _driver, _device: value


def sequence(terms: Sequence[Term]) -> Term:
    """The list of what the terms give."""
    return lambda driver, device: [term(driver, device) for term in terms]


# --- truth ---------------------------------------------------------------------------------


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueFault("no such overload")
    return value


def opposite(term: Term) -> Term:
    """``!term``. Anything but a bool is an evaluation error."""
    return lambda driver, device: not _truth(term(driver, device))


def both(left: Term, right: Term) -> Term:
    """False when either side is, even if the other one fails."""
    return _joined(left, right, decisive=False)


def either(left: Term, right: Term) -> Term:
    """True when either side is, even if the other one fails."""
    return _joined(left, right, decisive=True)


def _joined(left: Term, right: Term, *, decisive: bool) -> Term:
    def term(driver: str, device: Device) -> bool:
        try:
            if _truth(left(driver, device)) is decisive:
                return decisive
        except ValueFault:
            if _truth(right(driver, device)) is decisive:
                return decisive
            raise
        return _truth(right(driver, device))

    return term


# --- comparison ----------------------------------------------------------------------------


def same(left: Any, right: Any) -> bool:
    """Equality that keeps 1 and true apart."""
    if _are_numbers(left, right):
        return bool(left == right)
    return type(left) is type(right) and bool(left == right)


def _are_numbers(*values: Any) -> bool:
    """Whole numbers and floating-point ones compare with each other."""
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def comparison(sign: str, left: Term, right: Term) -> Term:
    """``left SIGN right``, for ==, !=, <, <=, >, >= and in."""

    def term(driver: str, device: Device) -> bool:
        return _compare(sign, left(driver, device), right(driver, device))

    return term


def _compare(sign: str, left: Any, right: Any) -> bool:
    if sign == "in":
        return _contains(right, left)
    if sign in ("==", "!="):
        return same(left, right) == (sign == "==")
    if not _are_numbers(left, right) and (type(left) is not type(right) or not isinstance(left, bool | str)):
        raise ValueFault("no such overload")
    return _ORDERS[sign](left, right)


def _contains(container: Any, value: Any) -> bool:
    if isinstance(container, Domains):
        return value in container.domains()
    if isinstance(container, list):
        return any(same(value, entry) for entry in container)
    if isinstance(container, dict):
        return value in container
    raise ValueFault("no such overload")


def index(term: Term, key: Term) -> Term:
    """``term[key]``: what a device has in a domain, or the value of a name in a map."""

    def found(driver: str, device: Device) -> Any:
        container, name = term(driver, device), key(driver, device)
        if isinstance(container, Domains) and isinstance(name, str):
            return container.domain(name)
        if isinstance(container, list):
            return _at(container, name)
        if not isinstance(container, dict):
            raise ValueFault("no such overload")
        if name not in container:
            raise ValueFault(f"no such key: {name}")
        return container[name]

    return found


def _at(elements: list[Any], position: Any) -> Any:
    if not isinstance(position, int) or isinstance(position, bool):
        raise ValueFault("no such overload")
    if not 0 <= position < len(elements):
        raise ValueFault(f"index out of bounds: {position}")
    return elements[position]


def presence(term: Term, name: str) -> Term:
    """``has(term.name)``."""

    def found(driver: str, device: Device) -> bool:
        container = term(driver, device)
        if isinstance(container, Domains):
            return name in container.domains()
        if not isinstance(container, dict):
            raise ValueFault("no such overload")
        return name in container

    return found
