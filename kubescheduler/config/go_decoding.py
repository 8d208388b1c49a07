"""Decoding a document by a table of fields, the way Go's JSON decoders fill a struct.

A null leaves the zero value, unknown keys are kept aside, and a value of the wrong type is a fault: all faults of a
document are collected, in its own order. At the end: what is said of all that a release does not read.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from clusterstate.objects import FrozenMap
from kubecel.api_names import go_quote, parse_duration
from kubescheduler.config.config_text import ParsedDocument
from kubescheduler.framework.document_schema import (
    BOOL,
    BYTES,
    FLOAT,
    GO_DURATION,
    Anything,
    Kind,
    ListOf,
    MapOf,
    Scalar,
    Struct,
)

KeyPath = tuple[str | int, ...]
"""The way from the document to a value: keys and list positions."""

_NUMBERS = ("int", "int32", "int64", "float32", "time.Duration")


class Fault(msgspec.Struct, frozen=True):
    """A value of the wrong type. ``go_text`` is what Go's own decoder says of it."""

    path: KeyPath
    text: str
    go_text: str

    def __str__(self) -> str:
        return f"{show_path(self.path)}: {self.text}"


class UnknownKey(msgspec.Struct, frozen=True):
    """A key no field has; ``known`` are those there are."""

    path: KeyPath
    known: tuple[str, ...]


def show_path(path: KeyPath) -> str:
    """``predicates[2].argument``."""
    shown = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return shown.removeprefix(".")


def refused_key(key: UnknownKey, struct: Struct, name: Callable[[Struct], str]) -> str:
    """What a strict decoder says of a key that no field has: the way to it, by the Go names of the structs."""
    way = ""
    for step in key.path[:-1]:
        if isinstance(step, int):
            continue
        field = next(field for field in struct.fields if step in (field.key, field.internal))
        way += f"{name(struct)}.{field.internal}: "
        kind = field.kind.item if isinstance(field.kind, ListOf) else field.kind
        if not isinstance(kind, Struct):
            break
        struct = kind
        way += f"[]{name(struct)}: " if isinstance(field.kind, ListOf) else ""
    return f"{way}{name(struct)}.ReadObject: found unknown field: {key.path[-1]}"


class GoDecoder(msgspec.Struct):
    """Decodes one document. ``internal`` reads the capitalised keys of the unversioned form."""

    internal: bool = False
    outer: int = 1
    """How many steps of a path lie outside of what Go's decoder is given."""
    faults: list[Fault] = msgspec.field(default_factory=list)
    unknown: list[UnknownKey] = msgspec.field(default_factory=list)

    def decode(self, kind: Kind, value: Any, path: KeyPath = (), owner: str = "", fold_case: bool = False) -> Any:
        """The value as ``kind``, its zero value if it is null or wrong. ``owner`` is the struct it is a field of."""
        if isinstance(kind, Struct):
            return self._struct(kind, value, path, owner, fold_case)
        if isinstance(kind, ListOf):
            return self._list(kind, value, path, owner, fold_case)
        if isinstance(kind, MapOf):
            return self._map(kind, value, path, owner)
        return value if isinstance(kind, Anything) else self._scalar(kind, value, path, owner)

    def _struct(self, kind: Struct, value: Any, path: KeyPath, owner: str, fold_case: bool) -> Any:
        fold_case = (fold_case or kind.fold_case) and not self.internal
        if not isinstance(value, Mapping):
            if value is not None:
                self._fault(kind.go, "an object", value, path, owner)
            return kind.build()
        fields = {(field.internal if self.internal else field.key): field for field in kind.fields}
        by_key = {key.casefold() if fold_case else key: field for key, field in fields.items()}
        given: dict[str, Any] = {}
        for key, item in value.items():
            field = by_key.get(key.casefold() if fold_case else key)
            if field is None:
                self.unknown.append(UnknownKey((*path, key), tuple(fields)))
            elif item is not None:
                used = field.internal_kind if self.internal and field.internal_kind else field.kind
                inner = (*path, field.internal if self.internal else field.key)
                given[field.attribute] = self.decode(used, item, inner, kind.name, fold_case)
        return kind.build(**given)

    def _list(self, kind: ListOf, value: Any, path: KeyPath, owner: str, fold_case: bool) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            self._fault(kind.go, "a list", value, path, owner)
            return ()
        return tuple(self.decode(kind.item, item, (*path, at), owner, fold_case) for at, item in enumerate(value))

    def _map(self, kind: MapOf, value: Any, path: KeyPath, owner: str) -> FrozenMap[str, Any]:
        if not isinstance(value, Mapping):
            self._fault(kind.go, "an object", value, path, owner)
            return FrozenMap()
        return FrozenMap({key: self._scalar(kind.item, item, (*path, key), owner) for key, item in value.items()})

    def _scalar(self, kind: Scalar, value: Any, path: KeyPath, owner: str) -> Any:
        if kind.bits:
            return self._integer(kind, value, path, owner)
        if kind is FLOAT:
            return self._float(value, path, owner)
        if kind is GO_DURATION:
            return self._duration(value, path, owner)
        wanted = bool if kind is BOOL else str
        if value is not None and not isinstance(value, wanted):
            self._fault(kind.go, kind.wanted, value, path, owner)
            value = None
        if kind is BYTES:
            return self._bytes(value or "", path)
        return wanted() if value is None else value

    def _integer(self, kind: Scalar, value: Any, path: KeyPath, owner: str) -> int:
        if value is None:
            return 0
        is_integer = isinstance(value, int) and not isinstance(value, bool)
        if is_integer and -(1 << (kind.bits - 1)) <= value < 1 << (kind.bits - 1):
            return int(value)
        self._fault(kind.go, kind.wanted, value, path, owner)
        return 0

    def _float(self, value: Any, path: KeyPath, owner: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._fault(FLOAT.go, FLOAT.wanted, value, path, owner)
            return 0.0
        return float(value)

    def _duration(self, value: Any, path: KeyPath, owner: str) -> int:
        if not isinstance(value, str):
            self._fault("string", GO_DURATION.wanted, value, path, owner)
            return 0
        try:
            return parse_duration(value)
        except ValueError as error:
            text = f"expected {GO_DURATION.wanted}, found {_show(value)}"
            self.faults.append(Fault(path, text, str(error)))
            return 0

    def _bytes(self, value: str, path: KeyPath) -> bytes:
        try:
            return base64.b64decode(value.replace("\r", "").replace("\n", ""), validate=True)
        except (binascii.Error, ValueError) as error:
            self.faults.append(Fault(path, f"this is no base64: {error}", f"illegal base64 data: {error}"))
            return b""

    def _fault(self, go: str, wanted: str, value: Any, path: KeyPath, owner: str) -> None:
        found = _go_value(value, number=go in _NUMBERS)
        below = [step for step in path[self.outer :] if isinstance(step, str)]
        place = f"struct field {owner}.{'.'.join(below)}" if below else "value"
        text = f"expected {wanted}, found {_show(value)}{_hint(go, value)}"
        self.faults.append(Fault(path, text, f"json: cannot unmarshal {found} into Go {place} of type {go}"))


def _go_value(value: Any, *, number: bool) -> str:
    """How Go's decoder names a JSON value."""
    match value:
        case bool():
            return "bool"
        case int() | float():
            return f"number {value}" if number else "number"
        case str():
            return "string"
        case list() | tuple():
            return "array"
    return "object"


def _show(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {value}"
        case str():
            return f'the string "{value}"'
        case list() | tuple():
            return "a list"
        case None:
            return "null"
    return "an object"


def _hint(go: str, value: Any) -> str:
    """What to write instead, where that is known."""
    if isinstance(value, str):
        if go == "time.Duration" and (nanoseconds := _nanoseconds(value)) is not None:
            return f"; write {nanoseconds}"
        if go in _NUMBERS and re.fullmatch(r"-?\d{1,19}", value):
            return f"; write {value} without quotes"
        if go == "bool" and value.lower() in ("true", "false"):
            return f"; write {value.lower()} without quotes"
    elif go == "string" and isinstance(value, int | float):
        return "; put it in quotes"
    return ""


def _nanoseconds(text: str) -> int | None:
    try:
        return parse_duration(text)
    except ValueError:
        return None


def not_registered(kind: str, version: str, scheme: str) -> str:
    """The release's text for a kind and version that it does not know.

    scheme: where the release says its types are registered.
    """
    group, _, last = version.rpartition("/")
    internal = last == "__internal" or version in ("", "/")
    registered = f"the internal version of group {go_quote(group)}" if internal else f"version {go_quote(version)}"
    return f"no kind {go_quote(kind)} is registered for {registered} in scheme {go_quote(scheme)}"


def unknown_problem(key: UnknownKey) -> str:
    """The message for an unknown key, with the known key that is meant, if one is near."""
    hint = _meant(key)
    return f"{show_path(key.path)}: unknown key{hint or '; known are ' + ', '.join(key.known)}"


def ignored_notes(unknown: Iterable[UnknownKey], release: str) -> Iterator[str]:
    """What is said of keys that a release ignores, the same key in several entries once."""
    alike: dict[KeyPath, list[UnknownKey]] = {}
    for key in unknown:
        alike.setdefault(tuple("" if isinstance(step, int) else step for step in key.path), []).append(key)
    for first, *more in alike.values():
        also = f" (and in {len(more)} other entries)" if len(more) > 1 else " (and in another entry)" if more else ""
        yield f"{show_path(first.path)}: unknown key{also}: release {release} ignores it{_meant(first)}"


def text_notes(document: Mapping[str, Any], release: str) -> tuple[str, ...]:
    """What is said of a document's text: of keys that it sets twice, and of documents behind it."""
    return (*(f"{place}; release {release} reads the last" for place in set_twice(document)), *behind_notes(document))


def text_problems(document: Mapping[str, Any]) -> tuple[str, ...]:
    """The same as faults."""
    return (*twice_problems(document), *(f"{note}; keep one of them" for note in behind_notes(document)))


def twice_problems(document: Mapping[str, Any]) -> tuple[str, ...]:
    """A fault for each key that the document's text repeats."""
    return tuple(f"{place}; keep one of them" for place in set_twice(document))


def behind_notes(document: Mapping[str, Any]) -> tuple[str, ...]:
    """What is said of documents behind the one that is read. Upstream: the decoder of every release stops there."""
    behind = document.documents_behind() if isinstance(document, ParsedDocument) else ""
    if not behind:
        return ()
    return (f"only the first document is read: {behind} {'are' if behind.endswith('documents') else 'is'} ignored",)


def set_twice(document: Mapping[str, Any]) -> tuple[str, ...]:
    """``path: set twice`` for each key that the document's text repeats, with lines where they are known."""
    return document.set_twice() if isinstance(document, ParsedDocument) else ()


def _meant(key: UnknownKey) -> str:
    from clusterstate.errors import nearest

    name = str(key.path[-1])
    exact = next((known for known in key.known if known.casefold() == name.casefold()), None)
    return f"; did you mean {exact}?" if exact else nearest(name, key.known)
