"""``+ - * / %`` and negation. Upstream: cel-go common/types, overflow.go."""

from __future__ import annotations

import math
from collections.abc import Callable

from kubecel.faults import NO_OVERLOAD, NotEvaluatedError, ValueFault
from kubecel.values import LEAST_INT, MOST_INT, MOST_UINT, Duration, Timestamp, UInt, Value

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
