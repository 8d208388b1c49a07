"""What a command answers, part by part: shown as text on a terminal, or as a page.

Below are the parts that both a command and the lab have: of a drain, and of an outage or each of several.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from kubescheduler.planning.drain_order import Drain
    from kubescheduler.planning.outage import Outage


class Section(msgspec.Struct, frozen=True):
    """A table, and what is said below it; either may be missing."""

    title: str = ""
    """What it is about; empty: it goes on with what the one before is about."""
    rows: Sequence[Sequence[str]] = ()
    """The headings first."""
    texts: Sequence[str] = ()
    """A paragraph each."""
    gives_way: int | None = None
    """The column that is wrapped where a terminal is narrow, as ``table`` takes it."""
    keys: int = 0
    """The first so many columns say what a row is about."""
    listed: bool = False
    """Whether the texts are points of a list."""
    laid_out: str = ""
    """What a terminal has in place of the rows."""
    detail: bool = False
    """Whether it stands on a page alone, closed at first."""
    code: str = ""
    """A file's text, on a page."""


DRAIN_STATUS = ("all pods that come back run again", "one fits nowhere, or a budget blocks")
OUTAGE_STATUS = ("everything runs again", "something does not")
"""What exit statuses 0 and 1 say, in the words of the commands' help."""


def drain_sections(answer: Drain) -> Iterator[Section]:
    """The order, if one was asked for, every pod, and what drain does not move."""
    from kubescheduler.planning.drain_order import STEPS
    from kubescheduler.planning.rehearsal import HEADER

    if steps := list(answer.steps()):
        yield Section("Order", [STEPS, *steps], gives_way=2, keys=2)
    if rows := list(answer.rows()):
        yield Section("Pods", [HEADER, *rows], gives_way=3, keys=3)
    if quiet := answer.quiet():
        yield Section("Besides", texts=quiet)


def outage_sections(found: Outage) -> Iterator[Section]:
    """Budgets and how full the others are, workloads that have fewer pods, and every pod."""
    from kubescheduler.planning.outage import WORKLOADS
    from kubescheduler.planning.rehearsal import HEADER

    if quiet := found.quiet():
        yield Section("In the end", texts=quiet)
    if workloads := found.workload_rows():
        yield Section("Workloads", [WORKLOADS, *workloads], gives_way=len(WORKLOADS) - 1, keys=1)
    if rows := list(found.rows()):
        yield Section("Pods", [HEADER, *rows], gives_way=3, keys=3)
