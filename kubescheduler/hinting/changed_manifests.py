"""Hints as manifests: the pod or node that is changed, as a file that can be applied has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusterstate.errors import InputError
from clusterstate.manifests.annotations_1_4 import (
    AFFINITY_ANNOTATION,
    INIT_ANNOTATIONS,
    TAINTS_ANNOTATION,
    TOLERATIONS_ANNOTATION,
)
from clusterstate.manifests.kinds import encode_object
from clusterstate.manifests.tables import resources_text
from clusterstate.objects import ClusterObject, Container, FrozenMap, Node, PersistentVolume, Pod
from kubescheduler.hinting.proposals import Hint, Proposal

Manifest = Mapping[str, Any]

ANNOTATED = {
    "affinity": (AFFINITY_ANNOTATION,),
    "tolerations": (TOLERATIONS_ANNOTATION,),
    "taints": (TAINTS_ANNOTATION,),
    "initContainers": INIT_ANNOTATIONS,
}
"""Field of a spec → the annotations that stand for it in 1.4, and go when the field is written."""
CONTAINERS = ("containers", "initContainers")


def manifests_of(hint: Hint, pod: Pod, nodes: Mapping[str, Node]) -> list[dict[str, Any]]:
    """The manifests that a hint changes or adds, the pod's first. nodes: those of the cluster, by name.

    Raises InputError for a hint with a change that is none of a manifest.
    """
    changes = hint.changes
    if other := [change.text for change in changes if not _written_by(change)]:
        raise InputError(f"{text}: this changes no manifest that could be written" for text in other)
    out: list[dict[str, Any]] = []
    changed = pod
    for change in changes:
        changed = changed if change.pod is None else change.pod(changed)
    if changed is not pod:
        out.append(changed_pod(pod, changed))
    after: dict[str, Node] = {}
    for change in changes:
        if change.node is not None:
            after[change.name] = change.node(after.get(change.name, nodes[change.name]))
    out += (changed_node(nodes[name], node) for name, node in after.items())
    out += (changed_node(change.added, change.added) for change in changes if change.added is not None)
    out += (_written(each) for change in changes for each in change.created)
    return out


def _written_by(change: Proposal) -> bool:
    """Whether a change is one of manifests; where a volume is is for whoever makes it to know."""
    if any(isinstance(each, PersistentVolume) for each in change.created):
        return False
    return bool(change.pod or change.node or change.added or change.created)


def changed_pod(before: Pod, after: Pod) -> dict[str, Any]:
    """The pod's manifest with what differs; all else is as it was written."""
    manifest = _written(before)
    old, new = encode_object(before)["spec"], encode_object(after)["spec"]
    spec = dict(manifest.get("spec") or {})
    gone: list[str] = []
    for field in {**old, **new}:
        if old.get(field) == new.get(field):
            continue
        gone += ANNOTATED.get(field, ())
        if field in CONTAINERS and len(spec.get(field) or ()) == len(new[field]):
            part = "containers" if field == "containers" else "init_containers"
            spec[field] = _containers(spec[field], getattr(before.spec, part), getattr(after.spec, part))
        elif field == "resources":
            spec[field] = {**(spec.get(field) or {}), **new[field]}
        else:
            _set(spec, field, new.get(field))
    if old.get("priority") != new.get("priority"):
        spec.pop("priorityClassName", None)
    return _without_annotations({**manifest, "spec": spec}, gone)


def changed_node(before: Node, after: Node) -> dict[str, Any]:
    """The node's manifest with what differs; all else is as it was written."""
    manifest = _written(before)
    old, new = encode_object(before), encode_object(after)
    gone: list[str] = []
    for section in ("metadata", "spec", "status"):
        fields = dict(manifest.get(section) or {})
        was, now = old.get(section) or {}, new.get(section) or {}
        for field in {**was, **now}:
            if was.get(field) != now.get(field):
                gone += ANNOTATED.get(field, ())
                _set(fields, field, now.get(field))
        manifest[section] = fields
    return _without_annotations({key: value for key, value in manifest.items() if value != {}}, gone)


def _written(obj: ClusterObject) -> dict[str, Any]:
    """The manifest it was read from; the fields that scheduling reads if none was kept.

    Without the uid of an object that no API server has stored.
    """
    encoded = encode_object(obj)
    manifest = {
        "apiVersion": encoded["apiVersion"],
        "kind": encoded["kind"],
        **(getattr(obj, "manifest", None) or encoded),
    }
    metadata = {**(manifest.get("metadata") or {})}
    if "resourceVersion" not in metadata:
        metadata.pop("uid", None)
    return {**manifest, "metadata": metadata}


def _set(fields: dict[str, Any], key: str, value: Any) -> None:
    if value is None:
        fields.pop(key, None)
    else:
        fields[key] = value


def _without_annotations(manifest: dict[str, Any], gone: Sequence[str]) -> dict[str, Any]:
    metadata = dict(manifest.get("metadata") or {})
    annotations = {k: v for k, v in (metadata.get("annotations") or {}).items() if k not in gone}
    _set(metadata, "annotations", annotations or None)
    return {**manifest, "metadata": metadata}


def _containers(
    written: Sequence[Manifest], before: Sequence[Container], after: Sequence[Container]
) -> list[dict[str, Any]]:
    return [_container(*each) for each in zip(written, before, after, strict=True)]


def _container(written: Manifest, before: Container, after: Container) -> dict[str, Any]:
    """One container with other requests and limits, and fewer host ports."""
    out = dict(written)
    for field in ("requests", "limits"):
        old, new = getattr(before, field), getattr(after, field)
        changed = {key: value for key, value in new.items() if old.get(key) != value}
        if changed:
            resources = dict(out.get("resources") or {})
            amounts = resources_text(FrozenMap(changed))
            out["resources"] = {**resources, field: {**(resources.get(field) or {}), **amounts}}
    if before.ports != after.ports:
        kept = {(port.host_port, port.host_ip, port.protocol or "TCP") for port in after.ports}
        out["ports"] = [_port(port, kept) for port in out.get("ports") or ()]
    return out


def _port(written: Manifest, kept: set[tuple[int, str, str]]) -> dict[str, Any]:
    """A container's port, without its host port if that is not kept."""
    host = (written.get("hostPort"), written.get("hostIP") or "", written.get("protocol") or "TCP")
    dropped = written.get("hostPort") and host not in kept
    return {key: value for key, value in written.items() if not (dropped and key in ("hostPort", "hostIP"))}
