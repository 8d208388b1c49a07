"""The volumes of each storage class as claims look for them, brought up to date volume by volume."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable

from clusterstate.changes import Reads
from clusterstate.cluster_objects import ClusterObjects, Name
from clusterstate.objects import PersistentVolume
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claims import volume_class
from clusterstate.volumes.volume_candidates import VolumeCandidates

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
            changed = log.since(self._position)
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
