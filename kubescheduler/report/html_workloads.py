"""The part of the report by workload: of each controller's pods how many go elsewhere, and mainly why."""

from __future__ import annotations

from html import escape

from kubescheduler.comparison.comparison import Comparison
from kubescheduler.comparison.outcomes import Cause
from kubescheduler.comparison.workload_summaries import WorkloadSummary, by_controller

MOST_SHOWN = 10
"""Workloads that are shown at first; the others are a press away."""

HEADS = ("Workload", "Pods", "Go elsewhere", "Could have been", "Without a node", "Main cause")
ANYTHING = "pods of no workload"


def workloads(comparison: Comparison) -> str:
    """A section with a table for each new column; empty where no workload differs."""
    found = by_controller(comparison.pods)
    if not found:
        return ""
    several = len(comparison.titles) > 2
    tables = "".join(
        f'<div data-column="{at}">{f"<h3>{escape(name)}</h3>" if several else ""}{_table(found, at)}</div>'
        for at, name in enumerate(comparison.titles[1:])
    )
    return (
        '<section aria-labelledby="workloads">\n<h2 id="workloads">Workloads</h2>\n'
        f'<p class="hint screen">Choose a workload to see its pods.</p>\n{tables}\n</section>'
    )


def _table(found: tuple[WorkloadSummary, ...], column: int) -> str:
    """Of the workloads that differ in this column; those after the first ones are closed at first."""
    rows = [_row(one, column) for one in found if one.changes[column].cause is not Cause.SAME]
    if not rows:
        return "<p>Every pod of a workload goes where it went.</p>"
    left = len(rows) - MOST_SHOWN
    if left <= 0:
        return _rows(rows)
    more = f"{left:,} more {'workload' if left == 1 else 'workloads'}"
    return f"{_rows(rows[:MOST_SHOWN])}<details><summary>{more}</summary>{_rows(rows[MOST_SHOWN:])}</details>"


def _rows(rows: list[str]) -> str:
    """A table that is one card for each row where the screen is narrow."""
    heads = "".join(
        f'<th scope="col" role="columnheader"{" class=number" if head in HEADS[1:-1] else ""}>{head}</th>'
        for head in HEADS
    )
    return (
        '<table class="cards workloads" role="table" aria-label="Workloads">'
        f'<thead role="rowgroup"><tr role="row">{heads}</tr></thead>'
        f'<tbody role="rowgroup">{"".join(rows)}</tbody></table>'
    )


def _row(found: WorkloadSummary, column: int) -> str:
    change = found.changes[column]
    unplaced = f"{found.unplaced:,}"
    if change.unplaced != found.unplaced:
        unplaced += f" → {change.unplaced:,}"
    share = f" ({change.causes[change.cause]:,})" if len(change.causes) > 1 else ""
    cells = (f"{found.pods:,}", f"{change.moved:,}", f"{change.could_have_been:,}", unplaced)
    numbers = "".join(
        f'<td role="cell" class="number" data-label="{head}">{cell}</td>'
        for head, cell in zip(HEADS[1:-1], cells, strict=True)
    )
    cause = f'<td role="cell" class="cause" data-label="{HEADS[-1]}">{change.cause}{share}</td>'
    return f'<tr role="row"><th scope="row" role="rowheader">{_name(found)}</th>{numbers}{cause}</tr>'


def _name(found: WorkloadSummary) -> str:
    """A button that leaves only its pods in the table below. In the data the pods of no workload have none."""
    name = f"{found.namespace}/{found.workload}" if found.workload else ""
    text = f"{escape(found.workload)} <small>{escape(found.namespace)}</small>" if name else ANYTHING
    return f'<button type="button" class="picks" data-workload="{escape(name)}" aria-pressed="false">{text}</button>'
