"""Claims that are bound once a node is chosen: the volumes found for them and those to be made, on every node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import attrs
import numpy as np

from clusterstate.changes import Reads
from clusterstate.growable import IntArray, Mask
from clusterstate.objects import LabelSelector, NodeSelectorTerm, PersistentVolume, PersistentVolumeClaim, StorageClass
from clusterstate.selectors.label_selectors_framework import compile_selector
from clusterstate.selectors.matching import Matcher, SelectorError, compile_label_selector
from clusterstate.selectors.node_selection import named_mask, volume_affinity_mask
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claims import VolumeError, claim_class, volume_class

SELECTED_NODE_ANNOTATION = "volume.kubernetes.io/selected-node"
NOT_PROVISIONED = ("", "kubernetes.io/no-provisioner")
DEFAULT_MODE = "Filesystem"

Delayed = tuple[PersistentVolumeClaim, StorageClass]
Capacity = tuple[Mask, IntArray]
"""((n,) bool: enough can be made for the node, (n,) bytes that are left there, -1 where nobody says)."""


@attrs.frozen
class BindingRules:
    """How a release matches claims with volumes, where releases differ."""

    volumes_of: Callable[[Snapshot, str], Iterable[PersistentVolume]]
    """The volumes of a storage class."""
    could_hold: Callable[[PersistentVolumeClaim, PersistentVolume], bool]
    """Whether a claim could be bound to a volume, whoever has it."""
    compile: Callable[[LabelSelector | None], Matcher] = compile_selector
    """Compiles the selector of a claim."""
    capacity: Callable[[PersistentVolumeClaim, StorageClass, Snapshot], Capacity | None] | None = None
    """What can still be provisioned for the nodes; None where nothing limits it."""


# --- volumes -------------------------------------------------------------------------------


def volumes_of_field(snapshot: Snapshot, class_name: str) -> list[PersistentVolume]:
    """The volumes whose field names a class, an annotation notwithstanding. Upstream: 1.16 pvAssumeCache.ListPVs."""
    return [v for v in snapshot.objects.persistent_volumes.values() if v.storage_class_name == class_name]


def volumes_of_class(snapshot: Snapshot, class_name: str) -> Sequence[PersistentVolume]:
    """The volumes of a class. Upstream: 1.20 and 1.36 ListPVs."""
    index = snapshot.derived("volumes by class", Reads.STORAGE, lambda: _by_class(snapshot))
    return index.get(class_name, ())


def _by_class(snapshot: Snapshot) -> dict[str, list[PersistentVolume]]:
    out: dict[str, list[PersistentVolume]] = {}
    for volume in snapshot.objects.persistent_volumes.values():
        out.setdefault(volume_class(volume), []).append(volume)
    return out


def could_hold(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """Whether the volume is of the claim's mode, large enough and not being deleted."""
    same_mode = (claim.volume_mode or DEFAULT_MODE) == (volume.volume_mode or DEFAULT_MODE)
    return same_mode and volume.metadata.deletion_timestamp is None and volume.storage >= claim.storage


def could_hold_1_36(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """The attributes class has to be the same too."""
    return claim.volume_attributes_class_name == volume.volume_attributes_class_name and could_hold(claim, volume)


def is_reserved(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """Whether the volume's reference names the claim. Upstream: IsVolumeBoundToClaim."""
    reference = volume.claim_ref
    if reference is None:
        return False
    same = (reference.namespace, reference.name) == (claim.metadata.namespace, claim.metadata.name)
    return same and reference.uid in ("", claim.metadata.uid)


def _is_free(claim: PersistentVolumeClaim, class_name: str, volume: PersistentVolume) -> bool:
    free = volume.phase == "Available" and volume.claim_ref is None
    return free and volume_class(volume) == class_name and set(claim.access_modes) <= set(volume.access_modes)


# --- matching ------------------------------------------------------------------------------


@attrs.frozen
class Matching:
    """Volumes chosen for one pod, on every row at once."""

    snapshot: Snapshot
    rules: BindingRules
    chosen: dict[str, Mask] = attrs.field(factory=dict)
    """Volume name → (n,) bool: the rows on which it is chosen."""
    bindings: list[tuple[PersistentVolumeClaim, PersistentVolume, Mask]] = attrs.field(factory=list)
    """(claim, volume, (n,) bool where it is chosen for it)."""
    _affinities: dict[tuple[NodeSelectorTerm, ...] | None, Mask] = attrs.field(factory=dict)

    def _usable(self, volume: PersistentVolume) -> Mask:
        mask = self._affinities.get(volume.node_affinity)
        if mask is None:
            mask = self._affinities[volume.node_affinity] = volume_affinity_mask(self.snapshot, volume.node_affinity)
        return mask

    def _choose(self, claim: PersistentVolumeClaim, volume: PersistentVolume, rows: Mask) -> None:
        before = self.chosen.get(volume.metadata.name)
        self.chosen[volume.metadata.name] = rows if before is None else before | rows
        self.bindings.append((claim, volume, rows))

    def _left(self, volume: PersistentVolume, rows: Mask) -> Mask:
        chosen = self.chosen.get(volume.metadata.name)
        return rows if chosen is None else rows & ~chosen

    def unmatched(self, claim: PersistentVolumeClaim, rows: Mask) -> Mask:
        """(n,) bool: those of ``rows`` where no volume is left for the claim; elsewhere one is chosen.

        A volume that is reserved for the claim decides, otherwise the smallest that will do is taken.
        Raises VolumeError for a selector that cannot be parsed. Upstream: 1.16 FindMatchingVolume.
        """
        reserved, candidates = self._volumes_for(claim)
        unmatched = np.zeros(len(self.snapshot), np.bool_)
        for volume in reserved:
            left = self._left(volume, rows)
            hit = left & self._usable(volume)
            self._choose(claim, volume, hit)
            unmatched |= left & ~hit
            rows = rows & ~left
        for volume in candidates:
            if not rows.any():
                break
            hit = self._left(volume, rows) & self._usable(volume)
            if hit.any():
                self._choose(claim, volume, hit)
                rows = rows & ~hit
        return unmatched | rows

    def _volumes_for(self, claim: PersistentVolumeClaim) -> tuple[list[PersistentVolume], list[PersistentVolume]]:
        """(the volumes reserved for a claim, the others that would do from small to large), whatever the node."""
        selector = self._selector(claim)
        class_name = claim_class(claim)
        reserved, candidates = [], []
        for volume in self.rules.volumes_of(self.snapshot, class_name):
            if self.rules.could_hold(claim, volume):
                if is_reserved(claim, volume):
                    reserved.append(volume)
                elif _is_free(claim, class_name, volume) and (selector is None or selector(volume.metadata.labels)):
                    candidates.append(volume)
        candidates.sort(key=lambda volume: volume.storage)
        return reserved, candidates

    def _selector(self, claim: PersistentVolumeClaim) -> Matcher | None:
        if claim.selector is None:
            return None
        try:
            return self.rules.compile(claim.selector)
        except SelectorError as error:
            key = f"{claim.metadata.namespace}/{claim.metadata.name}"
            raise VolumeError(f"error creating internal label selector for claim: {key}: {error}") from error


# --- the decision --------------------------------------------------------------------------


@attrs.frozen
class Provision:
    """A volume to be made for a claim."""

    claim: PersistentVolumeClaim
    rows: Mask
    """(n,) bool: the rows for which it would be provisioned."""
    left: IntArray | None = None
    """(n,) int64: bytes that its class can still provision there; -1: unknown."""


@attrs.frozen
class DelayedDecision:
    """What is decided for the claims to bind, on every row at once; all masks are (n,) bool."""

    conflict: Mask
    """Where a claim can neither be bound nor provisioned."""
    short: Mask
    """Where not enough storage is left to provision one."""
    errors: dict[str, Mask]
    """Text → where the attempt fails with it. Bindings and provisions hold on rows that are in none of these masks."""
    bindings: Sequence[tuple[PersistentVolumeClaim, PersistentVolume, Mask]] = ()
    provisions: Sequence[Provision] = ()


def decide(delayed: Sequence[Delayed], snapshot: Snapshot, rows: Mask, rules: BindingRules) -> DelayedDecision:
    """Matches claims with volumes from small to large, and provisions what is left over or sent to a node before.

    rows: (n,) bool, those to decide for. Upstream: 1.16, 1.20 and 1.36 FindPodVolumes.
    """
    selected = [entry for entry in delayed if SELECTED_NODE_ANNOTATION in entry[0].metadata.annotations]
    to_match = [entry for entry in delayed if SELECTED_NODE_ANNOTATION not in entry[0].metadata.annotations]
    alive = rows
    for claim, _ in selected:
        alive = alive & named_mask(snapshot, claim.metadata.annotations[SELECTED_NODE_ANNOTATION])
    nothing = np.zeros(len(snapshot), np.bool_)
    wanted: list[tuple[Delayed, Mask]] = [(entry, alive) for entry in selected]
    matching = Matching(snapshot, rules)
    for entry in sorted(to_match, key=lambda entry: entry[0].storage):
        try:
            wanted.append((entry, matching.unmatched(entry[0], alive)))
        except VolumeError as error:
            return DelayedDecision(rows & ~alive, nothing, {str(error): alive})
    conflict, short, provisions = _provision(wanted, snapshot, rules)
    return DelayedDecision(conflict | (rows & ~alive), short, {}, matching.bindings, provisions)


def _provision(
    wanted: Iterable[tuple[Delayed, Mask]], snapshot: Snapshot, rules: BindingRules
) -> tuple[Mask, Mask, list[Provision]]:
    """(conflict, short, provisions): on each row the first claim that cannot be provisioned says why.

    Upstream: 1.20 and 1.36 checkVolumeProvisions.
    """
    conflict, short = np.zeros(len(snapshot), np.bool_), np.zeros(len(snapshot), np.bool_)
    provisions: list[Provision] = []
    for (claim, storage_class), where in wanted:
        rows = where & ~(conflict | short)
        if not rows.any():
            continue
        conflict |= rows & ~provisionable(storage_class, snapshot)
        capacity = None if rules.capacity is None else rules.capacity(claim, storage_class, snapshot)
        if capacity is not None:
            short |= rows & ~conflict & ~capacity[0]
        provisions.append(Provision(claim, where, None if capacity is None else capacity[1]))
    return conflict, short, provisions


def provisionable(storage_class: StorageClass, snapshot: Snapshot) -> Mask:
    """(n,) bool: a volume of the class can be made for the node. Upstream: 1.16 checkVolumeProvisions."""
    if storage_class.provisioner in NOT_PROVISIONED:
        return np.zeros(len(snapshot), np.bool_)
    topologies = tuple(NodeSelectorTerm(term) for term in storage_class.allowed_topologies)
    return volume_affinity_mask(snapshot, topologies or None)


RULES_1_16 = BindingRules(volumes_of_field, could_hold, compile_label_selector)
