"""Edits of the cluster: its nodes, its pods, and pods that are decided and bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import msgspec

from clusterstate.errors import DecodeError
from clusterstate.objects import Pod
from kubescheduler.api.cluster import Cluster, stays_on_node
from kubescheduler.api.engine_choice import tie_break_of
from kubescheduler.core.decision import Decision
from kubescheduler.core.results import counted
from kubescheduler.engine.spec import Change as ObjectChange
from kubescheduler.engine.spec import PodScheduler, cache_for, place
from kubescheduler.lab.scene.scene import Change, Edit, Scene, verb
from kubescheduler.lab.scene.scene_state import SceneFault, SceneState, manifest_of, with_objects
from kubescheduler.manifest_builders import pod as pod_manifest
from kubescheduler.sources.files import items_in

MOST_COPIES = 5000
"""Nodes or pods that one edit adds at most."""


def in_cluster(scene: Scene, text: str, cluster: Cluster) -> Change:
    """The scene's state with another cluster."""
    return text, msgspec.structs.replace(scene.state, cluster=cluster)


def _of_node(text: str, change: Callable[[Cluster, str], Cluster]) -> Edit:
    """An edit of one node. text: what was done, with {node}."""

    @verb
    def edit(scene: Scene, node: str) -> Change:
        return in_cluster(scene, text.format(node=node), change(scene.state.cluster, node))

    return edit


@verb
def _remove_node(scene: Scene, node: str) -> Change:
    cluster = scene.state.cluster
    there = [pod.key for pod in cluster.pods if pod.node_name == node]
    cluster = cluster.without_pod(*there).without_node(node) if there else cluster.without_node(node)
    return in_cluster(scene, f"Removed node {node} with its {counted(len(there), 'pod')}", cluster)


@verb
def _clone(scene: Scene, node: str, count: int = 1) -> Change:
    check_count("count", count)
    return in_cluster(scene, f"Cloned node {node} {counted(count, 'time')}", scene.state.cluster.cloned(node, count))


@verb
def _taint(scene: Scene, node: str, taint: str) -> Change:
    """taint: as kubectl writes it, ``key=value:Effect``."""
    return in_cluster(scene, f"Tainted node {node} with {taint}", scene.state.cluster.with_taint(node, taint))


@verb
def _untaint(scene: Scene, node: str, key: str) -> Change:
    """key: ``key`` or ``key:Effect``."""
    cluster = scene.state.cluster.without_taint(node, key)
    return in_cluster(scene, f"Removed the taint {key} from node {node}", cluster)


@verb
def _label(scene: Scene, node: str, key: str, value: str | None = None) -> Change:
    """Without a value the label is removed."""
    cluster = scene.state.cluster.with_label(node, {key: value})
    done = f"Labelled node {node} with {key}={value}"
    return in_cluster(scene, f"Removed the label {key} from node {node}" if value is None else done, cluster)


@verb
def _resize(scene: Scene, node: str, resources: Mapping[str, str | int | None]) -> Change:
    """resources: what is allocatable of some; None takes one away."""
    cluster = scene.state.cluster.resized(node, resources=dict(resources))
    sizes = ", ".join(f"{name} {'gone' if amount is None else amount}" for name, amount in resources.items())
    return in_cluster(scene, f"Resized node {node}: {sizes}", cluster)


@verb
def _add_node(
    scene: Scene,
    name: str,
    cpu: str | int = 4,
    memory: str | int = "8Gi",
    pods: int = 110,
    resources: Mapping[str, str | int] | None = None,
    labels: Mapping[str, str] | None = None,
    taints: tuple[str, ...] = (),
    zone: str | None = None,
    region: str | None = None,
) -> Change:
    """See ``kubescheduler.node``."""
    where: dict[str, Any] = {"labels": labels, "taints": taints, "zone": zone, "region": region}
    cluster = scene.state.cluster.node(name, cpu=cpu, memory=memory, pods=pods, resources=resources, **where)
    return in_cluster(scene, f"Added node {name}", cluster)


def check_count(name: str, count: int, least: int = 1) -> None:
    """Raises SceneFault for a number that is too small or too large."""
    if not least <= count <= MOST_COPIES:
        raise SceneFault(f"{name}: expected {least} to {MOST_COPIES}, found {count}")


def readable(state: SceneState, change: Callable[[Cluster], Cluster]) -> Cluster:
    """The cluster with something read into it, by its own release, or by that of a side where only that takes it.

    Raises the faults of the cluster's own release where none does.
    """
    try:
        return change(state.cluster)
    except DecodeError as error:
        for side in state.sides:
            try:
                return change(state.cluster.for_release(side.release, side.spec.gates))
            except DecodeError:
                continue
        raise error from error


@verb
def _bind(scene: Scene, pod: str, node: str) -> Change:
    key = scene.pod_key(pod)
    return in_cluster(scene, f"Put pod {key} on node {node}", scene.state.cluster.bound(key, node))


@verb
def _unbind(scene: Scene, pod: str) -> Change:
    key = scene.pod_key(pod)
    return in_cluster(scene, f"Took pod {key} off its node", scene.state.cluster.unbound(key))


@verb
def _remove_pod(scene: Scene, pod: str) -> Change:
    key = scene.pod_key(pod)
    return in_cluster(scene, f"Removed pod {key}", scene.state.cluster.without_pod(key))


@verb
def _scale(scene: Scene, pod: str, replicas: int) -> Change:
    """pod: one, or the controller of pods."""
    check_count("replicas", replicas, 0)
    cluster = scene.state.cluster.scaled(pod, replicas)
    return in_cluster(scene, f"Scaled {pod} to {counted(replicas, 'pod')}", cluster)


@verb
def _ask(scene: Scene, pod: str | None) -> Change:
    if pod is None:
        return "Asked about no pod", msgspec.structs.replace(scene.state, asked=None)
    key = scene.pod_key(pod)
    return f"Asked about pod {key}", msgspec.structs.replace(scene.state, asked=key)


@verb
def _add_pod(
    scene: Scene,
    name: str,
    namespace: str = "default",
    cpu: str | int | None = None,
    memory: str | int | None = None,
    resources: Mapping[str, str | int] | None = None,
    labels: Mapping[str, str] | None = None,
    node_selector: Mapping[str, str] | None = None,
    tolerations: tuple[str, ...] = (),
    priority: int | None = None,
    scheduler_name: str | None = None,
    count: int = 1,
) -> Change:
    """See ``kubescheduler.pod``. Several are called ``name-1``, ``name-2`` and so on."""
    check_count("count", count)
    asked: dict[str, Any] = {"cpu": cpu, "memory": memory, "resources": resources, "labels": labels}
    asked |= {"node_selector": node_selector, "tolerations": tolerations, "priority": priority}
    asked |= {"namespace": namespace, "scheduler_name": scheduler_name}
    names = [name] if count == 1 else [f"{name}-{number}" for number in range(1, count + 1)]
    cluster = scene.state.cluster.add([pod_manifest(one, **asked) for one in names])
    state = msgspec.structs.replace(scene.state, cluster=cluster, asked=f"{namespace}/{names[0]}")
    return f"Added {counted(count, 'pod')}: {name}", state


@verb
def _add_yaml(scene: Scene, text: str) -> Change:
    """text: manifests, one or several."""
    if not text.strip():
        raise SceneFault("text: it is empty; give manifests in YAML or JSON")
    found: list[list[str]] = []
    notes: list[str] = []

    def read(cluster: Cluster) -> Cluster:
        out, keys = with_objects(cluster, f"{text}\n", notes)
        found.append(keys)
        return out

    state = scene.state
    cluster = readable(state, read)
    keys = found[-1]
    state = msgspec.structs.replace(
        state,
        cluster=cluster,
        asked=keys[0] if keys else state.asked,
        notes=tuple(dict.fromkeys((*state.notes, *notes))),
    )
    more = len(cluster) - len(scene.state.cluster) - len(keys)
    return f"Added {counted(len(keys), 'pod')}" + (f" and {counted(more, 'other object')}" if more > 0 else ""), state


@verb
def _edit_yaml(scene: Scene, kind: str, key: str, text: str) -> Change:
    """What the object of that kind and key (``namespace/name``, or a node's name) is to be."""
    manifest = manifest_in(text, kind)
    cluster = readable(scene.state, lambda cluster: cluster.with_manifest(kind, key, manifest))
    return in_cluster(scene, f"Edited {kind} {key}", cluster)


def manifest_in(text: str, kind: str) -> dict[str, Any]:
    """The one manifest in a text. Raises InputError for a text that cannot be read or has none of the kind."""
    problems: list[str] = []
    items = items_in("text", f"{text}\n".encode(), problems)
    if problems:
        raise DecodeError(problems)
    if len(items) != 1:
        raise SceneFault(f"text: expected one manifest, found {len(items) or 'none'}")
    manifest = manifest_of(items[0])
    if manifest.setdefault("kind", kind) != kind:
        raise SceneFault(f"text: kind: it was {kind} and has to stay so, found {manifest['kind']}")
    return manifest


EVERY = "pending"
"""Stands for every pod that waits."""

MOST_PODS = 2000
"""Pods that one edit decides at most."""


@attrs.define(eq=False)
class Placing:
    """Pods that are decided one after the other in a cluster of their own."""

    scheduler: PodScheduler
    hosts: dict[str, str] = attrs.field(factory=dict)
    """Pod → node."""
    evicted: list[Pod] = attrs.field(factory=list)
    """Who made room, in order."""
    changes: list[ObjectChange] = attrs.field(factory=list)
    """Volumes and claims that were bound with the pods."""
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
        self.changes += place(self.scheduler, pod, decision.host)
        self.hosts[pod.key] = decision.host

    def _after(self, pod: Pod, before: Decision) -> Decision:
        """The decision once there is room; the pod is nominated to the node, which the release may try first."""
        assert before.nominated is not None
        waiting = msgspec.structs.replace(pod, nominated_node_name=before.nominated)
        self.scheduler.cache.nominate(waiting, before.nominated)
        return self.scheduler.decide(waiting, in_sequence=True)


@verb
def _schedule(scene: Scene, side: str = "a", pod: str = EVERY) -> Change:
    decides = scene.side(side)
    engine, cluster = scene.engine(side), scene.cluster(side)
    pods = cluster.pending() if pod == EVERY else [_waiting(cluster, scene.pod_key(pod))]
    if len(pods) > MOST_PODS:
        raise SceneFault(f"pod: {len(pods)} pods wait; one edit decides at most {MOST_PODS}")
    if not pods:
        raise SceneFault("pod: no pod waits")
    cache = cache_for(engine, cluster.objects)
    placing = Placing(engine.scheduler(cache, tie_break_of(engine, decides.tie_break, decides.seed)))
    for waiting in pods:
        placing.place(waiting)
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
    cluster = cluster.with_accompanying((obj, None) for _, obj in placing.changes)
    return cluster.with_hosts(placing.hosts) if placing.hosts else cluster


def _told(placing: Placing) -> str:
    where = ", ".join(f"{pod} on {node}" for pod, node in list(placing.hosts.items())[:3])
    more = f" and {len(placing.hosts) - 3} more" if len(placing.hosts) > 3 else ""
    text = f"Scheduled {counted(len(placing.hosts), 'pod')}: {where}{more}"
    if placing.evicted:
        text += f"; evicted {counted(len(placing.evicted), 'pod')}"
    return f"{text}; {len(placing.left)} without a node" if placing.left else text


EDITS: Mapping[str, Edit] = {
    "kill": _of_node("Killed node {node}", lambda cluster, node: cluster.without_node(node)),
    "removeNode": _remove_node,
    "cordon": _of_node("Cordoned node {node}", lambda cluster, node: cluster.cordoned(node)),
    "uncordon": _of_node("Uncordoned node {node}", lambda cluster, node: cluster.uncordoned(node)),
    "drain": _of_node("Drained node {node}", lambda cluster, node: cluster.drained(node)),
    "clone": _clone,
    "taint": _taint,
    "untaint": _untaint,
    "label": _label,
    "resize": _resize,
    "addNode": _add_node,
    "bind": _bind,
    "unbind": _unbind,
    "removePod": _remove_pod,
    "scale": _scale,
    "ask": _ask,
    "addPod": _add_pod,
    "addYaml": _add_yaml,
    "editYaml": _edit_yaml,
    "schedule": _schedule,
}
"""``do`` → the edit."""
