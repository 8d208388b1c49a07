"""Decisions as text: tables, names, and documents in JSON and YAML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from kubescheduler.cli.decision_text import best, fits, message_line
from kubescheduler.cli.output import ERROR, NONE, PLAIN, Screen, Toned, noted, table
from kubescheduler.core.decision import Decision, gave_up
from kubescheduler.sources.sanitize import one_line

if TYPE_CHECKING:
    from kubescheduler.cli.explaining import Explaining
    from kubescheduler.core.equal_runs import BulkPlacement
    from kubescheduler.report.ci_results import CiCase, Suite


SHORT = ("NAMESPACE", "POD", "NODE", "FITS", "MESSAGE")
WIDE = ("NAMESPACE", "POD", "NODE", "FITS", "TOTAL", "TIED", "RELEASE", "MESSAGE")


def rendered(
    decisions: Iterable[Any],
    output: str,
    explaining: Explaining | None = None,
    screen: Screen = PLAIN,
    *,
    notes: Sequence[str] = (),
) -> Iterator[str]:
    """Decisions as text in pieces, as they come; output: table, wide, json, yaml or name. explaining: None: just what
    was decided; then tables and names may also be of Placements.

    Of a pod whose attempt an error ended there is no name, and the table says ``<error>``. A table comes last, after
    the explanations, when it is known how wide it is. notes: on all decisions.
    """
    if output in ("json", "yaml"):
        from kubescheduler.cli.output import list_document

        document = decision_document if explaining is None else partial(explained_document, explaining=explaining)
        yield from list_document(
            {"kind": "DecisionList", **({"notes": list(notes)} if notes else {})}, map(document, decisions), output
        )
    elif output == "name":
        answers = (decision for decision in decisions if is_placement(decision) or not gave_up(decision))
        yield from (f"{one_line(decision.pod.key)} {one_line(decision.host or NONE)}\n" for decision in answers)
    else:
        rows: list[tuple[str, ...]] = [WIDE if output == "wide" else SHORT]
        row = _wide if output == "wide" else _short
        every_note = dict.fromkeys(notes)
        for decision in decisions:
            every_note.update(dict.fromkeys(decision.notes))
            if explaining is not None:
                from kubescheduler.cli.explanation import explanation

                yield explanation(decision, explaining, screen) + "\n\n"
            rows.append(_placed(decision, wide=output == "wide") if is_placement(decision) else row(decision))
        if len(rows) > 1:
            yield noted(every_note, screen)
            yield table(rows, screen, gives_way=len(rows[0]) - 1) + "\n"


def _short(decision: Decision) -> tuple[str, ...]:
    return (*_names(decision), _host(decision), fits(decision), message_line(decision))


def _wide(decision: Decision) -> tuple[str, ...]:
    total = str(int(decision.totals.max())) if len(decision.totals) else NONE
    tied = NONE if gave_up(decision) else str(len(best(decision)))
    return (*_names(decision), _host(decision), fits(decision), total, tied, decision.release, message_line(decision))


def is_placement(answer: Any) -> bool:
    """Whether it is a pod that was placed in bulk, of which there is no Decision."""
    return not isinstance(answer, Decision)


def _placed(answer: BulkPlacement, *, wide: bool) -> tuple[str, ...]:
    """The same of a pod that was placed in bulk."""
    run = answer.run
    named = (*_names(answer), Toned(answer.host, "good"), f"{answer.fits}/{run.nodes_total}")
    if not wide:
        return (*named, "")
    total = NONE if answer.total is None else str(answer.total)
    return (*named, total, str(answer.tied), run.release, "")


def _host(decision: Decision) -> str:
    if gave_up(decision):
        return Toned(ERROR, "bad")
    return Toned(NONE, "bad") if decision.host is None else Toned(decision.host, "good")


def _names(decision: Decision | BulkPlacement) -> tuple[str, str]:
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
    notes = {"notes": list(decision.notes)} if decision.notes else {}
    return {
        "pod": pod,
        "release": decision.release,
        "host": decision.host,
        "message": decision.message,
        **notes,
        **result,
    }


def decided_suite(
    release: str,
    decisions: Iterable[Any],
    workloads: Sequence[str],
    explaining: Explaining | None,
    notes: Sequence[str],
) -> Suite:
    """Decisions for CI: a case per pod, which fails without a node. workloads: ``Kind/name`` of each pod's."""
    from kubescheduler.report.ci_results import Suite

    every_note, cases = dict.fromkeys(notes), []
    for decision, workload in zip(decisions, workloads, strict=True):
        every_note.update(dict.fromkeys(decision.notes))
        cases.append(_decided_case(decision, workload, explaining))
    return Suite(release, cases, tuple(every_note))


def _decided_case(decision: Any, workload: str, explaining: Explaining | None) -> CiCase:
    from kubescheduler.report.ci_results import CiCase, Standing

    metadata = decision.pod.metadata
    group = f"{metadata.namespace or 'default'}.{workload}"
    if is_placement(decision):
        return CiCase(group, metadata.name)
    text = ""
    if explaining is not None:
        from kubescheduler.cli.explanation import explanation

        text = explanation(decision, explaining, PLAIN)
    if decision.host is not None:
        return CiCase(group, metadata.name, text=text)
    message = message_line(decision)
    if gave_up(decision):
        return CiCase(group, metadata.name, Standing.ERROR, "error", message, text or message)
    return CiCase(group, metadata.name, Standing.FAILED, "no-node", message, text or message)


def explained_document(decision: Decision, explaining: Explaining) -> dict[str, Any]:
    """The same with what scores and refusals were made of, of the nodes that are to be explained. ``scoredByRelease``
    is False where just one node fits, which the release takes unscored."""
    scored = decision.thorough()
    evidence: dict[str, dict[str, Any]] = {
        node: {
            "scores": [found.to_dict() for found in scored.score_evidence(node)],
            "scoredByRelease": scored is decision,
        }
        for node in explaining.best_nodes(scored)
    }
    for node in explaining.refused_nodes(decision):
        evidence[node] = {"refusals": [found.to_dict() for found in decision.why(node).refusals]}
    return {**decision_document(decision), "evidence": evidence}
