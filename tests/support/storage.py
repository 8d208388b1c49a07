"""Claims, volumes and classes for tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

import kubescheduler
from clusterstate.objects import (
    CSI,
    AWSElasticBlockStore,
    ClaimVolume,
    CSINode,
    CSINodeDriver,
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
from kubescheduler.engine.spec import PodScheduler
from predicates.types import NodeError, Verdict
from tests.support.build import kept_objects, labels, make_node, make_pod, names_where, resources

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


def limits(name: str, *counts: tuple[str, int | None]) -> CSINode:
    """The CSINode of a node, with how many volumes of each driver it attaches."""
    return CSINode(ObjectMeta(name), tuple(CSINodeDriver(driver, count=count) for driver, count in counts))


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


HOSTS, CLASSES, DRIVERS = "abc", ("late", "now"), ("d.io",)
GATES = {"1.16": {"BalanceAttachedNodeVolumes": True}, "1.36": {"StorageCapacityScoring": True}}
ROOM = resources(pods=10, cpu=4000, attachable_volumes_aws_ebs=1)
NODES = [make_node(name, {"host": name, ZONE: "z1" if name == "a" else "z2"}, allocatable=ROOM) for name in HOSTS]
STARTED = [
    *(make_class(name) for name in CLASSES),
    *(CSINode(ObjectMeta(name), tuple(CSINodeDriver(name, count=1) for name in DRIVERS)) for name in HOSTS),
    make_volume("v0", AWSElasticBlockStore("e0"), storage_class_name="late", phase="Bound"),
    make_volume("v1", CSI("d.io", "h0"), storage_class_name="late", phase="Bound"),
    make_volume("v2", CSI("d.io", "h1"), storage_class_name="late", phase="Available", storage=2000),
    make_volume("v3", storage_class_name="late", phase="Available", storage=1000, node_affinity=on_nodes("a")),
    make_claim("c0", "v0", storage_class="late", annotations=BOUND),
    make_claim("c1", "v1", storage_class="late", annotations=BOUND),
    make_claim("c2", storage_class="late", storage=1000),
    make_pod("p0", volumes=(ClaimVolume("c0"),), node="b"),
    make_pod("p1", volumes=(ClaimVolume("c1"),), node="c"),
]
"""What is there before the first event."""


def scheduler_of(release: str, objects: list[Any]) -> PodScheduler:
    """A scheduler of a release over a cluster of some objects."""
    cluster = kubescheduler.Cluster(objects, release=release, defaulting=False)
    return kubescheduler.Scheduler(cluster, gates=GATES.get(release, {})).running


def afresh(release: str, scheduler: PodScheduler) -> PodScheduler:
    """A scheduler that has decided nothing yet, over a cluster of the same objects in the same order."""
    return scheduler_of(release, [*NODES, *scheduler.cache.pods(), *kept_objects(scheduler.cache)])


def apply(scheduler: PodScheduler, step: str, what: Any) -> None:
    """One event: an object is put or taken away; or step is a node, and a pod comes to it, or leaves."""
    cache = scheduler.cache
    if step == "put":
        cache.add(what)
    elif step == "take":
        cache.remove(what)
    elif isinstance(what, Pod) and what not in cache:
        cache.add(what.on(step))
    else:
        there = cache.placed(cache.view.identity(what))
        assert there is not None
        cache.remove(there)


class Claimless:
    """The part of a Client that writes claims, which nobody asks for."""

    def create_claim(self, claim: Any) -> Any: ...

    def update_claim(self, claim: Any, change: Any) -> Any: ...

    def take_back_claim(self, claim: Any, pod: Any) -> Any: ...

    def delete_claim(self, claim: Any) -> None: ...
