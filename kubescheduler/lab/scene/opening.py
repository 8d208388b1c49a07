"""The first state of a scene, from whatever names a cluster, pods and schedulers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from clusterstate.errors import DecodeError
from clusterstate.manifests.documents import Item, parse_json
from clusterstate.objects import Pod
from clusterstate.versions import DEFAULT_RELEASE
from kubescheduler.api.argument_checks import shown_argument
from kubescheduler.api.cluster import Cluster
from kubescheduler.api.cluster_entries import Entry, key_of
from kubescheduler.api.given_objects import found_in, is_text
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.lab.scene.scene_faults import SceneFault
from kubescheduler.lab.scene.scene_side import SIDE_IDS, Side, side_of
from kubescheduler.lab.scene.scene_state import SceneState
from kubescheduler.simulation.openb_trace import is_trace
from kubescheduler.simulation.pod_templates import is_controller


def opened_state(
    sources: Iterable[Any], pods: Iterable[Any], sides: Iterable[Side | EngineSpec], title: str
) -> SceneState:
    """See ``Scene.opened``. Raises InputError with every fault."""
    things = list(sources)
    given = list(sides)
    if not given:
        given = [EngineSpec(next((one.release for one in things if isinstance(one, Cluster)), DEFAULT_RELEASE))]
    if len(given) > len(SIDE_IDS):
        raise SceneFault(f"sides: at most {len(SIDE_IDS)}, found {len(given)}")
    named = tuple(numbered(side, letter) for side, letter in zip(given, SIDE_IDS, strict=False))
    cluster = _cluster(things, named[0].release)
    asked: list[str] = []
    notes: list[str] = list(cluster.notes)
    for pod in pods:
        cluster, keys = with_objects(cluster, pod, notes, instead=True)
        if not keys:
            raise SceneFault(f"pods: there is no pod in {shown_argument(pod)}")
        asked += keys
    waiting = asked or [pod.key for pod in cluster.pending()[:1]]
    return SceneState(cluster, waiting[0] if waiting else None, named, title, tuple(dict.fromkeys(notes)))


def numbered(side: Side | EngineSpec, letter: str) -> Side:
    """A side of that id."""
    return msgspec.structs.replace(side, id=letter) if isinstance(side, Side) else side_of(side, letter)


def _cluster(things: list[Any], release: str) -> Cluster:
    clusters = [one for one in things if isinstance(one, Cluster)]
    if len(clusters) > 1:
        raise SceneFault("cluster: expected one, found several")
    paths = [one for one in things if isinstance(one, str | os.PathLike) and not is_text(one)]
    others = [one for one in things if not isinstance(one, Cluster) and one not in paths]
    if clusters:
        cluster, others = clusters[0].for_release(release), [*paths, *others]
    else:
        cluster = Cluster.read(*paths, release=release)
    return cluster.add(*others) if others else cluster


# --- objects that are added ----------------------------------------------------------------------


def with_objects(cluster: Cluster, given: Any, notes: list[str], *, instead: bool = False) -> tuple[Cluster, list[str]]:
    """The cluster with what manifests hold and what their controllers make; and the pods among that.

    notes: what is to be said is added. instead: a pod takes the place of one that waits under its name. Raises
    DecodeError with every fault.
    """
    if isinstance(given, str | os.PathLike) and not is_text(given) and is_trace(os.fspath(given)):
        return _with_made(cluster, given, notes)
    found = found_in([given], what="pods", kind="Pod")
    if found.problems:
        raise DecodeError(found.problems)
    manifests = [manifest_of(item) for item in found.items]
    making = [manifest for manifest in manifests if is_controller(manifest)]
    written = [manifest for manifest in manifests if not is_controller(manifest)]
    names = [pod_name(manifest) for manifest in written if manifest.get("kind") == "Pod"]
    there = [pod for name in names if instead and (pod := cluster.find_pod(name)) is not None and not pod.node_name]
    out = cluster.without_pod(*(pod.key for pod in there)) if there else cluster
    out = out.add(*written, *found.objects) if written or found.objects or not making else out
    keys = [pod.key for name in names if (pod := out.find_pod(name)) is not None]
    keys += [pod.key for pod in found.objects if isinstance(pod, Pod)]
    notes += [note for note in out.notes if note not in cluster.notes]
    if making:
        out, made = _with_made(out, making, notes)
        keys += made
    return out, keys


def _with_made(cluster: Cluster, given: Any, notes: list[str]) -> tuple[Cluster, list[str]]:
    """With the pods that controllers or a trace make."""
    found = cluster.to_place(given)
    notes += (*found.notes, *found.controllers)
    out = cluster.with_accompanying(found.accompanying)
    if found.pods:
        out = out.add(*(Entry(pod).manifest() for pod in found.pods))
    return out, [key_of(pod)[1] for pod in found.pods]


def manifest_of(item: Item) -> dict[str, Any]:
    """What an item was read from, with its kind."""
    content = item.content
    plain = parse_json(item.source, content) if isinstance(content, msgspec.Raw) else content
    if not isinstance(plain, Mapping):
        raise DecodeError(f"{item.source}: expected a manifest, a mapping of keys to values")
    header = {"apiVersion": item.api_version, "kind": item.kind}
    return {**{key: value for key, value in header.items() if value}, **plain}


def pod_name(manifest: Mapping[str, Any]) -> str:
    """``namespace/name``; empty for a manifest without."""
    metadata = manifest.get("metadata")
    if not isinstance(metadata, Mapping):
        return ""
    return f"{metadata.get('namespace') or 'default'}/{metadata.get('name') or ''}"
