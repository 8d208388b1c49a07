"""Names, labels and selectors: what many kinds have in common."""

from __future__ import annotations

from collections.abc import Iterator

from clusterstate.manifests.fields import Fields, describe
from clusterstate.objects import (
    NO_LABELS,
    FrozenMap,
    Labels,
    LabelSelector,
    NodeSelectorTerm,
    ObjectMeta,
    OwnerReference,
    Requirement,
)
from kubecel.api_names import is_object_name, subdomain_errors


def decode_metadata(manifest: Fields) -> ObjectMeta:
    """``metadata`` of any object. A name is a must."""
    meta = manifest.inside("metadata")
    if not meta.has("name"):
        meta.fault(".name", "missing; every object needs a name")
    for key in ("name", "namespace"):
        value = meta.data.get(key)
        if isinstance(value, str) and value and not is_object_name(value):
            meta.fault(f".{key}", f"{describe(value)} is no {key}: {'; '.join(subdomain_errors(value))}")
    return ObjectMeta(
        name=meta.text("name"),
        namespace=meta.text("namespace"),
        uid=meta.text("uid"),
        labels=decode_labels(meta, "labels"),
        annotations=decode_labels(meta, "annotations"),
        owner_references=tuple(_owner(owner) for owner in meta.children("ownerReferences")),
        creation_timestamp=meta.text_or_none("creationTimestamp"),
        deletion_timestamp=meta.text_or_none("deletionTimestamp"),
    )


def _owner(owner: Fields) -> OwnerReference:
    return OwnerReference(
        kind=owner.text("kind"),
        name=owner.text("name"),
        uid=owner.text("uid"),
        controller=owner.flag("controller"),
        api_version=owner.text("apiVersion"),
    )


def decode_labels(fields: Fields, key: str) -> Labels:
    """The map of texts under a key; empty without it."""
    pairs = fields.text_map(key)
    return FrozenMap(pairs) if pairs else NO_LABELS


def _requirements(fields: Fields, key: str) -> Iterator[Requirement]:
    for item in fields.children(key):
        yield Requirement(item.text("key"), item.text("operator"), item.texts("values"))


def decode_label_selector(fields: Fields, key: str) -> LabelSelector | None:
    """The LabelSelector under a key; None without it."""
    selector = fields.child(key)
    if selector is None:
        return None
    return LabelSelector(decode_labels(selector, "matchLabels"), tuple(_requirements(selector, "matchExpressions")))


def decode_node_selector_term(term: Fields) -> NodeSelectorTerm:
    """A NodeSelectorTerm, over labels and fields."""
    return NodeSelectorTerm(tuple(_requirements(term, "matchExpressions")), tuple(_requirements(term, "matchFields")))


def decode_node_selector(fields: Fields, key: str) -> tuple[NodeSelectorTerm, ...] | None:
    """The terms of a node selector, None when there is no selector."""
    selector = fields.child(key)
    if selector is None:
        return None
    return tuple(decode_node_selector_term(term) for term in selector.children("nodeSelectorTerms"))
