"""From the JSON that the API server sends to what an informer knows of one kind, and the changes that follow.

The scheduler's thread finds these in the inbox. Objects that are read again as they were are recognised by their
versions, in one pass, with nothing else decoded.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

import msgspec

from clusterstate.errors import DecodeError
from clusterstate.manifests.decode import Decoder, Item
from clusterstate.objects import ClusterObject


class ObjectChange(msgspec.Struct, frozen=True, eq=False):
    """An object came, changed or went."""

    kind: str
    """Of the object: Pod, Node, PersistentVolumeClaim …"""
    old: Any
    """As it was known last; None when it is new."""
    new: Any
    """As it is now; None when it is gone."""


class Inbox:
    """Changes in order, put by the I/O thread, taken by the scheduler's."""

    def __init__(self) -> None:
        self._changes: deque[ObjectChange] = deque()
        self._arrived = threading.Condition()
        self._woken = False

    def put(self, changes: Sequence[ObjectChange]) -> None:
        """Changes arrived."""
        with self._arrived:
            self._changes.extend(changes)
            self._arrived.notify_all()

    def wake(self) -> None:
        """Ends a wait, now or the next one: there is something to do that is no change."""
        if self._woken:
            return
        with self._arrived:
            self._woken = True
            self._arrived.notify_all()

    def take(self, most: int | None = None) -> list[ObjectChange]:
        """What has arrived, the oldest first; at most so many."""
        with self._arrived:
            count = len(self._changes) if most is None else min(most, len(self._changes))
            return [self._changes.popleft() for _ in range(count)]

    def wait(self, seconds: float | None) -> None:
        """Waits until something arrives or ``wake`` is called, at most so many seconds."""
        with self._arrived:
            if not self._changes and not self._woken:
                self._arrived.wait(seconds)
            self._woken = False

    def __len__(self) -> int:
        return len(self._changes)


Key = tuple[str, str]
"""(namespace, name)."""


class Stored(msgspec.Struct, frozen=True, eq=False):
    """An object at one version."""

    version: str
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
        return [*changes, *(ObjectChange(self._kind, stored.obj, None) for stored in gone.values())]

    def get(self, namespace: str, name: str) -> Stored | None:
        """An object; None when there is none of this name."""
        return self._objects.get((namespace, name))

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[Stored]:
        return iter(list(self._objects.values()))


class _IdentityMetadata(msgspec.Struct, rename="camel"):
    name: str
    uid: str
    resource_version: str
    namespace: str = ""


class _Identity(msgspec.Struct):
    metadata: _IdentityMetadata


class _IdentifiedEvent(msgspec.Struct):
    type: str
    object: _Identity


class _IdentifiedList(msgspec.Struct):
    items: list[_Identity]


_parse_identified_event: Callable[[bytes], _IdentifiedEvent] = msgspec.json.Decoder(_IdentifiedEvent).decode
_parse_identified_list: Callable[[bytes], _IdentifiedList] = msgspec.json.Decoder(_IdentifiedList).decode


def _unchanged(meta: _IdentityMetadata, known: Known) -> tuple[Key, Stored] | None:
    """(key, object) of what is known at this version already, else None."""
    before = known(meta.namespace, meta.name)
    if before is None or not before.is_at(meta.resource_version, meta.uid):
        return None
    return (meta.namespace, meta.name), before


def unchanged_event(line: bytes, known: Known) -> tuple[Key, Stored] | None:
    """(key, object) of an ADDED event whose object is known at this version already, read in one pass; else None.

    line: JSON, which may be anything.
    """
    try:
        event = _parse_identified_event(line)
    except msgspec.DecodeError:
        return None
    return _unchanged(event.object.metadata, known) if event.type == "ADDED" else None


def unchanged_items(body: bytes, known: Known) -> Iterator[tuple[Key, Stored] | None]:
    """(key, object) of each item of a list that is known at its version already, None for each that is not.

    body: JSON, which may be anything; nothing comes of what cannot be read.
    """
    try:
        page = _parse_identified_list(body)
    except msgspec.DecodeError:
        return
    for item in page.items:
        yield _unchanged(item.metadata, known)


INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""The annotation of the bookmark after which a watch-list has told everything."""


class WatchEvent(msgspec.Struct):
    """One line of a watch."""

    type: str
    """ADDED, MODIFIED, DELETED, BOOKMARK or ERROR."""
    object: msgspec.Raw
    """As JSON."""


class ListMeta(msgspec.Struct, rename="camel"):
    """What a list says of itself."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    """What has to be sent to get the next page, empty on the last one."""


class ObjectList(msgspec.Struct):
    """A list as the API server answers it."""

    metadata: ListMeta = msgspec.field(default_factory=ListMeta)
    items: list[msgspec.Raw] | None = None


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str | None = None
    uid: str = ""
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class Named(msgspec.Struct):
    """What every object says of itself, whatever its kind."""

    metadata: _Metadata = msgspec.field(default_factory=_Metadata)

    @property
    def key(self) -> Key:
        """(namespace, name)."""
        return self.metadata.namespace or "", self.metadata.name

    @property
    def ends_initial_events(self) -> bool:
        """Whether this bookmark says that a watch-list has told everything."""
        return (self.metadata.annotations or {}).get(INITIAL_EVENTS_END) == "true"


class StatusObject(msgspec.Struct):
    """The object of an ERROR event."""

    code: int = 0
    """As an HTTP status."""
    message: str = ""
    reason: str = ""


parse_event: Callable[[bytes], WatchEvent] = msgspec.json.Decoder(WatchEvent).decode
parse_list: Callable[[bytes], ObjectList] = msgspec.json.Decoder(ObjectList).decode
parse_name: Callable[[msgspec.Raw], Named] = msgspec.json.Decoder(Named).decode
parse_status: Callable[[msgspec.Raw], StatusObject] = msgspec.json.Decoder(StatusObject).decode


def nothing_known(_: str, __: str) -> Stored | None:
    """Every object is new."""
    return None


class RawObjects:
    """Decodes the objects of one kind; one that cannot be read is reported and left out."""

    def __init__(self, kind: str, decoder: Decoder, trouble: Callable[[str], None]) -> None:
        self._kind = kind
        self._decoder = decoder
        self._trouble = trouble

    def read(self, raw: msgspec.Raw, known: Known = nothing_known) -> tuple[Key, Stored] | None:
        """(its key, the object at its version); None for one that cannot be read.

        known: an object that is known at this version already is not decoded again.
        """
        try:
            named = parse_name(raw)
            meta, before = named.metadata, known(*named.key)
            if before is not None and before.is_at(meta.resource_version, meta.uid):
                return named.key, before
            obj: Any = self._decoder.decode_item(Item("", raw, kind=self._kind))
        except (DecodeError, msgspec.DecodeError) as error:
            self._trouble(f"an object of kind {self._kind} cannot be read: {error}")
            return None
        except Exception as error:  # nobody foresaw it; the other objects are read all the same
            self._trouble(f"an object of kind {self._kind} cannot be read: {type(error).__name__}: {error}")
            return None
        return named.key, Stored(meta.resource_version, obj, obj.metadata.uid)

    def read_page(self, body: bytes, known: Known) -> tuple[ListMeta, list[tuple[Key, Stored]]]:
        """(what a list says of itself, key and object of each item that can be read).

        known: as for ``read``. Raises msgspec.DecodeError for what is no list.
        """
        page = parse_list(body)
        items = zip_longest(page.items or (), unchanged_items(body, known))
        objects = [self.read(raw, known) if unchanged is None else unchanged for raw, unchanged in items]
        return page.metadata, [read for read in objects if read is not None]
