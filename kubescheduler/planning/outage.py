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
from collections.abc import Collection, Iterable, Mapping

import msgspec

from clusterstate.objects import Pod
from clusterstate.selectors.matching import tolerates
from clusterstate.workloads import workloads_of
from kubescheduler.planning.budgets import Health
from kubescheduler.planning.departures import Fate, fate_of, keeps_name
from kubescheduler.planning.rehearsal import LOST_NODE, UNREACHABLE, Rehearsal

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


def lose(rehearsal: Rehearsal, nodes: Collection[str], *, unreachable: bool = False) -> Lost:
    """Nodes are gone, and everything that comes of it happens.

    unreachable: their objects stay. Otherwise these go, and what tolerates them for ever comes last.
    """
    leaving = [pod for name in nodes for pod in rehearsal.pods_on(name)]
    before = _running(rehearsal)
    there = Counter(_named(rehearsal, [pod for pod in leaving if _is_counted(pod)]))
    seconds = {pod.key: seconds_until_deleted(pod) for pod in leaving}
    if unreachable:
        rehearsal.disconnect(nodes)
        meanwhile = rehearsal.budgets.below()
        held = _deleted_in_time(rehearsal, leaving, seconds)
    else:
        last = 1 + max((each for each in seconds.values() if each != math.inf), default=0)
        rehearsal.remove(nodes, after=lambda pod: min(seconds[pod.key], last))
        meanwhile, held = rehearsal.budgets.below(), []
        rehearsal.settle()
    after = _running(rehearsal, without=nodes)
    evicted = _named(rehearsal, [moved.pod for moved in rehearsal.moved if moved.left[0] != LOST_NODE])
    affected = sorted({*there, *evicted})
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


def _running(rehearsal: Rehearsal, without: Collection[str] = ()) -> Counter[Workload]:
    """How many pods of each workload have a node, and none of these."""
    gone = frozenset(without)
    return Counter(
        _named(rehearsal, [pod for pod in rehearsal.cache.pods() if _is_counted(pod) and pod.node_name not in gone])
    )


def _named(rehearsal: Rehearsal, pods: list[Pod]) -> list[Workload]:
    sets = rehearsal.cache.objects.replica_sets.values()
    return [(pod.metadata.namespace, name) for pod, name in zip(pods, workloads_of(pods, sets), strict=True)]


def _is_counted(pod: Pod) -> bool:
    return fate_of(pod) not in (Fate.DAEMON, Fate.STATIC, Fate.FINISHED)
