"""From the JSON that the API server sends to objects, with nothing in between."""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest
from typing import Any

import msgspec

from clusterstate.errors import DecodeError
from clusterstate.manifests.decode import Decoder
from clusterstate.manifests.documents import Item
from kubescheduler.live.informers.stored_objects import Key, Known, Stored
from kubescheduler.live.informers.unchanged_objects import unchanged_items

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
    """Of the list."""
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
        found = [self.read(raw, known) if unchanged is None else unchanged for raw, unchanged in items]
        return page.metadata, [read for read in found if read is not None]
