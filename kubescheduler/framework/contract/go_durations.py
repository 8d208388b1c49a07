"""Durations as Go writes and reads them: ``15s``, ``1m30s``, ``500ms``. Upstream: Go's time.Duration."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kubecel.api_names import go_quote

if TYPE_CHECKING:
    from fractions import Fraction

UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
"""Unit → its length."""

SECOND = UNITS["s"]
LONGEST = 2**63 - 1

_SMALL = ((UNITS["ms"], "ms"), (UNITS["µs"], "µs"))

_PART = re.compile(r"(\d+\.?\d*|\.\d+)([^\d.]*)")


def parse_duration(text: str) -> int:
    """The nanoseconds that ``text`` spells. Raises ValueError with Go's text."""
    sign, amount = (text[0], text[1:]) if text[:1] in ("-", "+") else ("", text)
    if amount == "0":
        return 0
    parts = _PART.findall(amount)
    if not parts or "".join(map("".join, parts)) != amount:
        raise ValueError(f"time: invalid duration {go_quote(text)}")
    for _, unit in parts:
        if not unit:
            raise ValueError(f"time: missing unit in duration {go_quote(text)}")
        if unit not in UNITS:
            raise ValueError(f"time: unknown unit {go_quote(unit)} in duration {go_quote(text)}")
    total = sum(int(_fraction(number) * UNITS[unit]) for number, unit in parts)
    if total > LONGEST:
        raise ValueError(f"time: invalid duration {go_quote(text)}")
    return -total if sign == "-" else total


def _fraction(number: str) -> Fraction:
    from fractions import Fraction

    return Fraction(f"0{number}" if number.startswith(".") else number.removesuffix("."))


def format_duration(nanoseconds: int) -> str:
    """As Go prints it."""
    return go_duration(nanoseconds / SECOND)


def go_duration(seconds: float) -> str:
    """``1m30s``, ``500ms``, ``0s``. Upstream: Go's time.Duration.String."""
    left = round(seconds * SECOND)
    if left == 0:
        return "0s"
    sign, left = ("-", -left) if left < 0 else ("", left)
    if left < SECOND:
        size, unit = next(((size, unit) for size, unit in _SMALL if left >= size), (1, "ns"))
        return f"{sign}{_decimal(left, size)}{unit}"
    minutes, left = divmod(left, 60 * SECOND)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(left, SECOND)}s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    return f"{sign}{hours}h{text}" if hours else f"{sign}{text}"


def _decimal(amount: int, size: int) -> str:
    """amount / size without trailing zeros."""
    whole, rest = divmod(amount, size)
    return f"{whole}.{str(rest).zfill(len(str(size)) - 1).rstrip('0')}" if rest else str(whole)
