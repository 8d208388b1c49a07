"""What a rule reads of claims and volumes for one pod: while that is equal, other claims and volumes may change.

A rule names one of these functions; storage classes, CSI nodes, attachments and what other pods use are compared in
any case.
"""

from __future__ import annotations

from clusterstate.objects import PersistentVolume, PersistentVolumeClaim
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claim_matching import ClassOf, volume_index
from clusterstate.volumes.claims import claim_class
from clusterstate.volumes.claims_framework import claim_volumes

LedTo = tuple[PersistentVolumeClaim | None, PersistentVolume | None, int]
"""(a claim, the volume that it names, the version of the volumes that it could be bound to)."""


def bound_storage(pod: PodInfo, snapshot: Snapshot) -> tuple[LedTo, ...]:
    """The pod's claims, and the volumes that they name."""
    return tuple((claim, volume, 0) for claim, volume in _claims(pod, snapshot))


def storage_to_bind(class_of: ClassOf, pod: PodInfo, snapshot: Snapshot) -> tuple[LedTo, ...]:
    """The same, and all volumes of the class of a claim that names none. class_of: as the release lists volumes."""
    return tuple(
        (claim, volume, 0 if claim is None or claim.volume_name else _version(claim, class_of, snapshot))
        for claim, volume in _claims(pod, snapshot)
    )


def _claims(pod: PodInfo, snapshot: Snapshot) -> list[tuple[PersistentVolumeClaim | None, PersistentVolume | None]]:
    objects = snapshot.objects
    found = []
    for named in claim_volumes(pod.spec):
        claim = objects.persistent_volume_claims.get((pod.namespace, named.claim_name))
        found.append((claim, None if claim is None else objects.persistent_volumes.get(claim.volume_name)))
    return found


def _version(claim: PersistentVolumeClaim, class_of: ClassOf, snapshot: Snapshot) -> int:
    return volume_index(snapshot, class_of).of(claim_class(claim)).version
