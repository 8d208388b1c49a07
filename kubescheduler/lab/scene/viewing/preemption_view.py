"""What preemption would do: candidates, victims, and the rules by which a node is picked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from kubescheduler.core.decision import Decision
from kubescheduler.core.decision_records import Preemption, Victims
from kubescheduler.core.preemption_choice import (
    CHEAPEST,
    LATEST_START,
    NO_VICTIM,
    PRIORITY_OFFSET,
    earliest_start,
)
from kubescheduler.engine.engine_contract import Engine
from kubescheduler.lab.scene.viewing.scene_view import owner_of

MOST_CANDIDATES = 60
"""Candidates, and nodes that a rule leaves, that are named; more are counted."""


def preemption_entry(decision: Decision, engine: Engine) -> dict[str, Any] | None:
    """What preemption would do; None where it was not needed, or the release has none."""
    found = decision.preemption
    if found is None:
        return None
    names = list(dict.fromkeys((*found.chosen[:MOST_CANDIDATES], *sorted(found.candidates, key=str.encode))))
    return {
        "text": preemption_text(decision, found),
        "candidates": [_candidate(name, found) for name in names[:MOST_CANDIDATES]],
        "candidatesTotal": len(names),
        "rules": [*_rules(found)],
        "tie": f"release {engine.release} may pick any of {len(found.chosen)}; here the first by name"
        if len(found.chosen) > 1
        else "",
    }


COMPARED: Mapping[str, Callable[[Victims], str]] = {
    NO_VICTIM: lambda victims: f"{len(victims.pods):,} victims",
    CHEAPEST[0]: lambda victims: f"{victims.violations:,}",
    CHEAPEST[1]: lambda victims: f"{victims.pods[0].priority:,}" if victims.pods else "no victim",
    CHEAPEST[2]: lambda victims: f"{sum(pod.priority + PRIORITY_OFFSET for pod in victims.pods):,}",
    CHEAPEST[3]: lambda victims: f"{len(victims.pods):,}",
    LATEST_START: lambda victims: _moment(earliest_start(victims.pods)),
}
"""Rule → the number of a candidate that it compares. Upstream adds 2³¹ to each priority before it sums them."""


def _rules(found: Preemption) -> Iterator[dict[str, Any]]:
    """The rules by which a node is picked, with what each compared of the nodes that those before it had left."""
    compared: Sequence[str] = sorted(found.candidates, key=str.encode)
    for step in found.pick():
        yield {
            "text": step.rule,
            "compared": [
                {"node": node, "number": COMPARED[step.rule](found.candidates[node]), "left": node in step.left}
                for node in compared[:MOST_CANDIDATES]
            ],
            "left": list(step.left[:MOST_CANDIDATES]),
            "leftTotal": len(step.left),
            "decided": step.decided,
        }
        compared = step.left


def _moment(seconds: float) -> str:
    """A start as text; infinite where there is none."""
    if math.isinf(seconds):
        return "no start"
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def preemption_text(decision: Decision, found: Preemption) -> str:
    """In a line: on which node who would go, or why nobody does."""
    if found.chosen:
        node = found.chosen[0]
        gone = [pod.key for pod in found.candidates[node].pods]
        who = ", ".join(gone[:3]) + (f" and {len(gone) - 3} more" if len(gone) > 3 else "") or "nobody"
        return f"Evicting {who} makes room on {node}, to which the pod is nominated"
    if decision.post_filter_message:
        return decision.post_filter_message
    if found.keeps_nomination:
        return "The pod may not preempt now"
    return "Evicting pods of lower priority makes room on no node"


def _candidate(name: str, found: Preemption) -> dict[str, Any]:
    victims = found.candidates[name]
    return {
        "node": name,
        "victims": [_victim(victims, at) for at in range(len(victims.pods))],
        "violations": victims.violations,
        "chosen": name in found.chosen,
    }


def _victim(victims: Victims, at: int) -> dict[str, Any]:
    pod = victims.pods[at]
    return {
        "key": pod.key,
        "priority": pod.priority,
        "owner": owner_of(pod),
        "pdbViolated": at < victims.violations,
    }
