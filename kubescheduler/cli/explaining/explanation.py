"""Why a decision came out as it did: all nodes in tables, or some of them in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubescheduler.cli.decision_text import fits, would_evict
from kubescheduler.cli.explaining.refusal_tables import candidates, refusals
from kubescheduler.cli.explaining.score_tables import scores
from kubescheduler.cli.tables import ERROR, NONE
from kubescheduler.core.failed_attempts import gave_up

if TYPE_CHECKING:
    from kubescheduler.cli.explaining.explaining import Explaining
    from kubescheduler.cli.terminal.screen import Screen
    from kubescheduler.core.decision import Decision


def explanation(decision: Decision, explaining: Explaining, screen: Screen) -> str:
    """Tables: the scores of the nodes that fit, what every check says of those that were refused, and whom preemption
    would evict where. Or, of the nodes that are named, all that their scores and refusals are made of."""
    head = f"{decision.pod.key}: {decision.host or NONE} ({fits(decision)} nodes fit)"
    if gave_up(decision):
        head = f"{decision.pod.key}: {ERROR}"
    said = (decision.error, _failed_calls(decision), pre_filter_text(decision))
    parts = [screen.paint(screen.filled(head), "head"), *(_paragraphs(text, screen) for text in said)]
    if explaining.nodes:
        from kubescheduler.cli.explaining.node_evidence import node_evidence

        parts += [node_evidence(decision, node, screen) for node in dict.fromkeys(explaining.nodes)]
    else:
        parts += [scores(decision, screen, explaining.top), refusals(decision, screen, explaining.top)]
        parts += [candidates(decision, screen), _paragraphs(would_evict(decision), screen)]
    return "\n\n".join(part for part in parts if part)


def _paragraphs(text: str | None, screen: Screen) -> str:
    return "\n".join(screen.filled(line) for line in text.split("\n")) if text else ""


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
