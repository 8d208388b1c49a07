"""Claims that are bound once a node is chosen: the volumes found for them and those to be made, on every node."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cache, lru_cache

import msgspec
import numpy as np

from clusterstate.changes import Reads
from clusterstate.cluster_objects import ClusterObjects, Name
from clusterstate.growable import IntArray, Mask
from clusterstate.objects import LabelSelector, NodeSelectorTerm, PersistentVolume, PersistentVolumeClaim, StorageClass
from clusterstate.selectors.matching import Matcher, SelectorError, compile_label_selector, compile_selector, term_error
from clusterstate.selectors.node_selection import named_mask, volume_affinity_mask
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claims import NO_PROVISIONER, SELECTED_NODE_ANNOTATION, VolumeError, claim_class, volume_class

NONE = -1
"""Stands for no volume."""

Terms = tuple[NodeSelectorTerm, ...] | None
Entry = tuple[int, int, PersistentVolume]
"""(number of a volume, a number that grows in the order in which volumes came, the volume)."""


@lru_cache(maxsize=1 << 14)
def label_picked(terms: Terms) -> tuple[str, tuple[str, ...]] | None:
    """(label, its values) where the terms pick the nodes that have one of them; None where they say anything else.

    Invalid terms are passed over, as ``node_affinity_mask`` does.
    """
    found: dict[tuple[str, str], None] = {}
    for term in terms or ():
        if term_error(term) is None:
            if term.match_fields or len(term.match_expressions) != 1 or term.match_expressions[0].operator != "In":
                return None
            one = term.match_expressions[0]
            found.update(((one.key, value), None) for value in one.values)
    keys = {key for key, _ in found}
    return (keys.pop(), tuple(value for _, value in found)) if len(keys) == 1 else None


class VolumeCandidates:
    """Free volumes by number, in the order in which they are taken: from small to large, the older first."""

    __slots__ = ("_by_label", "_by_terms", "_holds", "_numbers", "_order", "_ranks")

    def __init__(self, holds: Callable[[PersistentVolume], bool]) -> None:
        """holds: whether a volume would do."""
        self._holds = holds
        self._order: list[tuple[int, int]] = []
        self._numbers: IntArray = np.zeros(0, np.int64)
        self._ranks: IntArray | None = None
        self._by_label: dict[str, _Labelled] = {}
        self._by_terms: dict[Terms, list[int]] = {}

    def add(self, found: Sequence[Entry]) -> None:
        """Volumes became free."""
        entries = sorted((volume.storage, arrival, number) for number, arrival, volume in found if self._holds(volume))
        if not entries:
            return
        places = [bisect_left(self._order, (storage, arrival)) for storage, arrival, _ in entries]
        self._numbers = np.insert(self._numbers, places, [number for _, _, number in entries])
        self._order = sorted([*self._order, *((storage, arrival) for storage, arrival, _ in entries)])
        self._moved()
        for number, _, volume in found:
            if self._holds(volume):
                self._file(number, volume.node_affinity)

    def _file(self, number: int, terms: Terms) -> None:
        label = label_picked(terms)
        if label is None:
            self._by_terms.setdefault(terms, []).append(number)
        else:
            self._by_label.setdefault(label[0], _Labelled()).add(number, label[1])

    def drop(self, entry: Entry) -> None:
        """A volume is free no longer; as it was added."""
        number, arrival, volume = entry
        key = (volume.storage, arrival)
        place = bisect_left(self._order, key)
        if place == len(self._order) or self._order[place] != key:
            return
        del self._order[place]
        self._numbers = np.delete(self._numbers, place)
        self._moved()
        label = label_picked(volume.node_affinity)
        if label is not None:
            self._by_label[label[0]].drop(number)
            return
        numbers = self._by_terms[volume.node_affinity]
        numbers.remove(number)
        if not numbers:
            del self._by_terms[volume.node_affinity]

    def _moved(self) -> None:
        self._ranks = None
        for labelled in self._by_label.values():
            labelled.moved()

    def first(self, snapshot: Snapshot, taken: Sequence[IntArray]) -> IntArray:
        """(n,) int64 the number of the first volume that each row can use, NONE where there is none.

        taken: (n,) each, the volumes that a row does not have any more.
        """
        if self._ranks is None:
            self._ranks = np.full(int(self._numbers.max(initial=-1)) + 2, len(self._order), np.int64)
            self._ranks[self._numbers] = np.arange(len(self._order))
        best: IntArray = np.full(len(snapshot), len(self._order), np.int64)
        for key, labelled in self._by_label.items():
            np.minimum(best, self._ranks[labelled.first(key, snapshot, self._ranks, taken)], out=best)
        for terms, numbers in self._by_terms.items():
            usable = volume_affinity_mask(snapshot, terms)
            ordered = np.array(sorted(numbers, key=self._ranks.__getitem__), np.int64)
            starts = np.where(usable, 0, len(ordered))
            found = _first_left(ordered, starts, np.full(len(starts), len(ordered)), taken)
            np.minimum(best, self._ranks[found], out=best)
        return np.append(self._numbers, NONE)[best]


class _Labelled:
    """Volumes that can be used from the nodes where one label has one of some values.

    Two parallel arrays have a (volume, value) pair each; values are numbered in the order they were met.
    """

    __slots__ = ("_bounds", "_codes", "_ids", "_new", "_numbers", "_ordered", "_values", "_width")

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._new: list[tuple[int, int]] = []
        self._numbers: IntArray = np.zeros(0, np.int64)
        self._values: IntArray = np.zeros(0, np.int64)
        self._codes: IntArray = np.zeros(0, np.int64)
        self._ordered: IntArray = np.zeros(0, np.int64)
        self._bounds: IntArray | None = None
        self._width = -1

    def add(self, number: int, values: Iterable[str]) -> None:
        self._new += ((number, self._ids.setdefault(value, len(self._ids))) for value in values)

    def _take_in(self) -> None:
        if self._new:
            new = np.array(self._new, np.int64)
            self._numbers, self._values = np.append(self._numbers, new[:, 0]), np.append(self._values, new[:, 1])
            self._new = []

    def drop(self, number: int) -> None:
        self._take_in()
        kept = self._numbers != number
        self._numbers, self._values = self._numbers[kept], self._values[kept]

    def moved(self) -> None:
        """The order of the volumes, or which there are, changed."""
        self._bounds = None

    def first(self, key: str, snapshot: Snapshot, ranks: IntArray, taken: Sequence[IntArray]) -> IntArray:
        """(n,) the first volume left for each row, NONE where there is none. ranks: number → place in the order."""
        codes, index = snapshot.label_codes(key)
        if self._bounds is None or self._width != len(index):
            self._arrange(index, ranks)
        assert self._bounds is not None
        return _first_left(self._ordered, self._bounds[codes], self._bounds[codes + 1], taken)

    def _arrange(self, index: Mapping[str, int], ranks: IntArray) -> None:
        """Sorts the pairs by the code that nodes have for the value, and the volumes of a code by rank."""
        self._take_in()
        if self._width != len(index):
            self._codes = np.zeros(0, np.int64)
        if len(self._codes) < len(self._ids):
            new = list(self._ids)[len(self._codes) :]
            self._codes = np.append(self._codes, [index.get(value, NONE) for value in new])
        self._width = len(index)
        codes = self._codes[self._values]
        there = codes != NONE
        codes, numbers = codes[there], self._numbers[there]
        order = np.lexsort((ranks[numbers], codes))
        self._ordered = numbers[order]
        self._bounds = np.searchsorted(codes[order], np.arange(len(index) + 2))


def _first_left(ordered: IntArray, starts: IntArray, ends: IntArray, taken: Sequence[IntArray]) -> IntArray:
    """(n,) the first of ``ordered[start:end]`` that is not among what the row has taken, NONE where there is none."""
    if not len(ordered):
        return np.full(len(starts), NONE, np.int64)
    while True:
        found: IntArray = np.where(starts < ends, ordered[np.minimum(starts, len(ordered) - 1)], NONE)
        again = np.zeros(len(starts), np.bool_)
        for numbers in taken:
            again |= (found == numbers) & (found != NONE)
        if not again.any():
            return found
        starts = starts + again


AVAILABLE = "Available"
MOST_SHAPES = 64
"""Sorts of claims of which a class keeps the candidates."""

ClassOf = Callable[[PersistentVolume], str]
"""The class under which a release lists a volume."""


class VolumesOfClass:
    """The volumes that are listed under one class, by number.

    version: grows whenever one of them changes. volumes: by number; None where there is none now.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.version = 0
        self.volumes: list[PersistentVolume | None] = []
        self._arrivals: dict[int, int] = {}
        self._unused: list[int] = []
        self._reserved: dict[Name, set[int]] = {}
        self._candidates: OrderedDict[Hashable, VolumeCandidates] = OrderedDict()

    def add(self, volume: PersistentVolume, arrival: int) -> int:
        """A volume came; its number. arrival: as the volumes of the cluster came."""
        if not self._unused:
            self._unused.append(len(self.volumes))
            self.volumes.append(None)
        number = self._unused.pop()
        self.volumes[number] = volume
        self._arrivals[number] = arrival
        if volume.claim_ref is not None:
            self._reserved.setdefault((volume.claim_ref.namespace, volume.claim_ref.name), set()).add(number)
        elif _is_free(volume, self.name):
            for candidates in self._candidates.values():
                candidates.add([(number, arrival, volume)])
        return number

    def drop(self, number: int) -> None:
        """A volume left."""
        volume, arrival = self.volumes[number], self._arrivals.pop(number)
        assert volume is not None
        self.volumes[number] = None
        self._unused.append(number)
        if volume.claim_ref is not None:
            at = (volume.claim_ref.namespace, volume.claim_ref.name)
            self._reserved[at].discard(number)
            if not self._reserved[at]:
                del self._reserved[at]
        elif _is_free(volume, self.name):
            for candidates in self._candidates.values():
                candidates.drop((number, arrival, volume))

    def reserved(self, claim: Name) -> list[PersistentVolume]:
        """The volumes whose reference names a claim, the oldest first."""
        numbers = sorted(self._reserved.get(claim, ()), key=self._arrivals.__getitem__)
        return [volume for number in numbers if (volume := self.volumes[number]) is not None]

    def candidates(self, shape: Hashable, holds: Callable[[PersistentVolume], bool]) -> VolumeCandidates:
        """The free volumes that would do for claims of one shape. holds: whether a volume does; equal for equal shapes.

        A volume is free when it is available and no claim is named in it.
        """
        found = self._candidates.get(shape)
        if found is None:
            found = self._candidates[shape] = VolumeCandidates(holds)
            free = ((n, v) for n, v in enumerate(self.volumes) if v is not None and _is_free(v, self.name))
            found.add([(number, self._arrivals[number], volume) for number, volume in free])
            if len(self._candidates) > MOST_SHAPES:
                self._candidates.popitem(last=False)
        else:
            self._candidates.move_to_end(shape)
        return found


def _is_free(volume: PersistentVolume, class_name: str) -> bool:
    return volume.phase == AVAILABLE and volume.claim_ref is None and volume_class(volume) == class_name


class VolumeIndex:
    """All volumes by the class under which a release lists them."""

    def __init__(self, class_of: ClassOf) -> None:
        self._class_of = class_of
        self._classes: dict[str, VolumesOfClass] = {}
        self._places: dict[str, tuple[VolumesOfClass, int, int]] = {}
        self._position = 0
        self._versions = 0

    def refresh(self, objects: ClusterObjects) -> VolumeIndex:
        """Brings the volumes that changed since the last time up to date."""
        log = objects.volume_log
        if log.position != self._position:
            changed: Iterable[str] | None = log.since(self._position)
            if changed is None:
                self._classes, self._places = {}, {}
                changed = log.arrivals
            self._position = log.position
            for name in changed:
                self._renew(name, objects.persistent_volumes.get(name), log.arrivals.get(name, -1))
        return self

    def _renew(self, name: str, volume: PersistentVolume | None, arrival: int) -> None:
        """Notes what has become of a volume."""
        if name in self._places:
            before, number, arrived = self._places[name]
            if before.volumes[number] == volume and arrived == arrival:
                before.volumes[number] = volume
                return
            before.drop(number)
            self._note(before)
            del self._places[name]
        if volume is not None:
            now = self.of(self._class_of(volume))
            self._places[name] = (now, now.add(volume, arrival), arrival)
            self._note(now)

    def _note(self, volumes: VolumesOfClass) -> None:
        self._versions += 1
        volumes.version = self._versions

    def of(self, class_name: str) -> VolumesOfClass:
        """The volumes of a class."""
        found = self._classes.get(class_name)
        if found is None:
            found = self._classes[class_name] = VolumesOfClass(class_name)
        return found


def volume_index(snapshot: Snapshot, class_of: ClassOf) -> VolumeIndex:
    """The volumes of the cluster by class, as they are now."""
    index = snapshot.derived(("volumes by class", class_of), Reads(0), lambda: VolumeIndex(class_of))
    return index.refresh(snapshot.objects)


NOT_PROVISIONED = ("", NO_PROVISIONER)
DEFAULT_MODE = "Filesystem"

Delayed = tuple[PersistentVolumeClaim, StorageClass]
Capacity = tuple[Mask, IntArray]
"""((n,) bool: enough can be made for the node, (n,) bytes that are left there, -1 where nobody says)."""


def no_fault(_: PersistentVolumeClaim) -> None:
    """Volumes can be looked for."""


def attributes_fault(claim: PersistentVolumeClaim) -> str | None:
    """A class of volume attributes cannot be asked for. Upstream: 1.31 with feature gate VolumeAttributesClass off."""
    if not claim.volume_attributes_class_name:
        return None
    key = f"{claim.metadata.namespace}/{claim.metadata.name}"
    return (
        f"unsupported volumeAttributesClassName is set on claim {key} when the feature-gate VolumeAttributesClass is "
        "disabled"
    )


CouldHold = Callable[[PersistentVolumeClaim, PersistentVolume], bool]


class BindingRules(msgspec.Struct, frozen=True):
    """How a release matches claims with volumes, where releases differ."""

    class_of: ClassOf
    """The class under which it lists a volume."""
    could_hold: CouldHold
    """Whether a claim could be bound to a volume, whoever has it."""
    compile: Callable[[LabelSelector | None], Matcher] = compile_selector
    """Compiles the selector of a claim."""
    capacity: Callable[[PersistentVolumeClaim, StorageClass, Snapshot], Capacity | None] | None = None
    """What can still be provisioned for the nodes; None where nothing limits it."""
    fault: Callable[[PersistentVolumeClaim], str | None] = no_fault
    """Why no volume can be looked for at all, which gives up the attempt."""


# --- volumes -------------------------------------------------------------------------------


def class_in_field(volume: PersistentVolume) -> str:
    """The class that the field names, an annotation notwithstanding. Upstream: 1.16 pvAssumeCache.ListPVs."""
    return volume.storage_class_name


def volumes_of(rules: BindingRules, snapshot: Snapshot, class_name: str) -> list[PersistentVolume]:
    """The volumes that a release lists under a class, in order of arrival."""
    return [v for v in snapshot.objects.persistent_volumes.values() if rules.class_of(v) == class_name]


def could_hold(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """Whether the volume is of the claim's mode, large enough and not being deleted."""
    return _same_mode(claim, volume) and _stays(claim, volume) and volume.storage >= claim.storage


def _same_mode(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    return (claim.volume_mode or DEFAULT_MODE) == (volume.volume_mode or DEFAULT_MODE)


def _stays(_: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    return volume.metadata.deletion_timestamp is None


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
        Raises VolumeError for a selector that cannot be parsed, and for ``BindingRules.fault``.
        Upstream: 1.16 FindMatchingVolume.
        """
        if (fault := self.rules.fault(claim)) is not None:
            raise VolumeError(fault)
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


def free_volume(
    claim: PersistentVolumeClaim, volumes: Iterable[PersistentVolume], holds: CouldHold
) -> PersistentVolume | None:
    """The volume that a claim gets which waits for no pod: one that is reserved for it, else the smallest that will do;
    None: there is none. Of volumes with as few access modes as there are. Upstream: the binder's findByClaim."""
    modes = set(claim.access_modes)
    large = [volume for volume in volumes if holds(claim, volume) and modes <= set(volume.access_modes)]
    for volume in large:
        if is_reserved(claim, volume):
            return volume
    try:
        selector = None if claim.selector is None else compile_selector(claim.selector)
    except SelectorError:
        return None
    free = (volume for volume in large if _is_free(volume, claim_class(claim)) and _suits(claim, selector, volume))
    return min(free, key=lambda volume: (len(volume.access_modes), volume.storage), default=None)


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


def rules_1_16(gates: Mapping[str, bool]) -> BindingRules:
    """1.16's under feature gates BlockVolume and StorageObjectInUseProtection, which say whether the mode of a volume
    counts, and that it is being deleted. The same rules for the same gates. Upstream: 1.16 FindMatchingVolume."""
    return _gated(gates.get("BlockVolume", True), gates.get("StorageObjectInUseProtection", True))


@cache
def _gated(modes: bool, deletions: bool) -> BindingRules:
    if modes and deletions:
        return RULES_1_16
    conditions = [*([_same_mode] if modes else []), *([_stays] if deletions else [])]

    def holds(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
        return volume.storage >= claim.storage and all(condition(claim, volume) for condition in conditions)

    return msgspec.structs.replace(RULES_1_16, could_hold=holds)
