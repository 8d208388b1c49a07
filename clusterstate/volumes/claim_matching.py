"""Claims that are bound once a node is chosen: the volumes found for them and those to be made, on every node."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

import msgspec
import numpy as np

from clusterstate.growable import IntArray, Mask
from clusterstate.objects import LabelSelector, NodeSelectorTerm, PersistentVolume, PersistentVolumeClaim, StorageClass
from clusterstate.selectors.label_selectors_framework import compile_selector
from clusterstate.selectors.matching import Matcher, SelectorError, compile_label_selector
from clusterstate.selectors.node_selection import named_mask, volume_affinity_mask
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claims import VolumeError, claim_class
from clusterstate.volumes.volume_candidates import NONE
from clusterstate.volumes.volume_index import ClassOf, volume_index

SELECTED_NODE_ANNOTATION = "volume.kubernetes.io/selected-node"
NOT_PROVISIONED = ("", "kubernetes.io/no-provisioner")
DEFAULT_MODE = "Filesystem"

Delayed = tuple[PersistentVolumeClaim, StorageClass]
Capacity = tuple[Mask, IntArray]
"""((n,) bool: enough can be made for the node, (n,) bytes that are left there, -1 where nobody says)."""


class BindingRules(msgspec.Struct, frozen=True):
    """How a release matches claims with volumes, where releases differ."""

    class_of: ClassOf
    """The class under which it lists a volume."""
    could_hold: Callable[[PersistentVolumeClaim, PersistentVolume], bool]
    """Whether a claim could be bound to a volume, whoever has it."""
    compile: Callable[[LabelSelector | None], Matcher] = compile_selector
    """Compiles the selector of a claim."""
    capacity: Callable[[PersistentVolumeClaim, StorageClass, Snapshot], Capacity | None] | None = None
    """What can still be provisioned for the nodes; None where nothing limits it."""


# --- volumes -------------------------------------------------------------------------------


def class_in_field(volume: PersistentVolume) -> str:
    """The class that the field names, an annotation notwithstanding. Upstream: 1.16 pvAssumeCache.ListPVs."""
    return volume.storage_class_name


def volumes_of(rules: BindingRules, snapshot: Snapshot, class_name: str) -> list[PersistentVolume]:
    """The volumes that a release lists under a class, in order of arrival."""
    return [v for v in snapshot.objects.persistent_volumes.values() if rules.class_of(v) == class_name]


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


# --- matching ------------------------------------------------------------------------------


class ClaimBinding(msgspec.Struct, frozen=True):
    """The volumes chosen for a claim, on every row at once."""

    claim: PersistentVolumeClaim
    volumes: Sequence[PersistentVolume | None]
    """By number; as they are until the cluster changes."""
    numbers: IntArray
    """(n,) the number of each row's volume, NONE where none is chosen."""

    def volume(self, at: int) -> PersistentVolume | None:
        """The volume chosen on the snapshot's row ``at``."""
        number = int(self.numbers[at])
        return None if number == NONE else self.volumes[number]


class Matching(msgspec.Struct, frozen=True):
    """Volumes chosen for one pod, on every row at once."""

    snapshot: Snapshot
    rules: BindingRules
    bindings: list[ClaimBinding] = msgspec.field(default_factory=list)
    _reserved: dict[str, Mask] = msgspec.field(default_factory=dict)
    """Reserved volume → (n,) bool: the rows on which it is chosen."""
    _taken: dict[str, list[IntArray]] = msgspec.field(default_factory=dict)
    """Class → (n,) each, the numbers of its volumes that are chosen."""

    def unmatched(self, claim: PersistentVolumeClaim, rows: Mask) -> Mask:
        """(n,) bool: those of ``rows`` where no volume is left for the claim; elsewhere one is chosen.

        A volume that is reserved for the claim decides, otherwise the smallest that will do is taken.
        Raises VolumeError for a selector that cannot be parsed. Upstream: 1.16 FindMatchingVolume.
        """
        selector = self._selector(claim)
        class_name = claim_class(claim)
        volumes = volume_index(self.snapshot, self.rules.class_of).of(class_name)
        unmatched = np.zeros(len(self.snapshot), np.bool_)
        for volume in volumes.reserved((claim.metadata.namespace, claim.metadata.name)):
            if is_reserved(claim, volume) and self.rules.could_hold(claim, volume):
                before = self._reserved.get(volume.metadata.name)
                left = rows if before is None else rows & ~before
                hit = left & volume_affinity_mask(self.snapshot, volume.node_affinity)
                self._reserved[volume.metadata.name] = hit if before is None else before | hit
                self.bindings.append(ClaimBinding(claim, (volume,), np.where(hit, 0, NONE)))
                unmatched |= left & ~hit
                rows = rows & ~left
        if not rows.any():
            return unmatched
        candidates = volumes.candidates(
            _shape(claim, self.rules),
            lambda volume: self.rules.could_hold(claim, volume) and _suits(claim, selector, volume),
        )
        taken = self._taken.setdefault(class_name, [])
        numbers: IntArray = np.where(rows, candidates.first(self.snapshot, taken), NONE)
        taken.append(numbers)
        self.bindings.append(ClaimBinding(claim, volumes.volumes, numbers))
        unmatched |= rows & (numbers == NONE)
        return unmatched

    def _selector(self, claim: PersistentVolumeClaim) -> Matcher | None:
        if claim.selector is None:
            return None
        try:
            return self.rules.compile(claim.selector)
        except SelectorError as error:
            key = f"{claim.metadata.namespace}/{claim.metadata.name}"
            raise VolumeError(f"error creating internal label selector for claim: {key}: {error}") from error


def _suits(claim: PersistentVolumeClaim, selector: Matcher | None, volume: PersistentVolume) -> bool:
    """Whether a free volume has the claim's access modes and is selected by it."""
    modes = set(claim.access_modes) <= set(volume.access_modes)
    return modes and (selector is None or selector(volume.metadata.labels))


def _shape(claim: PersistentVolumeClaim, rules: BindingRules) -> Hashable:
    """What ``could_hold`` and ``_suits`` read of a claim."""
    read = (claim.storage, frozenset(claim.access_modes), claim.volume_mode or DEFAULT_MODE)
    return (rules.could_hold, *read, claim.volume_attributes_class_name, rules.compile, claim.selector)


# --- the decision --------------------------------------------------------------------------


class Provision(msgspec.Struct, frozen=True):
    """A volume to be made for a claim."""

    claim: PersistentVolumeClaim
    rows: Mask
    """(n,) bool: the rows for which it would be provisioned."""
    left: IntArray | None = None
    """(n,) int64: bytes that its class can still provision there; -1: unknown."""


class DelayedDecision(msgspec.Struct, frozen=True):
    """What is decided for the claims to bind, on every row at once; all masks are (n,) bool."""

    conflict: Mask
    """Where a claim can neither be bound nor provisioned."""
    short: Mask
    """Where not enough storage is left to provision one."""
    errors: dict[str, Mask]
    """Text → where the attempt fails with it. Bindings and provisions hold on rows that are in none of these masks."""
    bindings: Sequence[ClaimBinding] = ()
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


RULES_1_16 = BindingRules(class_in_field, could_hold, compile_label_selector)
