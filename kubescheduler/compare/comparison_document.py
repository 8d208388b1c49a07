"""A comparison as plain data."""

from __future__ import annotations

from typing import Any

import attrs

from kubescheduler.compare.effects import Effects
from kubescheduler.compare.outcomes import Change, Comparison, Contribution, Outcome, PodComparison, Step

MOST_TIED = 10
"""Tied nodes that are named, the first by name; how many there are is told beside."""


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """Everything, as ``-o json`` has it."""
    return {**head_document(comparison), "pods": [pod_document(comparison, pod) for pod in comparison.pods]}


def head_document(comparison: Comparison) -> dict[str, Any]:
    """All but the single pods."""
    columns = zip(comparison.names, comparison.releases, strict=True)
    return {
        "kind": "Comparison",
        "mode": comparison.mode,
        "columns": [{"name": name, "release": release} for name, release in columns],
        "same": comparison.same,
        "compared": len(comparison.pods),
        "moved": len(comparison.moved),
        "summary": [
            {"column": name, "causes": {str(cause): count for cause, count in counts.items()}}
            for name, counts in zip(comparison.names[1:], comparison.summary, strict=True)
        ],
        "before": effects_document(comparison.before),
        "effects": [
            {"column": name, **effects_document(effects)}
            for name, effects in zip(comparison.names, comparison.effects, strict=True)
        ],
    }


def pod_document(comparison: Comparison, pod: PodComparison) -> dict[str, Any]:
    names = comparison.names
    return {
        "pod": pod.pod,
        "moved": pod.moved,
        "cause": str(pod.cause),
        "outcomes": [{"column": name, **_outcome(outcome)} for name, outcome in zip(names, pod.outcomes, strict=True)],
        "changes": [{"column": name, **_change(change)} for name, change in zip(names[1:], pod.changes, strict=True)],
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


def _change(change: Change) -> dict[str, Any]:
    return {
        "cause": str(change.cause),
        "text": change.text,
        "oldDifference": change.old_difference,
        "newDifference": change.new_difference,
        "contributions": [_contribution(part) for part in change.contributions],
        "steps": [_step(step) for step in change.steps],
        "reasons": {check: list(texts) for check, texts in change.reasons.items()},
    }


def _contribution(part: Contribution) -> dict[str, Any]:
    return {
        "old": {"name": part.old_name, "weight": part.old_weight, "scores": part.old_scores, "difference": part.old},
        "new": {"name": part.new_name, "weight": part.new_weight, "scores": part.new_scores, "difference": part.new},
    }


def _step(step: Step) -> dict[str, Any]:
    return {"cause": str(step.cause), "names": list(step.names), "by": step.by, "lead": step.lead}


def effects_document(effects: Effects) -> dict[str, Any]:
    """Utilisations are shares of what is allocatable."""
    return {
        "placed": effects.placed,
        "unplaced": effects.unplaced,
        "evicted": effects.evicted,
        "nodesUsed": effects.nodes_used,
        "nodesEmpty": effects.nodes_empty,
        "fullestHalf": effects.fullest_half,
        "utilisation": [attrs.asdict(use) for use in effects.utilisation],
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
