from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubecel.api_names import UNITS, format_duration, go_duration, parse_duration

MILLI, SECOND, MINUTE, HOUR = (UNITS[unit] for unit in ("ms", "s", "m", "h"))


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("-0", 0),
        ("15s", 15 * SECOND),
        ("1m30s", 90 * SECOND),
        ("500ms", 500 * MILLI),
        ("1.5h", HOUR + 30 * MINUTE),
        (".5s", 500 * MILLI),
        ("1.s", SECOND),
        ("-2s", -2 * SECOND),
        ("+2s", 2 * SECOND),
        ("1us", 1000),
        ("1µs", 1000),
        ("3ns", 3),
        ("1h1m1s1ms", HOUR + MINUTE + SECOND + MILLI),
    ],
)
def test_parsing(text: str, nanoseconds: int) -> None:
    """A sign, and numbers each with its unit."""
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", 'time: invalid duration ""'),
        ("s", 'time: invalid duration "s"'),
        ("-", 'time: invalid duration "-"'),
        ("15", 'time: missing unit in duration "15"'),
        ("1m15", 'time: missing unit in duration "1m15"'),
        ("15x", 'time: unknown unit "x" in duration "15x"'),
        ("1 s", 'time: unknown unit " s" in duration "1 s"'),
        (".s", 'time: invalid duration ".s"'),
        ("1e3s", 'time: unknown unit "e" in duration "1e3s"'),
        ("9999999999h", 'time: invalid duration "9999999999h"'),
    ],
)
def test_faults(text: str, error: str) -> None:
    """Other texts have Go's error."""
    with pytest.raises(ValueError, match="time: ") as caught:
        parse_duration(text)
    assert str(caught.value) == error


@given(st.integers(-(10**15), 10**15))
def test_reading_what_was_written(nanoseconds: int) -> None:
    """Formatting and parsing are inverse."""
    assert parse_duration(format_duration(nanoseconds)) == nanoseconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (15, "15s"),
        (90, "1m30s"),
        (900, "15m0s"),
        (3600, "1h0m0s"),
        (0.5, "500ms"),
        (1.5, "1.5s"),
        (0.0015, "1.5ms"),
        (0.000002, "2µs"),
        (5e-9, "5ns"),
        (-2, "-2s"),
    ],
)
def test_go_duration(seconds: float, text: str) -> None:
    """Units are chosen and zeros dropped as in Go."""
    assert go_duration(seconds) == text
