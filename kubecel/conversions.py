"""Conversions between types, such as ``int(x)`` and ``string(x)``, and the texts and parts of durations and timestamps.

Upstream: cel-go common/types, Go's time.
"""

from __future__ import annotations

import datetime
import math
import re
import zoneinfo
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from typing import Any

from kubecel import ValueFault, types
from kubecel.api_names import go_quote, parse_duration
from kubecel.types import CelType
from kubecel.values import (
    LEAST_INT,
    MOST_INT,
    MOST_UINT,
    Duration,
    Timestamp,
    UInt,
    Value,
    checked_int,
    checked_timestamp,
    checked_uint,
    type_name,
)

_MOMENT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))",
    re.ASCII,
)
_EPOCH = datetime.datetime(1970, 1, 1)
_LONGEST = 200
"""Characters of a duration or timestamp."""


def duration_text(value: Duration) -> str:
    """In seconds, such as ``5400s``; as exact as a double."""
    text = format(Decimal(repr(value.nanoseconds / 10**9)), "f")
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text}s"


def parse_timestamp(text: str) -> int | None:
    """Nanoseconds since 1970, or None for what is no moment of RFC 3339."""
    match = _MOMENT.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    try:
        moment = datetime.datetime(year or 4, month, day, hour, minute, second)
    except ValueError:
        return None
    fraction = int((match[7] or "").ljust(9, "0")[:9])
    offset = 0
    if match[8]:
        if int(match[9]) > 24 or int(match[10]) > 60:
            return None
        offset = (int(match[9]) * 60 + int(match[10])) * (-1 if match[8] == "-" else 1)
    since = moment - _EPOCH - datetime.timedelta(days=0 if year else 4 * 366)
    return ((since.days * 86400 + since.seconds) - offset * 60) * 10**9 + fraction


def timestamp_text(value: Timestamp) -> str:
    """RFC 3339 with as much of the fraction as there is."""
    seconds, nanoseconds = divmod(value.nanoseconds, 10**9)
    moment = _EPOCH + datetime.timedelta(seconds=seconds)
    fraction = f".{nanoseconds:09d}".rstrip("0") if nanoseconds else ""
    return f"{moment.year:04d}{moment.strftime('-%m-%dT%H:%M:%S')}{fraction}Z"


def local_time(value: Timestamp, zone: str) -> datetime.datetime:
    """The moment on the clocks of a zone: an IANA name, or hours and minutes such as ``-08:00``. Raises ValueFault."""
    try:
        moment = _EPOCH + datetime.timedelta(seconds=value.nanoseconds // 10**9)
        if ":" in zone:
            return moment + datetime.timedelta(minutes=_offset(zone))
        if zone in ("", "UTC"):
            return moment
        local = moment.replace(tzinfo=datetime.UTC).astimezone(_zone(zone))
    except OverflowError:
        raise ValueFault("timestamp overflow") from None
    return local.replace(tzinfo=None)


def _zone(name: str) -> zoneinfo.ZoneInfo:
    try:
        return zoneinfo.ZoneInfo(name)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        raise ValueFault(f"unknown time zone {name}") from None


def _offset(zone: str) -> int:
    hours, _, minutes = zone.partition(":")
    for part in (hours, minutes):
        if not re.fullmatch(r"[+-]?[0-9]{1,18}", part, re.ASCII):
            raise ValueFault(f"strconv.Atoi: parsing {go_quote(part)}: invalid syntax")
    return int(hours) * 60 + int(minutes) * (-1 if zone.startswith("-") else 1)


def clock_milliseconds(value: Timestamp) -> int:
    """The milliseconds within its second."""
    return value.nanoseconds % 10**9 // 10**6


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
    if type(value) is str and len(value) <= _LONGEST:
        with suppress(ValueError):
            return Duration(parse_duration(value))
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
