"""Durations as Go prints them."""

from __future__ import annotations

NANOSECONDS = 1_000_000_000
UNITS = ((1_000_000, "ms"), (1_000, "µs"))


def go_duration(seconds: float) -> str:
    """``1m30s``, ``500ms``, ``0s``. Upstream: Go's time.Duration.String."""
    left = round(seconds * NANOSECONDS)
    if left == 0:
        return "0s"
    sign, left = ("-", -left) if left < 0 else ("", left)
    if left < NANOSECONDS:
        size, unit = next(((size, unit) for size, unit in UNITS if left >= size), (1, "ns"))
        return f"{sign}{_decimal(left, size)}{unit}"
    minutes, left = divmod(left, 60 * NANOSECONDS)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(left, NANOSECONDS)}s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    return f"{sign}{hours}h{text}" if hours else f"{sign}{text}"


def _decimal(amount: int, size: int) -> str:
    """amount / size without trailing zeros."""
    whole, rest = divmod(amount, size)
    return f"{whole}.{str(rest).zfill(len(str(size)) - 1).rstrip('0')}" if rest else str(whole)
