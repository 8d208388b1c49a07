"""Why a decision came out as it did, node by node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubescheduler.cli.output import NONE, table

if TYPE_CHECKING:
    from kubescheduler.core.decision import Decision

UNSCORED = "-"


def explanation(decision: Decision) -> str:
    """Two tables: the scores of the nodes that fit, and what every check says of the nodes that were refused."""
    parts = [f"{decision.pod.key}: {decision.host or decision.message}"]
    if decision.error is None:
        parts += [part for part in (_scores(decision), _refusals(decision)) if part]
    return "\n\n".join(parts)


def _scores(decision: Decision) -> str:
    if not len(decision.feasible):
        return ""
    if not len(decision.totals):
        return f"{decision.host} is the only node that fits, so nothing was scored."
    total = decision.total()
    columns = {f"{name}*{decision.weights[name]}": decision.score(name) for name in decision.scores}
    extended = _extender_scores(decision)
    order = sorted(total, key=lambda node: (-total[node], node.encode()))
    header = ("NODE", *columns, *extended, "TOTAL", "")
    rows = [
        (
            node,
            *(str(scores[node]) for scores in columns.values()),
            *(str(scores.get(node, UNSCORED)) for scores in extended.values()),
            str(total[node]),
            "chosen" if node == decision.host else "tied" if total[node] == total[order[0]] else "",
        )
        for node in order
    ]
    return table([header, *rows])


def _extender_scores(decision: Decision) -> dict[str, dict[str, int]]:
    return {f"{t.name}*{t.weight}": dict(t.scores) for t in decision.extenders if t.scores is not None}


def _refusals(decision: Decision) -> str:
    reasons = decision.reasons()
    if not reasons:
        return ""
    checks = decision.checks()
    rows = [("NODE", "REPORTED", "CHECK", "SAYS")]
    for node in sorted(reasons, key=str.encode):
        reported = ", ".join(reasons[node])
        for check, texts in checks.get(node, {NONE: []}).items():
            rows.append((node, reported, check, ", ".join(texts)))
    return table(rows)
