"""A simulation in a notebook: what became of the pods, as a page and as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from clusterstate.objects import Pod
from kubescheduler.notebook.data_frames import Columns, arrow_table, data_frame
from kubescheduler.notebook.static_html import html_page, html_table

MOST_REASONS = 10
"""Reasons on a page, the most frequent first."""


class Record(Protocol):
    """What became of one pod."""

    pod: Pod
    arrived: float
    node: str
    placed: float | None
    left: float | None
    attempts: int

    @property
    def standing(self) -> str:
        """How it stands: running, finished, pending and so on."""


class Waiting(Protocol):
    """Why pods wait."""

    @property
    def reason(self) -> str:
        """Why pods wait."""

    @property
    def pods(self) -> int:
        """How many pods wait for that reason."""


class Usage(Protocol):
    """Shares of what there is of a resource."""

    @property
    def mean(self) -> float:
        """The mean over time."""

    @property
    def peak(self) -> float:
        """The highest."""

    @property
    def last(self) -> float:
        """At the end."""


class Simulated(Protocol):
    """What of a simulation is shown."""

    @property
    def release(self) -> str:
        """The release that decided."""

    @property
    def end(self) -> float:
        """The last moment, in seconds."""

    @property
    def pods(self) -> Sequence[Record]:
        """What became of each pod."""

    @property
    def resources(self) -> tuple[str, ...]:
        """The names of the resources."""

    def counts(self) -> dict[str, int]:
        """How many pods came to which end."""

    def waits(self) -> list[float]:
        """How long each placed pod waited, in seconds."""

    def reasons(self) -> Sequence[Waiting]:
        """Why pods waited."""

    def level(self, resource: int) -> Usage:
        """The usage of a resource, by its index."""


class SimulationViews:
    """What the report of a simulation offers to notebooks."""

    __slots__ = ()

    def to_frame(self: Simulated) -> Any:
        """A pandas DataFrame with a row for each pod: its outcome and node, when it arrived, was placed and left in
        seconds after the start, and its attempts. Raises ConfigError without pandas."""
        return data_frame(simulation_columns(self), "pod")

    def to_arrow(self: Simulated) -> Any:
        """The rows of ``to_frame`` as a pyarrow Table. Raises ConfigError without pyarrow."""
        return arrow_table(simulation_columns(self))

    def _repr_html_(self: Simulated) -> str:
        """A small static page: counts, waiting times, how much was in use, and why pods wait."""
        return simulation_html(self)


def simulation_columns(report: Simulated) -> Columns:
    """Column → its value of every pod, in the order of arrival."""
    pods = report.pods
    return {
        "pod": [record.pod.key for record in pods],
        "outcome": [record.standing for record in pods],
        "node": [record.node or None for record in pods],
        "arrived": [float(record.arrived) for record in pods],
        "placed": [None if record.placed is None else float(record.placed) for record in pods],
        "left": [None if record.left is None else float(record.left) for record in pods],
        "attempts": [record.attempts for record in pods],
    }


def simulation_html(report: Simulated) -> str:
    """A small static page of a simulation's report."""
    counts = report.counts()
    waits = report.waits()
    facts: list[list[object]] = [[name, count] for name, count in counts.items()]
    if waits:
        facts += [["waited, mean", f"{sum(waits) / len(waits):g} s"], ["waited, longest", f"{waits[-1]:g} s"]]
    levels = [(name, report.level(at)) for at, name in enumerate(report.resources)]
    used = [[name, *(f"{share:.1%}" for share in (each.mean, each.peak, each.last))] for name, each in levels]
    reasons = [[each.pods, each.reason] for each in report.reasons()[:MOST_REASONS]]
    title = f"{counts['placed']} of {counts['pods']} pods placed in {report.end:g} s (release {report.release})"
    return html_page(
        title,
        html_table(["", ""], facts),
        html_table(["resource", "mean", "peak", "end"], used) if used else "",
        html_table(["pods", "wait because"], reasons) if reasons else "",
    )
