"""Decisions as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kubescheduler.cli.decision_text import best, fits, told
from kubescheduler.cli.foreign_text import escaped, one_line
from kubescheduler.cli.tables import NONE, table

if TYPE_CHECKING:
    from kubescheduler.core.decision import Decision

FEW = 10
"""So many scored nodes are all explained; of more only the chosen one and the best other."""

SHORT = ("NAMESPACE", "POD", "NODE", "FITS", "MESSAGE")
WIDE = ("NAMESPACE", "POD", "NODE", "FITS", "TOTAL", "TIED", "RELEASE", "MESSAGE")


def rendered(decisions: Iterable[Decision], output: str, *, explain: bool, notes: Sequence[str] = ()) -> Iterator[str]:
    """Decisions as text in pieces, as they come; output: table, wide, json, yaml or name.

    A table comes last, after the explanations, when it is known how wide it is. notes: on all decisions.
    """
    if output in ("json", "yaml"):
        from kubescheduler.cli.list_documents import list_document

        document = explained_document if explain else decision_document
        yield from list_document(
            {"kind": "DecisionList", **({"notes": list(notes)} if notes else {})}, map(document, decisions), output
        )
    elif output == "name":
        yield from (f"{one_line(decision.pod.key)} {one_line(decision.host or NONE)}\n" for decision in decisions)
    else:
        rows: list[tuple[str, ...]] = [WIDE if output == "wide" else SHORT]
        row = _wide if output == "wide" else _short
        for decision in decisions:
            if explain:
                from kubescheduler.cli.explain import explanation

                yield escaped(explanation(decision)) + "\n\n"
            rows.append(row(decision))
        if len(rows) > 1:
            yield "".join(f"! {note}\n" for note in notes) + table(rows) + "\n"


def _short(decision: Decision) -> tuple[str, ...]:
    return (*_names(decision), decision.host or NONE, fits(decision), told(decision))


def _wide(decision: Decision) -> tuple[str, ...]:
    total = str(int(decision.totals.max())) if len(decision.totals) else NONE
    tied = str(len(best(decision)))
    host = decision.host or NONE
    return (*_names(decision), host, fits(decision), total, tied, decision.release, told(decision))


def _names(decision: Decision) -> tuple[str, str]:
    return decision.pod.metadata.namespace or NONE, decision.pod.metadata.name


def decision_document(decision: Decision) -> dict[str, Any]:
    """A decision as plain data: the parts of the evaluate protocol, the pod and the host."""
    from kubescheduler.engine.evaluate_protocol import result_of

    metadata = decision.pod.metadata
    pod = {"namespace": metadata.namespace, "name": metadata.name, "uid": metadata.uid}
    result = {**result_of(decision), "best": best(decision)}
    rejected = decision.pre_filter_rejection
    if rejected is not None:
        result["preFilter"] = {
            "plugin": rejected.plugin,
            "code": rejected.code.name,
            "reasons": list(rejected.all_reasons),
        }
    return {"pod": pod, "release": decision.release, "host": decision.host, "message": decision.message, **result}


def explained_document(decision: Decision) -> dict[str, Any]:
    """The same with what the scores were made of, of the nodes in ``explained_nodes``, and what every refusal was made
    of. ``scoredByRelease`` is False where just one node fits, which the release takes unscored."""
    scored = decision.thorough()
    evidence: dict[str, dict[str, Any]] = {
        node: {
            "scores": [found.to_dict() for found in scored.score_evidence(node)],
            "scoredByRelease": scored is decision,
        }
        for node in explained_nodes(scored)
    }
    for node in decision.refused_nodes():
        evidence[node] = {"refusals": [found.to_dict() for found in decision.why(node).refusals]}
    return {**decision_document(decision), "evidence": evidence}


def explained_nodes(decision: Decision) -> list[str]:
    """The nodes whose scores are explained, the best first."""
    total = decision.total()
    order = sorted(total, key=lambda node: (node != decision.host, -total[node], node.encode()))
    return order if len(order) <= FEW else order[:2]
