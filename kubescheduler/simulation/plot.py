"""A picture of a simulation: utilisation of the cluster and pending pods over time."""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

import msgspec

from clusterstate.errors import InputError
from kubescheduler.simulation.simulation_report import Report, share
from kubescheduler.sources.files import check_place, write_whole

WIDTH, PANEL, MARGIN, LEFT, LEGEND = 960, 260, 44, 72, 170
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#7f7f7f")
WARNING = "#d62728"
TICKS = 5

Points = Sequence[tuple[float, float]]
"""(time, value from then on), in order of time."""


class Line(msgspec.Struct, frozen=True):
    """One line of a chart."""

    name: str
    points: Points


class Panel(msgspec.Struct, frozen=True):
    """Lines over one time axis. unit is written behind the values of the other axis."""

    title: str
    lines: Sequence[Line]
    unit: str = ""


def chart(title: str, panels: Sequence[Panel], end: float, note: str = "") -> str:
    """The document. All panels show the time from 0 to ``end`` seconds. note: beside the title, in red."""
    height = MARGIN + len(panels) * (PANEL + MARGIN)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="24" font-size="15">{escape(title)}</text>',
    ]
    if note:
        parts.append(f'<text x="{LEFT}" y="40" fill="{WARNING}">{escape(note)}</text>')
    for index, panel in enumerate(panels):
        parts += _panel(panel, MARGIN + 12 + index * (PANEL + MARGIN), end)
    return "\n".join([*parts, "</svg>", ""])


def nice(highest: float) -> float:
    """The next of 1, 2, 5, 10, 20 … that is not below; 1 for nothing."""
    if highest <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(highest))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= highest * (1 - 1e-9))


def time_unit(end: float) -> tuple[float, str]:
    """(seconds, name) of the unit in which the axis is readable."""
    for length, name in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if end >= 2 * length:
            return length, name
    return 1.0, "seconds"


def _panel(panel: Panel, top: float, end: float) -> Iterator[str]:
    right, bottom = WIDTH - LEGEND, top + PANEL - MARGIN
    highest = nice(max((value for line in panel.lines for _, value in line.points), default=0.0))
    unit, unit_name = time_unit(end)
    across = (right - LEFT) / (end or 1.0)
    up = (bottom - top) / highest
    yield f'<text x="{LEFT}" y="{_n(top - 6)}" fill="#444">{escape(panel.title)}</text>'
    for tick in range(TICKS + 1):
        y = bottom - (bottom - top) * tick / TICKS
        yield f'<line x1="{LEFT}" x2="{right}" y1="{_n(y)}" y2="{_n(y)}" stroke="#ddd"/>'
        label = f"{_short(highest * tick / TICKS)}{panel.unit}"
        yield f'<text x="{LEFT - 6}" y="{_n(y + 4)}" text-anchor="end">{label}</text>'
        x = LEFT + (right - LEFT) * tick / TICKS
        label = _short(end * tick / TICKS / unit)
        yield f'<text x="{_n(x)}" y="{_n(bottom + 16)}" text-anchor="middle">{label}</text>'
    yield f'<text x="{right}" y="{_n(bottom + 32)}" text-anchor="end" fill="#444">{unit_name}</text>'
    for index, line in enumerate(panel.lines):
        colour = COLOURS[index % len(COLOURS)]
        path = " ".join(f"{_n(x)},{_n(bottom - value * up)}" for x, value in _steps(line.points, across, end))
        yield f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{path}"/>'
        y = top + 14 + 18 * index
        yield f'<rect x="{right + 14}" y="{_n(y - 9)}" width="10" height="10" fill="{colour}"/>'
        yield f'<text x="{right + 30}" y="{_n(y)}">{escape(line.name)}</text>'


def _steps(points: Points, across: float, end: float) -> Iterator[tuple[float, float]]:
    """The corners of a step line; of what falls into one pixel its lowest, highest and last value."""
    last = 0.0
    column: list[float] = []
    for at, (time, value) in enumerate(points):
        x = LEFT + round(time * across, 1)
        column.append(value)
        if at + 1 < len(points) and LEFT + round(points[at + 1][0] * across, 1) == x:
            continue
        yield x, last
        if len(column) > 2:
            yield x, min(column)
            yield x, max(column)
        yield x, value
        last, column = value, []
    yield LEFT + end * across, last


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _short(value: float) -> str:
    return f"{value:.4g}"


SVG, PNG = ".svg", ".png"
TITLE = "Simulation"


def check_plot(path: str | None) -> None:
    """Raises InputError when no picture can be written there."""
    if path is None:
        return
    target = Path(path)
    if target.suffix not in (SVG, PNG):
        raise InputError(f"--plot {path}: the name says no format; let it end in {SVG} or {PNG}")
    if target.suffix == PNG and importlib.util.find_spec("matplotlib") is None:
        raise InputError(
            f"--plot {path}: PNG needs matplotlib; pip install 'kubescheduler[plot]', or let the name end in {SVG}"
        )
    check_place(f"--plot {path}", target)


def panels_of(report: Report) -> list[Panel]:
    """Shares of every resource that was used, in per cent, and the number of pending pods."""
    lines = []
    for at, name in enumerate(report.resources):
        points = [(s.time, 100 * share(s.used[at], s.capacity[at])) for s in report.samples]
        if any(value for _, value in points):
            lines.append(Line(name, points))
    pending = Line("pending pods", [(s.time, float(s.pending)) for s in report.samples])
    return [Panel("in use, of the whole cluster", lines, "%"), Panel("pods without a node", [pending])]


def write_plot(report: Report, path: str, notes: Sequence[str] = ()) -> None:
    """Draws the report. notes: what a reader has to know of it. Raises InputError when the file cannot be written."""
    note = "; ".join(notes)
    panels = panels_of(report)
    try:
        if path.endswith(SVG):
            write_whole(path, chart(TITLE, panels, report.end, note))
        else:
            _png(panels, report.end, path, note)
    except OSError as error:
        raise InputError(f"--plot {path}: cannot be written: {error.strerror}") from error


def _png(panels: list[Panel], end: float, path: str, note: str) -> None:
    figure = importlib.import_module("matplotlib.figure").Figure(figsize=(9.6, 3 * len(panels)), layout="constrained")
    if note:
        figure.suptitle(note, color=WARNING, fontsize="small", wrap=True)
    unit, unit_name = time_unit(end)
    for axes, panel in zip(figure.subplots(len(panels), 1, squeeze=False)[:, 0], panels, strict=True):
        for line in panel.lines:
            times = [time / unit for time, _ in line.points]
            values = [value for _, value in line.points]
            axes.step([*times, end / unit], [*values, values[-1]], where="post", label=line.name)
        axes.set_title(panel.title, loc="left")
        axes.set_xlabel(unit_name)
        axes.set_ylabel(panel.unit)
        axes.set_ylim(bottom=0)
        if panel.lines:
            axes.legend(loc="upper right")
    figure.savefig(path, metadata={"Software": None})
