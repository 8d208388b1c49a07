"""The columns of a sweep's rows, and their values as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from clusterstate.errors import InputError
from kubescheduler.sources.foreign_text import csv_cell, escaped, is_formula

Value = str | int | float | None
Row = Mapping[str, Value]
"""Column → value; None: there is none, as in a row that only has an error."""


class Column(NamedTuple):
    """A column of the table of results."""

    name: str
    kind: type[str] | type[int] | type[float]
    """The type of its values, which may be None unless they are texts."""


CASE, ERROR, PLACEMENTS, SECONDS = "case", "error", "placements", "seconds"
PREEMPTIONS, VICTIMS, MOVED = "preemptions", "victims", "moved"

_BASE = (
    Column(CASE, str),
    Column("snapshot", str),
    Column("configuration", str),
    Column("weights", str),
    Column("seed", int),
    Column("pods", int),
    Column("scheduled", int),
    Column("unschedulable", int),
    Column("nodes", int),
    Column("nodes_used", int),
    Column("cpu_mean", float),
    Column("cpu_max", float),
    Column("cpu_stddev", float),
    Column("memory_mean", float),
    Column("memory_max", float),
    Column("memory_stddev", float),
    Column("digest", str),
)


def columns_of(*, placements: bool, timings: bool, preempt: bool = False, running: bool = False) -> tuple[Column, ...]:
    """The columns in order; the error comes last."""
    more = [
        (running, Column(MOVED, int)),
        (preempt, Column(PREEMPTIONS, int)),
        (preempt, Column(VICTIMS, int)),
        (placements, Column(PLACEMENTS, str)),
        (timings, Column(SECONDS, float)),
    ]
    return (*_BASE, *(column for wanted, column in more if wanted), Column(ERROR, str))


def one_line(row: Row) -> Row:
    """The row without line breaks in its texts, so that in a CSV file a row is a line."""
    return {
        name: escaped("; ".join(value.splitlines())) if isinstance(value, str) else value for name, value in row.items()
    }


def to_cells(row: Row, columns: Sequence[Column]) -> list[str]:
    """A row as texts, empty for None; what a spreadsheet would take for a formula has an apostrophe before it."""
    return ["" if (value := row.get(column.name)) is None else _cell(value) for column in columns]


def _cell(value: str | float) -> str:
    return csv_cell(value) if isinstance(value, str) else str(value)


def _text(cell: str) -> str:
    """The text that ``_cell`` made a cell of."""
    return cell[1:] if cell.startswith("'") and is_formula(cell) else cell


def from_cells(cells: Sequence[str], columns: Sequence[Column], where: str) -> Row:
    """The row of some texts. Raises InputError, beginning with ``where``, for a line that no sweep wrote."""
    if len(cells) != len(columns):
        raise InputError(f"{where}: expected {len(columns)} columns, found {len(cells)}; take the line out")
    row: dict[str, Value] = {}
    for column, cell in zip(columns, cells, strict=True):
        try:
            row[column.name] = _text(cell) if column.kind is str else column.kind(cell) if cell else None
        except ValueError:
            raise InputError(f"{where}: {column.name}: expected a number, found {cell!r}; take the line out") from None
    return row
