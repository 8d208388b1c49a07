"""What is said of drained nodes: where their pods are now, which fit nowhere or are blocked, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from kubescheduler.core.results import ShownTable
from kubescheduler.planning.departures import counted
from kubescheduler.planning.displaced import HEADER, Displaced, counts_text, needs_text
from kubescheduler.planning.drain import Blocked, Stays
from kubescheduler.planning.drain_order import Order, Surge
from kubescheduler.planning.kubelet_upgrades import KubeletUpgrade
from kubescheduler.planning.rehearsal import EVICTED, Violation

STEPS = ("STEP", "NODES", "IN THE WAY")


class Drain(Displaced, frozen=True, eq=False, kw_only=True):
    """What became of the pods of drained nodes, and of those that had to make room for them."""

    nodes: tuple[str, ...]
    """In the order in which they were drained."""
    blocked: tuple[Blocked, ...] = ()
    """The pods that a budget keeps where they are."""
    stays: tuple[Stays, ...]
    """The pods that drain leaves alone."""
    violations: tuple[Violation, ...] = ()
    """What preemption evicted against a budget."""
    order: Order | None = None
    """In which order, if that was asked for."""
    surge: Surge | None = None
    """The nodes that come first."""
    upgrade: KubeletUpgrade | None = None
    """With which kubelet nodes come back."""

    @property
    def asked(self) -> tuple[str, ...]:
        """The nodes, those too for which there is no place in the order."""
        return self.nodes if self.order is None else (*self.nodes, *self.order.left)

    @property
    def fine(self) -> bool:
        """Whether every pod that comes back runs again and no budget blocks."""
        return not (self.nowhere or self.blocked or (self.order is not None and not self.order.complete))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "nodes": list(self.nodes),
            "order": None if self.order is None else self.order.to_dict(),
            "surge": None if self.surge is None else self.surge.to_dict(),
            "kubernetesUpgrade": None if self.upgrade is None else self.upgrade.to_dict(),
            "counts": self.counts(),
            "lost": [moved.pod.key for moved in self.lost],
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
            "violations": [msgspec.to_builtins(each) for each in self.violations],
            **self.pods_dict(),
        }

    def counts(self) -> dict[str, int]:
        """Pods that left, by what became of them, and those that did not."""
        preempted = sum(moved.left[0] != EVICTED for moved in self.moved)
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
        said = counts_text({**self.counts(), "stay": 0}) or "no pod leaves"
        text = f"{counted(len(self.nodes), 'node')} drained: {said}"
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
        texts += [f"{counted(count, 'pod')} left alone: {why}" for why, count in counts.items()]
        texts += map(str, self.violations)
        texts += (needs_text(key, health) for key, health in self.below.items())
        texts += self.waited()
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
        yield from self.moved_rows()


def _blocked_text(each: Blocked) -> str:
    key = each.refusal.budgets[0]
    said = (
        str(each.refusal)
        if each.refusal.code == 500
        else each.refusal.cause.replace(f"The disruption budget {key.partition('/')[2]}", f"budget {key}")
    )
    return "; ".join(filter(None, (said, each.why, each.opens and f"would open: {each.opens}")))
