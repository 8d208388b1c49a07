"""Taking documents apart: lists, exports and cluster dictionaries become single manifests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.errors import DecodeError
from clusterstate.manifests.fields import describe

if TYPE_CHECKING:
    from clusterstate.manifests.pod_reading import ReadPod

Manifest = Mapping[str, Any]

SECTIONS: dict[str, str] = {
    "nodes": "Node",
    "pods": "Pod",
    "services": "Service",
    "replicationControllers": "ReplicationController",
    "replicaSets": "ReplicaSet",
    "statefulSets": "StatefulSet",
    "persistentVolumes": "PersistentVolume",
    "persistentVolumeClaims": "PersistentVolumeClaim",
    "pvs": "PersistentVolume",
    "pvcs": "PersistentVolumeClaim",
    "storageClasses": "StorageClass",
    "csiNodes": "CSINode",
    "csiDrivers": "CSIDriver",
    "csiStorageCapacities": "CSIStorageCapacity",
    "volumeAttachments": "VolumeAttachment",
    "priorityClasses": "PriorityClass",
    "podDisruptionBudgets": "PodDisruptionBudget",
    "namespaces": "Namespace",
    "resourceClaims": "ResourceClaim",
    "resourceClaimTemplates": "ResourceClaimTemplate",
    "resourceSlices": "ResourceSlice",
    "deviceClasses": "DeviceClass",
    "podGroups": "PodGroup",
}
"""Key of a cluster dictionary, or of an export of kube-scheduler-simulator → kind of its items."""


class Item(msgspec.Struct, frozen=True):
    """One object still to be decoded: parsed, or the JSON of it. There are many, and msgspec makes them fastest.

    source names the file, place where in it. kind and api_version are what the surrounding list
    says, used when the object itself says nothing.
    """

    source: str
    content: Manifest | msgspec.Raw
    place: str = ""
    kind: str = ""
    api_version: str = ""
    notes: tuple[str, ...] = ()
    """What is to be said of how it is written, with file and path."""
    read: ReadPod | None = None
    """A running v1 Pod as far as decoding reads it, in place of the content, which is empty then."""


_VERSION = re.compile(rb'"resourceVersion"')
"""What an API server writes into every object."""
_OPENING = re.compile(rb'\{\s*"apiVersion":\s*"([\w./-]*)",\s*"kind":\s*"(\w*)"\s*[,}]')
"""How the JSON of an object begins that kubectl or an API server wrote."""


class Header(msgspec.Struct):
    """What says of which kind an object is."""

    kind: Any = None
    apiVersion: Any = None  # noqa: N815


class Envelope(msgspec.Struct):
    """The outermost object of a JSON document; each of its items is left as its JSON."""

    kind: Any = None
    apiVersion: Any = None  # noqa: N815
    items: list[msgspec.Raw] | None = None


_SECTION_LISTS = msgspec.defstruct("_SectionLists", [(key, list[msgspec.Raw] | None, None) for key in SECTIONS])


def _at(place: str, key: str) -> str:
    return f"{place}: {key}" if place else key


def list_kind(kind: object) -> str | None:
    """The kind of a list's items, empty when the list does not say; None for no list."""
    return kind[:-4] if isinstance(kind, str) and kind.endswith("List") else None


def split(source: str, document: object, faults: list[str], place: str = "") -> Iterator[Item]:
    """The objects of one parsed document. Raises DecodeError when it is neither object nor collection of objects; what
    is no object in a collection is passed over, and ``faults`` has it with its place."""
    if isinstance(document, list):
        yield from _split_list(source, document, faults, place, "", "")
        return
    if not isinstance(document, Mapping):
        raise DecodeError(f"{source}: {_at(place, f'must be a Kubernetes object, not {describe(document)}')}")
    kind = document.get("kind")
    of = list_kind(kind)
    if of is not None and "items" in document:
        api_version = document.get("apiVersion") if of else ""
        items = document["items"]
        yield from _split_list(source, items, faults, _at(place, "items"), of, str(api_version or ""))
    elif kind is None and not SECTIONS.keys().isdisjoint(document):
        for key, section in SECTIONS.items():
            yield from _split_list(source, document.get(key), faults, _at(place, key), section, "")
    else:
        yield Item(source, document, place)


def _split_list(
    source: str, items: object, faults: list[str], place: str, kind: str, api_version: str
) -> Iterator[Item]:
    if items is None:
        return
    if not isinstance(items, list):
        raise DecodeError(f"{source}: {place}: must be a list, not {describe(items)}")
    for index, item in enumerate(items):
        if not isinstance(item, Mapping):
            faults.append(f"{source}: {place}[{index}]: must be a Kubernetes object, not {describe(item)}")
        elif list_kind(item.get("kind")) is not None:
            yield from split(source, item, faults, f"{place}[{index}]")
        else:
            yield Item(source, item, f"{place}[{index}]", kind, api_version)


def split_json(source: str, data: bytes, faults: list[str]) -> list[Item]:
    """The objects of one JSON document, each left as its JSON so that it is parsed on its own.

    faults: see ``split``. Raises DecodeError when the document is no JSON (with line and column) or holds no objects.
    """
    try:
        return _split_raw(source, data, faults)
    except msgspec.ValidationError:
        return list(split(source, parse_json(source, data), faults))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        parse_json(source, data)
        raise


def _split_raw(source: str, data: bytes, faults: list[str]) -> list[Item]:
    if data.lstrip()[:1] == b"[":
        return _raw_items(source, "", msgspec.json.decode(data, type=list[msgspec.Raw]), faults, "", "")
    envelope = msgspec.json.decode(data, type=Envelope)
    of = list_kind(envelope.kind)
    if of is not None and envelope.items is not None:
        api_version = str(envelope.apiVersion or "") if of else ""
        return _raw_items(source, "items", envelope.items, faults, of, api_version)
    if envelope.kind is None:
        sections = msgspec.json.decode(data, type=_SECTION_LISTS)
        found = [(key, getattr(sections, key)) for key in SECTIONS]
        if any(items is not None for _, items in found):
            return [i for key, items in found for i in _raw_items(source, key, items or [], faults, SECTIONS[key], "")]
    return list(split(source, parse_json(source, data), faults))


def _raw_items(
    source: str, place: str, items: list[msgspec.Raw], faults: list[str], kind: str, api_version: str
) -> list[Item]:
    out: list[Item] = []
    for index, raw in enumerate(items):
        header = header_of(raw)
        where = f"{place}[{index}]"
        if list_kind(header.kind) is not None:
            out += split(source, msgspec.json.decode(raw), faults, where)
        else:
            own = isinstance(header.kind, str)
            out.append(Item(source, raw, where, header.kind if own else kind, _version(header, api_version)))
    return out


def header_of(raw: msgspec.Raw | memoryview) -> Header:
    """apiVersion and kind, from the first bytes if they are there."""
    return opening_of(memoryview(raw)) or msgspec.json.decode(raw, type=Header)


def was_stored(text: bytes | msgspec.Raw) -> bool:
    """Whether an API server wrote this JSON: such an object says no key twice."""
    return _VERSION.search(text) is not None


def opening_of(text: memoryview) -> Header | None:
    """apiVersion and kind of the object that begins there, if these are the first that it says."""
    opening = _OPENING.match(text)
    return None if opening is None else Header(kind=opening[2].decode(), apiVersion=opening[1].decode())


def _version(header: Header, default: str) -> str:
    return header.apiVersion if isinstance(header.apiVersion, str) else default


def parse_json(source: str, data: bytes | msgspec.Raw) -> Any:
    """A JSON document as dictionaries and lists. Raises DecodeError with line and column."""
    try:
        return msgspec.json.decode(data)
    except msgspec.MsgspecError as error:
        raise DecodeError(f"{source}: {_position(str(error), bytes(data))}") from None
    except UnicodeDecodeError as error:
        raise DecodeError(f"{source}: it is not UTF-8 text: {error.reason}") from None
    except RecursionError:
        raise DecodeError(f"{source}: nested too deeply to be read") from None


def _position(text: str, data: bytes) -> str:
    """``JSON is malformed: … (byte 12)`` with line and column instead of the byte."""
    message, _, tail = text.removesuffix(")").rpartition(" (byte ")
    if not tail.isdigit():
        return f"line {data.count(10) + 1}: {text}"
    before = data[: int(tail)]
    line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
    return f"line {line}, column {column}: {message}"
