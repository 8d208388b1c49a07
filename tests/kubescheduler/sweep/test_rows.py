"""The file of rows."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from clusterstate.errors import InputError
from kubescheduler.sweep import rows
from kubescheduler.sweep.rows import JOURNAL, Row, columns_of, open_rows
from tests.support.comparisons import COLUMNS

HEADER = ",".join(column.name for column in COLUMNS)


@pytest.fixture(params=["rows.csv", "rows.parquet"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file of each format."""
    if request.param.endswith("parquet"):
        pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'kubescheduler[sweep]'")
    return tmp_path / str(request.param)


def row(case: str, **values: Any) -> Row:
    """A row with every column."""
    texts: dict[str, Any] = {column.name: "" if column.kind is str else None for column in COLUMNS}
    return {**texts, "case": case, **values}


ONE = row("one", snapshot='a, "b".json', seed=-3, pods=4, cpu_mean=0.1, cpu_max=1e-06)
TWO = row("two", error="it says, 'no'")


def test_rows_come_back(path: Path) -> None:
    """What was written is read with the values it had, in the order that was asked for."""
    rows = open_rows(str(path), COLUMNS)
    rows.append(TWO)
    rows.append(ONE)
    rows.finish(["one", "two"])
    again = open_rows(str(path), COLUMNS)
    assert list(again.rows.values()) == [ONE, TWO]
    again.finish([])
    assert sorted(file.name for file in path.parent.iterdir()) == [path.name]


def test_going_on(path: Path) -> None:
    """New rows come to those that are there: other sweeps' first, the last of a case counts."""
    rows = open_rows(str(path), COLUMNS)
    for case in ("b", "x", "a"):
        rows.append(row(case, error="before"))
    rows.finish(["a", "b"])
    rows = open_rows(str(path), COLUMNS)
    rows.append(row("c"))
    rows.append(row("b", error="after"))
    rows.finish(["a", "b", "c", "d"])
    found = open_rows(str(path), COLUMNS).rows
    assert {case: one["error"] for case, one in found.items()} == {"x": "before", "a": "before", "b": "after", "c": ""}
    assert list(found) == ["x", "a", "b", "c"]


def test_rows_of_a_sweep_that_was_killed(path: Path) -> None:
    """Rows are safe as soon as they are written, whatever happens to the program."""
    rows = open_rows(str(path), COLUMNS)
    rows.append(ONE)
    rows.finish(["one"])
    open_rows(str(path), COLUMNS).append(TWO)  # and never finished
    found = open_rows(str(path), COLUMNS)
    assert found.rows == {"one": ONE, "two": TWO}
    found.finish(["one", "two"])
    assert list(open_rows(str(path), COLUMNS).rows) == ["one", "two"]


@pytest.mark.parametrize("cut", [1, 5, 60])
def test_a_line_that_was_cut_off(tmp_path: Path, cut: int) -> None:
    """Half a line is taken out, and the file goes on after the last whole one."""
    path = tmp_path / "rows.csv"
    rows = open_rows(str(path), COLUMNS)
    rows.append(ONE)
    rows.append(row("two", snapshot="s" * 50))
    path.write_bytes(path.read_bytes()[:-cut])
    del rows
    rows = open_rows(str(path), COLUMNS)
    assert list(rows.rows) == ["one"]
    rows.append(TWO)
    del rows
    assert list(open_rows(str(path), COLUMNS).rows) == ["one", "two"]


@pytest.mark.parametrize("text", ["", HEADER[:20], HEADER, HEADER + "\n"], ids=["empty", "part", "cut", "header"])
def test_a_file_without_rows(tmp_path: Path, text: str) -> None:
    """An empty file and a header, also a part of it, are the start of a sweep."""
    path = tmp_path / "rows.csv"
    path.write_text(text)
    open_rows(str(path), COLUMNS).append(TWO)
    assert path.read_text().splitlines()[0] == HEADER
    assert open_rows(str(path), COLUMNS).rows == {"two": TWO}


def test_long_cells(tmp_path: Path) -> None:
    """Placements of thousands of pods are one cell, more than the csv module takes by itself."""
    columns, limit = columns_of(placements=True, timings=True), csv.field_size_limit()
    one = {**row("one", placements="x" * (2 * limit)), "seconds": 0.25}
    open_rows(str(tmp_path / "rows.csv"), columns).append(one)
    assert open_rows(str(tmp_path / "rows.csv"), columns).rows == {"one": one}
    assert csv.field_size_limit() == limit


def test_the_journal_goes_on(tmp_path: Path) -> None:
    """Until the end the rows of a Parquet file stand beside it as CSV."""
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'kubescheduler[sweep]'")
    path = tmp_path / "rows.parquet"
    open_rows(str(path), COLUMNS).append(ONE)
    assert not path.exists()
    assert Path(f"{path}{JOURNAL}").read_text().startswith(HEADER)


# --- refusals ----------------------------------------------------------------------------------


def refused(path: Path, content: bytes) -> str:
    """What is said of a file with this content, which stays as it is."""
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        open_rows(str(path), COLUMNS)
    assert path.read_bytes() == content
    (problem,) = error.value.problems
    return problem.removeprefix(f"--out {path}").removeprefix(str(path))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"name,cpu\na,1\n", ": its columns are name, cpu, this sweep's are case, snapshot, "),
        (b"no newline", ": its columns are no newline, this sweep's are case, "),
        (b"\xff\xfe\n", ": it is there already and is no CSV of a sweep; name another file"),
        (f"{HEADER}\na,b\n".encode(), f":2: expected {len(COLUMNS)} columns, found 2; take the line out"),
        (f"{HEADER}\n,,,,x{',' * 13}\n".encode(), ":2: seed: expected a number, found 'x'; take the line out"),
    ],
    ids=["columns", "text", "bytes", "short", "number"],
)
def test_files_of_something_else(tmp_path: Path, content: bytes, problem: str) -> None:
    """A file that no sweep wrote is told of and left alone."""
    assert refused(tmp_path / "rows.csv", content).startswith(problem)


def test_parquet_of_something_else(tmp_path: Path) -> None:
    """Likewise Parquet, with other columns or none at all."""
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'kubescheduler[sweep]'")
    path = tmp_path / "rows.parquet"
    assert refused(path, b"text") == ": it is there already and is no Parquet file; name another"
    path.unlink()
    open_rows(str(path), columns_of(placements=True, timings=False)).finish([])
    assert ": its columns are case, snapshot, " in refused(path, path.read_bytes())


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("rows.txt", "the name says no format; let it end in .csv or .parquet"),
        ("gone/rows.csv", "there is no folder gone; make it first"),
        ("folder.csv", "this is a folder; name a file in it"),
    ],
)
def test_names_that_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, problem: str) -> None:
    """What is wrong with a name, before anything is run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError) as error:
        open_rows(name, COLUMNS)
    assert error.value.problems == (f"--out {name}: {problem}",)


def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parquet says what to install."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'kubescheduler\[sweep\]', or let the name end in \.csv"):
        open_rows(str(tmp_path / "rows.parquet"), COLUMNS)


def test_two_sweeps_into_one_file(path: Path) -> None:
    """The second is refused while the first is at work, whatever the format, and goes on once it has ended."""
    first = open_rows(str(path), COLUMNS)
    first.append(ONE)
    with pytest.raises(InputError, match="another sweep is writing into it"):
        open_rows(str(path), COLUMNS)
    first.finish(["one"])
    assert open_rows(str(path), COLUMNS).rows == {"one": ONE}


def test_rows_of_a_sweep_that_ends_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep that ends just before the next one has the file leaves its rows to it: they are read under the lock."""
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'kubescheduler[sweep]'")
    path = tmp_path / "rows.parquet"
    first = open_rows(str(path), COLUMNS)
    first.append(ONE)
    lock = rows._locked

    def ends_before(journal: str, name: str) -> int:
        monkeypatch.setattr(rows, "_locked", lock)
        first.finish(["one"])
        return lock(journal, name)

    monkeypatch.setattr(rows, "_locked", ends_before)
    second = open_rows(str(path), COLUMNS)
    second.append(TWO)
    second.finish(["two"])
    assert open_rows(str(path), COLUMNS).rows == {"one": ONE, "two": TWO}


@pytest.mark.parametrize("text", ["=HYPERLINK(1)", "@a", "+1", "'=b", "-c"])
def test_no_formulas(tmp_path: Path, text: str) -> None:
    """A text that a spreadsheet would run is written as text, and read as it was."""
    path = tmp_path / "rows.csv"
    rows = open_rows(str(path), COLUMNS)
    rows.append(row("one", snapshot=text))
    rows.finish(["one"])
    assert f",'{text}," in path.read_text()
    assert open_rows(str(path), COLUMNS).rows["one"]["snapshot"] == text
