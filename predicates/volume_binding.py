"""CheckVolumeBinding: the node can use the pod's bound volumes, and its other claims can be bound or provisioned."""

from __future__ import annotations

import attrs
import numpy as np

from clusterstate.changes import Reads
from clusterstate.cluster import ClusterObjects
from clusterstate.growable import Mask
from clusterstate.objects import NodeSelectorTerm, PersistentVolume, PersistentVolumeClaim, StorageClass
from clusterstate.podinfo import PodInfo
from clusterstate.selection import named_mask, volume_affinity_mask
from clusterstate.selectors import Matcher, SelectorError, compile_label_selector
from clusterstate.snapshot import Snapshot
from clusterstate.validation import go_quote
from clusterstate.volumes import PodClaims, VolumeError, claim_class, has_claims, pod_claims, volume_class
from predicates.types import PASS, FitPredicate, FitPredicateFactory, NodeError, PredicateArgs, Verdict

NODE_CONFLICT = "node(s) had volume node affinity conflict"
BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
UNBOUND_IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"

SELECTED_NODE_ANNOTATION = "volume.kubernetes.io/selected-node"
NOT_PROVISIONED = ("", "kubernetes.io/no-provisioner")
DEFAULT_MODE = "Filesystem"

Delayed = tuple[PersistentVolumeClaim, StorageClass]


# --- bound claims --------------------------------------------------------------------------


def bound_mismatch(claims: tuple[PersistentVolumeClaim, ...], snapshot: Snapshot) -> tuple[Mask, Verdict]:
    """((n,) bool: a bound volume cannot be used there, errors of the rows that met no such volume before).

    Upstream: 1.16 checkBoundClaims.
    """
    mismatch = np.zeros(len(snapshot), np.bool_)
    for claim in claims:
        volume = snapshot.objects.persistent_volumes.get(claim.volume_name)
        if volume is None:
            error = NodeError(f"could not find v1.PersistentVolume {go_quote(claim.volume_name)}")
            return mismatch, {error: ~mismatch}
        mismatch |= ~volume_affinity_mask(snapshot, volume.node_affinity)
    return mismatch, {}


# --- claims to bind ------------------------------------------------------------------------


@attrs.frozen
class Matching:
    """Volumes chosen for one pod, on every row at once. chosen: volume name → (n,) bool."""

    snapshot: Snapshot
    chosen: dict[str, Mask] = attrs.field(factory=dict)
    _affinities: dict[tuple[NodeSelectorTerm, ...] | None, Mask] = attrs.field(factory=dict)

    def _usable(self, volume: PersistentVolume) -> Mask:
        mask = self._affinities.get(volume.node_affinity)
        if mask is None:
            mask = self._affinities[volume.node_affinity] = volume_affinity_mask(self.snapshot, volume.node_affinity)
        return mask

    def _choose(self, volume: PersistentVolume, rows: Mask) -> None:
        before = self.chosen.get(volume.metadata.name)
        self.chosen[volume.metadata.name] = rows if before is None else before | rows

    def _left(self, volume: PersistentVolume, rows: Mask) -> Mask:
        chosen = self.chosen.get(volume.metadata.name)
        return rows if chosen is None else rows & ~chosen

    def unmatched(self, claim: PersistentVolumeClaim, rows: Mask) -> Mask:
        """(n,) bool: those of ``rows`` where no volume is left for the claim; elsewhere one is chosen.

        A volume that is reserved for the claim decides, otherwise the smallest that will do is taken.
        Raises VolumeError for a selector that cannot be parsed. Upstream: 1.16 FindMatchingVolume.
        """
        reserved, candidates = _volumes_for(claim, self.snapshot.objects)
        unmatched = np.zeros(len(self.snapshot), np.bool_)
        for volume in reserved:
            left = self._left(volume, rows)
            hit = left & self._usable(volume)
            self._choose(volume, hit)
            unmatched |= left & ~hit
            rows = rows & ~left
        for volume in candidates:
            if not rows.any():
                break
            hit = self._left(volume, rows) & self._usable(volume)
            if hit.any():
                self._choose(volume, hit)
                rows = rows & ~hit
        return unmatched | rows


def _volumes_for(
    claim: PersistentVolumeClaim, objects: ClusterObjects
) -> tuple[list[PersistentVolume], list[PersistentVolume]]:
    """(the volumes reserved for a claim, the others that would do from small to large), whatever the node."""
    selector = _selector(claim)
    class_name = claim_class(claim)
    reserved, candidates = [], []
    for volume in objects.persistent_volumes.values():
        if volume.storage_class_name == class_name and _could_hold(claim, volume):
            if _is_reserved(claim, volume):
                reserved.append(volume)
            elif _is_free(claim, class_name, volume) and (selector is None or selector(volume.metadata.labels)):
                candidates.append(volume)
    candidates.sort(key=lambda volume: volume.storage)
    return reserved, candidates


def _selector(claim: PersistentVolumeClaim) -> Matcher | None:
    if claim.selector is None:
        return None
    try:
        return compile_label_selector(claim.selector)
    except SelectorError as error:
        key = f"{claim.metadata.namespace}/{claim.metadata.name}"
        raise VolumeError(f"error creating internal label selector for claim: {key}: {error}") from error


def _could_hold(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    same_mode = (claim.volume_mode or DEFAULT_MODE) == (volume.volume_mode or DEFAULT_MODE)
    return same_mode and volume.metadata.deletion_timestamp is None and volume.storage >= claim.storage


def _is_reserved(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    reference = volume.claim_ref
    if reference is None:
        return False
    same = (reference.namespace, reference.name) == (claim.metadata.namespace, claim.metadata.name)
    return same and reference.uid in ("", claim.metadata.uid)


def _is_free(claim: PersistentVolumeClaim, class_name: str, volume: PersistentVolume) -> bool:
    free = volume.phase == "Available" and volume.claim_ref is None
    return free and volume_class(volume) == class_name and set(claim.access_modes) <= set(volume.access_modes)


def provisionable(storage_class: StorageClass, snapshot: Snapshot) -> Mask:
    """(n,) bool: a volume of the class can be made for the node. Upstream: 1.16 checkVolumeProvisions."""
    if storage_class.provisioner in NOT_PROVISIONED:
        return np.zeros(len(snapshot), np.bool_)
    topologies = tuple(NodeSelectorTerm(term) for term in storage_class.allowed_topologies)
    return volume_affinity_mask(snapshot, topologies or None)


def unbound_mismatch(delayed: tuple[Delayed, ...], snapshot: Snapshot, rows: Mask) -> tuple[Mask, Verdict]:
    """((n,) bool: those of ``rows`` where a claim can neither be bound nor provisioned, errors).

    Upstream: 1.16 FindPodVolumes, findMatchingVolumes.
    """
    selected = [entry for entry in delayed if SELECTED_NODE_ANNOTATION in entry[0].metadata.annotations]
    to_match = [entry for entry in delayed if SELECTED_NODE_ANNOTATION not in entry[0].metadata.annotations]
    alive = rows
    for claim, _ in selected:
        alive = alive & named_mask(snapshot, claim.metadata.annotations[SELECTED_NODE_ANNOTATION])
    mismatch = rows & ~alive
    for _, storage_class in selected:
        mismatch |= alive & ~provisionable(storage_class, snapshot)
    matching = Matching(snapshot)
    for claim, storage_class in sorted(to_match, key=lambda entry: entry[0].storage):
        try:
            unmatched = matching.unmatched(claim, alive)
        except VolumeError as error:
            return mismatch & ~alive, {NodeError(str(error)): alive}
        if unmatched.any():
            mismatch |= unmatched & ~provisionable(storage_class, snapshot)
    return mismatch, {}


# --- the predicate -------------------------------------------------------------------------


def check_volume_binding(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Fails where a bound volume or the claims to bind do not go with the node, both reported.

    Claims and volumes that are not there, and unbound claims that do not wait, are errors.
    Upstream: 1.16 VolumeBindingChecker.
    """
    if not has_claims(pod):
        return PASS
    everywhere = np.ones(len(snapshot), np.bool_)
    try:
        claims: PodClaims = pod_claims(pod, snapshot.objects)
    except VolumeError as error:
        return {NodeError(str(error)): everywhere}
    if claims.immediate:
        return {NodeError(UNBOUND_IMMEDIATE): everywhere}
    node_conflict, errors = bound_mismatch(claims.bound, snapshot)
    rows = everywhere
    for mask in errors.values():
        rows = rows & ~mask
    bind_conflict, more = unbound_mismatch(claims.delayed, snapshot, rows)
    for mask in more.values():
        node_conflict &= ~mask
    return {NODE_CONFLICT: node_conflict, BIND_CONFLICT: bind_conflict, **errors, **more}


def _make_check_volume_binding(_: PredicateArgs) -> FitPredicate:
    return FitPredicate("CheckVolumeBinding", check_volume_binding, Reads.NODE | Reads.STORAGE, has_claims)


VOLUME_BINDING: dict[str, FitPredicateFactory] = {"CheckVolumeBinding": _make_check_volume_binding}
