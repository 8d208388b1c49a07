"""Values of expressions: Python's where one fits, and these where none does; their equality, order and arithmetic.

null: None; bool, int, float, str, bytes: themselves; a list: a tuple; a type: CelType.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from kubecel import NO_OVERLOAD, NotEvaluatedError, ValueFault, types
from kubecel.types import CelType

Value = Any
"""What an expression can evaluate to."""

LEAST_INT, MOST_INT, MOST_UINT = -(2**63), 2**63 - 1, 2**64 - 1


class UInt(msgspec.Struct, frozen=True):
    """An unsigned whole number below 2**64."""

    number: int


class Duration(msgspec.Struct, frozen=True):
    """A span of time."""

    nanoseconds: int


class Timestamp(msgspec.Struct, frozen=True):
    """A point in time, between the years 1 and 9999."""

    nanoseconds: int
    """Since 1970, UTC."""


class Optional(msgspec.Struct, frozen=True):
    """A value that may be missing."""

    held: tuple[Value, ...] = ()
    """At most one value."""

    def value(self) -> Value:
        """Raises ValueFault where there is none."""
        if not self.held:
            raise ValueFault("optional.none() dereference")
        return self.held[0]


NONE = Optional()


class CelMap:
    """A map. 1, 1u and 1.0 are one key."""

    __slots__ = ("entries",)

    def __init__(self, pairs: Iterator[tuple[Value, Value]] | tuple[tuple[Value, Value], ...] = ()) -> None:
        self.entries: dict[Any, tuple[Value, Value]] = {key_of(key): (key, value) for key, value in pairs}
        """Comparable key → (key, value)."""

    @classmethod
    def of_texts(cls, values: Mapping[str, Value]) -> CelMap:
        """A map whose keys are texts."""
        found = cls()
        found.entries = {key: (key, value) for key, value in values.items()}
        return found

    def find(self, key: Value) -> tuple[Value, bool]:
        """(the value, True), or (None, False)."""
        entry = self.entries.get(key_of(key))
        return (None, False) if entry is None else (entry[1], True)

    def has_key(self, key: Value) -> bool:
        """Whether ``key in map`` holds."""
        return key_of(key) in self.entries

    def keys(self) -> list[Value]:
        """In the order in which they were given."""
        return [key for key, _ in self.entries.values()]

    def items(self) -> list[tuple[Value, Value]]:
        """In the order in which they were given."""
        return list(self.entries.values())

    def __len__(self) -> int:
        return len(self.entries)


class DefaultMap(CelMap):
    """A map in which every key that is missing has an empty map, as in the domains of a device."""

    __slots__ = ()

    def find(self, key: Value) -> tuple[Value, bool]:
        """Always finds something."""
        found, present = super().find(key)
        return (found, True) if present else (CelMap(), True)


def key_of(key: Value) -> Any:
    """What makes equal keys equal in Python; other values are keys only of themselves."""
    if type(key) is str:
        return key
    if type(key) is bool or key is None:
        return ("constant", key)
    if type(key) is UInt:
        return ("number", key.number)
    if type(key) is float:
        return ("number", int(key)) if key.is_integer() else ("double", repr(key))
    return ("number", key) if type(key) is int else ("itself", id(key))


_TYPES: dict[type, CelType] = {
    type(None): types.NULL,
    bool: types.BOOL,
    int: types.INT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    tuple: types.list_of(types.DYN),
    UInt: types.UINT,
    Duration: types.DURATION,
    Timestamp: types.TIMESTAMP,
    Optional: types.optional_of(types.DYN),
    CelMap: types.map_of(types.DYN, types.DYN),
    DefaultMap: types.map_of(types.DYN, types.DYN),
    CelType: types.TYPE,
}
"""Python's type → the type in CEL."""


def type_of(value: Value) -> CelType:
    """The type of a value at run time; values of libraries say their own."""
    found = _TYPES.get(type(value))
    return found if found is not None else value.cel_type


def type_name(value: Value) -> str:
    """The type of a value in the words of messages."""
    return type_of(value).name


_GO_NAMES: dict[type, str] = {
    type(None): "types.Null",
    bool: "types.Bool",
    int: "types.Int",
    float: "types.Double",
    str: "types.String",
    bytes: "types.Bytes",
    tuple: "*types.baseList",
    UInt: "types.Uint",
    Duration: "types.Duration",
    Timestamp: "types.Timestamp",
    Optional: "*types.Optional",
    CelMap: "*types.baseMap",
    DefaultMap: "cel.mapper",
    CelType: "*types.Type",
}


def go_name(value: Value) -> str:
    """What a few messages of cel-go print for a value: its type in Go."""
    return _GO_NAMES.get(type(value)) or f"cel.{type(value).__name__}"


# --- Equality and order of values. Upstream: cel-go common/types ----------------------------------

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
    return bool(left == right)


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


EARLIEST, LATEST = -62135596800 * 10**9, 253402300800 * 10**9 - 1
"""Nanoseconds since 1970 that a timestamp may be."""

LONGEST = 4_000_000
"""Elements, characters or bytes that a value may have here."""

_ADDED = (bytes, float, Duration, int, tuple, str, Timestamp, UInt)
_SUBTRACTED = (float, Duration, int, Timestamp, UInt)
_MULTIPLIED = (float, int, UInt)
_REMAINED = (int, UInt)
_RECEIVERS = (str, Duration, Timestamp)
"""Types with methods of their own: an operator that they lack is an overload that they lack."""


def _missing(sign: str, left: Value) -> ValueFault:
    return ValueFault(NO_OVERLOAD if type(left) in _RECEIVERS else f"{NO_OVERLOAD}: _{sign}_")


def checked_int(number: int) -> int:
    """Raises ValueFault for what is no int."""
    if not LEAST_INT <= number <= MOST_INT:
        raise ValueFault("integer overflow")
    return number


def checked_uint(number: int) -> UInt:
    """Raises ValueFault for what is no uint."""
    if not 0 <= number <= MOST_UINT:
        raise ValueFault("unsigned integer overflow")
    return UInt(number)


def checked_duration(nanoseconds: int) -> Duration:
    """Raises ValueFault for what is no duration."""
    if not LEAST_INT <= nanoseconds <= MOST_INT:
        raise ValueFault("duration overflow")
    return Duration(nanoseconds)


def checked_timestamp(nanoseconds: int) -> Timestamp:
    """Raises ValueFault for what is no timestamp."""
    if not EARLIEST <= nanoseconds <= LATEST:
        raise ValueFault("timestamp overflow")
    return Timestamp(nanoseconds)


def checked_size(size: int) -> None:
    """Raises NotEvaluatedError for a value that would be larger than it may be here."""
    if size > LONGEST:
        raise NotEvaluatedError("a value would become too large")


def _same(left: Value, right: Value) -> None:
    if type(left) is not type(right):
        raise ValueFault(NO_OVERLOAD)


def add(left: Value, right: Value) -> Value:
    """``left + right``."""
    kind = type(left)
    if kind not in _ADDED:
        raise _missing("+", left)
    if kind is Timestamp or (kind is Duration and type(right) is Timestamp):
        if {kind, type(right)} != {Timestamp, Duration}:
            raise ValueFault(NO_OVERLOAD)
        return checked_timestamp(left.nanoseconds + right.nanoseconds)
    _same(left, right)
    if kind is int:
        return checked_int(left + right)
    if kind is UInt:
        return checked_uint(left.number + right.number)
    if kind is Duration:
        return checked_duration(left.nanoseconds + right.nanoseconds)
    if kind is not float:
        checked_size(len(left) + len(right))
    return left + right


def subtract(left: Value, right: Value) -> Value:
    """``left - right``."""
    kind = type(left)
    if kind not in _SUBTRACTED:
        raise _missing("-", left)
    if kind is Timestamp and type(right) is Duration:
        return checked_timestamp(left.nanoseconds - right.nanoseconds)
    _same(left, right)
    if kind is int:
        return checked_int(left - right)
    if kind is UInt:
        return checked_uint(left.number - right.number)
    if kind in (Duration, Timestamp):
        return checked_duration(left.nanoseconds - right.nanoseconds)
    return left - right


def multiply(left: Value, right: Value) -> Value:
    """``left * right``."""
    if type(left) not in _MULTIPLIED:
        raise _missing("*", left)
    _same(left, right)
    if type(left) is int:
        return checked_int(left * right)
    if type(left) is UInt:
        return checked_uint(left.number * right.number)
    return left * right


def _quotient(left: int, right: int) -> int:
    """Rounded towards zero."""
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


def _float_quotient(left: float, right: float) -> float:
    if right:
        return left / right
    if not left or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


def divide(left: Value, right: Value) -> Value:
    """``left / right``, of whole numbers rounded towards zero."""
    if type(left) not in _MULTIPLIED:
        raise _missing("/", left)
    _same(left, right)
    if type(left) is float:
        return _float_quotient(left, right)
    return _whole(left, right, _quotient, "division by zero")


def modulo(left: Value, right: Value) -> Value:
    """``left % right`` with the sign of ``left``."""
    if type(left) not in _REMAINED:
        raise _missing("%", left)
    _same(left, right)
    return _whole(left, right, lambda one, other: one - _quotient(one, other) * other, "modulus by zero")


def _whole(left: Value, right: Value, act: Callable[[int, int], int], by_zero: str) -> Value:
    unsigned = type(left) is UInt
    one, other = (left.number, right.number) if unsigned else (left, right)
    if not other:
        raise ValueFault(by_zero)
    if one == LEAST_INT and other == -1:
        raise ValueFault("integer overflow")
    return UInt(act(one, other)) if unsigned else act(one, other)


def negate(value: Value) -> Value:
    """``-value``."""
    if type(value) is int:
        return checked_int(-value)
    if type(value) is float:
        return -value
    if type(value) is Duration:
        return checked_duration(-value.nanoseconds)
    raise ValueFault(NO_OVERLOAD if type(value) in (bool, *_RECEIVERS) else f"{NO_OVERLOAD}: -_")
