"""Decisions as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kubescheduler.core.decision import Decision
    from kubescheduler.framework.contract.status import Status

NONE = "<none>"

SHORT = ("NAMESPACE", "POD", "NODE", "FITS", "MESSAGE")
WIDE = ("NAMESPACE", "POD", "NODE", "FITS", "TOTAL", "TIED", "RELEASE", "MESSAGE")


def table(rows: Iterable[Sequence[str]]) -> str:
    """Rows as kubectl aligns them: three spaces between columns, nothing after the last."""
    lines = [tuple(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def rendered(decisions: Iterable[Decision], output: str, *, explain: bool) -> Iterator[str]:
    """Decisions as text in pieces, as they come; output: table, wide, json, yaml or name.

    A table comes last, after the explanations, when it is known how wide it is.
    """
    if output in ("json", "yaml"):
        from kubescheduler.cli.list_documents import list_document

        yield from list_document({"kind": "DecisionList"}, map(decision_document, decisions), output)
    elif output == "name":
        yield from (f"{decision.pod.key} {decision.host or NONE}\n" for decision in decisions)
    else:
        rows: list[tuple[str, ...]] = [WIDE if output == "wide" else SHORT]
        row = _wide if output == "wide" else _short
        for decision in decisions:
            if explain:
                from kubescheduler.cli.explain import explanation

                yield explanation(decision) + "\n\n"
            rows.append(row(decision))
        if len(rows) > 1:
            yield table(rows) + "\n"


def _short(decision: Decision) -> tuple[str, ...]:
    return (*_names(decision), decision.host or NONE, fits(decision), told(decision))


def _wide(decision: Decision) -> tuple[str, ...]:
    total = str(int(decision.totals.max())) if len(decision.totals) else NONE
    tied = str(len(_best(decision)))
    host = decision.host or NONE
    return (*_names(decision), host, fits(decision), total, tied, decision.release, told(decision))


def told(decision: Decision) -> str:
    """The message in one line, and what preemption would do if that was asked for."""
    message = "; ".join(decision.message.split("\n")).rstrip("; ")
    return " ".join(part for part in (message, would_evict(decision)) if part)


def would_evict(decision: Decision) -> str:
    """The victims on the node that the release would pick, the first by name if it may pick several."""
    found = decision.preemption
    if found is None:
        return ""
    if not found.chosen:
        return "" if getattr(decision, "post_filter_message", "") else "Preemption would not help."
    node = found.chosen[0]
    victims = ", ".join(pod.key for pod in found.candidates[node].pods)
    return f"Would evict {victims} from {node}." if victims else f"Would wait for {node}, evicting nothing."


def pre_filter_rejection(decision: Decision) -> Status | None:
    """The status with which a PreFilter plugin rejected the pod, whatever the node; None when none did."""
    from kubescheduler.framework.deciding.framework_decision import FrameworkDecision

    if not isinstance(decision, FrameworkDecision) or not decision.pre_filter_message:
        return None
    return decision.absent


def fits(decision: Decision) -> str:
    """``3/5``: nodes that fit, of those there are."""
    return f"{len(decision.feasible)}/{decision.nodes_total}"


def _best(decision: Decision) -> list[str]:
    """The only node that fits is the best, though it is not scored."""
    return decision.best() or ([decision.host] if decision.host else [])


def _names(decision: Decision) -> tuple[str, str]:
    return decision.pod.metadata.namespace or NONE, decision.pod.metadata.name


def decision_document(decision: Decision) -> dict[str, Any]:
    """A decision as plain data: the parts of the evaluate protocol, the pod and the host."""
    from kubescheduler.engine.evaluate_protocol import result_of

    metadata = decision.pod.metadata
    pod = {"namespace": metadata.namespace, "name": metadata.name, "uid": metadata.uid}
    result = {**result_of(decision), "best": _best(decision)}
    rejected = pre_filter_rejection(decision)
    if rejected is not None:
        result["preFilter"] = {
            "plugin": rejected.plugin,
            "code": rejected.code.name,
            "reasons": list(rejected.all_reasons),
        }
    return {"pod": pod, "release": decision.release, "host": decision.host, "message": decision.message, **result}
