"""The verb ``cluster``: nodes by zone, with what is used of their resources and what the asked pod would take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from clusterstate.cache import ClusterCache
from clusterstate.nodetree import STABLE_ZONE, ZONE
from clusterstate.objects import Node, Pod
from clusterstate.usage import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.verb_parameters import RowParameters, parameters
from kubescheduler.lab.scene.viewing.scene_view import owner_of
from kubescheduler.lab.scene.viewing.shown_decisions import shown_decision
from predicates.refusal_evidence import amount

MOST_PODS = 40
"""Pods of a node that are shown one by one; more are counted."""

UNITS = {CPU: "m", MEMORY: "bytes", EPHEMERAL_STORAGE: "bytes"}
"""What amounts are counted in; others in pieces."""


class ClusterParameters(RowParameters, frozen=True, kw_only=True):
    """Of ``cluster``."""

    pod: str | None = None
    """``namespace/name`` of the pod that each node's verdict is of; by default the one that is asked about."""


def cluster(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Some of the nodes, ordered by zone, then by name, with whether the pod fits on them and which it goes to."""
    want = parameters(ClusterParameters, asked)
    cache = scene.scheduler(want.side).cache
    nodes = [node for node in cache.columns.nodes if node is not None and want.find in node.name]
    nodes.sort(key=lambda node: (zone_of(node), node.name))
    zones = Counter(zone_of(node) for node in nodes)
    ghost = _ghost(scene, want.side, cache)
    judged = None if want.pod is None and scene.state.asked is None else shown_decision(scene, want.side, want.pod)
    fitting = None if judged is None or judged.error or not judged.tried else frozenset(judged.fits())
    host = judged.host if judged is not None else None
    return {
        "total": len(nodes),
        "zones": [{"name": name, "nodes": count} for name, count in zones.items()],
        "host": host,
        "hostAt": next((at for at, node in enumerate(nodes) if node.name == host), None),
        "nodes": [
            {**node_entry(cache, node, ghost), "fits": None if fitting is None else node.name in fitting}
            for node in nodes[want.part]
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
        "pods": [_pod_entry(cache, pod) for pod, _ in zip(there.values(), range(MOST_PODS), strict=False)],
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
    """One resource of a node, in its unit and as text."""
    numbers = {"allocatable": allocatable, "used": used, "ghost": ghost}
    text = {key: amount(name, number) for key, number in numbers.items()}
    return {"name": name, "unit": UNITS.get(name, ""), **numbers, "text": text}


def _pod_entry(cache: ClusterCache, pod: Pod) -> dict[str, Any]:
    return {
        "key": pod.key,
        "name": pod.metadata.name,
        "resources": dict(cache.info(pod).usage.used),
        "priority": pod.priority,
        "owner": owner_of(pod),
    }
