"""Words that several answers have in common."""

from __future__ import annotations

from collections.abc import Sequence

NAMED = 3
"""Names in a sentence; of more the first, and how many there are besides."""


def counted(count: int, noun: str) -> str:
    """``1 pod``, ``2,000 pods``."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def named(names: Sequence[str], most: int = NAMED) -> str:
    """``a, b, c and 2 more``."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
