"""Durations and timestamps as texts, and the parts of a timestamp. Upstream: Go's time, cel-go timestamp.go."""

from __future__ import annotations

import datetime
import re
import zoneinfo
from decimal import Decimal

from kubecel.api_names import go_quote
from kubecel.faults import ValueFault
from kubecel.values import LEAST_INT, MOST_INT, Duration, Timestamp

_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_SPANS = re.compile(r"([+-]?)((?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)", re.ASCII)
_SPAN = re.compile(r"([0-9]*\.?[0-9]*)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_MOMENT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))",
    re.ASCII,
)
_EPOCH = datetime.datetime(1970, 1, 1)
_LONGEST = 200
"""Characters of a duration or timestamp."""


def parse_duration(text: str) -> Duration | None:
    """None for what is no duration of Go."""
    if text in ("0", "+0", "-0"):
        return Duration(0)
    match = _SPANS.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return None
    from fractions import Fraction  # slow to import, and rarely needed

    total = sum(int(Fraction(amount.rstrip(".")) * _UNITS[unit]) for amount, unit in _SPAN.findall(match[2]))
    nanoseconds = -total if match[1] == "-" else total
    return Duration(nanoseconds) if LEAST_INT <= nanoseconds <= MOST_INT else None


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
