"""Durations as Go reads them: ``15s``, ``1m30s``, ``500ms``. Numbers are nanoseconds."""

from __future__ import annotations

import re
from fractions import Fraction

from clusterstate.validation import go_quote
from kubescheduler.framework.durations import go_duration

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
    return Fraction(f"0{number}" if number.startswith(".") else number.removesuffix("."))


def format_duration(nanoseconds: int) -> str:
    """As Go prints it."""
    return go_duration(nanoseconds / SECOND)
