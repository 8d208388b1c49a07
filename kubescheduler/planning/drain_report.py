"""What is said of drained nodes: where their pods are now, which fit nowhere or are blocked, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from clusterstate.objects import Pod
from kubescheduler.core.decision import Decision
from kubescheduler.core.shown_table import Shown, ShownTable
from kubescheduler.hinting.proposals import Hint
from kubescheduler.planning.budgets import Health
from kubescheduler.planning.departures import Fate
from kubescheduler.planning.drain import Blocked, Stays
from kubescheduler.planning.drain_order import Order, Surge
from kubescheduler.planning.kubelet_upgrades import KubeletUpgrade
from kubescheduler.planning.rehearsal import EVICTED, LOST_NODE, Moved, Violation


class Drain(Shown, msgspec.Struct, frozen=True, eq=False):
    """What became of the pods of drained nodes, and of those that had to make room for them."""

    nodes: tuple[str, ...]
    """In the order in which they were drained."""
    moved: tuple[Moved, ...]
    """The pods that left a node, in order."""
    blocked: tuple[Blocked, ...]
    """The pods that a budget keeps where they are."""
    stays: tuple[Stays, ...]
    """The pods that drain leaves alone."""
    waiting: tuple[tuple[Pod, str], ...] = ()
    """The pods that waited before, each with its node now; empty: it waits still."""
    below: Mapping[str, Health] = msgspec.field(default_factory=dict)
    """``namespace/name`` of a budget → what it counts, of those with fewer healthy pods than they need at the end."""
    violations: tuple[Violation, ...] = ()
    """What preemption evicted against a budget."""
    hints: Mapping[str, tuple[Hint, ...]] = msgspec.field(default_factory=dict)
    """``namespace/name`` of a pod that fits nowhere → the smallest change, and one more node, that would do."""
    notes: tuple[str, ...] = ()
    """What a reader has to know of the numbers."""
    order: Order | None = None
    """In which order, if that was asked for."""
    surge: Surge | None = None
    """The nodes that come first."""
    upgrade: KubeletUpgrade | None = None
    """With which kubelet nodes come back."""

    @property
    def nowhere(self) -> list[Moved]:
        """The pods that came back and fit nowhere."""
        return [moved for moved in self.moved if moved.nowhere]

    @property
    def lost(self) -> list[Moved]:
        """The pods that nobody makes anew."""
        return [moved for moved in self.moved if moved.now is None and moved.fate is Fate.BARE]

    @property
    def fine(self) -> bool:
        """Whether every pod that comes back runs again and no budget blocks."""
        return not (self.nowhere or self.blocked or (self.order is not None and not self.order.complete))

    def evidence(self, pod: str) -> Decision | None:
        """The last decision on a pod that fits nowhere, by its ``namespace/name`` now or before."""
        for moved in self.moved:
            if moved.pod.key == pod or (moved.now is not None and moved.now.key == pod):
                return moved.decision
        return None

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "nodes": list(self.nodes),
            "order": None if self.order is None else self.order.to_dict(),
            "surge": None if self.surge is None else self.surge.to_dict(),
            "kubernetesUpgrade": None if self.upgrade is None else self.upgrade.to_dict(),
            "lost": [moved.pod.key for moved in self.lost],
            "counts": self.counts(),
            "pods": [moved_dict(moved, self.hints) for moved in self.moved],
            "blocked": [
                {
                    "pod": each.pod.key,
                    "node": each.pod.node_name,
                    "code": each.refusal.code,
                    "message": str(each.refusal),
                    "budgets": list(each.refusal.budgets),
                    "why": each.why,
                    "opens": each.opens or None,
                }
                for each in self.blocked
            ],
            "stays": [{"pod": each.pod.key, "node": each.pod.node_name, "why": each.why} for each in self.stays],
            "waiting": [{"pod": pod.key, "node": node or None} for pod, node in self.waiting],
            "belowBudget": {
                key: {"healthy": health.healthy, "desired": health.desired} for key, health in self.below.items()
            },
            "violations": [msgspec.to_builtins(each) for each in self.violations],
            "notes": list(self.notes),
        }

    def counts(self) -> dict[str, int]:
        """Pods that left, by what became of them, and those that did not."""
        preempted = sum(not moved.left[0].startswith("evicted") for moved in self.moved)
        return {
            "evicted": len(self.moved) - preempted,
            "preempted": preempted,
            "running": sum(bool(moved.node) for moved in self.moved),
            "nowhere": len(self.nowhere),
            "lost": len(self.lost),
            "blocked": len(self.blocked),
            "stay": len(self.stays),
        }

    def table(self) -> ShownTable:
        """A row for every pod that left or is blocked; of an order a row for every step."""
        below = "; ".join((*self.quiet(), *self.notes))
        if self.order is not None:
            return ShownTable(self.summary(), STEPS, list(self.steps()), below)
        return ShownTable(self.summary(), HEADER, list(self.rows()), below)

    def summary(self) -> str:
        """How many nodes and pods, in a sentence."""
        counts = self.counts()
        named = ("evicted", "preempted", "running", "nowhere", "lost", "blocked")
        said = ", ".join(f"{counts[name]:,} {TITLES[name]}" for name in named if counts[name] or name == "evicted")
        text = f"{len(self.nodes):,} node{'s' * (len(self.nodes) != 1)} drained: {said}"
        if self.order is None:
            return text
        sentence = self.order.sentence([moved.pod.key for moved in self.lost])
        if self.order.complete:
            return f"{sentence} {text}"
        return f"{sentence} As far as one gets: {text}" if self.nodes else sentence

    def quiet(self) -> list[str]:
        """What is said of pods that drain does not move, and of budgets, a sentence each."""
        counts = Counter(stays.why for stays in self.stays)
        texts = [] if self.surge is None else [self.surge.sentence()]
        texts += [f"{count:,} pod{'s' * (count != 1)} left alone: {why}" for why, count in counts.items()]
        texts += map(str, self.violations)
        for key, health in self.below.items():
            texts.append(f"budget {key} is violated: it needs {health.desired} healthy pods and has {health.healthy}")
        placed = sum(bool(node) for _, node in self.waiting)
        if self.waiting:
            texts.append(f"{len(self.waiting):,} pods waited before: {placed:,} of them got a node")
        return texts

    def steps(self) -> Iterator[tuple[str, str, str]]:
        """(number, nodes, what stands in the way) of each step of an order, then of the nodes that have no place."""
        if self.order is None:
            return
        for at, batch in enumerate(self.order.batches, 1):
            yield str(at), ", ".join(batch), ""
        for obstacle in self.order.obstacles:
            yield "-", ", ".join(self.order.left), str(obstacle)

    def rows(self) -> Iterator[tuple[str, str, str, str]]:
        """(pod, node before, pod and node now, why): blocked pods first, then those that fit nowhere, then the rest."""
        for each in self.blocked:
            yield each.pod.key, each.pod.node_name, "<blocked>", _blocked_text(each)
        ranks = {moved.pod.key: (not moved.nowhere, moved.now is not None) for moved in self.moved}
        for moved in sorted(self.moved, key=lambda moved: ranks[moved.pod.key]):
            yield moved.pod.key, moved.pod.node_name, moved_place(moved), moved_text(moved, self.hints)


HEADER = ("POD", "FROM", "TO", "WHY")
STEPS = ("STEP", "NODES", "IN THE WAY")
TITLES = {
    "evicted": "evicted",
    "preempted": "preempted",
    "running": "run again",
    "nowhere": "fit nowhere",
    "lost": "lost",
    "blocked": "blocked",
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
        parts += [f"hint: {hint.text}" for hint in found]
    return "; ".join(parts)


def _blocked_text(each: Blocked) -> str:
    key = each.refusal.budgets[0]
    said = (
        str(each.refusal)
        if each.refusal.code == 500
        else each.refusal.cause.replace(f"The disruption budget {key.partition('/')[2]}", f"budget {key}")
    )
    return "; ".join(filter(None, (said, each.why, each.opens and f"would open: {each.opens}")))
