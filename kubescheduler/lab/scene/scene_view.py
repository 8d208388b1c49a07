"""What a scene holds, as plain data: its state, its nodes and pods, who waits, and the files of users' own rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import yaml

from clusterstate.cache import ClusterCache
from clusterstate.errors import InputError, listed
from clusterstate.node_order import STABLE_ZONE, ZONE
from clusterstate.objects import Node, Pod
from clusterstate.usage import CPU, MEMORY, PODS
from kubescheduler.api.cluster import Cluster
from kubescheduler.core.decision import Decision
from kubescheduler.engine.spec import PodScheduler
from kubescheduler.extender.access import PASS
from kubescheduler.lab.plugin_file import PluginFile, faults_in
from kubescheduler.lab.scene.decision_rows import shown_decision
from kubescheduler.lab.scene.exercise_verbs import way_of
from kubescheduler.lab.scene.scene import Scene, Verb, part, verb
from kubescheduler.lab.scene.scene_state import SceneFault, Side
from kubescheduler.releases.names import RELEASE_NAMES
from predicates.refusal_evidence import amount

MOST_PODS = 500
"""Pods that the state names; more are counted."""


@verb
def state(scene: Scene) -> dict[str, Any]:
    """The scene in brief."""
    now = scene.state
    return {
        "version": scene.version,
        "title": now.title,
        "releases": list(RELEASE_NAMES),
        "sides": [side_entry(scene, side) for side in now.sides],
        "asked": asked_entry(scene),
        **scene.once(_counts),
        "canUndo": scene.undo_text is not None,
        "undoText": scene.undo_text,
        "canRedo": scene.redo_text is not None,
        "redoText": scene.redo_text,
        "notes": listed(now.notes),
        "exercise": exercise_entry(scene),
        "plugin": plugin_entry(scene),
    }


def exercise_entry(scene: Scene) -> dict[str, Any] | None:
    """The exercise that is worked on."""
    way = way_of(scene)
    return None if way is None else {"name": way.exercise.name, "title": way.exercise.title}


def plugin_entry(scene: Scene) -> dict[str, Any] | None:
    """The first file of users' own rules, and what is wrong with all of them."""
    if not scene.plugin_files:
        return None
    problems = [problem for file in scene.plugin_files for problem in file.problems]
    return {"path": str(scene.plugin_files[0].path), "problems": problems}


def _counts(cluster: Cluster) -> dict[str, Any]:
    pods = cluster.pods
    return {
        "pods": [pod_entry(pod) for pod in pods[:MOST_PODS]],
        "nodesTotal": len(cluster.nodes),
        "podsTotal": len(pods),
        "pendingTotal": len(cluster.pending()),
    }


def asked_entry(scene: Scene) -> dict[str, Any] | None:
    """The pod that is asked about."""
    key = scene.state.asked
    found = None if key is None else scene.state.cluster.find_pod(key)
    if found is None:
        return None
    return {"key": found.key, "namespace": found.metadata.namespace, "name": found.metadata.name}


def side_entry(scene: Scene, side: Side) -> dict[str, Any]:
    """One side: what describes it, and why it cannot decide."""
    made = scene.made(side)
    return {
        "id": side.id,
        "name": side.name,
        "release": side.release,
        "kind": side.kind,
        "text": side.shown_text,
        "notes": listed(made.notes),
        "problems": listed(scene.problems(side.id)),
        "extendersPassed": side.spec.extenders == PASS and made.engine is not None and bool(made.engine.extenders),
    }


def pod_entry(pod: Pod) -> dict[str, Any]:
    """A pod in a list."""
    return {
        "key": pod.key,
        "node": pod.node_name or None,
        "owner": owner_of(pod),
        "priority": pod.priority,
    }


def owner_of(pod: Pod) -> str:
    """``ReplicaSet web``: the controller; empty where there is none."""
    owner = pod.metadata.controller
    return "" if owner is None else f"{owner.kind} {owner.name}"


MOST_PODS_OF_NODE = 40
"""Pods of a node that are shown one by one; more are counted."""


@verb
def cluster(
    scene: Scene, side: str = "a", from_: int = 0, to: int = 60, find: str = "", pod: str | None = None
) -> dict[str, Any]:
    """Some of the nodes, ordered by zone, then by name, with whether the pod fits on them and which it goes to.

    from_, to, find: see ``part``. pod: ``namespace/name`` of the pod that each node's verdict is of; by default the one
    that is asked about.
    """
    cache = scene.scheduler(side).cache
    nodes = [node for node in cache.columns.nodes if node is not None and find in node.name]
    nodes.sort(key=lambda node: (zone_of(node), node.name))
    zones = Counter(zone_of(node) for node in nodes)
    ghost = _ghost(scene, side, cache)
    judged = None if pod is None and scene.state.asked is None else shown_decision(scene, side, pod)
    fitting = None if judged is None or judged.error or not judged.tried else frozenset(judged.fits())
    host = judged.host if judged is not None else None
    return {
        "total": len(nodes),
        "zones": [{"name": name, "nodes": count} for name, count in zones.items()],
        "host": host,
        "hostAt": next((at for at, node in enumerate(nodes) if node.name == host), None),
        "nodes": [
            {**node_entry(cache, node, ghost), "fits": None if fitting is None else node.name in fitting}
            for node in nodes[part(from_, to)]
        ],
    }


def zone_of(node: Node) -> str:
    """The zone that a node's labels say; empty for none."""
    labels = node.metadata.labels
    return labels.get(STABLE_ZONE) or labels.get(ZONE) or ""


def _ghost(scene: Scene, side: str, cache: ClusterCache) -> Mapping[str, int]:
    """What a node must have free for the asked pod, by resource."""
    key = scene.state.asked
    pod = None if key is None else scene.cluster(side).find_pod(key)
    if pod is None or pod.node_name:
        return {}
    return {**cache.info(pod).usage.request, PODS: 1}


def node_entry(cache: ClusterCache, node: Node, ghost: Mapping[str, int]) -> dict[str, Any]:
    """One node."""
    columns = cache.columns
    there = columns.pods[columns.row_of[node.name]]
    return {
        "name": node.name,
        "zone": zone_of(node),
        "labels": dict(node.metadata.labels),
        "taints": [f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}" for taint in node.taints],
        "conditions": list(_conditions(node)),
        "cordoned": node.unschedulable,
        "resources": list(_resources(cache, node, ghost)),
        "pods": [_pod_entry(cache, pod) for pod, _ in zip(there.values(), range(MOST_PODS_OF_NODE), strict=False)],
        "podsTotal": len(there),
    }


def _conditions(node: Node) -> Iterator[str]:
    """The conditions that are not as they should be: ``Ready=Unknown``, ``MemoryPressure``."""
    for condition in node.conditions:
        usual = "True" if condition.type == "Ready" else "False"
        if condition.status != usual:
            yield condition.type if condition.status == "True" else f"{condition.type}={condition.status}"


def _resources(cache: ClusterCache, node: Node, ghost: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    columns = cache.columns
    row = columns.row_of[node.name]
    for name, index in columns.resources.items():
        has, used = int(columns.allocatable.view[index, row]), int(columns.requested.view[index, row])
        if name in (CPU, MEMORY) or has or used or bool(columns.allocatable_set.view[index, row]):
            yield resource_entry(name, has, used, ghost.get(name, 0))
    yield resource_entry(
        PODS, int(columns.allowed_pods.view[row]), int(columns.pod_count.view[row]), ghost.get(PODS, 0)
    )


def resource_entry(name: str, allocatable: int, used: int, ghost: int) -> dict[str, Any]:
    """One resource of a node, as numbers and as text."""
    numbers = {"allocatable": allocatable, "used": used, "ghost": ghost}
    text = {key: amount(name, number) for key, number in numbers.items()}
    return {"name": name, **numbers, "text": text}


def _pod_entry(cache: ClusterCache, pod: Pod) -> dict[str, Any]:
    return {
        "key": pod.key,
        "name": pod.metadata.name,
        "resources": dict(cache.info(pod).usage.used),
        "priority": pod.priority,
        "owner": owner_of(pod),
    }


MOST_PENDING = 200
"""Pods that are decided for one answer; more are counted."""


@verb
def pending(scene: Scene, side: str = "a") -> dict[str, Any]:
    """Each pod is decided as if it came next: none is bound before another."""
    scheduler, waiting = scene.scheduler(side), scene.cluster(side).pending()
    decided: dict[Hashable, Decision] = {}
    pods = []
    for pod in waiting[:MOST_PENDING]:
        alike = _alike(scheduler, pod)
        if alike not in decided:
            decided[alike] = shown_decision(scene, side, pod.key)
        pods.append(_entry(pod, decided[alike]))
    return {"pods": pods, "more": max(0, len(waiting) - MOST_PENDING)}


def _alike(scheduler: PodScheduler, pod: Pod) -> Hashable:
    """What pods have in common that every rule sees alike: class, priority and nomination; the pod itself where custom
    code or an extender may look at more."""
    if scheduler.has_custom_plugins or scheduler.algorithm.extenders:
        return pod.key
    return scheduler.cache.info(pod), pod.priority, pod.nominated_node_name, pod.metadata.annotations


def _entry(pod: Pod, decision: Decision) -> dict[str, Any]:
    return {
        "key": pod.key,
        "message": decision.message.replace(decision.pod.key, pod.key),
        "nominated": pod.nominated_node_name or decision.nominated or None,
        "gated": not decision.tried and not decision.foreign,
        "foreign": decision.foreign,
        "host": decision.host,
        "error": decision.error if decision.tried else None,
        "priority": pod.priority,
    }


@verb
def pod(scene: Scene, key: str) -> dict[str, Any]:
    """One pod with its manifest as YAML."""
    key = scene.pod_key(key)
    found = scene.state.cluster.find_pod(key)
    assert found is not None
    return {**pod_entry(found), "yaml": _yaml(scene, "Pod", key)}


@verb
def node(scene: Scene, name: str) -> dict[str, Any]:
    """One node's manifest as YAML."""
    return {"name": name, "yaml": _yaml(scene, "Node", name)}


def _yaml(scene: Scene, kind: str, name: str) -> str:
    entry = next((one for one in scene.state.cluster.entries() if one.key == (kind, name)), None)
    if entry is None:
        raise SceneFault(f"{kind.lower()}: there is no {kind.lower()} {name} in the cluster")
    return yaml.safe_dump(entry.manifest(), sort_keys=False, allow_unicode=True, width=120)


VIEWS: Mapping[str, Verb] = {"state": state, "cluster": cluster, "pending": pending, "pod": pod, "node": node}


@verb
def code(scene: Scene) -> dict[str, Any]:
    """Every file with its text and its faults, also those of the decisions on the pod that is asked about."""
    return {"files": [_code_entry(scene, file) for file in scene.plugin_files]}


def _code_entry(scene: Scene, file: PluginFile) -> dict[str, Any]:
    faults = list(file.faults) or [
        fault for error in _decision_errors(scene) for fault in faults_in(error, error.problems, file.path)
    ]
    return {
        "path": str(file.path),
        "name": file.name,
        "text": file.text,
        "loaded": not file.faults,
        "decidesOn": file.decides_on,
        "at": datetime.fromtimestamp(file.loaded_at, UTC).isoformat(timespec="seconds"),
        "problems": [fault.to_dict() for fault in dict.fromkeys(faults)],
    }


def _decision_errors(scene: Scene) -> list[InputError]:
    """What the decisions of the sides end with."""
    found: list[InputError] = []
    for side in scene.state.sides if scene.state.asked is not None else ():
        try:
            scene.decision(side.id)
        except InputError as error:
            found.append(error)
    return found


VERBS: Mapping[str, Verb] = {"code": code}
