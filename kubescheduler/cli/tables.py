"""Tables as kubectl prints them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

NONE = "<none>"
"""What stands in a cell that has nothing."""


def table(rows: Iterable[Sequence[str]]) -> str:
    """Rows as kubectl aligns them: three spaces between columns, nothing after the last."""
    lines = [tuple(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
