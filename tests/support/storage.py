"""Claims, volumes and classes for tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from clusterstate.objects import (
    AWSElasticBlockStore,
    ClaimVolume,
    NodeSelectorTerm,
    ObjectMeta,
    OwnerReference,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    Requirement,
    StorageClass,
)
from clusterstate.snapshot import Snapshot
from predicates.types import NodeError, Verdict
from tests.support.build import labels, make_pod, names_where

WAIT, IMMEDIATE = "WaitForFirstConsumer", "Immediate"
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
BOUND = {"pv.kubernetes.io/bind-completed": "yes"}
ZONE = "failure-domain.beta.kubernetes.io/zone"
REGION = "failure-domain.beta.kubernetes.io/region"


def make_claim(
    name: str,
    volume: str = "",
    *,
    storage_class: str | None = None,
    namespace: str = "default",
    annotations: Mapping[str, str] | None = None,
    deleting: bool = False,
    **fields: Any,
) -> PersistentVolumeClaim:
    """A claim of uid ``uid-<name>``."""
    deleted = "2020-01-01T00:00:00Z" if deleting else None
    meta = ObjectMeta(name, namespace, uid=f"uid-{name}", annotations=labels(annotations), deletion_timestamp=deleted)
    return PersistentVolumeClaim(meta, volume_name=volume, storage_class_name=storage_class, **fields)


def owned_claim(name: str, uid: str, *others: OwnerReference, **fields: Any) -> PersistentVolumeClaim:
    """A claim whose controller is the pod of that uid."""
    claim = make_claim(name, **fields)
    owners = (*others, OwnerReference("Pod", "p", uid, controller=True))
    return msgspec.structs.replace(claim, metadata=msgspec.structs.replace(claim.metadata, owner_references=owners))


def make_volume(
    name: str,
    source: Any = None,
    *,
    label: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    deleting: bool = False,
    **fields: Any,
) -> PersistentVolume:
    """A volume; an EBS volume of its own name unless ``source`` says otherwise."""
    deleted = "2020-01-01T00:00:00Z" if deleting else None
    meta = ObjectMeta(name, labels=labels(label), annotations=labels(annotations), deletion_timestamp=deleted)
    return PersistentVolume(meta, source or AWSElasticBlockStore(name), **fields)


def make_class(
    name: str, provisioner: str = "kubernetes.io/aws-ebs", mode: str | None = WAIT, **fields: Any
) -> StorageClass:
    return StorageClass(ObjectMeta(name), provisioner, mode, **fields)


def on_nodes(*names: str) -> tuple[NodeSelectorTerm, ...]:
    """The node affinity of a volume that is local to nodes with these ``host`` labels."""
    return (NodeSelectorTerm((Requirement("host", "In", names),)),)


def claiming(*claims: str, name: str = "p", **fields: Any) -> Pod:
    """A pod that uses claims."""
    return make_pod(name, volumes=tuple(ClaimVolume(claim) for claim in claims), **fields)


def by_text(snapshot: Snapshot, verdict: Verdict) -> dict[str, list[str]]:
    """Reason, or ``error: text`` → the nodes that fail for it; reasons that fail nowhere left out."""
    return {
        f"error: {reason}" if isinstance(reason, NodeError) else reason: names_where(snapshot, mask)
        for reason, mask in verdict.items()
        if mask.any()
    }
