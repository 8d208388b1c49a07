"""Edits of pods and of whatever else has a manifest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from clusterstate.errors import DecodeError
from kubescheduler.api.cluster import Cluster
from kubescheduler.api.manifest_builders import pod as pod_manifest
from kubescheduler.lab.scene.editing.edit_contract import Change, Edit
from kubescheduler.lab.scene.editing.node_changes import check_count, counted, in_cluster
from kubescheduler.lab.scene.opening import manifest_of, with_objects
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_faults import SceneFault
from kubescheduler.lab.scene.scene_state import SceneState
from kubescheduler.lab.scene.verb_parameters import Parameters, parameters
from kubescheduler.sources.manifest_texts import items_in


class PodNamed(Parameters, frozen=True):
    """Of an edit of one pod, ``namespace/name``."""

    pod: str


class Bound(PodNamed, frozen=True):
    """Of ``bind``."""

    node: str


class Scaled(PodNamed, frozen=True):
    """Of ``scale``: a pod or the controller of pods."""

    replicas: int


class PodAsked(Parameters, frozen=True):
    """Of ``ask``; None: no pod is asked about."""

    pod: str | None


class NewPod(Parameters, frozen=True):
    """Of ``addPod``; see ``kubescheduler.pod``. Several are called ``name-1``, ``name-2`` and so on."""

    name: str
    namespace: str = "default"
    cpu: str | int | None = None
    memory: str | int | None = None
    resources: Mapping[str, str | int] | None = None
    labels: Mapping[str, str] | None = None
    node_selector: Mapping[str, str] | None = None
    tolerations: tuple[str, ...] = ()
    priority: int | None = None
    scheduler_name: str | None = None
    count: int = 1


class NewYaml(Parameters, frozen=True):
    """Of ``addYaml``: manifests, one or several."""

    text: str


class OtherYaml(Parameters, frozen=True):
    """Of ``editYaml``: what the object of that kind and key (``namespace/name``, or a node's name) is to be."""

    kind: str
    key: str
    text: str


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


def _bind(scene: Scene, asked: Mapping[str, Any]) -> Change:
    want = parameters(Bound, asked)
    key = scene.pod_key(want.pod)
    return in_cluster(scene, f"Put pod {key} on node {want.node}", scene.state.cluster.bound(key, want.node))


def _unbind(scene: Scene, asked: Mapping[str, Any]) -> Change:
    key = scene.pod_key(parameters(PodNamed, asked).pod)
    return in_cluster(scene, f"Took pod {key} off its node", scene.state.cluster.unbound(key))


def _remove(scene: Scene, asked: Mapping[str, Any]) -> Change:
    key = scene.pod_key(parameters(PodNamed, asked).pod)
    return in_cluster(scene, f"Removed pod {key}", scene.state.cluster.without_pod(key))


def _scale(scene: Scene, asked: Mapping[str, Any]) -> Change:
    want = parameters(Scaled, asked)
    check_count("replicas", want.replicas, 0)
    cluster = scene.state.cluster.scaled(want.pod, want.replicas)
    return in_cluster(scene, f"Scaled {want.pod} to {counted(want.replicas, 'pod')}", cluster)


def _ask(scene: Scene, asked: Mapping[str, Any]) -> Change:
    pod = parameters(PodAsked, asked).pod
    if pod is None:
        return "Asked about no pod", msgspec.structs.replace(scene.state, asked=None)
    key = scene.pod_key(pod)
    return f"Asked about pod {key}", msgspec.structs.replace(scene.state, asked=key)


def _add(scene: Scene, asked: Mapping[str, Any]) -> Change:
    want = parameters(NewPod, asked)
    check_count("count", want.count)
    fields = {name: getattr(want, name) for name in NewPod.__struct_fields__ if name not in ("name", "count")}
    names = [want.name] if want.count == 1 else [f"{want.name}-{number}" for number in range(1, want.count + 1)]
    cluster = scene.state.cluster.add([pod_manifest(name, **fields) for name in names])
    state = msgspec.structs.replace(scene.state, cluster=cluster, asked=f"{want.namespace}/{names[0]}")
    return f"Added {counted(want.count, 'pod')}: {want.name}", state


def _add_yaml(scene: Scene, asked: Mapping[str, Any]) -> Change:
    text = parameters(NewYaml, asked).text
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


def _edit_yaml(scene: Scene, asked: Mapping[str, Any]) -> Change:
    want = parameters(OtherYaml, asked)
    state = scene.state
    manifest = manifest_in(want.text, want.kind)
    cluster = readable(state, lambda cluster: cluster.with_manifest(want.kind, want.key, manifest))
    return in_cluster(scene, f"Edited {want.kind} {want.key}", cluster)


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


POD_EDITS: Mapping[str, Edit] = {
    "bind": _bind,
    "unbind": _unbind,
    "removePod": _remove,
    "scale": _scale,
    "ask": _ask,
    "addPod": _add,
    "addYaml": _add_yaml,
    "editYaml": _edit_yaml,
}
"""``do`` → the edit."""
