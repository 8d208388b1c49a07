"""A sweep's rows: their columns, their values as text, and the CSV or Parquet file that holds them."""

from __future__ import annotations

import csv
import fcntl
import importlib
import importlib.util
import io
import os
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from clusterstate.errors import InputError
from kubescheduler.sources.files import check_place, is_special, whole_file, write_whole
from kubescheduler.sources.untrusted import csv_cell, escaped, is_formula

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


CSV, PARQUET = ".csv", ".parquet"
JOURNAL = ".journal.csv"
"""Goes behind the name of a Parquet file; holds the rows until the sweep ends or is stopped."""

LONGEST = 1 << 30
"""Characters of a cell."""


class Rows:
    """A file of rows."""

    rows: dict[str, Row]
    """By the id of the case, the last one written; a file's first, then as they come."""

    def append(self, row: Row) -> None:
        """Writes a further row."""
        raise NotImplementedError

    def finish(self, order: Iterable[str]) -> None:
        """Closes the file, with its rows in the order of these ids."""
        raise NotImplementedError


def open_rows(path: str, columns: Sequence[Column]) -> Rows:
    """Goes on with the file if it is there. Raises InputError when it cannot be a sweep's, or cannot be written."""
    check_output(path)
    try:
        return CsvRows(path, columns) if path.endswith(CSV) else ParquetRows(path, columns)
    except OSError as error:
        raise InputError(f"--out {path}: {error.strerror or error}") from error


def check_output(path: str) -> None:
    """Raises InputError when no rows can be written there."""
    target = Path(path)
    if target.suffix not in (CSV, PARQUET):
        raise InputError(f"--out {path}: the name says no format; let it end in {CSV} or {PARQUET}")
    if target.suffix == PARQUET and importlib.util.find_spec("pyarrow") is None:
        raise InputError(
            f"--out {path}: Parquet needs pyarrow; pip install 'kubescheduler[sweep]', or let the name end in {CSV}"
        )
    check_place(f"--out {path}", target)
    if is_special(target):
        raise InputError(f"--out {path}: this is no regular file")


def ordered(rows: dict[str, Row], order: Iterable[str]) -> list[Row]:
    """Rows of other sweeps first, as they were; then this sweep's in the order of its cases."""
    own = [case for case in dict.fromkeys(order) if case in rows]
    others = rows.keys() - set(own)
    return [row for case, row in rows.items() if case in others] + [rows[case] for case in own]


class CsvRows(Rows):
    """A CSV file. Every row is written when it comes; a line that was cut off is taken out at the start."""

    def __init__(self, path: str, columns: Sequence[Column]) -> None:
        self._path = os.path.realpath(path)
        self._columns = columns
        self._name = path
        self.rows = {}
        self._unlock = weakref.finalize(self, os.close, _locked(self._path, path))
        data = Path(self._path).read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        self._load(whole or data)
        if len(whole) < len(data):
            os.truncate(self._path, len(whole))
        if not whole:
            self._write([column.name for column in columns])

    def _load(self, data: bytes) -> None:
        header, *lines = _records(data, self._name) or [[]]
        expected = [column.name for column in self._columns]
        if data and header != expected and not _line(expected).encode().startswith(data):
            raise InputError(
                f"--out {self._name}: its columns are {', '.join(header)}, this sweep's are {', '.join(expected)}; "
                "name another file, or give the same options as before"
            )
        for number, cells in enumerate(lines, start=2):
            row = from_cells(cells, self._columns, f"{self._name}:{number}")
            self.rows[str(row[CASE])] = row

    def append(self, row: Row) -> None:
        self.rows[str(row[CASE])] = row
        self._write(to_cells(row, self._columns))

    def _write(self, cells: Sequence[str]) -> None:
        before = os.path.getsize(self._path)
        try:
            with open(self._path, "a", encoding="utf-8", newline="") as file:
                file.write(_line(cells))
        except OSError as error:
            os.truncate(self._path, before)
            if not before:
                os.unlink(self._path)
            raise _unwritable(self._name, error) from error

    def finish(self, order: Iterable[str]) -> None:
        """Puts the rows in order, see ``ordered``, at once or not at all."""
        lines = [[column.name for column in self._columns]]
        lines += (to_cells(row, self._columns) for row in ordered(self.rows, order))
        try:
            write_whole(self._path, "".join(map(_line, lines)))
        except OSError as error:
            raise _unwritable(self._name, error) from error
        self._unlock()

    def discard(self) -> None:
        """Removes the file."""
        Path(self._path).unlink()
        self._unlock()


def _unwritable(name: str, error: OSError) -> InputError:
    return InputError(
        f"--out {name}: cannot be written: {error.strerror or error}; run the same command again to go on"
    )


def _locked(path: str, name: str) -> int:
    """A descriptor of the file, which is kept from other sweeps until it is closed. Raises InputError if one has it."""
    handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise InputError(
            f"--out {name}: another sweep is writing into it; wait until it ends, or name another file"
        ) from error
    return handle


def _line(cells: Sequence[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue()


def _records(data: bytes, name: str) -> list[list[str]]:
    """The lines of a CSV file. Placements may be longer than the csv module takes by itself."""
    limit = csv.field_size_limit(LONGEST)
    try:
        return list(csv.reader(io.StringIO(data.decode(), newline="")))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"--out {name}: it is there already and is no CSV of a sweep; name another file") from error
    finally:
        csv.field_size_limit(limit)


class ParquetRows(Rows):
    """A Parquet file, written when the sweep ends or is stopped; until then rows are in a journal beside it."""

    def __init__(self, path: str, columns: Sequence[Column]) -> None:
        self._path = os.path.realpath(path)
        self._columns = columns
        self._journal = CsvRows(self._path + JOURNAL, columns)
        try:
            before = {str(row[CASE]): row for row in self._before(path)}
        except InputError:
            if not self._journal.rows:
                self._journal.discard()
            raise
        self.rows = before | self._journal.rows

    def _before(self, name: str) -> Iterator[Row]:
        if not os.path.exists(self._path):
            return
        parquet = importlib.import_module("pyarrow.parquet")
        try:
            table = parquet.read_table(self._path)
        except (ValueError, OSError) as error:  # pyarrow's errors are among the former
            raise InputError(f"--out {name}: it is there already and is no Parquet file; name another") from error
        if not table.schema.equals(self._schema()):
            raise InputError(
                f"--out {name}: its columns are {', '.join(table.schema.names)}, this sweep's are "
                f"{', '.join(column.name for column in self._columns)}; name another file, or give the same options"
            )
        yield from table.to_pylist()

    def _schema(self) -> Any:
        arrow = importlib.import_module("pyarrow")
        types = {str: arrow.string(), int: arrow.int64(), float: arrow.float64()}
        return arrow.schema([(column.name, types[column.kind]) for column in self._columns])

    def append(self, row: Row) -> None:
        """Writes a row into the journal."""
        self.rows[str(row[CASE])] = row
        self._journal.append(row)

    def finish(self, order: Iterable[str]) -> None:
        """Writes the rows in order, see ``ordered``, at once or not at all; then the journal goes."""
        arrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
        names = [column.name for column in self._columns]
        rows = [{name: row.get(name) for name in names} for row in ordered(self.rows, order)]
        try:
            with whole_file(self._path) as file:
                parquet.write_table(arrow.Table.from_pylist(rows, schema=self._schema()), file)
        except OSError as error:
            raise _unwritable(self._path, error) from error
        self._journal.discard()
