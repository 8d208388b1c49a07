"""Objects that are read again as they were: recognised by their versions, in one pass, with nothing else decoded."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from kubescheduler.live.informers.stored_objects import Key, Known, Stored


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
