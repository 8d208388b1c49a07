"""Parts of a comparison as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from kubescheduler.comparison.effects import Effects
from kubescheduler.comparison.outcomes import Contribution, HostChange, Outcome, PodComparison, Step
from kubescheduler.comparison.workload_summaries import WorkloadChange, WorkloadSummary

MOST_TIED = 10
"""How many tied nodes are listed, the first by name; the document also says how many there are."""


def workload_document(names: Sequence[str], found: WorkloadSummary) -> dict[str, Any]:
    """names: of the columns, the old one first."""
    return {
        "namespace": found.namespace,
        "workload": found.workload,
        "pods": found.pods,
        "unplacedBefore": found.unplaced,
        "changes": [
            {"column": name, **_workload_change(change)} for name, change in zip(names[1:], found.changes, strict=True)
        ],
    }


def _workload_change(change: WorkloadChange) -> dict[str, Any]:
    return {
        "moved": change.moved,
        "couldHaveBeen": change.could_have_been,
        "unplaced": change.unplaced,
        "cause": str(change.cause),
        "causes": {str(cause): count for cause, count in change.causes.items()},
    }


def pod_document(names: Sequence[str], pod: PodComparison) -> dict[str, Any]:
    """names: of the columns, the old one first."""
    return {
        "pod": pod.pod,
        "workload": pod.workload,
        "runsOn": pod.runs_on,
        "moved": pod.moved,
        "cause": str(pod.cause),
        "outcomes": [{"column": name, **_outcome(outcome)} for name, outcome in zip(names, pod.outcomes, strict=True)],
        "changes": [
            {"column": name, **change_document(change)} for name, change in zip(names[1:], pod.changes, strict=True)
        ],
    }


def _outcome(outcome: Outcome) -> dict[str, Any]:
    return {
        "host": outcome.host,
        "total": outcome.total,
        "ties": len(outcome.tied),
        "tied": list(outcome.tied[:MOST_TIED]),
        "fits": outcome.fits,
        "nodes": outcome.nodes,
        "message": outcome.message,
        "error": outcome.error,
        "evicts": list(outcome.evicts),
        "evictsFrom": outcome.evicts_from,
    }


def change_document(change: HostChange) -> dict[str, Any]:
    """What changed for one pod."""
    return {
        "cause": str(change.cause),
        "text": change.text,
        "oldDifference": change.old_difference,
        "newDifference": change.new_difference,
        "asIfPassed": change.as_if_passed,
        "contributions": [_contribution(part) for part in change.contributions],
        "steps": [_step(step) for step in change.steps],
        "reasons": {check: list(texts) for check, texts in change.reasons.items()},
        "moves": None
        if change.moves is None
        else {**msgspec.structs.asdict(change.moves), "share": change.moves.share},
        "evidence": {check: list(sentences) for check, sentences in change.evidence.items()},
    }


def _contribution(part: Contribution) -> dict[str, Any]:
    return {
        "old": {
            "name": part.old_name,
            "weight": part.old_weight,
            "scores": part.old_scores,
            "difference": part.old,
            "evidence": part.old_evidence,
        },
        "new": {
            "name": part.new_name,
            "weight": part.new_weight,
            "scores": part.new_scores,
            "difference": part.new,
            "evidence": part.new_evidence,
        },
    }


def _step(step: Step) -> dict[str, Any]:
    return {"cause": str(step.cause), "names": list(step.names), "by": step.by, "lead": step.lead}


def effects_document(effects: Effects) -> dict[str, Any]:
    """Utilisations are shares of what is allocatable."""
    return {
        "placed": effects.placed,
        "unplaced": effects.unplaced,
        "evicted": effects.evicted,
        "daemons": effects.daemons,
        "nodesUsed": effects.nodes_used,
        "nodesEmpty": effects.nodes_empty,
        "fullestHalf": effects.fullest_half,
        "utilisation": [msgspec.structs.asdict(use) for use in effects.utilisation],
        "spread": [
            {
                "service": spread.service,
                "pods": spread.pods,
                "zones": dict(spread.zones),
                "zoneSkew": spread.zone_skew,
                "hosts": spread.hosts,
                "hostSkew": spread.host_skew,
            }
            for spread in effects.spread
        ],
        "nodes": [
            {"name": node.name, "zone": node.zone, "pods": node.pods, "used": dict(node.used)} for node in effects.nodes
        ],
    }
