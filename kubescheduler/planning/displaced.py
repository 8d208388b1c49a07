"""Pods that had to leave their nodes, and what is said of them: where they are now, or why they are nowhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from clusterstate.objects import Pod
from kubescheduler.core.decision import Decision
from kubescheduler.core.results import Shown
from kubescheduler.hinting.proposals import Hint
from kubescheduler.planning.budgets import Health
from kubescheduler.planning.departures import Fate, counted
from kubescheduler.planning.rehearsal import EVICTED, LOST_NODE, Moved, Rehearsal

HEADER = ("POD", "FROM", "TO", "WHY")
VERBS = {
    "evicted": ("evicted", "evicted"),
    "preempted": ("preempted", "preempted"),
    "running": ("runs again", "run again"),
    "nowhere": ("fits nowhere", "fit nowhere"),
    "lost": ("lost", "lost"),
    "blocked": ("blocked", "blocked"),
    "stay": ("stays with its node", "stay with their nodes"),
}
"""What became of pods → what is said of one, of several."""


class Displaced(Shown, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """What became of pods that had to leave their nodes, and of those that had to make room for them."""

    moved: tuple[Moved, ...]
    """The pods that left a node, in order."""
    waiting: tuple[tuple[Pod, str], ...] = ()
    """The pods that waited before, each with its node now; empty: it waits still."""
    below: Mapping[str, Health] = msgspec.field(default_factory=dict)
    """``namespace/name`` of a budget → what it counts, of those with fewer healthy pods than they need at the end."""
    hints: Mapping[str, tuple[Hint, ...]] = msgspec.field(default_factory=dict)
    """``namespace/name`` of a pod that fits nowhere → the smallest change, and one more node, that would do."""
    notes: tuple[str, ...] = ()
    """What a reader has to know of the numbers."""

    @property
    def nowhere(self) -> list[Moved]:
        """The pods that were made anew and fit nowhere."""
        return [moved for moved in self.moved if moved.nowhere]

    @property
    def lost(self) -> list[Moved]:
        """The pods that nobody makes anew."""
        return [moved for moved in self.moved if moved.now is None and moved.fate is Fate.BARE]

    def evidence(self, pod: str) -> Decision | None:
        """The last decision on a pod that fits nowhere, by its ``namespace/name`` now or before."""
        for moved in self.moved:
            if moved.pod.key == pod or (moved.now is not None and moved.now.key == pod):
                return moved.decision
        return None

    def pods_dict(self) -> dict[str, Any]:
        """Plain data on the pods and budgets, for JSON."""
        return {
            "pods": [moved_dict(moved, self.hints) for moved in self.moved],
            "waiting": [{"pod": pod.key, "node": node or None} for pod, node in self.waiting],
            "belowBudget": budgets_dict(self.below),
            "notes": list(self.notes),
        }

    def waited(self) -> Iterator[str]:
        """A sentence on the pods that waited before, if there are any."""
        if self.waiting:
            placed = sum(bool(node) for _, node in self.waiting)
            yield f"{counted(len(self.waiting), 'pod')} waited before: {placed:,} got a node"

    def moved_rows(self) -> Iterator[tuple[str, str, str, str]]:
        """(pod, node before, pod and node now, why): those that fit nowhere, those that are gone, the rest."""
        for moved in sorted(self.moved, key=lambda moved: (not moved.nowhere, moved.now is not None)):
            yield moved.pod.key, moved.pod.node_name, moved_place(moved), moved_text(moved, self.hints)


def played(rehearsal: Rehearsal, moved: Iterable[Moved], *, hints: bool = True) -> dict[str, Any]:
    """The fields of ``Displaced`` but for the notes, as they are when everything has happened. moved: who is shown."""
    nowhere = [one.now for one in rehearsal.nowhere() if one.now is not None]
    waiting = [(pod, record.node) for pod in rehearsal.waiting if (record := rehearsal.record(pod)) is not None]
    return {
        "moved": tuple(moved),
        "waiting": tuple(waiting),
        "below": rehearsal.budgets.below(),
        "hints": rehearsal.hints(nowhere) if hints else {},
    }


def moved_dict(moved: Moved, hints: Mapping[str, tuple[Hint, ...]]) -> dict[str, Any]:
    """Plain data on one pod that had to leave its node."""
    now = moved.now
    return {
        "pod": moved.pod.key,
        "from": moved.pod.node_name,
        "left": list(moved.left),
        "becomes": moved.fate.value,
        "now": None if now is None else now.key,
        "node": moved.node or None,
        "message": moved.message or None,
        "reasons": {} if moved.decision is None else moved.decision.reasons(),
        "hints": [hint.to_dict() for hint in (hints.get(now.key, ()) if now is not None else ())],
    }


def moved_place(moved: Moved) -> str:
    """The node, or what there is instead."""
    if moved.now is None:
        return "<lost>" if moved.fate is Fate.BARE else "<gone>"
    return moved.node or "<nowhere>"


def moved_text(moved: Moved, hints: Mapping[str, tuple[Hint, ...]]) -> str:
    """Why it left, if it was not simply evicted; what came in its place, if it has another name; why it is nowhere."""
    parts = [why for why in moved.left if why not in (EVICTED, LOST_NODE)]
    if (times := moved.left.count(EVICTED)) > 1:
        parts.insert(0, f"evicted {times} times")
    if moved.now is None and moved.fate is Fate.BARE:
        parts.append("no controller makes it anew")
    if moved.now is not None and moved.now.key != moved.pod.key:
        parts.append(f"as {moved.now.metadata.name}")
    if moved.nowhere:
        parts.append(" ".join(moved.message.split()))
        found = hints.get(moved.now.key, ()) if moved.now is not None else ()
        parts += [f"hint: {hint.text_for_all}" for hint in found]
    return "; ".join(parts)


def counts_text(counts: Mapping[str, int]) -> str:
    """``2 evicted, 1 runs again``; what there is none of is left out."""
    return ", ".join(f"{counts[name]:,} {VERBS[name][counts[name] > 1]}" for name in VERBS if counts.get(name))


def needs_text(key: str, health: Health) -> str:
    """What a budget needs, and what it has."""
    return f"budget {key}: it needs {counted(health.desired, 'healthy pod')} and has {health.healthy:,}"


def budgets_dict(found: Mapping[str, Health]) -> dict[str, Any]:
    """Plain data, for JSON."""
    return {key: {"healthy": health.healthy, "desired": health.desired} for key, health in found.items()}
