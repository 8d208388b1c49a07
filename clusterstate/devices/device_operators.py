"""The operators of expressions about devices: each makes a term out of terms."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from clusterstate.devices.device_values import (
    Domains,
    NotEvaluatedError,
    Quantity,
    ValueFault,
    Version,
    quantity,
    version,
)
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
        raise ValueFault("no such overload: a condition is not true or false")
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
    return type(left) is type(right) and bool(left == right)


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
    if type(left) is not type(right) or not isinstance(left, int | str):
        raise ValueFault(f"no such overload: {sign} of these types")
    return _ORDERS[sign](left, right)


def _contains(container: Any, value: Any) -> bool:
    if isinstance(container, Domains):
        return bool(container.domain(value))
    if isinstance(container, list):
        return any(same(value, entry) for entry in container)
    if isinstance(container, dict):
        return value in container
    raise ValueFault("no such overload: in")


def index(term: Term, key: Term) -> Term:
    """``term[key]``: what a device has in a domain, or the value of a name in a map."""

    def found(driver: str, device: Device) -> Any:
        container, name = term(driver, device), key(driver, device)
        if isinstance(container, Domains) and isinstance(name, str):
            return container.domain(name)
        if not isinstance(container, dict):
            raise NotEvaluatedError(f"the member {name} is not known")
        if name not in container:
            raise ValueFault(f"no such key: {name}")
        return container[name]

    return found


# --- functions and methods -----------------------------------------------------------------


def function(name: str, argument: Term) -> Term:
    """``has``, ``quantity`` or ``semver`` of one argument."""
    if name == "has":
        return _has(argument)
    convert = _CONVERSIONS.get(name)
    if convert is None:
        raise NotEvaluatedError(f"the function {name} is not known")

    def term(driver: str, device: Device) -> Any:
        value = argument(driver, device)
        if not isinstance(value, str):
            raise ValueFault(f"no such overload: {name}")
        return convert(value)

    return term


_CONVERSIONS: dict[str, Callable[[str], Any]] = {"quantity": quantity, "semver": version}


def _has(argument: Term) -> Term:
    def term(driver: str, device: Device) -> bool:
        try:
            argument(driver, device)
        except ValueFault:
            return False
        return True

    return term


def method(name: str, receiver: Term, arguments: Sequence[Term]) -> Term:
    """``receiver.name(argument)``. Raises NotEvaluatedError for a method that is not supported."""
    act = _METHODS.get(name)
    if act is None or len(arguments) != 1:
        raise NotEvaluatedError(f"the method {name} is not known with {len(arguments)} arguments")
    kinds, apply = act

    def term(driver: str, device: Device) -> Any:
        left, right = receiver(driver, device), arguments[0](driver, device)
        if type(left) is not type(right) or not isinstance(left, kinds):
            raise ValueFault(f"no such overload: {name}")
        return apply(left, right)

    return term


_AMOUNTS = (Quantity, Version)
_METHODS: dict[str, tuple[Any, Callable[[Any, Any], Any]]] = {
    "compareTo": (_AMOUNTS, lambda left, right: (left > right) - (left < right)),
    "isGreaterThan": (_AMOUNTS, operator.gt),
    "isLessThan": (_AMOUNTS, operator.lt),
    "startsWith": (str, str.startswith),
    "endsWith": (str, str.endswith),
    "contains": (str, lambda left, right: right in left),
}
