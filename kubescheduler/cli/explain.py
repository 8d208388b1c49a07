"""Why a decision came out as it did, node by node."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from kubescheduler.cli.decision_text import fits, would_evict
from kubescheduler.cli.tables import NONE, table
from kubescheduler.core.decision import Decision

if TYPE_CHECKING:
    from kubescheduler.core.decision import Decision

UNSCORED = "-"
RAW = "In brackets: the plugin's own score, before it was normalised."
UNSCORED_SCORES = "The scores that it would have, which the release does not compute:"
NOMINATED = "with the pods nominated there"

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[^A-Za-z0-9]+")
_HEADER_WIDTH = 12


def explanation(decision: Decision) -> str:
    """Tables: the scores of the nodes that fit, what every check says of those that were refused, and whom preemption
    would evict where."""
    head = f"{decision.pod.key}: {decision.host or NONE} ({fits(decision)} nodes fit)"
    preempting = (_candidates(decision), would_evict(decision))
    said = (decision.error, _failed_calls(decision), pre_filter_text(decision))
    parts = (head, *said, _scores(decision), _refusals(decision), *preempting)
    return "\n\n".join(part for part in parts if part)


def _failed_calls(decision: Decision) -> str:
    """What the release only logs: extenders that failed and were passed over."""
    return "\n".join(
        f"extender {trace.name}: {error}"
        for trace in decision.extenders
        for error in (trace.filter_error, trace.prioritize_error)
        if error is not None
    )


def pre_filter_text(decision: Decision) -> str:
    """What a PreFilter plugin said that rejected the pod whatever the node."""
    found = decision.pre_filter_rejection
    if found is None:
        return ""
    return f"{found.plugin} rejects the pod before any node is looked at: {found.message} ({found.code.name})"


def _candidates(decision: Decision) -> str:
    """Whom preemption would evict on each node where that would help."""
    found = decision.preemption
    if found is None or not found.candidates:
        return ""
    rows = [
        (
            node,
            ", ".join(f"{pod.key} ({pod.priority})" for pod in victims.pods) or NONE,
            str(victims.violations),
            "chosen" if node == found.chosen[0] else "alike" if node in found.chosen else "",
        )
        for node, victims in sorted(found.candidates.items(), key=lambda item: item[0].encode())
    ]
    return table([("NODE", "WOULD EVICT (PRIORITY)", "BUDGETS VIOLATED", ""), *rows])


# --- scores --------------------------------------------------------------------------------


def _scores(decision: Decision) -> str:
    if not len(decision.feasible):
        return ""
    if not len(decision.totals):
        alone = f"{decision.host} is the only node that fits, so nothing was scored."
        scored = decision.thorough()
        return f"{alone} {UNSCORED_SCORES}\n\n{_score_table(scored)}" if len(scored.totals) else alone
    return _score_table(decision)


def _score_table(decision: Decision) -> str:
    total = decision.total()
    columns = {f"{name}*{decision.weights[name]}": _with_raw(decision, name) for name in decision.scores}
    for trace in decision.extenders:
        if trace.scores is not None:
            columns[f"{trace.name}*{trace.weight}"] = {host: str(score) for host, score in trace.scores}
    order = sorted(total, key=lambda node: (-total[node], node.encode()))
    rows = [
        (
            node,
            *(scores.get(node, UNSCORED) for scores in columns.values()),
            str(total[node]),
            "chosen" if node == decision.host else "tied" if total[node] == total[order[0]] else "",
        )
        for node in order
    ]
    shown = table([*_stacked(("NODE", *columns, "TOTAL", "")), *rows])
    bracketed = any("(" in score for scores in columns.values() for score in scores.values())
    return f"{shown}\n{RAW}" if bracketed else shown


def _with_raw(decision: Decision, name: str) -> dict[str, str]:
    """Node → score, with the raw one behind it where normalising changed it."""
    scores = decision.score(name)
    raws = decision.raw(name)
    return {node: str(s) if s == raws.get(node, s) else f"{s} ({raws[node]})" for node, s in scores.items()}


def _stacked(header: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Long names in several lines, broken between their words, so that the columns stay narrow."""
    yield from zip_longest(*map(_lines, header), fillvalue="")


def _lines(name: str) -> list[str]:
    name, star, weight = name.partition("*")
    if "/" in name:
        return [name, star + weight]
    lines = [""]
    for word in _WORD.findall(name):
        if lines[-1] and len(lines[-1] + word) > _HEADER_WIDTH:
            lines.append("")
        lines[-1] += word
    return [*lines, star + weight] if star else lines


# --- refusals ------------------------------------------------------------------------------


def _refusals(decision: Decision) -> str:
    """Every reason of every check on its own; those that the release reports, as it stops at the first, are marked,
    in framework releases with the code of the node's status."""
    reported, checks, codes = decision.reasons(), decision.checks(), decision.codes()
    if decision.pre_filter_rejection is not None:
        return ""
    explained = set(decision.refused_nodes())
    rows = [("NODE", "CHECK", "REASON", "REPORTED AS" if codes else "REPORTED")]
    for node in sorted(reported.keys() | checks.keys(), key=str.encode):
        left = list(reported.get(node, ()))
        made_of = _evidence(decision, node) if node in explained else {}
        yes = codes.get(node, "yes")
        for check, reasons in checks.get(node, {}).items():
            for reason in reasons:
                rows.append((node, check, made_of.get((check, reason), reason), yes if reason in left else "no"))
                if reason in left:
                    left.remove(reason)
        beside = {reason: text for (_, reason), text in made_of.items()}
        rows += [(node, _source(decision, node, reason), beside.get(reason, reason), yes) for reason in left]
    return table(rows) if len(rows) > 1 else ""


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
