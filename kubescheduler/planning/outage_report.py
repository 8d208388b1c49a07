"""What is said of nodes that are gone: what runs again and where, what does not and why, and which workloads suffer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from clusterstate.objects import Pod
from kubescheduler.comparison.effects import Utilisation
from kubescheduler.core.decision import Decision
from kubescheduler.core.shown_table import Shown, ShownTable
from kubescheduler.hinting.proposals import Hint
from kubescheduler.planning.budgets import Health
from kubescheduler.planning.departures import Fate
from kubescheduler.planning.drain_report import HEADER, moved_dict, moved_place, moved_text
from kubescheduler.planning.outage import Lost, StayingPod, WorkloadLoss
from kubescheduler.planning.rehearsal import LOST_NODE, Moved

NAMED = 5
"""Workloads that a line names."""
WORKLOADS = ("WORKLOAD", "RAN", "ON LOST NODES", "IN THE END", "")
DOMAINS = ("DOMAIN", "NODES", "PODS", "NOWHERE", "LOST", "STAY", "DOWN MEANWHILE", "WHICH DO NOT RUN")


class Outage(Shown, msgspec.Struct, frozen=True, eq=False):
    """What became of the pods of nodes that are gone, and of those that had to make room for them."""

    name: str
    """What is gone: ``topology.kubernetes.io/zone=a``, or the nodes' names."""
    nodes: tuple[str, ...]
    moved: tuple[Moved, ...]
    """The pods that left a node, in order, without those of DaemonSets and static ones."""
    lost_nodes: Lost
    waiting: tuple[tuple[Pod, str], ...] = ()
    """The pods that waited before, each with its node now; empty: it waits still."""
    below: Mapping[str, Health] = msgspec.field(default_factory=dict)
    """``namespace/name`` of a budget → what it counts, of those with fewer healthy pods than they need in the end."""
    utilisation: Sequence[Utilisation] = ()
    """Of the nodes that are left, in the end."""
    hints: Mapping[str, tuple[Hint, ...]] = msgspec.field(default_factory=dict)
    """``namespace/name`` of a pod that fits nowhere → the smallest change, and one more node, that would do."""
    notes: tuple[str, ...] = ()
    """What a reader has to know of the numbers."""

    @property
    def nowhere(self) -> list[Moved]:
        """The pods that were made anew and fit nowhere."""
        return [moved for moved in self.moved if moved.nowhere]

    @property
    def bare(self) -> list[Moved]:
        """The pods that nobody makes anew."""
        return [moved for moved in self.moved if moved.now is None and moved.fate is Fate.BARE]

    @property
    def held(self) -> tuple[StayingPod, ...]:
        """The pods that stay on nodes whose objects stay."""
        return self.lost_nodes.held

    @property
    def workloads(self) -> tuple[WorkloadLoss, ...]:
        """Those that had pods on the nodes, or whose pods were preempted."""
        return self.lost_nodes.workloads

    @property
    def fine(self) -> bool:
        """Whether everything that ran on the nodes runs again."""
        return not (self.nowhere or self.bare or self.held)

    def evidence(self, pod: str) -> Decision | None:
        """The last decision on a pod that fits nowhere, by its ``namespace/name`` now or before."""
        for moved in self.moved:
            if moved.pod.key == pod or (moved.now is not None and moved.now.key == pod):
                return moved.decision
        return None

    def counts(self) -> dict[str, int]:
        """Pods by what became of them."""
        preempted = sum(moved.left[0] != LOST_NODE for moved in self.moved)
        return {
            "pods": len(self.moved) - preempted + len(self.held),
            "preempted": preempted,
            "running": sum(bool(moved.node) for moved in self.moved),
            "nowhere": len(self.nowhere),
            "lost": len(self.bare),
            "stay": len(self.held),
            "daemons": self.lost_nodes.daemons,
        }

    def missing(self) -> Counter[str]:
        """``namespace/Kind/name`` of a workload → how many pods fewer run than before, of those with fewer."""
        return Counter({each.name: each.before - each.after for each in self.workloads if each.after < each.before})

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "name": self.name,
            "nodes": list(self.nodes),
            "survives": self.fine,
            "counts": self.counts(),
            "pods": [moved_dict(moved, self.hints) for moved in self.moved],
            "stay": [{"pod": each.pod.key, "node": each.pod.node_name, "why": each.why} for each in self.held],
            "workloads": [
                {
                    "namespace": each.namespace,
                    "workload": each.workload,
                    "before": each.before,
                    "lost": each.lost,
                    "after": each.after,
                    "downMeanwhile": each.down,
                }
                for each in self.workloads
            ],
            "waiting": [{"pod": pod.key, "node": node or None} for pod, node in self.waiting],
            "belowBudgetMeanwhile": _budgets(self.lost_nodes.meanwhile),
            "belowBudget": _budgets(self.below),
            "utilisation": [msgspec.to_builtins(each) for each in self.utilisation],
            "notes": list(self.notes),
        }

    def summary(self) -> str:
        """How many nodes and pods, in a sentence."""
        counts = self.counts()
        titles = {"preempted": "preempted", "running": "run again", "nowhere": "fit nowhere", "lost": "lost"}
        titles |= {"stay": "stay with their nodes"}
        said = "".join(f", {counts[name]:,} {title}" for name, title in titles.items() if counts[name])
        count = len(self.nodes)
        return f"{self.name}: {count:,} node{'s' * (count != 1)} with {_pods(counts['pods'])} gone{said}"

    def quiet(self) -> list[str]:
        """What is said of budgets, of pods of DaemonSets and of how full the other nodes are, a sentence each."""
        texts = [f"{_pods(self.lost_nodes.daemons)} of DaemonSets or static gone with their nodes"]
        texts = texts if self.lost_nodes.daemons else []
        for key, health in self.lost_nodes.meanwhile.items():
            still = self.below.get(key)
            end = "" if still is None else f", and {still.healthy} in the end"
            texts.append(
                f"budget {key}: it needs {health.desired} healthy pods and has {health.healthy} meanwhile{end}"
            )
        for key, health in self.below.items():
            if key not in self.lost_nodes.meanwhile:
                texts.append(
                    f"budget {key}: it needs {health.desired} healthy pods and has {health.healthy} in the end"
                )
        if self.waiting:
            placed = sum(bool(node) for _, node in self.waiting)
            texts.append(f"{_pods(len(self.waiting))} waited before: {placed:,} got a node")
        if self.utilisation:
            each = (f"{use.resource} {use.mean:.0%} (at most {use.most:.0%})" for use in self.utilisation)
            texts.append(f"nodes that are left are full to: {', '.join(each)}")
        return texts

    def workload_rows(self) -> list[tuple[str, ...]]:
        """Workloads with fewer pods than before, the worst first, and those that were down meanwhile."""
        shown = [each for each in self.workloads if each.after < each.before or (each.down and each.lost)]
        shown.sort(key=lambda each: (each.after > 0, each.after - each.before, each.name))
        return [(each.name, *map(str, (each.before, each.lost, each.after)), _standing(each)) for each in shown]

    def rows(self) -> Iterator[tuple[str, str, str, str]]:
        """(pod, node before, pod and node now, why): those that do not run again first."""
        for each in self.held:
            yield each.pod.key, each.pod.node_name, "<stays>", each.why
        for moved in sorted(self.moved, key=lambda moved: (not moved.nowhere, moved.now is not None)):
            yield moved.pod.key, moved.pod.node_name, moved_place(moved), moved_text(moved, self.hints)

    def table(self) -> ShownTable:
        """A row for every pod."""
        return ShownTable(self.summary(), HEADER, list(self.rows()), "; ".join((*self.quiet(), *self.notes)))


class Outages(Shown, msgspec.Struct, frozen=True, eq=False):
    """What becomes of a cluster that loses each domain in turn."""

    label: str
    """Whose values tell the domains apart."""
    domains: tuple[Outage, ...]
    """The worst first."""
    notes: tuple[str, ...] = ()

    @property
    def fine(self) -> bool:
        """Whether the cluster survives the loss of each."""
        return all(each.fine for each in self.domains)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        domains = [each.to_dict() for each in self.domains]
        return {"label": self.label, "survives": self.fine, "domains": domains, "notes": list(self.notes)}

    def summary(self) -> str:
        """How many are survived, in a sentence."""
        count, survived = len(self.domains), sum(each.fine for each in self.domains)
        return f"Of {count:,} domains by {self.label} {survived:,} can go without a pod that does not run again"

    def rows(self) -> Iterator[tuple[str, ...]]:
        """A row for each domain."""
        for each in self.domains:
            counts = each.counts()
            numbers = (len(each.nodes), counts["pods"], counts["nowhere"], counts["lost"], counts["stay"])
            down = sum(loss.down for loss in each.workloads)
            yield each.name.partition("=")[2], *map(str, numbers), str(down), _which(each)

    def table(self) -> ShownTable:
        """A row for each domain."""
        return ShownTable(self.summary(), DOMAINS, list(self.rows()), "; ".join(self.notes))


def worst_first(outages: Sequence[Outage]) -> tuple[Outage, ...]:
    """By the pods that do not run again, then by workloads that are down meanwhile, then by pods."""

    def rank(outage: Outage) -> tuple[int, int, int, bytes]:
        counts = outage.counts()
        missing = counts["nowhere"] + counts["lost"] + counts["stay"]
        return -missing, -sum(each.down for each in outage.workloads), -counts["pods"], outage.name.encode()

    return tuple(sorted(outages, key=rank))


def _which(outage: Outage) -> str:
    """``survives``, or the workloads with fewer pods than before, those that miss most first."""
    missing = outage.missing()
    if outage.fine:
        return "survives"
    shown = [f"{name} ({count:,})" for name, count in missing.most_common(NAMED)]
    return ", ".join(shown) + (f" and {len(missing) - NAMED:,} more" if len(missing) > NAMED else "")


def _standing(loss: WorkloadLoss) -> str:
    if not loss.after:
        return "none is left"
    return "none was left meanwhile" if loss.down else ""


def _needs(key: str, health: Health) -> str:
    return f"budget {key}: it needs {health.desired} healthy pods and has {health.healthy}"


def _budgets(found: Mapping[str, Health]) -> dict[str, Any]:
    return {key: {"healthy": health.healthy, "desired": health.desired} for key, health in found.items()}


def _pods(count: int) -> str:
    return f"{count:,} {'pod' if count == 1 else 'pods'}"
