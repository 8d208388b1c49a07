"""What an informer knows of one kind, and the changes that bring it up to date."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from clusterstate.objects import ClusterObject
from kubescheduler.live.contract.object_change import ObjectChange

Key = tuple[str, str]
"""(namespace, name)."""


class Stored(msgspec.Struct, frozen=True, eq=False):
    """An object at one version."""

    version: str
    """Its resourceVersion."""
    obj: ClusterObject
    uid: str
    """Of the object; another one may have its name later."""

    def is_at(self, version: str, uid: str) -> bool:
        """Whether it is the object of this uid at this version."""
        return self.version == version and self.uid == uid


Known = Callable[[str, str], Stored | None]
"""Of (namespace, name): what is known of an object."""


class StoredObjects:
    """The objects of one kind as they were last seen. Written by the I/O thread; lookups are safe from any."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._objects: dict[Key, Stored] = {}

    def put(self, key: Key, stored: Stored) -> ObjectChange:
        """An object came or changed."""
        before = self._objects.get(key)
        self._objects[key] = stored
        return ObjectChange(self._kind, None if before is None else before.obj, stored.obj)

    def remove(self, key: Key, last: ClusterObject) -> ObjectChange:
        """An object went. last: as it was in the end."""
        self._objects.pop(key, None)
        return ObjectChange(self._kind, last, None)

    def replace(self, objects: Iterable[tuple[Key, Stored]]) -> list[ObjectChange]:
        """These are all that there are: what is new or changed is reported, then what is gone.

        Lookups find what was there before until all of it is replaced: what stays is never missing in between.
        Upstream: Replace, which also reports what is as it was; nobody does anything about it.
        """
        gone, there = dict(self._objects), dict[Key, Stored]()
        changes = []
        for key, stored in objects:
            before = gone.pop(key, None)
            there[key] = stored
            if before is not stored:
                changes.append(ObjectChange(self._kind, None if before is None else before.obj, stored.obj))
        self._objects = there
        return [*changes, *(ObjectChange(self._kind, stored.obj, None, stale=True) for stored in gone.values())]

    def get(self, namespace: str, name: str) -> Stored | None:
        """An object; None when there is none of this name."""
        return self._objects.get((namespace, name))

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[Stored]:
        return iter(list(self._objects.values()))
