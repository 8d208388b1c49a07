"""Tables as kubectl prints them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubescheduler.cli.foreign_text import one_line

NONE = "<none>"
"""What stands in a cell that has nothing."""


def table(rows: Iterable[Sequence[str]]) -> str:
    """Rows as kubectl aligns them: three spaces between columns, nothing after the last; control characters escaped."""
    lines = [tuple(map(one_line, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
