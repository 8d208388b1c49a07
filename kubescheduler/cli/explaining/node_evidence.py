"""All that one node's scores or refusals are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kubescheduler.cli.tables import INDENT

if TYPE_CHECKING:
    from kubescheduler.cli.terminal.screen import Screen
    from kubescheduler.core.decision import Decision
    from kubescheduler.core.node_explanation import RefusalEvidence
    from priorities.score_evidence import ScoreEvidence


def node_evidence(decision: Decision, node: str, screen: Screen) -> str:
    """A paragraph for the node, and one for each rule that scored or refused it: formulas, facts, the rule's page."""
    fitting = node in decision.fits()
    if not fitting and node not in decision.refused_nodes():
        return screen.paint(screen.filled(f"{node} was not looked at."), "head")
    paragraphs = [screen.paint(screen.filled(_verdict(decision, node, fitting=fitting)), "head")]
    if fitting:
        found = decision.thorough().score_evidence(node)
        paragraphs += [_paragraph(_score_head(score), _score_lines(score), screen) for score in found]
    else:
        reported = set(decision.reasons().get(node, ()))
        for refusal in decision.why(node).refusals:
            head = f"{refusal.rule}: {refusal.reason}{'' if refusal.reason in reported else ' (not reported)'}"
            paragraphs.append(_paragraph(head, _refusal_lines(refusal), screen))
    return "\n\n".join(paragraphs)


def _verdict(decision: Decision, node: str, *, fitting: bool) -> str:
    if not fitting:
        code = decision.codes().get(node)
        return f"{node} does not fit{f' ({code})' if code else ''}."
    scored = decision.thorough()
    total = f": total {scored.total()[node]}" if len(scored.totals) else ""
    unscored = "" if scored is decision else ", which the release does not compute as no other node fits"
    return f"{node} fits{total}{unscored}{', chosen' if node == decision.host else ''}."


def _paragraph(head: str, lines: Iterator[str], screen: Screen) -> str:
    return "\n".join([screen.filled(head), *(screen.filled(line, INDENT) for line in lines)])


def _score_head(score: ScoreEvidence) -> str:
    return f"{score.rule}: {score.normalised} * {score.weight} = {score.product}"


def _score_lines(score: ScoreEvidence) -> Iterator[str]:
    yield f"score: {score.raw}" if score.formula is None else _equation(score.formula, score.raw, "score")
    if score.normalisation is not None:
        yield _equation(score.normalisation, score.normalised, "normalised")
    elif score.normalised != score.raw:
        yield f"normalised: {score.normalised}"
    yield from facts(score.inputs)
    yield from _see(score.upstream, score.page)


def _equation(formula: str, number: int, name: str) -> str:
    return f"{name}: {number}" if formula == str(number) else f"{name}: {formula} = {number}"


def _refusal_lines(refusal: RefusalEvidence) -> Iterator[str]:
    if refusal.text:
        yield refusal.text
    if refusal.beside_nominated:
        yield "only beside the pods that are nominated to the node"
    yield from facts({name: value for name, value in refusal.facts.items() if value != refusal.reason})
    yield from _see(refusal.upstream, refusal.page)


def _see(upstream: str, page: str) -> Iterator[str]:
    """Where more is said of a rule: a command for what comes with the scheduler, the page of what users bring."""
    name, heading = upstream.rpartition(" ")[2], page.partition("#")[2].removeprefix("argument-")
    if upstream and heading:
        yield f"see: kubescheduler explain {name if name.lower() == heading else heading}"
    elif page:
        yield f"see {page}"


def facts(inputs: Mapping[str, Any]) -> Iterator[str]:
    """``cpu: requested 1500m, allocatable 4`` for each of them."""
    yield from (f"{name}: {_said(value)}" for name, value in inputs.items())


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_said(inner)}" for name, inner in value.items()) or "none"
    if isinstance(value, (list, tuple, set, frozenset)):
        return "; ".join(map(_said, value)) or "none"
    return "none" if value is None else str(value)
