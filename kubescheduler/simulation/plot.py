"""A picture of a simulation: utilisation of the cluster and pending pods over time."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from clusterstate.errors import InputError
from kubescheduler.simulation.line_chart import WARNING, Line, Panel, chart, time_unit
from kubescheduler.simulation.utilisation import share
from kubescheduler.sources.files import check_place, write_whole

if TYPE_CHECKING:
    from kubescheduler.simulation.simulation_report import Report

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
