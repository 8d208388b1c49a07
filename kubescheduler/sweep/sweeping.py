"""A sweep: cases are run somewhere, and each leaves a row."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing

import msgspec

from kubescheduler.sweep.cases import Case
from kubescheduler.sweep.rows import ERROR, one_line
from kubescheduler.sweep.rows_file import Rows
from kubescheduler.sweep.run_case import CaseOutcome

Runner = Callable[[Sequence[Case]], Generator[CaseOutcome]]
"""Runs cases and yields each one's outcome once, in whatever order they end. A generator, which is closed early when
the sweep is stopped."""

Progress = Callable[[int, int], None]
"""Called with (cases that have a row, cases in all)."""

Notice = Callable[[str], None]


class SweepSummary(msgspec.Struct, frozen=True):
    """How many cases were run, and which failed."""

    cases: int
    """How many cases there are."""
    there: int
    """How many had a row before."""
    new: int
    """How many were run now."""
    failed: tuple[tuple[str, str], ...]
    """(case, error) of every row with an error."""


def pending_cases(cases: Sequence[Case], rows: Rows, *, retry_errors: bool = False) -> list[Case]:
    """The cases without a row; retry_errors: and those whose row has an error."""
    return [case for case in cases if (row := rows.rows.get(case.id)) is None or (retry_errors and row[ERROR])]


def sweep(
    cases: Sequence[Case],
    runner: Runner,
    rows: Rows,
    *,
    retry_errors: bool = False,
    progress: Progress | None = None,
    notice: Notice | None = None,
) -> SweepSummary:
    """Runs the cases that have no row yet. Every row is written when its case ends.

    When all are there, and also when something stops the sweep, the rows are put in order: the file's rows of other
    cases first, then those of ``cases`` in their order. So the same cases give the same file whatever ran them.
    notice: called once for each thing that may be unexpected about a configuration.
    """
    todo = pending_cases(cases, rows, retry_errors=retry_errors)
    there = len(cases) - len(todo)
    told: set[str] = set()
    try:
        with closing(runner(todo)) as outcomes:
            for done, outcome in enumerate(outcomes, start=1):
                rows.append(one_line(outcome.row))
                if progress is not None:
                    progress(there + done, len(cases))
                if notice is not None:
                    for note in dict.fromkeys(note for note in outcome.notes if note not in told):
                        notice(note)
                told.update(outcome.notes)
    finally:
        rows.finish(case.id for case in cases)
    failed = tuple((case.id, str(rows.rows[case.id][ERROR])) for case in cases if rows.rows[case.id][ERROR])
    return SweepSummary(len(cases), there, len(todo), failed)
