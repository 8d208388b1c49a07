"""What becomes of a pod that leaves its node: who makes it anew, under which name, and what of it is left behind."""

from __future__ import annotations

import enum
import re
from collections.abc import Container, Iterator, Sequence
from hashlib import sha1
from typing import Any

import attrs
import msgspec

from clusterstate.cache import TERMINATED
from clusterstate.cluster_objects import ClusterObjects
from clusterstate.devices.resource_claims import is_reserved_for, without_consumer
from clusterstate.errors import SchedulingError
from clusterstate.manifests.defaulting import derived_uid
from clusterstate.objects import (
    EphemeralVolume,
    FrozenMap,
    ObjectMeta,
    OwnerReference,
    PersistentVolumeClaim,
    Pod,
    ReplicaSet,
    ResourceClaim,
)
from clusterstate.volumes.claims import claim_class, waits_for_consumer
from clusterstate.workloads import MIRROR
from kubescheduler.simulation.timeline import CHOSEN
from kubescheduler.simulation.workload import as_new, renamed

NAMED = 3
"""Names in a sentence; of more the first, and how many there are besides."""


def counted(count: int, noun: str) -> str:
    """``1 pod``, ``2,000 pods``."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def named(names: Sequence[str], most: int = NAMED) -> str:
    """``a, b, c and 2 more``."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
"""What generated names end with, five of these. Upstream: apimachinery's rand.SafeEncodeString."""
LONGEST_BASE = 58
"""Characters of a generated name before them."""

_GENERATED = re.compile(f"(.+-)[{SUFFIX}]{{5}}")


class Fate(enum.Enum):
    """What becomes of a pod whose node goes. The values are said of it: "it is of a DaemonSet"."""

    DAEMON = "of a DaemonSet"
    """Its controller makes one for every node; elsewhere it is not made anew."""
    STATIC = "static"
    """The kubelet of its node runs it; the API server only mirrors it."""
    FINISHED = "finished"
    """It needs no node any more."""
    LEAVING = "being deleted"
    """It leaves anyway, and its controller has made another one already."""
    REMADE = "made anew by its controller"
    BARE = "of no controller"
    """Nobody makes it anew: it is lost."""


def fate_of(pod: Pod) -> Fate:
    """What becomes of a pod whose node goes."""
    owner = controller_of(pod)
    if MIRROR in pod.metadata.annotations or (owner is not None and owner.kind == "Node"):
        return Fate.STATIC
    if pod.phase in TERMINATED:
        return Fate.FINISHED
    if owner is None:
        return Fate.BARE
    if owner.kind == "DaemonSet":
        return Fate.DAEMON
    leaving = pod.metadata.deletion_timestamp is not None
    return Fate.LEAVING if leaving and not keeps_name(pod) else Fate.REMADE


def controller_of(obj: Pod | ReplicaSet) -> OwnerReference | None:
    """The owner that is an object's controller."""
    return next((owner for owner in obj.metadata.owner_references if owner.controller), None)


def keeps_name(pod: Pod) -> bool:
    """Whether the pod comes back under its name, once the one before it has ended: a StatefulSet's does."""
    owner = controller_of(pod)
    return owner is not None and owner.kind == "StatefulSet"


def successor(pod: Pod, taken: Container[str]) -> Pod:
    """The pod that the controller of ``pod`` makes in its place: pending, with a name of its own and a new uid.

    taken: ``namespace/name`` of the pods that there are. The same pod always gets the same name, where it is free.
    """
    fresh = as_new(pod)
    fresh = msgspec.structs.replace(fresh, metadata=msgspec.structs.replace(fresh.metadata, creation_timestamp=None))
    name = pod.metadata.name if keeps_name(pod) else _free_name(pod, taken)
    uid = derived_uid("Pod", pod.metadata.namespace, f"{name} after {pod.metadata.uid}")
    return _with_uid(renamed(fresh, name), uid)


def _free_name(pod: Pod, taken: Container[str]) -> str:
    """As the API server generates names, but not by chance."""
    owner, attempt = controller_of(pod), 0
    generated = _GENERATED.fullmatch(pod.metadata.name)
    base = generated[1] if generated else f"{pod.metadata.name if owner is None else owner.name}-"
    while True:
        digest = sha1(f"{pod.metadata.uid}/{pod.metadata.name}/{attempt}".encode(), usedforsecurity=False).digest()
        name = base[:LONGEST_BASE] + "".join(SUFFIX[byte % len(SUFFIX)] for byte in digest[:5])
        if f"{pod.metadata.namespace}/{name}" not in taken:
            return name
        attempt += 1


def _with_uid(pod: Pod, uid: str) -> Pod:
    manifest = pod.manifest
    if manifest is not None:
        said = {key: value for key, value in manifest["metadata"].items() if key != "creationTimestamp"}
        manifest = {**manifest, "metadata": {**said, "uid": uid}}
    metadata = msgspec.structs.replace(pod.metadata, uid=uid)
    return msgspec.structs.replace(pod, metadata=metadata, manifest=manifest)


# --- what a pod leaves behind, and what is made for the next one ---------------------------------


def given_back(pod: Pod, objects: ClusterObjects) -> Iterator[tuple[Any, Any]]:
    """The claims that a pod which ends no longer holds: (the claim before, after; None: it goes with the pod).

    Devices of a claim that nobody else uses are free again. Upstream: resourceclaim controller, garbage collector.
    """
    for claim in _resource_claims(pod, objects):
        if _owns(pod, claim.metadata):
            yield claim, None
        elif is_reserved_for(claim, pod.metadata.uid):
            left = without_consumer(claim, pod.metadata.uid)
            yield claim, left if left.reserved_for else attrs.evolve(left, allocation=None, device_statuses=())
    for own in _own_volume_claims(pod, objects):
        yield own, None


def made_for(pod: Pod, new: Pod, objects: ClusterObjects) -> tuple[Pod, list[Any]]:
    """(the new pod, the claims that controllers make for it), as those that the pod before it owns.

    objects: with the claims of the pod before it. A volume claim whose class waits for a pod gets a volume anew.
    """
    names: dict[str | None, str] = {}
    made: list[Any] = []
    for claim in _resource_claims(pod, objects):
        if _owns(pod, claim.metadata):
            name = names[claim.metadata.name] = _moved(claim.metadata.name, pod, new)
            metadata = _owned(claim.metadata, name, new)
            made.append(attrs.evolve(claim, metadata=metadata, allocation=None, reserved_for=(), device_statuses=()))
    for own in _own_volume_claims(pod, objects):
        metadata = _owned(own.metadata, _moved(own.metadata.name, pod, new), new)
        made.append(_fresh_volume_claim(own, metadata, objects))
    statuses = tuple(
        msgspec.structs.replace(each, resource_claim_name=names[each.resource_claim_name])
        if each.resource_claim_name in names
        else each
        for each in pod.resource_claim_statuses
    )
    return msgspec.structs.replace(new, resource_claim_statuses=statuses), made


def _resource_claims(pod: Pod, objects: ClusterObjects) -> list[ResourceClaim]:
    named = [each.resource_claim_name for each in pod.resource_claim_statuses]
    named += [each.resource_claim_name for each in pod.spec.resource_claims]
    found = (objects.resource_claims.get((pod.metadata.namespace, name)) for name in dict.fromkeys(named) if name)
    return [claim for claim in found if claim is not None]


def _own_volume_claims(pod: Pod, objects: ClusterObjects) -> list[PersistentVolumeClaim]:
    """Those of the pod's ephemeral volumes."""
    claims, namespace = objects.persistent_volume_claims, pod.metadata.namespace
    volumes = (volume for volume in pod.spec.volumes if isinstance(volume, EphemeralVolume))
    found = (claims.get((namespace, f"{pod.metadata.name}-{volume.volume_name}")) for volume in volumes)
    return [claim for claim in found if claim is not None and _owns(pod, claim.metadata)]


def _fresh_volume_claim(
    claim: PersistentVolumeClaim, metadata: ObjectMeta, objects: ClusterObjects
) -> PersistentVolumeClaim:
    """One that is bound at once keeps the volume of the one before: nobody knows where else it would be made."""
    try:
        waits = waits_for_consumer(claim_class(claim), objects)
    except SchedulingError:
        waits = False
    if not waits:
        return msgspec.structs.replace(claim, metadata=metadata)
    kept = FrozenMap({key: value for key, value in metadata.annotations.items() if key not in CHOSEN})
    metadata = msgspec.structs.replace(metadata, annotations=kept)
    return msgspec.structs.replace(claim, metadata=metadata, volume_name="", phase="Pending")


def _owns(pod: Pod, metadata: ObjectMeta) -> bool:
    return any(owner.controller and owner.uid == pod.metadata.uid for owner in metadata.owner_references)


def _owned(metadata: ObjectMeta, name: str, pod: Pod) -> ObjectMeta:
    owner = OwnerReference("Pod", pod.metadata.name, pod.metadata.uid, controller=True, api_version="v1")
    uid = derived_uid("Claim", metadata.namespace, f"{name} of {pod.metadata.uid}")
    return msgspec.structs.replace(metadata, name=name, uid=uid, owner_references=(owner,), deletion_timestamp=None)


def _moved(name: str, pod: Pod, new: Pod) -> str:
    """The name of a claim that begins with its pod's, for the next pod."""
    old = pod.metadata.name
    return f"{new.metadata.name}{name.removeprefix(old)}" if name.startswith(old) else f"{new.metadata.name}-{name}"
