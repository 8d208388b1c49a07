"""A comparison in a notebook: who goes elsewhere and why, as a page and as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from kubescheduler.notebook.data_frames import Columns, arrow_table, data_frame
from kubescheduler.notebook.static_html import html_page, html_table, html_text

MOST_PODS = 20
"""Pods on a page."""


class ColumnOutcome(Protocol):
    """Where one column puts a pod."""

    @property
    def host(self) -> str | None:
        """The chosen node; None for none."""


class RunShare(Protocol):
    """In how many of several runs a pod goes elsewhere."""

    @property
    def share(self) -> float:
        """0 to 1."""


class Explained(Protocol):
    """Why a pod goes elsewhere in one new column."""

    @property
    def text(self) -> str:
        """The sentence."""

    @property
    def cause(self) -> str:
        """The primary cause."""

    @property
    def moves(self) -> RunShare | None:
        """The share of runs in which it goes elsewhere; None without runs that draw."""


class ComparedPod(Protocol):
    """One pod in all columns."""

    @property
    def pod(self) -> str:
        """The pod's namespace/name."""

    @property
    def moved(self) -> bool:
        """Whether it goes elsewhere in some column."""

    @property
    def differs(self) -> bool:
        """Whether it is not the same in some column, or could not be compared."""

    @property
    def outcomes(self) -> Sequence[ColumnOutcome]:
        """By column, the old one first."""

    @property
    def changes(self) -> Sequence[Explained]:
        """By new column."""


class ComparedColumns(Protocol):
    """What of a comparison is shown."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, the old one first."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader has to know of the answers."""

    @property
    def pods(self) -> Sequence[ComparedPod]:
        """The compared pods."""


class ComparisonViews:
    """What a comparison offers to notebooks."""

    __slots__ = ()

    def to_frame(self: ComparedColumns) -> Any:
        """A pandas DataFrame with a row for each pod: whether it moves, its host in each column, and by each new column
        the cause; with runs that draw among equal totals also the share of those in which it moves.

        Raises ConfigError without pandas.
        """
        return data_frame(comparison_columns(self), "pod")

    def to_arrow(self: ComparedColumns) -> Any:
        """The rows of ``to_frame`` as a pyarrow Table. Raises ConfigError without pyarrow."""
        return arrow_table(comparison_columns(self))

    def _repr_html_(self: ComparedColumns) -> str:
        """A small static page: how many pods go elsewhere, which, and why."""
        return comparison_html(self)


def comparison_columns(compared: ComparedColumns) -> Columns:
    """Column → its value of every pod, in the pods' order."""
    pods = compared.pods
    return {
        "pod": [pod.pod for pod in pods],
        "moved": [pod.moved for pod in pods],
        **{f"host {name}": [pod.outcomes[at].host for pod in pods] for at, name in enumerate(compared.names)},
        **{f"cause {name}": [str(pod.changes[at].cause) for pod in pods] for at, name in enumerate(compared.names[1:])},
        **{f"moves {name}": [_share(pod.changes[at]) for pod in pods] for at, name in enumerate(_drawn(compared))},
    }


def _drawn(compared: ComparedColumns) -> Sequence[str]:
    """The new columns, if there were runs that draw among equal totals; else nothing."""
    found = any(change.moves is not None for pod in compared.pods for change in pod.changes)
    return compared.names[1:] if found else ()


def _share(change: Explained) -> float | None:
    return None if change.moves is None else change.moves.share


def comparison_html(compared: ComparedColumns) -> str:
    """A small static page of a comparison."""
    moved = [pod for pod in compared.pods if pod.differs]
    total, elsewhere = len(compared.pods), sum(pod.moved for pod in compared.pods)
    title = f"{elsewhere} of {total} {'pod goes' if total == 1 else 'pods go'} elsewhere"
    if besides := len(moved) - elsewhere:
        title += f", {besides} more {'differs' if besides == 1 else 'differ'} or could not be compared"
    title += f" ({' → '.join(compared.names)})"
    said = [html_text(note) for note in compared.notes]
    rows = [
        [pod.pod, *(outcome.host or "no node" for outcome in pod.outcomes), *_whys(pod.changes)]
        for pod in moved[:MOST_PODS]
    ]
    header = ["pod", *compared.names, "cause", "why"]
    more = f"and {len(moved) - MOST_PODS} more" if len(moved) > MOST_PODS else ""
    return html_page(title, *said, html_table(header, rows) if rows else "", html_text(more))


def _whys(changes: Sequence[Explained]) -> list[str]:
    """The cause and the sentence of every new column."""
    causes = [str(change.cause) for change in changes]
    return [", ".join(causes), " ".join(change.text for change in changes)]
