"""What is to be done about the volumes of a pod on the node that was chosen for it."""

from __future__ import annotations

import msgspec
import numpy as np

from clusterstate.cluster_objects import ClusterObjects
from clusterstate.objects import PersistentVolume, PersistentVolumeClaim
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claim_matching import BindingRules, could_hold, could_hold_1_36, decide
from clusterstate.volumes.claims import PodClaims, pod_claims, volume_class
from clusterstate.volumes.claims_framework import claim_volumes
from clusterstate.volumes.storage_capacity import capacity_for

RULES_1_20 = BindingRules(volume_class, could_hold)
RULES_1_20_WITH_CAPACITY = BindingRules(volume_class, could_hold, capacity=capacity_for)
"""With gate CSIStorageCapacity."""
RULES_1_36 = BindingRules(volume_class, could_hold_1_36, capacity=capacity_for)


class PodVolumes(msgspec.Struct, frozen=True):
    """What is decided about a pod's volumes on one node."""

    bindings: tuple[tuple[PersistentVolumeClaim, PersistentVolume], ...] = ()
    """Claims with the volumes chosen for them."""
    provisions: tuple[PersistentVolumeClaim, ...] = ()
    """Claims for which a volume is to be made."""


def all_claims(pod: PodInfo, objects: ClusterObjects) -> PodClaims:
    """The pod's claims, those of ephemeral volumes included. Raises VolumeError as ``pod_claims`` does."""
    return pod_claims(pod, objects, (volume.claim_name for volume in claim_volumes(pod.spec)))


def bindings_for(pod: PodInfo, snapshot: Snapshot, row: int, rules: BindingRules) -> PodVolumes:
    """What binding the pod to a row that fits means for its claims. Raises VolumeError as ``pod_claims`` does."""
    delayed = all_claims(pod, snapshot.objects).delayed
    if not delayed:
        return PodVolumes()
    there = snapshot.take(np.array([row]))
    decision = decide(delayed, there, np.ones(1, np.bool_), rules)
    return PodVolumes(
        tuple((one.claim, volume) for one in decision.bindings if (volume := one.volume(0)) is not None),
        tuple(provision.claim for provision in decision.provisions if provision.rows[0]),
    )
