"""What happens when nodes are gone at once: no eviction, and no disruption budget that would be asked.

A node that does not answer is tainted ``node.kubernetes.io/unreachable``, and a pod is deleted once it has tolerated
that for long enough: 300 seconds, unless it says otherwise. The controller makes another one then. Where the node's
object goes as well, as a cloud's controller removes it, pods that wait for that are made anew too. Where it stays, a
StatefulSet's pod does: only the kubelet could say that it has ended.

Upstream: pkg/controller/tainteviction, pkg/controller/podgc, pkg/controller/statefulset.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from clusterstate.objects import Pod
from clusterstate.selectors.matching import tolerates
from clusterstate.selectors.pod_owners import workloads_of
from kubescheduler.comparison.effects import Utilisation
from kubescheduler.core.results import Shown, ShownTable, counted
from kubescheduler.planning.departures import Fate, Health, fate_of, keeps_name, named
from kubescheduler.planning.rehearsal import (
    HEADER,
    LOST_NODE,
    UNREACHABLE,
    Displaced,
    Rehearsal,
    budgets_dict,
    counts_text,
    needs_text,
)

STATEFUL = "its StatefulSet makes no other one until somebody deletes the node, or says that it is out of service"
FOR_EVER = "it tolerates node.kubernetes.io/unreachable for ever"

Workload = tuple[str, str]
"""(namespace, ``Kind/name``)."""


class StayingPod(msgspec.Struct, frozen=True):
    """A pod that stays, as the API server has it, on a node that is gone."""

    pod: Pod
    why: str


class WorkloadLoss(msgspec.Struct, frozen=True):
    """How many pods of a workload run, before and in the end."""

    namespace: str
    workload: str
    before: int
    """How many of its pods had a node."""
    lost: int
    """How many of these were on the nodes that are gone."""
    after: int
    """How many have a node in the end."""

    @property
    def down(self) -> bool:
        """Whether none was left until others were made."""
        return self.lost >= self.before

    @property
    def name(self) -> str:
        """``namespace/Kind/name``."""
        return f"{self.namespace}/{self.workload}"


class Lost(msgspec.Struct, frozen=True):
    """What was seen of nodes that are gone."""

    daemons: int
    """How many pods of DaemonSets and static pods were there; they are for their node."""
    held: tuple[StayingPod, ...]
    workloads: tuple[WorkloadLoss, ...]
    """Those that had pods there, or whose pods preemption evicts."""
    meanwhile: Mapping[str, Health]
    """``namespace/name`` of a budget → what it counts, of those that have too few healthy pods until others run."""


def seconds_until_deleted(pod: Pod) -> float:
    """How long a pod stays on a node that does not answer, ``inf``: for ever. Without a toleration 0.

    The first toleration that matches counts. Upstream: GetMatchingTolerations, getMinTolerationTime.
    """
    for toleration in pod.spec.tolerations:
        if tolerates(toleration, UNREACHABLE[-1]):
            seconds = toleration.toleration_seconds
            return math.inf if seconds is None else float(max(seconds, 0))
    return 0.0


def lose(
    rehearsal: Rehearsal,
    nodes: Collection[str],
    *,
    unreachable: bool = False,
    waited: Collection[str] = (),
    uncordon: Collection[str] = (),
) -> Lost:
    """Nodes are gone, and everything that comes of it happens.

    unreachable: their objects stay. Otherwise these go, and what tolerates them for ever comes last. waited:
    ``namespace/name`` of pods that did not run before, whatever node they have been given meanwhile. uncordon: the
    nodes that were cordoned only so that pods that wait did not go there.
    """
    leaving = [pod for name in nodes for pod in rehearsal.pods_on(name)]
    before = _running(rehearsal, waited=waited)
    there = Counter(_named(rehearsal, [pod for pod in leaving if _is_counted(pod)]))
    seconds = {pod.key: seconds_until_deleted(pod) for pod in leaving}
    if unreachable:
        rehearsal.disconnect(nodes, uncordon=uncordon)
        meanwhile = rehearsal.budgets.below()
        held = _deleted_in_time(rehearsal, leaving, seconds)
    else:
        last = 1 + max((each for each in seconds.values() if each != math.inf), default=0)
        rehearsal.remove(nodes, after=lambda pod: min(seconds[pod.key], last))
        meanwhile, held = rehearsal.budgets.below(), []
        rehearsal.settle()
    after = _running(rehearsal, without=nodes)
    preempted = (moved.pod for moved in rehearsal.moved if moved.left[0] != LOST_NODE)
    evicted = _named(rehearsal, [pod for pod in preempted if pod.key not in waited])
    foreign = _named(rehearsal, [moved.pod for moved in rehearsal.moved if moved.foreign])
    affected = sorted({*there, *evicted} - {*foreign})
    return Lost(
        daemons=sum(fate_of(pod) in (Fate.DAEMON, Fate.STATIC) for pod in leaving),
        held=tuple(held),
        workloads=tuple(WorkloadLoss(*name, before[name], there[name], after[name]) for name in affected),
        meanwhile=meanwhile,
    )


def _deleted_in_time(rehearsal: Rehearsal, leaving: Iterable[Pod], seconds: Mapping[str, float]) -> list[StayingPod]:
    """Deletes pods as their tolerations run out, and lets others be made; those that stay."""
    held: list[StayingPod] = []
    waves: dict[float, list[Pod]] = {}
    for pod in leaving:
        if fate_of(pod) in (Fate.DAEMON, Fate.STATIC):
            continue
        if keeps_name(pod):
            held.append(StayingPod(pod, STATEFUL))
        elif seconds[pod.key] == math.inf:
            held.append(StayingPod(pod, FOR_EVER))
        else:
            waves.setdefault(seconds[pod.key], []).append(pod)
    rehearsal.settle()
    for moment in sorted(waves):
        rehearsal.evict(waves[moment], LOST_NODE)
        rehearsal.settle()
    return held


def _running(rehearsal: Rehearsal, without: Collection[str] = (), waited: Collection[str] = ()) -> Counter[Workload]:
    """How many pods of each workload have a node, and none of these. waited: pods that are not counted."""
    gone = frozenset(without)
    there = (pod for pod in rehearsal.cache.pods() if pod.node_name not in gone and pod.key not in waited)
    return Counter(_named(rehearsal, [pod for pod in there if _is_counted(pod)]))


def _named(rehearsal: Rehearsal, pods: list[Pod]) -> list[Workload]:
    sets = rehearsal.cache.objects.replica_sets.values()
    return [(pod.metadata.namespace, name) for pod, name in zip(pods, workloads_of(pods, sets), strict=True)]


def _is_counted(pod: Pod) -> bool:
    return fate_of(pod) not in (Fate.DAEMON, Fate.STATIC, Fate.FINISHED)


NAMED = 5
"""Workloads that a line names."""
WORKLOADS = ("WORKLOAD", "RAN", "ON LOST NODES", "IN THE END", "")
DOMAINS = ("DOMAIN", "NODES", "PODS", "NOWHERE", "LOST", "STAY", "DOWN MEANWHILE", "WHICH DO NOT RUN")


class Outage(Displaced, frozen=True, eq=False, kw_only=True):
    """What became of the pods of nodes that are gone, and of those that had to make room for them; without the pods of
    DaemonSets and static ones."""

    name: str
    """What is gone: ``topology.kubernetes.io/zone=a``, or the nodes' names."""
    nodes: tuple[str, ...]
    lost_nodes: Lost
    utilisation: Sequence[Utilisation] = ()
    """Of the nodes that are left, in the end."""

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
        """Whether everything that ran on the nodes runs again, but for pods of other schedulers."""
        return not (self.nowhere or self.undecided or self.lost or self.held)

    def counts(self) -> dict[str, int]:
        """Pods by what became of them."""
        preempted = sum(moved.left[0] != LOST_NODE for moved in self.moved)
        return {
            "pods": len(self.moved) - preempted + len(self.held),
            "preempted": preempted,
            "running": sum(bool(moved.node) for moved in self.moved),
            "nowhere": len(self.nowhere),
            **({"foreign": len(self.foreign)} if self.foreign else {}),
            "lost": len(self.lost),
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
            "belowBudgetMeanwhile": budgets_dict(self.lost_nodes.meanwhile),
            "utilisation": [msgspec.to_builtins(each) for each in self.utilisation],
            **self.pods_dict(),
        }

    def summary(self) -> str:
        """How many nodes and pods, in a sentence."""
        counts = self.counts()
        gone = f"{counted(len(self.nodes), 'node')} with {counted(counts['pods'], 'pod')} gone"
        return f"{self.name}: {', '.join(filter(None, (gone, counts_text(counts))))}"

    def quiet(self) -> list[str]:
        """What is said of budgets, of pods of DaemonSets and of how full the other nodes are, a sentence each."""
        daemons, meanwhile = self.lost_nodes.daemons, self.lost_nodes.meanwhile
        texts = [f"{counted(daemons, 'pod')} of DaemonSets or static gone with their nodes"] if daemons else []
        for key, health in meanwhile.items():
            still = self.below.get(key)
            end = "" if still is None else f", and {still.healthy:,} in the end"
            texts.append(f"{needs_text(key, health)} meanwhile{end}")
        texts += (f"{needs_text(key, self.below[key])} in the end" for key in self.below if key not in meanwhile)
        texts += self.waited()
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
        yield from self.moved_rows()

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
        every = f"{counted(count, 'domain')} by {self.label} can be lost"
        return f"{survived:,} of {every} with everything running again"

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
    if not (outage.nowhere or outage.lost or outage.held):
        untried = f"{counted(len(outage.foreign), 'pod')} not tried" if outage.foreign else ""
        return ", else ".join(filter(None, (untried, "survives" if outage.fine else "")))
    missing = [f"{name} ({count:,})" for name, count in outage.missing().most_common()]
    return named(missing or [moved.pod.key for moved in (*outage.nowhere, *outage.lost)], NAMED)


def _standing(loss: WorkloadLoss) -> str:
    if not loss.after:
        return "none is left"
    return "none was left meanwhile" if loss.down else ""
