"""Claims and volumes as releases 1.20 and 1.36 look them up: what is missing, who owns what, which zones count."""

from __future__ import annotations

from collections.abc import Iterable

from clusterstate.cluster_objects import ClusterObjects
from clusterstate.objects import (
    ClaimVolume,
    EphemeralClaim,
    Labels,
    NodeSelectorTerm,
    PersistentVolume,
    PersistentVolumeClaim,
    PodSpec,
)
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.matching import compile_requirement
from clusterstate.selectors.node_selection import term_error
from clusterstate.volumes.claims import (
    CLAIM_WITHOUT_NAME,
    WAIT_FOR_FIRST_CONSUMER,
    VolumeError,
    claim_class,
    label_zones,
)
from clusterstate.volumes.csi_migration import BETA_REGION, BETA_ZONE, REGION, ZONE
from kubecel.api_names import go_quote

CLAIM, VOLUME, STORAGE_CLASS = "persistentvolumeclaim", "persistentvolume", "storageclass.storage.k8s.io"
"""What kinds are called in texts."""

READ_WRITE_ONCE_POD = "ReadWriteOncePod"
LOST = "Lost"

ZONE_LABELS = (BETA_ZONE, BETA_REGION, ZONE, REGION)
"""The labels by which a volume says where it is."""
GA_LABEL = {BETA_ZONE: ZONE, BETA_REGION: REGION}
"""What beta labels are called since."""


class NotFoundError(VolumeError):
    """A claim, volume or class that is not there; the release's text."""

    def __init__(self, resource: str, name: str) -> None:
        super().__init__(f"{resource} {go_quote(name)} not found")


# --- claims --------------------------------------------------------------------------------


def claim_volumes(spec: PodSpec) -> tuple[ClaimVolume | EphemeralClaim, ...]:
    """The volumes that lead to claims, in order; ephemeral ones where the release reads them."""
    return tuple(volume for volume in spec.volumes if isinstance(volume, ClaimVolume | EphemeralClaim))


def leads_to_claims(pod: PodInfo) -> bool:
    """Whether a volume of the pod names a claim or has one made for it."""
    return any(isinstance(volume, ClaimVolume | EphemeralClaim) for volume in pod.spec.volumes)


def find_claim(namespace: str, name: str, objects: ClusterObjects) -> PersistentVolumeClaim:
    """Raises NotFoundError."""
    claim = objects.persistent_volume_claims.get((namespace, name))
    if claim is None:
        raise NotFoundError(CLAIM, name)
    return claim


def find_volume(name: str, objects: ClusterObjects) -> PersistentVolume:
    """Raises NotFoundError."""
    volume = objects.persistent_volumes.get(name)
    if volume is None:
        raise NotFoundError(VOLUME, name)
    return volume


def is_owned(claim: PersistentVolumeClaim, uid: str) -> bool:
    """Whether the claim's controller is the pod of that uid."""
    return next((owner.uid == uid for owner in claim.metadata.owner_references if owner.controller), False)


def not_owner(claim: PersistentVolumeClaim, wanted: EphemeralClaim) -> str:
    """Upstream: 1.36 ephemeral.VolumeIsForPod."""
    namespace = claim.metadata.namespace
    return (
        f"PVC {namespace}/{claim.metadata.name} was not created for pod {namespace}/{wanted.pod_name} "
        "(pod is not owner)"
    )


def claim_problem_1_20(pod: PodInfo, objects: ClusterObjects) -> str | None:
    """The first claim that cannot be used yet, in the release's words. Upstream: 1.20 podHasPVCs."""
    for volume in claim_volumes(pod.spec):
        try:
            claim = find_claim(pod.namespace, volume.claim_name, objects)
        except NotFoundError as error:
            return str(error)
        if claim.metadata.deletion_timestamp is not None:
            return f"persistentvolumeclaim {go_quote(claim.metadata.name)} is being deleted"
        if isinstance(volume, EphemeralClaim) and not is_owned(claim, volume.pod_uid):
            return f"persistentvolumeclaim {go_quote(claim.metadata.name)} was not created for the pod"
    return None


def claim_problem_1_36(pod: PodInfo, objects: ClusterObjects) -> str | None:
    """The same. Upstream: 1.36 podHasPVCs."""
    for volume in claim_volumes(pod.spec):
        ephemeral = isinstance(volume, EphemeralClaim)
        claim = objects.persistent_volume_claims.get((pod.namespace, volume.claim_name))
        name = go_quote(volume.claim_name)
        if claim is None:
            if ephemeral:
                return f"waiting for ephemeral volume controller to create the persistentvolumeclaim {name}"
            return f"persistentvolumeclaim {name} not found"
        if claim.phase == LOST:
            return f"persistentvolumeclaim {name} bound to non-existent persistentvolume {go_quote(claim.volume_name)}"
        if claim.metadata.deletion_timestamp is not None:
            return f"persistentvolumeclaim {name} is being deleted"
        if isinstance(volume, EphemeralClaim) and not is_owned(claim, volume.pod_uid):
            return not_owner(claim, volume)
    return None


# --- where volumes can be used -------------------------------------------------------------


def node_affinity_holds(terms: Iterable[NodeSelectorTerm] | None, labels: Labels) -> bool:
    """Whether a volume with this node affinity can be used from a node with these labels.

    As ``selection.volume_affinity_mask``, for one node that need not be in a snapshot.
    """
    return terms is None or any(_term_holds(term, labels) for term in terms if term_error(term) is None)


def _term_holds(term: NodeSelectorTerm, labels: Labels) -> bool:
    expressions, fields = term.match_expressions, term.match_fields
    if not expressions and not fields:
        return False
    return all(compile_requirement(e)(labels.get(e.key)) for e in expressions) and all(
        (f.values[0] == "") == (f.operator == "In") for f in fields
    )


# --- zones ---------------------------------------------------------------------------------


def volume_behind(namespace: str, claim_name: str, objects: ClusterObjects) -> PersistentVolume | None:
    """The volume that a claim is bound to; None for a claim that waits for its first consumer.

    Raises VolumeError with the reason why there is none. Upstream: 1.20 and 1.36 VolumeZone.
    """
    if not claim_name:
        raise VolumeError(CLAIM_WITHOUT_NAME)
    claim = find_claim(namespace, claim_name, objects)
    if claim.volume_name:
        return find_volume(claim.volume_name, objects)
    class_name = claim_class(claim)
    if not class_name:
        raise VolumeError("PersistentVolumeClaim had no pv name and storageClass name")
    storage_class = objects.storage_classes.get(class_name)
    if storage_class is None:
        raise NotFoundError(STORAGE_CLASS, class_name)
    if storage_class.volume_binding_mode is None:
        raise VolumeError(f"VolumeBindingMode not set for StorageClass {go_quote(class_name)}")
    if storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
        return None
    raise VolumeError("PersistentVolume had no name")


def volume_zones(volume: PersistentVolume) -> list[tuple[str, frozenset[str]]]:
    """(label, its zones) of the labels by which a volume says where it is; labels that cannot be read are left out."""
    labels = volume.metadata.labels
    return [(key, zones) for key in ZONE_LABELS if key in labels and (zones := label_zones(labels[key]))]
