"""Conversions between types: ``int(x)``, ``string(x)`` and their like. Upstream: cel-go common/types."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from kubecel import types
from kubecel.arithmetic import checked_int, checked_timestamp, checked_uint
from kubecel.faults import ValueFault
from kubecel.times import duration_text, parse_duration, parse_timestamp, timestamp_text
from kubecel.types import CelType
from kubecel.values import LEAST_INT, MOST_INT, MOST_UINT, Duration, Timestamp, UInt, Value, type_name

_WHOLE = re.compile(r"[+-]?[0-9]+", re.ASCII)
_UNSIGNED = re.compile(r"[0-9]+", re.ASCII)
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?:inf|infinity)|nan", re.ASCII | re.I)
_TRUTHS = {"true": ("1", "t", "T", "TRUE", "true", "True"), "false": ("0", "f", "F", "FALSE", "false", "False")}
_LONGEST_NUMBER = 400
_MOST_PLAIN = 6
"""Powers of ten below which a double is written without an exponent."""


def unconvertible(value: Value, wanted: CelType) -> ValueFault:
    """A value that is none of the type."""
    return ValueFault(f"type conversion error from '{type_name(value)}' to '{wanted.name}'")


def to_int(value: Value) -> int:
    """Whole numbers, durations in nanoseconds, timestamps in seconds; fractions are cut off."""
    kind = type(value)
    if kind is int:
        return int(value)
    if kind is UInt:
        return checked_int(value.number)
    if kind is float:
        return _from_float(value)
    if kind is Duration:
        return int(value.nanoseconds)
    if kind is Timestamp:
        return int(value.nanoseconds // 10**9)
    if kind is str and _WHOLE.fullmatch(value) and len(value) < _LONGEST_NUMBER:
        found = int(value)
        if LEAST_INT <= found <= MOST_INT:
            return found
    raise unconvertible(value, types.INT)


def _from_float(value: float) -> int:
    if not float(LEAST_INT) < value < float(MOST_INT):
        raise ValueFault("integer overflow")
    return int(value)


def to_uint(value: Value) -> UInt:
    """Whole numbers that are not negative; fractions are cut off."""
    kind = type(value)
    if kind is UInt:
        return UInt(value.number)
    if kind is int:
        return checked_uint(value)
    if kind is float:
        if not 0 <= value < float(MOST_UINT):
            raise ValueFault("unsigned integer overflow")
        return UInt(int(value))
    if kind is str and _UNSIGNED.fullmatch(value) and len(value) < _LONGEST_NUMBER and int(value) <= MOST_UINT:
        return UInt(int(value))
    raise unconvertible(value, types.UINT)


def to_double(value: Value) -> float:
    """Numbers, and texts that hold one."""
    kind = type(value)
    if kind in (int, float):
        return float(value)
    if kind is UInt:
        return float(value.number)
    if kind is str and _FLOAT.fullmatch(value):
        found = float(value)
        if not math.isinf(found) or "i" in value.lower():
            return found
    raise unconvertible(value, types.DOUBLE)


def to_bool(value: Value) -> bool:
    """Truths, and texts that hold one."""
    if type(value) is bool:
        return value
    if type(value) is str and value in _TRUTHS["true"] + _TRUTHS["false"]:
        return value in _TRUTHS["true"]
    raise unconvertible(value, types.BOOL)


def to_bytes(value: Value) -> bytes:
    """The UTF-8 of a text."""
    return value if type(value) is bytes else value.encode("utf-8", "surrogatepass")


def to_text(value: Value) -> str:
    """Whatever has a text."""
    act = _TEXTS.get(type(value))
    if act is None:
        raise unconvertible(value, types.STRING)
    return act(value)


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise ValueFault("invalid UTF-8 in bytes, cannot convert to string") from None


def double_text(value: float) -> str:
    """As Go's ``%g``: the fewest digits that give the number back, an exponent from 10**6 on and below 1e-4."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    sign, digits, exponent = _decimal(value)
    if exponent < -4 or exponent >= _MOST_PLAIN:
        mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
        return f"{sign}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    return sign + plain_decimal(digits, exponent)


def plain_decimal(digits: str, exponent: int) -> str:
    """Digits, of which the first stands for 10**exponent, without an exponent."""
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    fraction = digits[exponent + 1 :]
    return f"{whole}.{fraction}" if fraction else whole


def _decimal(value: float) -> tuple[str, str, int]:
    """Sign, fewest digits, and the exponent of the first of them."""
    sign = "-" if math.copysign(1, value) < 0 else ""
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    power = int(exponent or 0) + len(whole) - 1 - (len(whole + fraction) - len(digits) if digits else 0)
    return sign, digits.rstrip("0") or "0", power if digits else 0


def to_duration(value: Value) -> Duration:
    """Durations, nanoseconds, and texts such as ``1h30m``."""
    if type(value) is Duration:
        return Duration(value.nanoseconds)
    if type(value) is str:
        found = parse_duration(value)
        if found is not None:
            return found
    raise unconvertible(value, types.DURATION)


def to_timestamp(value: Value) -> Timestamp:
    """Timestamps, seconds since 1970, and texts of RFC 3339."""
    if type(value) is Timestamp:
        return Timestamp(value.nanoseconds)
    if type(value) is int:
        return checked_timestamp(value * 10**9)
    found = parse_timestamp(value) if type(value) is str else None
    if found is None:
        raise unconvertible(value, types.TIMESTAMP)
    return checked_timestamp(found)


_TEXTS: dict[type, Callable[[Any], str]] = {
    str: str,
    bool: lambda value: str(value).lower(),
    int: str,
    UInt: lambda value: str(value.number),
    float: double_text,
    Duration: duration_text,
    Timestamp: timestamp_text,
    CelType: lambda value: value.name,
    bytes: _decoded,
}
"""Python's type → its values as text."""
