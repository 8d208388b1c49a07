"""Manifests of what many kinds have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from clusterstate.objects import (
    CSI,
    ISCSI,
    RBD,
    AWSElasticBlockStore,
    AzureDisk,
    Cinder,
    GCEPersistentDisk,
    LabelSelector,
    NodeSelectorTerm,
    ObjectMeta,
    OwnerReference,
    PortworxVolume,
    Requirement,
    ResourceList,
    VolumeSource,
)
from clusterstate.quantity import format_quantity

_BYTES = ("memory", "storage", "ephemeral-storage")


def present(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are not None."""
    return {key: value for key, value in fields.items() if value is not None}


def encode_metadata(meta: ObjectMeta) -> dict[str, Any]:
    """ObjectMeta as a manifest writes it."""
    fields = {
        "name": meta.name,
        "namespace": meta.namespace or None,
        "uid": meta.uid or None,
        "labels": dict(meta.labels) or None,
        "annotations": dict(meta.annotations) or None,
        "ownerReferences": [_owner(owner) for owner in meta.owner_references] or None,
        "creationTimestamp": meta.creation_timestamp,
        "deletionTimestamp": meta.deletion_timestamp,
    }
    return present(fields)


def _owner(owner: OwnerReference) -> dict[str, Any]:
    fields = {
        "apiVersion": owner.api_version or None,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": owner.controller or None,
    }
    return present(fields)


def encode_resources(resources: ResourceList) -> dict[str, str] | None:
    """Quantities by resource name, bytes with binary suffixes; None for an empty list."""
    return {
        name: format_quantity(milli, binary=name in _BYTES or name.startswith("hugepages-"))
        for name, milli in resources.items()
    } or None


def _requirements(requirements: Iterable[Requirement]) -> list[dict[str, Any]] | None:
    return [
        present({"key": r.key, "operator": r.operator, "values": list(r.values) or None}) for r in requirements
    ] or None


def encode_label_selector(selector: LabelSelector | None) -> dict[str, Any] | None:
    """A LabelSelector as a manifest writes it; None for none."""
    if selector is None:
        return None
    labels, expressions = dict(selector.match_labels) or None, _requirements(selector.match_expressions)
    return present({"matchLabels": labels, "matchExpressions": expressions})


def encode_term(term: NodeSelectorTerm) -> dict[str, Any]:
    """A NodeSelectorTerm as a manifest writes it."""
    expressions, fields = _requirements(term.match_expressions), _requirements(term.match_fields)
    return present({"matchExpressions": expressions, "matchFields": fields})


def encode_terms(terms: Iterable[NodeSelectorTerm]) -> dict[str, Any]:
    """A node selector."""
    return {"nodeSelectorTerms": [encode_term(term) for term in terms]}


def encode_source(source: VolumeSource) -> dict[str, Any]:  # noqa: PLR0911
    """The field of a volume, or of a PersistentVolume's spec, that names its type."""
    match source:
        case GCEPersistentDisk():
            return {"gcePersistentDisk": _read_only(source.read_only, pdName=source.pd_name)}
        case AWSElasticBlockStore():
            named = {"name": source.volume_name} if source.volume_name else {}
            return {**named, "awsElasticBlockStore": _read_only(source.read_only, volumeID=source.volume_id)}
        case RBD():
            monitors = list(source.monitors)
            return {"rbd": _read_only(source.read_only, monitors=monitors, image=source.image, pool=source.pool)}
        case ISCSI():
            return {"iscsi": _read_only(source.read_only, iqn=source.iqn)}
        case AzureDisk():
            return {"azureDisk": present({"diskName": source.disk_name, "diskURI": source.disk_uri or None})}
        case Cinder():
            return {"cinder": {"volumeID": source.volume_id}}
        case PortworxVolume():
            return {"portworxVolume": {"volumeID": source.volume_id}}
        case CSI():
            return {"csi": present({"driver": source.driver, "volumeHandle": source.volume_handle or None})}
    raise TypeError(f"{type(source).__name__} is a volume of pods only")


def _read_only(read_only: bool, **fields: Any) -> dict[str, Any]:
    return {**fields, "readOnly": True} if read_only else fields
