"""Why a decision came out as it did: all nodes in tables, or some of them in full.

``Explaining`` says which nodes, and lays them out; below it are scores, refusals, preemption, and all of one node.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from clusterstate.errors import InputError, StaleDecisionError, nearest
from kubescheduler.cli.decision_output import decision_document, fits, would_evict
from kubescheduler.cli.output import ERROR, INDENT, NONE, UNBROKEN, Screen, Toned, paragraph, section_text, table
from kubescheduler.core.decision import Decision, gave_up
from kubescheduler.report.single_file import Section

if TYPE_CHECKING:
    from kubescheduler.core.evidence import RefusalEvidence
    from kubescheduler.planning.rehearsal import Moved
    from priorities.score_evidence import ScoreEvidence


FEW = 10
"""So many scored nodes are all explained in documents; of more only the chosen one and the best other."""


class Explaining(NamedTuple):
    """Which nodes are explained, and how far."""

    top: int | None = None
    """How many nodes that fit and how many that do not; None: all in tables, ``FEW`` or two in documents."""
    nodes: tuple[str, ...] = ()
    """The nodes that are explained in full, and no others; empty: all in tables."""

    def best_nodes(self, decision: Decision) -> list[str]:
        """The nodes whose scores are explained in documents, the best first."""
        order = _by_total(decision)
        if self.nodes:
            return [node for node in order if node in self.nodes]
        if self.top is not None:
            return order[: self.top]
        return order if len(order) <= FEW else order[:2]

    def refused_nodes(self, decision: Decision) -> list[str]:
        """The nodes whose refusals are explained, by name."""
        refused = decision.refused_nodes()
        if self.nodes:
            return [node for node in refused if node in self.nodes]
        return refused[: self.top]

    def work_out(self, decision: Decision) -> None:
        """Asks for all the evidence now, before the cluster changes. Raises InputError for a node that is not there."""
        self._check(decision)
        for node in self.refused_nodes(decision):
            decision.why(node)
        scored = decision.thorough()
        for node in self.best_nodes(scored):
            scored.score_evidence(node)

    def _check(self, decision: Decision) -> None:
        known = {name for name in decision.names if name}
        unknown = [node for node in self.nodes if node not in known]
        if unknown:
            raise InputError(
                f"--node {node}: the cluster has no node of this name{nearest(node, sorted(known))}" for node in unknown
            )

    def text(self, decision: Decision, screen: Screen) -> str:
        """Tables: the scores of the nodes that fit, what every check says of those that were refused, and whom
        preemption would evict where. Or, of the nodes that are named, all that scores and refusals are made of."""
        looked = f"{fits(decision)} nodes fit" if decision.tried else "not tried"
        answer = ERROR if gave_up(decision) else f"{decision.host or NONE} ({looked})"
        head = f"{decision.pod.key}: {answer}"
        said = (decision.error, _failed_calls(decision), _pre_filter_text(decision))
        parts = [screen.paint(screen.filled(head), "head"), *(paragraph(text, screen) for text in said if text)]
        if self.nodes:
            parts += [_node_evidence(decision, node, screen) for node in dict.fromkeys(self.nodes)]
        else:
            refused, evicted = refusals(decision, self.top), candidates(decision)
            parts += [scores(decision, screen, self.top)]
            parts += [section_text(refused, screen), section_text(evicted, screen)]
            parts += [paragraph(would_evict(decision), screen)]
        return "\n\n".join(part for part in parts if part)

    def document(self, decision: Decision) -> dict[str, Any]:
        """The decision as plain data, with what scores and refusals of these nodes were made of. ``scoredByRelease`` is
        False where just one node fits, which the release takes unscored."""
        scored = decision.thorough()
        evidence: dict[str, dict[str, Any]] = {
            node: {
                "scores": [found.to_dict() for found in scored.score_evidence(node)],
                "scoredByRelease": scored is decision,
            }
            for node in self.best_nodes(scored)
        }
        for node in self.refused_nodes(decision):
            evidence[node] = {"refusals": [found.to_dict() for found in decision.why(node).refusals]}
        return {**decision_document(decision), "evidence": evidence}


def _by_total(decision: Decision) -> list[str]:
    """The scored nodes, the chosen one first, then by total."""
    total = decision.total()
    return sorted(total, key=lambda node: (node != decision.host, -total[node], node.encode()))


def _failed_calls(decision: Decision) -> str:
    """What the release only logs: extenders that failed and were passed over."""
    return "\n".join(
        f"extender {trace.name}: {error}"
        for trace in decision.extenders
        for error in (trace.filter_error, trace.prioritize_error)
        if error is not None
    )


def _pre_filter_text(decision: Decision) -> str:
    """What a PreFilter plugin said that rejected the pod whatever the node."""
    rejection = decision.pre_filter_rejection
    if rejection is None:
        return ""
    return (
        f"{rejection.plugin} rejects the pod before any node is looked at: {rejection.message} ({rejection.code.name})"
    )


# --- scores --------------------------------------------------------------------------------

UNSCORED = "-"
NOTHING = "0"
RAW = "In brackets: the plugin's own score, before it was normalised."
UNSCORED_SCORES = "The scores that it would have, which the release does not compute:"

BLOCKS = 3
"""So many blocks of nodes beside one another are read as one table; of more nodes each has lines of its own."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[^A-Za-z0-9]+")
_HEADER_WIDTH = 12

Scores = Mapping[str, Mapping[str, str]]
"""Rule and weight, as ``ImageLocality*1`` → node → its score."""


def scores(decision: Decision, screen: Screen, top: int | None) -> str:
    """The scores of the ``top`` best nodes, or of all; empty where no node fits."""
    if not len(decision.feasible):
        return ""
    if not len(decision.totals):
        alone = f"{decision.host} is the only node that fits, so nothing was scored."
        scored = decision.thorough()
        if not len(scored.totals):
            return screen.filled(alone)
        return f"{screen.filled(f'{alone} {UNSCORED_SCORES}')}\n\n{_score_table(scored, screen, top)}"
    return _score_table(decision, screen, top)


def _score_table(decision: Decision, screen: Screen, top: int | None) -> str:
    telling, silent = _told(decision)
    order = _by_total(decision)
    below = _below_scores(decision, telling, silent, order[len(order[:top]) :])
    return "\n".join([_laid_out(decision, telling, order[:top], screen), *map(screen.filled, below)])


def _told(decision: Decision) -> tuple[Scores, list[str]]:
    """The scores of rules that gave some node some, and the other rules."""
    columns = _columns(decision)
    telling = {name: by_node for name, by_node in columns.items() if set(by_node.values()) != {NOTHING}}
    return telling, [name for name in columns if name not in telling]


def _below_scores(decision: Decision, telling: Scores, silent: Sequence[str], rest: Sequence[str]) -> Iterator[str]:
    """rest: the nodes that fit and are not shown."""
    if any("(" in score for by_node in telling.values() for score in by_node.values()):
        yield RAW
    if silent:
        yield f"0 on every node: {', '.join(silent)}"
    total = decision.total()
    if len(rest) == 1:
        yield f"1 more node fits, with a total of {total[rest[0]]}."
    elif rest:
        yield f"{len(rest)} more nodes fit, with totals of {total[rest[-1]]} to {total[rest[0]]}."


def _columns(decision: Decision) -> Scores:
    """Of rules and extenders, the raw score behind the normalised one where that changed it."""
    columns: dict[str, Mapping[str, str]] = {}
    for name in decision.scores:
        raws = decision.raw(name)
        columns[f"{name}*{decision.weights[name]}"] = {
            node: str(s) if s == raws.get(node, s) else f"{s} ({raws[node]})"
            for node, s in decision.score(name).items()
        }
    for trace in decision.extenders:
        if trace.scores is not None:
            columns[f"{trace.name}*{trace.weight}"] = {host: str(score) for host, score in trace.scores}
    return columns


# --- layouts -------------------------------------------------------------------------------


def _laid_out(decision: Decision, found: Scores, order: Sequence[str], screen: Screen) -> str:
    """A line for each node; if that is too wide, one for each rule; if that is too, some for each node."""
    rows = _score_rows(decision, found, order)
    head = ("NODE", *found, "TOTAL", "")
    stacked = list(zip_longest(*map(_lines, head), fillvalue=""))
    if screen.fits(table([*stacked, *rows])):
        return table([*stacked, *rows], screen, heads=len(stacked))
    for blocks in range(1, BLOCKS + 1):
        size = -(-len(rows) // blocks)
        turned = [list(zip(head, *rows[at : at + size], strict=True)) for at in range(0, len(rows), size)]
        if all(screen.fits(table(block)) for block in turned):
            return "\n\n".join(table(block, screen) for block in turned)
    return table([("NODE", "TOTAL", "", "SCORES"), *_listed(found, rows)], screen, gives_way=3)


def _score_rows(decision: Decision, found: Scores, order: Sequence[str]) -> list[tuple[str, ...]]:
    """For each node its scores, its total, and whether it is the chosen one or as good."""
    total = decision.total()
    highest = max(total.values())
    return [
        (
            node,
            *(by_node.get(node, UNSCORED) for by_node in found.values()),
            str(total[node]),
            _mark(chosen=node == decision.host, tied=total[node] == highest),
        )
        for node in order
    ]


def _listed(found: Scores, rows: Sequence[Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """The scores of each node as a sentence."""
    for node, *given, total, mark in rows:
        pairs = (f"{name} {score}".replace(" ", UNBROKEN) for name, score in zip(found, given, strict=True))
        yield node, total, mark, ", ".join(pairs)


def _mark(*, chosen: bool, tied: bool) -> str:
    if chosen:
        return Toned("chosen", "good")
    return Toned("tied", "even") if tied else ""


def _lines(name: str) -> list[str]:
    """A long name in several lines, broken between its words, so that its column stays narrow."""
    name, star, weight = name.partition("*")
    if "/" in name:
        return [name, star + weight]
    lines = [""]
    for word in _WORD.findall(name):
        if lines[-1] and len(lines[-1] + word) > _HEADER_WIDTH:
            lines.append("")
        lines[-1] += word
    return [*lines, star + weight] if star else lines


NOMINATED = "with the pods nominated there"


def refusals(decision: Decision, top: int | None, *, stale: bool = False) -> Section:
    """Every reason of every check on its own, for the first ``top`` nodes by name, or for all; those that the release
    reports, as it stops at the first, are marked, in framework releases with the code of the node's status.

    stale: the cluster may have changed since; a node of which that is so has its reasons alone.
    """
    reported, checks, codes = decision.reasons(), decision.checks(), decision.codes()
    refused = sorted(reported.keys() | checks.keys(), key=str.encode)
    if not refused or decision.pre_filter_rejection is not None:
        return Section()
    explained = set(decision.refused_nodes())
    rows: list[tuple[str, ...]] = [("NODE", "CHECK", "REASON", "REPORTED AS" if codes else "REPORTED")]
    for node in refused[:top]:
        made_of = _evidence(decision, node, stale=stale) if node in explained else {}
        left, said = list(reported.get(node, ())), checks.get(node, {})
        rows += _rows_of(decision, node, (left, said), made_of, codes.get(node, "yes"))
    rest = refused[len(refused[:top]) :]
    return Section("Refusals", rows, [_further_refused(reported, rest)] if rest else [], gives_way=2)


def _rows_of(
    decision: Decision,
    node: str,
    refused: tuple[list[str], Mapping[str, Sequence[str]]],
    made_of: Mapping[tuple[str, str], str],
    yes: str,
) -> Iterator[tuple[str, ...]]:
    """refused: the reasons that are reported of the node, and those of every check."""
    left, by_check = refused
    for check, reasons in by_check.items():
        for reason in reasons:
            said = made_of.get((check, reason), reason)
            yield (node, check, said, yes if reason in left else Toned("no", "quiet"))
            if reason in left:
                left.remove(reason)
    beside = {reason: text for (_, reason), text in made_of.items()}
    for reason in left:
        yield (node, _source(decision, node, reason), beside.get(reason, reason), yes)


def _further_refused(reported: Mapping[str, Sequence[str]], rest: Sequence[str]) -> str:
    """``40 more nodes do not fit: 38 Insufficient cpu, 2 node(s) were unschedulable.``"""
    counts = Counter(reason for node in rest for reason in reported.get(node, ()))
    said = ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items(), key=lambda item: -item[1]))
    return f"{len(rest)} more {'node does' if len(rest) == 1 else 'nodes do'} not fit{said and ': ' + said}."


def _evidence(decision: Decision, node: str, *, stale: bool) -> dict[tuple[str, str], str]:
    """(check, reason) → the reason with what it was made of."""
    try:
        return {(found.rule, found.reason): found.sentence for found in decision.why(node).refusals}
    except StaleDecisionError:
        if not stale:
            raise
        return {}


def _source(decision: Decision, node: str, reason: str) -> str:
    """Who gave a reason that no check gives."""
    said = (trace.name for trace in decision.extenders if (trace.failed or {}).get(node) == reason)
    left_out = decision.absent is not None and reason in decision.absent.all_reasons
    return next(said, (left_out and ", ".join(decision.pre_filter_plugins)) or NOMINATED)


# --- preemption ----------------------------------------------------------------------------


def candidates(decision: Decision) -> Section:
    """Whom preemption would evict on each node where that would help."""
    preemption = decision.preemption
    if preemption is None or not preemption.candidates:
        return Section()
    rows = [
        (
            node,
            ", ".join(f"{pod.key} ({pod.priority})" for pod in victims.pods) or NONE,
            str(victims.violations),
            Toned("chosen", "good")
            if node == preemption.chosen[0]
            else Toned("alike" if node in preemption.chosen else "", "even"),
        )
        for node, victims in sorted(preemption.candidates.items(), key=lambda item: item[0].encode())
    ]
    return Section("Preemption", [("NODE", "WOULD EVICT (PRIORITY)", "BUDGETS VIOLATED", ""), *rows], gives_way=1)


# --- pages ---------------------------------------------------------------------------------

MOST_EVIDENCE = 50
"""Messages whose evidence is shown."""
EVIDENCE_NODES = 20
"""Of a message so many nodes are shown with what refused it."""


def score_section(decision: Decision, top: int | None) -> Section:
    """What ``scores`` shows, a line a node."""
    scored = decision.thorough()
    if not len(decision.feasible) or not len(scored.totals):
        return Section()
    telling, silent = _told(scored)
    order = _by_total(scored)
    alone = [] if scored is decision else [f"{decision.host} is the only node that fits, so nothing was scored."]
    rows = [("NODE", *telling, "TOTAL", ""), *_score_rows(scored, telling, order[:top])]
    texts = [*alone, *_below_scores(scored, telling, silent, order[len(order[:top]) :])]
    return Section("Scores", rows, texts)


def evidence_of_displaced(nowhere: Iterable[Moved], where: str = "") -> Iterator[Section]:
    """Why pods that came back fit nowhere: what refused them on which node, once for pods of which the same is said.

    where: what the titles begin with.
    """
    alike: dict[str, list[Moved]] = {}
    for moved in nowhere:
        if moved.decision is not None:
            alike.setdefault(moved.message, []).append(moved)
    for message, pods in list(alike.items())[:MOST_EVIDENCE]:
        more = f" and {len(pods) - 1:,} more" if len(pods) > 1 else ""
        decision = pods[0].decision
        assert decision is not None
        found = refusals(decision, EVIDENCE_NODES, stale=True)
        title = f"{where}{pods[0].pod.key}{more}: {' '.join(message.split())}"
        yield msgspec.structs.replace(found, title=title, detail=True)


def _node_evidence(decision: Decision, node: str, screen: Screen) -> str:
    """A paragraph for the node, and one for each rule that scored or refused it: formulas, facts, the rule's page."""
    fitting = node in decision.fits()
    if not fitting and node not in decision.refused_nodes():
        return screen.paint(screen.filled(f"{node} was not looked at."), "head")
    paragraphs = [screen.paint(screen.filled(_verdict(decision, node, fitting=fitting)), "head")]
    if fitting:
        evidence = decision.thorough().score_evidence(node)
        for score in evidence:
            head = f"{score.rule}: {score.normalised} * {score.weight} = {score.product}"
            paragraphs.append(_paragraph(head, _score_lines(score), screen))
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


def _score_lines(score: ScoreEvidence) -> Iterator[str]:
    yield f"score: {score.raw}" if score.formula is None else _equation(score.formula, score.raw, "score")
    if score.normalisation is not None:
        yield _equation(score.normalisation, score.normalised, "normalised")
    elif score.normalised != score.raw:
        yield f"normalised: {score.normalised}"
    yield from _facts(score.inputs)
    yield from _see(score.upstream, score.page)


def _equation(formula: str, number: int, name: str) -> str:
    return f"{name}: {number}" if formula == str(number) else f"{name}: {formula} = {number}"


def _refusal_lines(refusal: RefusalEvidence) -> Iterator[str]:
    if refusal.text:
        yield refusal.text
    if refusal.beside_nominated:
        yield "only beside the pods that are nominated to the node"
    yield from _facts({name: value for name, value in refusal.facts.items() if value != refusal.reason})
    yield from _see(refusal.upstream, refusal.page)


def _see(upstream: str, page: str) -> Iterator[str]:
    """Where more is said of a rule: a command for what comes with the scheduler, the page of what users bring."""
    name, heading = upstream.rpartition(" ")[2], page.partition("#")[2].removeprefix("argument-")
    if upstream and heading:
        yield f"see: kubescheduler explain {name if name.lower() == heading else heading}"
    elif page:
        yield f"see {page}"


def _facts(inputs: Mapping[str, Any]) -> Iterator[str]:
    """``cpu: requested 1500m, allocatable 4`` for each of them."""
    return (f"{name}: {_said(value)}" for name, value in inputs.items())


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_said(inner)}" for name, inner in value.items()) or "none"
    if isinstance(value, (list, tuple, set, frozenset)):
        return "; ".join(map(_said, value)) or "none"
    return "none" if value is None else str(value)
