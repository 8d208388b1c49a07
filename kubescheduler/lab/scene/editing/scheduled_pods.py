"""The edit ``schedule``: pods are decided by a side, and bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import msgspec

from clusterstate.objects import Pod
from kubescheduler.api.cluster import Cluster
from kubescheduler.api.engine_choice import tie_break_of
from kubescheduler.api.what_if import stays_on_node
from kubescheduler.core.decision import Decision
from kubescheduler.engine.engine_contract import PodScheduler, cache_for
from kubescheduler.lab.scene.editing.edit_contract import Change, Edit
from kubescheduler.lab.scene.editing.node_changes import counted
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_faults import SceneFault
from kubescheduler.lab.scene.verb_parameters import Parameters, parameters

EVERY = "pending"
"""Stands for every pod that waits."""

MOST_PODS = 2000
"""Pods that one edit decides at most."""


class Scheduling(Parameters, frozen=True):
    """Of ``schedule``: a side, and a pod or ``pending``."""

    side: str = "a"
    pod: str = EVERY


@attrs.define(eq=False)
class Placing:
    """Pods that are decided one after the other in a cluster of their own."""

    scheduler: PodScheduler
    hosts: dict[str, str] = attrs.field(factory=dict)
    """Pod → node."""
    evicted: list[Pod] = attrs.field(factory=list)
    """Who made room, in order."""
    left: dict[str, str] = attrs.field(factory=dict)
    """Pod that has no node → the release's words."""

    def place(self, pod: Pod) -> None:
        """Decides one pod; what preemption takes away leaves at once, and the pod is then decided again."""
        decision = self.scheduler.decide(pod, preempt=True, in_sequence=True)
        if decision.host is None and decision.nominated and decision.preemption is not None:
            victims = decision.preemption.candidates[decision.nominated].pods
            for victim in victims:
                self.scheduler.cache.remove_pod(victim)
                self.hosts.pop(victim.key, None)
            self.evicted += victims
            decision = self._after(pod, decision)
        if decision.host is None:
            self.left[pod.key] = decision.message
            return
        self.scheduler.cache.assume_pod(pod, decision.host)
        self.hosts[pod.key] = decision.host

    def _after(self, pod: Pod, before: Decision) -> Decision:
        """The decision once there is room; the pod is nominated to the node, which the release may try first."""
        assert before.nominated is not None
        waiting = msgspec.structs.replace(pod, nominated_node_name=before.nominated)
        self.scheduler.cache.nominate(waiting, before.nominated)
        return self.scheduler.decide(waiting, in_sequence=True)


def _schedule(scene: Scene, asked: Mapping[str, Any]) -> Change:
    want = parameters(Scheduling, asked)
    side = scene.side(want.side)
    engine, cluster = scene.engine(side.id), scene.cluster(side.id)
    pods = cluster.pending() if want.pod == EVERY else [_waiting(cluster, scene.pod_key(want.pod))]
    if len(pods) > MOST_PODS:
        raise SceneFault(f"pod: {len(pods)} pods wait; one edit decides at most {MOST_PODS}")
    if not pods:
        raise SceneFault("pod: no pod waits")
    cache = cache_for(engine, cluster.objects)
    placing = Placing(engine.scheduler(cache, tie_break_of(engine, side.tie_break, side.seed)))
    for pod in pods:
        placing.place(pod)
    if not placing.hosts and not placing.evicted:
        raise SceneFault([f"Pod {key}: {message.rstrip()}" for key, message in placing.left.items()])
    return _told(placing), msgspec.structs.replace(scene.state, cluster=_after(scene.state.cluster, placing))


def _waiting(cluster: Cluster, key: str) -> Pod:
    pod = cluster.find_pod(key)
    if pod is None or pod.node_name:
        raise SceneFault(f"pod: {key} runs on {pod.node_name if pod else 'no node'}; take it off its node first")
    return pod


def _after(cluster: Cluster, placing: Placing) -> Cluster:
    """The cluster with what was placed; who made room waits again, but pods of a DaemonSet are gone."""
    there = {key: cluster.find_pod(key) for key in dict.fromkeys(pod.key for pod in placing.evicted)}
    gone = [key for key, pod in there.items() if pod is not None and stays_on_node(pod)]
    off = [key for key, pod in there.items() if pod is not None and pod.node_name and key not in gone]
    cluster = cluster.unbound(*off) if off else cluster
    cluster = cluster.without_pod(*gone) if gone else cluster
    return cluster.with_hosts(placing.hosts) if placing.hosts else cluster


def _told(placing: Placing) -> str:
    where = ", ".join(f"{pod} on {node}" for pod, node in list(placing.hosts.items())[:3])
    more = f" and {len(placing.hosts) - 3} more" if len(placing.hosts) > 3 else ""
    text = f"Scheduled {counted(len(placing.hosts), 'pod')}: {where}{more}"
    if placing.evicted:
        text += f"; evicted {counted(len(placing.evicted), 'pod')}"
    return f"{text}; {len(placing.left)} without a node" if placing.left else text


SCHEDULING_EDITS: Mapping[str, Edit] = {"schedule": _schedule}
"""``do`` → the edit."""
