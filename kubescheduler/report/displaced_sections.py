"""What is said of pods that had to leave their nodes, part by part: after a drain, an outage, or each of several.

Exit statuses are those of the commands, in the words of their help.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubescheduler.planning.drain_order import STEPS, Drain
from kubescheduler.planning.outage import WORKLOADS, Outage
from kubescheduler.planning.rehearsal import HEADER
from kubescheduler.report.sections import Section

DRAIN_STATUS = ("all pods that come back run again", "one fits nowhere, or a budget blocks")
OUTAGE_STATUS = ("everything runs again", "something does not")
"""What exit statuses 0 and 1 say."""


def drain_sections(answer: Drain) -> Iterator[Section]:
    """The order, if one was asked for, every pod, and what drain does not move."""
    if steps := list(answer.steps()):
        yield Section("Order", [STEPS, *steps], gives_way=2, keys=2)
    if rows := list(answer.rows()):
        yield Section("Pods", [HEADER, *rows], gives_way=3, keys=3)
    if quiet := answer.quiet():
        yield Section("Besides", texts=quiet)


def outage_sections(found: Outage) -> Iterator[Section]:
    """Budgets and how full the others are, workloads that have fewer pods, and every pod."""
    if quiet := found.quiet():
        yield Section("In the end", texts=quiet)
    if workloads := found.workload_rows():
        yield Section("Workloads", [WORKLOADS, *workloads], gives_way=len(WORKLOADS) - 1, keys=1)
    if rows := list(found.rows()):
        yield Section("Pods", [HEADER, *rows], gives_way=3, keys=3)
