"""Pictures."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from xml.etree import ElementTree

import pytest

from clusterstate.errors import InputError
from kubescheduler.simulation.plot import (
    WARNING,
    Line,
    Panel,
    chart,
    check_plot,
    nice,
    panels_of,
    time_unit,
    write_plot,
)
from kubescheduler.simulation.simulation_report import Report, Sample

SVG = "{http://www.w3.org/2000/svg}"


def report() -> Report:
    samples = (Sample(0.0, 0, (1000, 0, 1), (4000, 8, 10)), Sample(90.0, 3, (2000, 0, 2), (4000, 8, 10)))
    return Report("1.16", 0.0, 100.0, (), (), ("cpu", "memory", "pods"), samples, ())


def points(text: str) -> list[list[tuple[float, float]]]:
    """The corners of every line."""
    lines = ElementTree.fromstring(text).iter(f"{SVG}polyline")
    return [[tuple(map(float, p.split(","))) for p in line.attrib["points"].split()] for line in lines]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("value", "expected"), [(0, 1), (0.011, 0.02), (1, 1), (3, 5), (5.1, 10), (99, 100), (100, 100)]
)
def test_axes_end_at_round_numbers(value: float, expected: float) -> None:
    """1, 2 or 5 times a power of ten."""
    assert nice(value) == pytest.approx(expected)


@pytest.mark.parametrize(("end", "unit"), [(5, "seconds"), (600, "minutes"), (7200, "hours"), (1e6, "days")])
def test_units_of_time(end: float, unit: str) -> None:
    """The largest of which there are two."""
    assert time_unit(end)[1] == unit


def test_lines_are_steps() -> None:
    """From the first moment to the end, names and titles escaped."""
    text = chart("a < b", [Panel("p & q", [Line("<x>", [(0.0, 1.0), (50.0, 2.0)])])], 100.0)
    (line,) = points(text)
    xs, ys = [x for x, _ in line], [y for _, y in line]
    assert xs == sorted(xs)
    assert (xs[0], xs[-1], xs[-1] - xs[-2]) == (72, 790, pytest.approx(359))
    assert ys[-1] == min(ys)
    assert "&lt;x&gt;" in text


def test_many_moments_do_not_make_a_large_picture() -> None:
    """Of a pixel its lowest, highest and last value are drawn."""
    many = [(float(i), float(i % 7)) for i in range(200_000)]
    (line,) = points(chart("t", [Panel("p", [Line("x", many)])], 200_000.0))
    assert len(line) < 8 * 4 * 960
    assert {y for _, y in line} >= {min(y for _, y in line), max(y for _, y in line)}


def test_a_report_is_drawn(tmp_path: Path) -> None:
    """What was never used is left out; the same report gives the same bytes."""
    assert [line.name for line in panels_of(report())[0].lines] == ["cpu", "pods"]
    for name in ("a.svg", "b.svg"):
        write_plot(report(), str(tmp_path / name))
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert len(points((tmp_path / "a.svg").read_text())) == 3


def test_nothing_happened(tmp_path: Path) -> None:
    """An empty run has a picture too."""
    empty = Report("1.16", 0.0, 0.0, (), (), ("cpu", "pods"), (Sample(0.0, 0, (0, 0), (0, 0)),), ())
    write_plot(empty, str(tmp_path / "a.svg"))
    assert len(points((tmp_path / "a.svg").read_text())) == 1


@pytest.mark.parametrize(
    ("name", "problem"),
    [("a.gif", "the name says no format"), ("none/a.svg", "there is no folder"), ("folder.svg", "this is a folder")],
)
def test_where_nothing_can_be_drawn(tmp_path: Path, name: str, problem: str) -> None:
    """It is said before the run."""
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(InputError, match=problem):
        check_plot(str(tmp_path / name))


def test_png_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says what to install."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"pip install 'kubescheduler\[plot\]'"):
        check_plot(str(tmp_path / "a.png"))


def test_png(tmp_path: Path) -> None:
    """With matplotlib, if it is there; a note changes the picture."""
    pytest.importorskip("matplotlib")
    write_plot(report(), str(tmp_path / "a.png"))
    write_plot(report(), str(tmp_path / "b.png"), ["not asked"])
    pictures = [(tmp_path / name).read_bytes() for name in ("a.png", "b.png")]
    assert all(picture.startswith(b"\x89PNG") for picture in pictures)
    assert pictures[0] != pictures[1]


def test_notes_are_in_the_picture(tmp_path: Path) -> None:
    """Below the title, once; nothing without one."""
    write_plot(report(), str(tmp_path / "a.svg"), ["extenders <x> were not asked"])
    assert ">extenders &lt;x&gt; were not asked</text>" in (tmp_path / "a.svg").read_text()
    write_plot(report(), str(tmp_path / "b.svg"))
    assert WARNING not in (tmp_path / "b.svg").read_text().partition("<polyline")[0]


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    """Its folder went away meanwhile."""
    with pytest.raises(InputError, match="cannot be written"):
        write_plot(report(), str(tmp_path / "none" / "a.svg"))
