"""What a cluster holds: objects with what they were read from, in order, shared between clusters that grew apart."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.errors import DecodeError
from clusterstate.manifests.decode import parse_json
from clusterstate.objects import Node, Pod, PriorityClass

if TYPE_CHECKING:
    from clusterstate.manifests.decode import Item
    from clusterstate.objects import ClusterObject


Key = tuple[str, str]
"""(kind, ``namespace/name`` or name)."""


class Entry(msgspec.Struct, frozen=True, eq=False):
    """One object of a cluster."""

    obj: ClusterObject
    """The object, decoded as the cluster's release stores it."""
    source: str = ""
    """The file it came from, empty for one that was written in Python."""
    item: Item | None = None
    """What it was read from; None for an object that was given as one, or when manifests are not kept."""

    @property
    def key(self) -> Key:
        """What identifies the object in its cluster."""
        return key_of(self.obj)

    def manifest(self) -> dict[str, Any]:
        """What it was read from, before anything was filled in; of an object that was given as one, its fields."""
        if self.item is None:
            from clusterstate.manifests.kinds import encode_object

            return encode_object(self.obj)
        content, item = self.item.content, self.item
        plain = parse_json(self.source, content) if isinstance(content, msgspec.Raw) else content
        header = {"apiVersion": item.api_version, "kind": type(self.obj).__name__}
        return {**{key: value for key, value in header.items() if value}, **plain}


def key_of(obj: ClusterObject) -> Key:
    """How an object is found among others."""
    namespace = obj.metadata.namespace
    name = f"{namespace}/{obj.metadata.name}" if namespace and not isinstance(obj, Node) else obj.metadata.name
    return type(obj).__name__, name


def named(obj: ClusterObject) -> str:
    """``Pod default/web-1``: an object as errors name it."""
    return " ".join(key_of(obj))


class _Store:
    """Entries that several ``Entries`` share: each sees the first so many of them."""

    def __init__(self, entries: list[Entry], positions: dict[Key, int]) -> None:
        self.entries = entries
        self.positions = positions
        self.lock = threading.Lock()


class Entries:
    """Entries in order, at most one of a key. Never changes; adding to the newest copies nothing."""

    __slots__ = ("_size", "_store")

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        kept: list[Entry] = []
        positions: dict[Key, int] = {}
        for entry in entries:
            _put(kept, positions, entry)
        self._store = _Store(kept, positions)
        self._size = len(kept)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Entry]:
        return islice(self._store.entries, self._size)

    def find(self, key: Key) -> Entry | None:
        """The entry of that key, None when there is none."""
        position = self._store.positions.get(key)
        return None if position is None or position >= self._size else self._store.entries[position]

    def added(self, entries: Iterable[Entry]) -> Entries:
        """With more; one of a key that is there takes its place. Raises DecodeError for a node or pod that is there."""
        more = list(entries)
        there = [key for entry in more if self.find(key := entry.key) is not None] if self._size else []
        if problems := [_twice(kind, name) for kind, name in there if kind in (Node.__name__, Pod.__name__)]:
            raise DecodeError(problems)
        store = self._store
        with store.lock:
            if there or len(store.entries) != self._size:
                return Entries((*self, *more))
            for entry in more:
                _put(store.entries, store.positions, entry)
            return self._seeing(store)

    @classmethod
    def _seeing(cls, store: _Store) -> Entries:
        out = cls.__new__(cls)
        out._store, out._size = store, len(store.entries)
        return out


def _twice(kind: str, name: str) -> str:
    return f"{kind} {name}: metadata.name: already in the cluster; give it another name, or remove the other first"


def _put(entries: list[Entry], positions: dict[Key, int], entry: Entry) -> None:
    position = positions.setdefault(entry.key, len(entries))
    if position == len(entries):
        entries.append(entry)
    else:
        entries[position] = entry


def shared(now: Entries, before: Entries, after: Entries) -> tuple[dict[Key, Entry], list[Entry]] | None:
    """(key → the entry of ``after`` that is kept, the entries of ``now`` that have to be read). ``after`` is what
    another release makes of ``before``. None: everything has to be read, as priority classes, which say the priority of
    pods, are not the same."""
    kept: dict[Key, Entry] = {}
    fresh: list[Entry] = []
    for entry in now:
        there = after.find(entry.key) if before.find(entry.key) is entry else None
        if there is None:
            fresh.append(entry)
        else:
            kept[entry.key] = there
    classes = [[entry for entry in entries if isinstance(entry.obj, PriorityClass)] for entries in (now, before)]
    return (kept, fresh) if classes[0] == classes[1] else None
