"""The head of the report for one new column: its numbers at a glance, and the causes as bars to press."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from html import escape

from kubescheduler.comparison.comparison import Comparison
from kubescheduler.comparison.outcomes import MEANINGS, Cause
from kubescheduler.report.html_charts import bar

Fact = tuple[str, str, str]
"""What it is, the number, a note."""

DAEMONS = ", by other than DaemonSet and static pods"


def glance(comparison: Comparison, column: int) -> str:
    """The numbers that most readers came for."""
    facts = "".join(
        f"<div><dt>{name}</dt><dd><b>{number}</b> {note}</dd></div>"
        for name, number, note in _facts(comparison, column)
    )
    return f'<dl class="facts">{facts}</dl>'


def _facts(comparison: Comparison, column: int) -> Iterator[Fact]:
    pods = comparison.pods
    moved = sum(pod.changes[column].moved for pod in pods)
    hosts = [(pod.outcomes[0].host, pod.outcomes[column + 1].host) for pod in pods]
    chance = sum(pod.changes[column].cause is Cause.COULD_HAVE_BEEN for pod in pods)
    refused = sum(pod.changes[column].cause is Cause.DIFFERENT_REASONS for pod in pods)
    evicting = sum(pod.changes[column].cause is Cause.DIFFERENT_VICTIMS for pod in pods)
    lost = sum(old is not None and new is None for old, new in hosts)
    found = sum(old is None and new is not None for old, new in hosts)
    old, new = comparison.effects[0], comparison.effects[column + 1]
    yield "pods compared", f"{len(pods):,}", ""
    yield "go elsewhere", f"{moved:,}", f"of {len(pods):,}, {moved / len(pods):.0%}" if pods else ""
    yield (
        "without a node",
        f"{sum(host is None for host, _ in hosts):,} → {sum(host is None for _, host in hosts):,}",
        f"{lost:,} newly without, {found:,} newly placed" if lost or found else "",
    )
    if chance:
        yield "could have been", f"{chance:,}", "on one of the old scheduler's equal best"
    if ties := sum(pod.changes[column].cause is Cause.DIFFERENT_TIES for pod in pods):
        yield "other equal best", f"{ties:,}", "the same node by name"
    if refused:
        yield "refused otherwise", f"{refused:,}", "no node before and now, for different reasons"
    if evicting:
        yield "evict other pods", f"{evicting:,}", ""
    yield (
        "nodes used",
        f"{old.nodes_used:,} → {new.nodes_used:,}",
        f"of {len(new.nodes):,}{DAEMONS * bool(new.daemons)}",
    )
    if old.evicted or new.evicted:
        yield "pods evicted", f"{old.evicted:,} → {new.evicted:,}", ""
    if errors := sum(pod.changes[column].cause is Cause.ERROR for pod in pods):
        yield "not compared", f"{errors:,}", "an error ended an attempt"


def causes(comparison: Comparison, column: int, tolerated: Collection[Cause] = ()) -> str:
    """A button per cause with its bar, the most frequent first and ``same`` last."""
    counts = comparison.summary[column]
    moved = [(cause, count) for cause, count in counts.items() if cause is not Cause.SAME]
    same = [(Cause.SAME, counts[Cause.SAME])] if Cause.SAME in counts else []
    none = "" if moved else "<p>Every pod goes where it went.</p>"
    highest = max((count for _, count in moved), default=0)
    items = "".join(f"<li>{_button(cause, count, highest, cause in tolerated)}</li>" for cause, count in moved + same)
    return f'{none}<ul class="bars">{items}</ul>'


def _button(cause: Cause, count: int, highest: int, tolerated: bool) -> str:
    drawn = "" if cause is Cause.SAME else bar(count, highest)
    meaning = escape(MEANINGS[cause]) + " (tolerated)" * tolerated
    return (
        f'<button type="button" data-cause="{cause}" aria-pressed="false">'
        f'<span class="name"><b>{cause}</b> <span>{meaning}</span></span>{drawn}'
        f'<span class="amount">{count:,}</span></button>'
    )
