"""Parts of timestamps and durations. Upstream: cel-go common/stdlib/standard.go."""

from __future__ import annotations

import datetime
from collections.abc import Callable

from kubecel.functions.overloads import Act, Function, Overload
from kubecel.times import clock_milliseconds, local_time
from kubecel.values import Duration, Timestamp

_PARTS: dict[str, tuple[str, Callable[[datetime.datetime], int]]] = {
    "getFullYear": ("year", lambda moment: moment.year),
    "getMonth": ("month", lambda moment: moment.month - 1),
    "getDayOfYear": ("day_of_year", lambda moment: moment.timetuple().tm_yday - 1),
    "getDayOfMonth": ("day_of_month", lambda moment: moment.day - 1),
    "getDate": ("day_of_month_1_based", lambda moment: moment.day),
    "getDayOfWeek": ("day_of_week", lambda moment: (moment.weekday() + 1) % 7),
    "getHours": ("hours", lambda moment: moment.hour),
    "getMinutes": ("minutes", lambda moment: moment.minute),
    "getSeconds": ("seconds", lambda moment: moment.second),
}
"""Method of a timestamp → (what its ids end with, the part); months, days of month, year and week count from 0."""

_UNITS = {"getHours": 3600 * 10**9, "getMinutes": 60 * 10**9, "getSeconds": 10**9}
"""Method of a duration → nanoseconds of its unit."""


def _part(read: Callable[[datetime.datetime], int]) -> Act:
    def act(value: Timestamp, zone: str = "") -> int:
        return read(local_time(value, zone))

    return act


def _span(unit: int) -> Act:
    def act(value: Duration) -> int:
        return abs(value.nanoseconds) // unit * (1 if value.nanoseconds >= 0 else -1)

    return act


def _milliseconds(value: Timestamp, _zone: str = "") -> int:
    local_time(value, _zone)
    return clock_milliseconds(value)


def _overloads(end: str, act: Act) -> tuple[Overload, ...]:
    return (
        Overload(f"timestamp_to_{end}", "timestamp.() -> int", act),
        Overload(f"timestamp_to_{end}_with_tz", "timestamp.(string) -> int", act),
    )


def times() -> tuple[Function, ...]:
    """The functions of this file."""
    found = []
    for name, (end, read) in _PARTS.items():
        overloads = _overloads(end, _part(read))
        if name in _UNITS:
            overloads += (Overload(f"duration_to_{end}", "duration.() -> int", _span(_UNITS[name])),)
        found.append(Function(name, overloads))
    thousandths = Overload("duration_to_milliseconds", "duration.() -> int", _span(10**6))
    found.append(Function("getMilliseconds", (*_overloads("milliseconds", _milliseconds), thousandths)))
    return tuple(found)
