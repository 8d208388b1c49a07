"""Edits of nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from kubescheduler.api.cluster import Cluster
from kubescheduler.lab.scene.editing.edit_contract import Change, Edit
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_faults import SceneFault
from kubescheduler.lab.scene.verb_parameters import Parameters, parameters

MOST_COPIES = 5000
"""Nodes or pods that one edit adds at most."""


class NodeNamed(Parameters, frozen=True):
    """Of an edit of one node."""

    node: str


class Copies(NodeNamed, frozen=True):
    """Of ``clone``."""

    count: int = 1


class NewTaint(NodeNamed, frozen=True):
    """Of ``taint``: as kubectl writes it, ``key=value:Effect``."""

    taint: str


class OldTaint(NodeNamed, frozen=True):
    """Of ``untaint``: ``key`` or ``key:Effect``."""

    key: str


class NodeLabel(NodeNamed, frozen=True):
    """Of ``label``; without a value the label is removed."""

    key: str
    value: str | None = None


class Resized(NodeNamed, frozen=True):
    """Of ``resize``: what is allocatable of some resources; None takes one away."""

    resources: Mapping[str, str | int | None]


class NewNode(Parameters, frozen=True):
    """Of ``addNode``; see ``kubescheduler.node``."""

    name: str
    cpu: str | int = 4
    memory: str | int = "8Gi"
    pods: int = 110
    resources: Mapping[str, str | int] | None = None
    labels: Mapping[str, str] | None = None
    taints: tuple[str, ...] = ()
    zone: str | None = None
    region: str | None = None


def in_cluster(scene: Scene, text: str, cluster: Cluster) -> Change:
    """The scene's state with another cluster."""
    return text, msgspec.structs.replace(scene.state, cluster=cluster)


def _of_node(text: str, change: Callable[[Cluster, str], Cluster]) -> Edit:
    """An edit of one node. text: what was done, with {node}."""

    def edit(scene: Scene, asked: Mapping[str, Any]) -> Change:
        node = parameters(NodeNamed, asked).node
        return in_cluster(scene, text.format(node=node), change(scene.state.cluster, node))

    return edit


def _remove(scene: Scene, asked: Mapping[str, Any]) -> Change:
    node = parameters(NodeNamed, asked).node
    cluster = scene.state.cluster
    there = [pod.key for pod in cluster.pods if pod.node_name == node]
    cluster = cluster.without_pod(*there).without_node(node) if there else cluster.without_node(node)
    return in_cluster(scene, f"Removed node {node} with its {counted(len(there), 'pod')}", cluster)


def _clone(scene: Scene, asked: Mapping[str, Any]) -> Change:
    want = parameters(Copies, asked)
    check_count("count", want.count)
    cluster = scene.state.cluster.cloned(want.node, want.count)
    return in_cluster(scene, f"Cloned node {want.node} {counted(want.count, 'time')}", cluster)


def _taint(scene: Scene, asked: Mapping[str, Any]) -> Change:
    want = parameters(NewTaint, asked)
    cluster = scene.state.cluster.with_taint(want.node, want.taint)
    return in_cluster(scene, f"Tainted node {want.node} with {want.taint}", cluster)


def _untaint(scene: Scene, asked: Mapping[str, Any]) -> Change:
    want = parameters(OldTaint, asked)
    cluster = scene.state.cluster.without_taint(want.node, want.key)
    return in_cluster(scene, f"Removed the taint {want.key} from node {want.node}", cluster)


def _label(scene: Scene, asked: Mapping[str, Any]) -> Change:
    want = parameters(NodeLabel, asked)
    cluster = scene.state.cluster.with_label(want.node, {want.key: want.value})
    done = f"Labelled node {want.node} with {want.key}={want.value}"
    return in_cluster(
        scene, f"Removed the label {want.key} from node {want.node}" if want.value is None else done, cluster
    )


def _resize(scene: Scene, asked: Mapping[str, Any]) -> Change:
    want = parameters(Resized, asked)
    cluster = scene.state.cluster.resized(want.node, resources=dict(want.resources))
    sizes = ", ".join(f"{name} {'gone' if amount is None else amount}" for name, amount in want.resources.items())
    return in_cluster(scene, f"Resized node {want.node}: {sizes}", cluster)


def _add(scene: Scene, asked: Mapping[str, Any]) -> Change:
    want = parameters(NewNode, asked)
    fields = {name: getattr(want, name) for name in NewNode.__struct_fields__ if name != "name"}
    return in_cluster(scene, f"Added node {want.name}", scene.state.cluster.node(want.name, **fields))


def counted(count: int, what: str) -> str:
    """``3 pods``."""
    return f"{count} {what}{'s' * (count != 1)}"


def check_count(name: str, count: int, least: int = 1) -> None:
    """Raises SceneFault for a number that is too small or too large."""
    if not least <= count <= MOST_COPIES:
        raise SceneFault(f"{name}: expected {least} to {MOST_COPIES}, found {count}")


NODE_EDITS: Mapping[str, Edit] = {
    "kill": _of_node("Killed node {node}", lambda cluster, node: cluster.without_node(node)),
    "removeNode": _remove,
    "cordon": _of_node("Cordoned node {node}", lambda cluster, node: cluster.cordoned(node)),
    "uncordon": _of_node("Uncordoned node {node}", lambda cluster, node: cluster.uncordoned(node)),
    "drain": _of_node("Drained node {node}", lambda cluster, node: cluster.drained(node)),
    "clone": _clone,
    "taint": _taint,
    "untaint": _untaint,
    "label": _label,
    "resize": _resize,
    "addNode": _add,
}
"""``do`` → the edit."""
