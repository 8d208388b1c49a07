"""What a decision says of one node that was refused."""

from __future__ import annotations

from clusterstate.errors import StaleDecisionError
from kubescheduler.core.decision import Decision
from predicates.types import NodeError

NOMINATED = "nominated pods"
EXTENDERS = "extenders"
OTHERS = "scheduler"
NOT_LOOKED_AT = "the node was not looked at"


def refusals(decision: Decision, row: int | None, host: str) -> dict[str, tuple[str, ...]]:
    """Check → its reasons for refusing a node. row: the node's, None if the cluster has none of this name.

    Every check that looked at the node has its say, though releases stop at the first that refuses.
    """
    found: dict[str, tuple[str, ...]] = {}
    if row is not None:
        for name, verdict in decision.verdicts:
            reasons = [r for r, mask in verdict.items() if mask[row]]
            if reasons:
                key = decision.pod.key
                found[name] = tuple(r.about(key) if isinstance(r, NodeError) else str(r) for r in reasons)
        for name, reasons_beside in decision.with_nominated.get(row, ()):
            found.setdefault(f"{name} ({NOMINATED})", reasons_beside)
    for trace in decision.extenders:
        if host in (trace.failed or {}):
            found[f"extender {trace.name}"] = ((trace.failed or {})[host],)
    return found or _without_a_check(decision, row, host)


def refusal_sentences(decision: Decision, row: int | None, host: str) -> dict[str, tuple[str, ...]]:
    """Check → its reasons for refusing a node, each with what it was made of.

    Nothing where no check decided, and where the cluster has changed since in what a check reads.
    """
    if decision.explainer is None or row is None or not decision.listed[row]:
        return {}
    try:
        found = decision.why(host).refusals
    except StaleDecisionError:
        return {}
    out: dict[str, tuple[str, ...]] = {}
    for refusal in found:
        out[refusal.rule] = (*out.get(refusal.rule, ()), refusal.sentence)
    return out


def _without_a_check(decision: Decision, row: int | None, host: str) -> dict[str, tuple[str, ...]]:
    """What no Filter says: a PreFilter, an extender, or nobody as the node was passed over."""
    if not decision.tried:
        return {OTHERS: (decision.message,)}
    status = decision.refused.get(host)
    if status is None and row is not None and decision.listed[row] and not decision.looked_at[row]:
        status = decision.absent
    if status is not None and status.all_reasons:
        return {status.plugin or EXTENDERS: tuple(status.all_reasons)}
    return {OTHERS: (NOT_LOOKED_AT,)}
