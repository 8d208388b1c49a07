"""Why nodes were refused, and whom preemption would evict where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kubescheduler.cli.tables import NONE, table
from kubescheduler.cli.terminal.screen import Screen, Toned

if TYPE_CHECKING:
    from kubescheduler.core.decision import Decision

NOMINATED = "with the pods nominated there"


def refusals(decision: Decision, screen: Screen, top: int | None) -> str:
    """Every reason of every check on its own, for the first ``top`` nodes by name, or for all; those that the release
    reports, as it stops at the first, are marked, in framework releases with the code of the node's status."""
    reported, checks, codes = decision.reasons(), decision.checks(), decision.codes()
    if decision.pre_filter_rejection is not None:
        return ""
    refused = sorted(reported.keys() | checks.keys(), key=str.encode)
    if not refused:
        return ""
    explained = set(decision.refused_nodes())
    rows: list[tuple[str, ...]] = [("NODE", "CHECK", "REASON", "REPORTED AS" if codes else "REPORTED")]
    for node in refused[:top]:
        made_of = _evidence(decision, node) if node in explained else {}
        rows += _rows_of(decision, node, made_of, codes.get(node, "yes"))
    shown = table(rows, screen, gives_way=2)
    rest = refused[len(refused[:top]) :]
    return f"{shown}\n{screen.filled(_further(decision, rest))}" if rest else shown


def _rows_of(
    decision: Decision, node: str, made_of: Mapping[tuple[str, str], str], yes: str
) -> Iterator[tuple[str, ...]]:
    left = list(decision.reasons().get(node, ()))
    for check, reasons in decision.checks().get(node, {}).items():
        for reason in reasons:
            said = made_of.get((check, reason), reason)
            yield (node, check, said, yes if reason in left else Toned("no", "quiet"))
            if reason in left:
                left.remove(reason)
    beside = {reason: text for (_, reason), text in made_of.items()}
    for reason in left:
        yield (node, _source(decision, node, reason), beside.get(reason, reason), yes)


def _further(decision: Decision, rest: Sequence[str]) -> str:
    """``40 more nodes do not fit: 38 Insufficient cpu, 2 node(s) were unschedulable.``"""
    counts = Counter(reason for node in rest for reason in decision.reasons().get(node, ()))
    said = ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items(), key=lambda item: -item[1]))
    return f"{len(rest)} more {'node does' if len(rest) == 1 else 'nodes do'} not fit{said and ': ' + said}."


def _evidence(decision: Decision, node: str) -> dict[tuple[str, str], str]:
    """(check, reason) → the reason with what it was made of."""
    return {(found.rule, found.reason): found.sentence for found in decision.why(node).refusals}


def _source(decision: Decision, node: str, reason: str) -> str:
    """Who gave a reason that no check gives."""
    said = (trace.name for trace in decision.extenders if (trace.failed or {}).get(node) == reason)
    return next(said, _outside(decision, reason) or NOMINATED)


def _outside(decision: Decision, reason: str) -> str:
    """The PreFilter plugins that left a node out."""
    if decision.absent is None:
        return ""
    return ", ".join(decision.pre_filter_plugins) if reason in decision.absent.all_reasons else ""


# --- preemption ----------------------------------------------------------------------------


def candidates(decision: Decision, screen: Screen) -> str:
    """Whom preemption would evict on each node where that would help."""
    found = decision.preemption
    if found is None or not found.candidates:
        return ""
    rows = [
        (
            node,
            ", ".join(f"{pod.key} ({pod.priority})" for pod in victims.pods) or NONE,
            str(victims.violations),
            Toned("chosen", "good")
            if node == found.chosen[0]
            else Toned("alike" if node in found.chosen else "", "even"),
        )
        for node, victims in sorted(found.candidates.items(), key=lambda item: item[0].encode())
    ]
    return table([("NODE", "WOULD EVICT (PRIORITY)", "BUDGETS VIOLATED", ""), *rows], screen, gives_way=1)
