"""What the cluster does about claims once the scheduler has chosen a node: binds them, or makes volumes for them."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from clusterstate.cluster_objects import ClusterObjects
from clusterstate.objects import ClaimReference, FrozenMap, ObjectMeta, PersistentVolume, PersistentVolumeClaim
from clusterstate.volumes.claim_matching import SELECTED_NODE_ANNOTATION
from clusterstate.volumes.claims import BIND_COMPLETED_ANNOTATION

BOUND = "Bound"


def binds_to(volume: PersistentVolume, objects: ClusterObjects) -> Iterator[PersistentVolumeClaim]:
    """The claim that a volume was given to, now bound to it; nothing when it is gone or bound."""
    given = volume.claim_ref
    claim = None if given is None else objects.persistent_volume_claims.get((given.namespace, given.name))
    if claim is not None and not claim.volume_name:
        yield _bound(claim, volume)


def provisions(claim: PersistentVolumeClaim) -> Iterator[PersistentVolume | PersistentVolumeClaim]:
    """The volume that is made for a claim whose node is chosen, which any node can reach, and the claim bound to it.

    Nothing for a claim that waits for its node, or is bound.
    """
    if claim.volume_name or SELECTED_NODE_ANNOTATION not in claim.metadata.annotations:
        return
    own = claim.metadata
    volume = PersistentVolume(
        ObjectMeta(f"pvc-{own.uid or own.name}"),
        storage=claim.storage,
        access_modes=claim.access_modes,
        storage_class_name=claim.storage_class_name or "",
        volume_mode=claim.volume_mode,
        claim_ref=ClaimReference(own.namespace, own.name, own.uid),
        phase=BOUND,
        volume_attributes_class_name=claim.volume_attributes_class_name,
    )
    yield volume
    yield _bound(claim, volume)


def _bound(claim: PersistentVolumeClaim, volume: PersistentVolume) -> PersistentVolumeClaim:
    annotations = FrozenMap({**claim.metadata.annotations, BIND_COMPLETED_ANNOTATION: "yes"})
    metadata = msgspec.structs.replace(claim.metadata, annotations=annotations)
    return msgspec.structs.replace(claim, metadata=metadata, volume_name=volume.metadata.name, phase=BOUND)
