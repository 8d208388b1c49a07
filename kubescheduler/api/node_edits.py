"""Manifests that differ in one thing: the changes behind a cluster's what-if methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clusterstate.errors import DecodeError
from clusterstate.manifests.annotations_1_4 import TAINTS_ANNOTATION
from kubescheduler.api.manifest_builders import HOSTNAME, as_annotation, taint

Manifest = Mapping[str, Any]
Edit = Callable[[Manifest], Manifest]
"""A manifest → the same with one thing changed; what it was made from stays as it is."""


def _inside(manifest: Manifest, section: str) -> Mapping[str, Any]:
    found = manifest.get(section)
    return found if isinstance(found, Mapping) else {}


def _with(manifest: Manifest, section: str, **changes: Any) -> Manifest:
    """The manifest with fields of a section set; None removes one."""
    fields = {**_inside(manifest, section), **changes}
    return {**manifest, section: {key: value for key, value in fields.items() if value is not None}}


def labelled(labels: Mapping[str, str | None]) -> Edit:
    """Sets labels; None removes one."""

    def edit(manifest: Manifest) -> Manifest:
        merged = {**_inside(_inside(manifest, "metadata"), "labels"), **labels}
        return _with(manifest, "metadata", labels={key: value for key, value in merged.items() if value is not None})

    return edit


def tainted(given: str | Manifest) -> Edit:
    """Adds a taint, in place of one with the same key and effect."""
    added = taint(given)

    def edit(manifest: Manifest) -> Manifest:
        kept = [each for each in _taints(manifest) if not _alike(each, added["key"], added.get("effect"))]
        return _with_taints(manifest, [*kept, added])

    return edit


def untainted(text: str) -> Edit:
    """Removes the taints that ``key`` or ``key:Effect`` names. Raises DecodeError when a node has none of them."""
    key, _, effect = text.removesuffix("-").partition(":")
    key = key.partition("=")[0]

    def edit(manifest: Manifest) -> Manifest:
        there = _taints(manifest)
        kept = [each for each in there if not _alike(each, key, effect or None)]
        if len(kept) == len(there):
            name = _inside(manifest, "metadata").get("name")
            has = ", ".join(f"{each.get('key')}:{each.get('effect')}" for each in there)
            raise DecodeError(f"Node {name}: there is no taint {text}; it has {has or 'none'}")
        return _with_taints(manifest, kept)

    return edit


def _taints(manifest: Manifest) -> list[Manifest]:
    """The taints of the spec; without any those that release 1.4 reads in an annotation."""
    given = _inside(manifest, "spec").get("taints")
    text = _inside(_inside(manifest, "metadata"), "annotations").get(TAINTS_ANNOTATION)
    if given is None and isinstance(text, str):
        import json

        try:
            given = json.loads(text)
        except ValueError:
            given = ()
    return [each for each in given or () if isinstance(each, Mapping)]


def _with_taints(manifest: Manifest, taints: list[Manifest]) -> Manifest:
    """With these taints, as all releases read them."""
    annotations = {**_inside(_inside(manifest, "metadata"), "annotations")}
    annotations.pop(TAINTS_ANNOTATION, None)
    annotations |= as_annotation(TAINTS_ANNOTATION, [dict(each) for each in taints])
    changed = _with(manifest, "spec", taints=taints or None)
    return _with(changed, "metadata", annotations=annotations or None)


def _alike(each: Manifest, key: str, effect: str | None) -> bool:
    return each.get("key") == key and (effect is None or each.get("effect") == effect)


def cordoned(manifest: Manifest) -> Manifest:
    """The node takes no more pods."""
    return _with(manifest, "spec", unschedulable=True)


def uncordoned(manifest: Manifest) -> Manifest:
    """The node takes pods again."""
    return _with(manifest, "spec", unschedulable=None)


def resized(amounts: Mapping[str, Any]) -> Edit:
    """Sets what is allocatable of some resources; None removes one."""

    def edit(manifest: Manifest) -> Manifest:
        status = _inside(manifest, "status")
        there = status.get("allocatable") or status.get("capacity") or {}
        merged = {key: amount for key, amount in {**there, **amounts}.items() if amount is not None}
        return _with(manifest, "status", allocatable=merged)

    return edit


def renamed(name: str) -> Edit:
    """Another object like this one: its name, its uid and a node's hostname label are new."""

    def edit(manifest: Manifest) -> Manifest:
        labels = _inside(_inside(manifest, "metadata"), "labels")
        if manifest.get("kind") == "Node" and HOSTNAME in labels:
            labels = {**labels, HOSTNAME: name}
        return _with(manifest, "metadata", name=name, uid=None, labels=dict(labels) or None)

    return edit


def bound(node: str) -> Edit:
    """The pod runs on a node."""
    return lambda manifest: _with(manifest, "spec", nodeName=node)


def unbound(manifest: Manifest) -> Manifest:
    """The pod is pending, as if it had just been created."""
    return {key: value for key, value in _with(manifest, "spec", nodeName=None).items() if key != "status"}
