"""Equality and order of values. Upstream: cel-go common/types."""

from __future__ import annotations

import math
from typing import Any

from clusterstate.cel.cel_faults import NO_OVERLOAD, NotEvaluatedError, ValueFault
from clusterstate.cel.values.cel_types import CelType
from clusterstate.cel.values.cel_values import CelMap, Duration, Optional, Timestamp, UInt, Value

MOST_STEPS = 1_000_000
"""Of one comparison of nested values."""

NUMBERS = (int, float, UInt)
_SCALARS = (bool, str, bytes, Duration, Timestamp)


class _Steps:
    """What is left of the steps of one comparison."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MOST_STEPS

    def take(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise NotEvaluatedError("a comparison would take too long")


def is_number(value: Value) -> bool:
    """int, uint or double."""
    return type(value) in NUMBERS


def _plain(value: Value) -> Any:
    return value.number if type(value) is UInt else value


def _pair(left: Value, right: Value) -> tuple[Any, Any]:
    """Two numbers as they are compared: beside a double, a whole number is one too."""
    one, other = _plain(left), _plain(right)
    if type(one) is float or type(other) is float:
        return float(one), float(other)
    return one, other


def equal(left: Value, right: Value, steps: _Steps | None = None) -> bool:
    """``left == right``: false for different types, but numbers compare by value.

    Raises ValueFault where a value of a library meets another type.
    """
    if left is None or right is None:
        return left is right
    kind = type(left)
    if kind in NUMBERS:
        return _numbers_equal(left, right)
    if kind in _SCALARS:
        return kind is type(right) and bool(left == right)
    held = _held_equal(left, right, steps or _Steps())
    if held is not None:
        return held
    if kind is not type(right):
        raise ValueFault(NO_OVERLOAD)
    return bool(left.same(right))


def _numbers_equal(left: Value, right: Value) -> bool:
    if not is_number(right):
        return False
    one, other = _pair(left, right)
    return bool(one == other)


def _held_equal(left: Value, right: Value, steps: _Steps) -> bool | None:
    """Of values that hold others; None for one that does not."""
    if type(left) is tuple:
        return type(right) is tuple and _lists_equal(left, right, steps)
    if isinstance(left, CelMap):
        return isinstance(right, CelMap) and _maps_equal(left, right, steps)
    if type(left) is Optional:
        return type(right) is Optional and _lists_equal(left.held, right.held, steps)
    if type(left) is CelType:
        return type(right) is CelType and left.name == right.name
    return None


def _elements_equal(left: Value, right: Value, steps: _Steps) -> bool:
    """As ``equal``, but what cannot be compared does not differ, as in cel-go."""
    steps.take()
    try:
        return equal(left, right, steps)
    except ValueFault:
        return True


def _lists_equal(left: tuple[Value, ...], right: tuple[Value, ...], steps: _Steps) -> bool:
    if len(left) != len(right):
        return False
    return all(_elements_equal(one, other, steps) for one, other in zip(left, right, strict=True))


def _maps_equal(left: CelMap, right: CelMap, steps: _Steps) -> bool:
    if len(left) != len(right):
        return False
    for key, value in left.items():
        other, found = CelMap.find(right, key)
        if not found or not _elements_equal(value, other, steps):
            return False
    return True


def contains(values: tuple[Value, ...], value: Value) -> bool:
    """``value in values``; what cannot be compared is not it."""
    steps = _Steps()
    for other in values:
        steps.take()
        try:
            if equal(value, other, steps):
                return True
        except ValueFault:
            continue
    return False


def compare(left: Value, right: Value) -> int:
    """-1, 0 or 1. Raises ValueFault for values without an order."""
    if is_number(left):
        if not is_number(right):
            if type(left) is float and math.isnan(left):
                raise ValueFault("NaN values cannot be ordered")
            raise ValueFault(NO_OVERLOAD)
        one, other = _pair(left, right)
        if math.isnan(one) or math.isnan(other):
            raise ValueFault("NaN values cannot be ordered")
        return int(one > other) - int(one < other)
    if type(left) is not type(right):
        raise ValueFault(NO_OVERLOAD)
    if type(left) in (Duration, Timestamp):
        return compare(left.nanoseconds, right.nanoseconds)
    return int(_ordered(left) > _ordered(right)) - int(_ordered(left) < _ordered(right))


def _ordered(value: Value) -> Any:
    """Texts are ordered by their UTF-8 bytes."""
    return value.encode("utf-8", "surrogatepass") if type(value) is str else value


def is_comparable(value: Value) -> bool:
    """Whether values of its type have an order."""
    return is_number(value) or type(value) in (bool, str, bytes, Duration, Timestamp)
