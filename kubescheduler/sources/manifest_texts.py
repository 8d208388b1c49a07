"""From texts in JSON or YAML to the objects in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from clusterstate.errors import DecodeError
from clusterstate.manifests.documents import split, split_json, was_stored
from kubescheduler.sources.limits import TooLongError, check_values

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterstate.manifests.documents import Item

COMPRESSED = ".gz"

MANY = 1000
"""Objects in YAML that take long enough to say that JSON is faster."""


def items_in(source: str, data: bytes, problems: list[str]) -> list[Item]:
    """Every object of a JSON or YAML text; what is wrong with it goes to ``problems``.

    source: its name in errors. An object's notes say which keys are set twice.
    """
    try:
        return _json_or_yaml(source, data)
    except DecodeError as error:
        problems += error.problems
        return []


def _json_or_yaml(source: str, data: bytes) -> list[Item]:
    """JSON when the name or the first character says so; a document that is no JSON may still be YAML."""
    try:
        check_values(data)
    except TooLongError as error:
        raise DecodeError(f"{source}: {error}") from None
    if not data or data.isspace():
        raise DecodeError(f"{source}: no objects in it: it is empty")
    named_json = source.removesuffix(COMPRESSED).endswith(".json")
    if not named_json and data.lstrip()[:1] not in (b"{", b"["):
        return _yaml(source, data)
    try:
        return _with_notes(source, data, split_json(source, data))
    except DecodeError:
        if named_json:
            raise
        try:
            return _yaml(source, data)
        except DecodeError:
            pass
        raise


def _with_notes(source: str, data: bytes, items: list[Item]) -> list[Item]:
    """The objects of a JSON text with a note for every key that is set twice; a server's JSON repeats none."""
    if items and not isinstance(items[0].content, msgspec.Raw):
        return [_noted(source, items[0], data, ""), *items[1:]]
    return [
        _noted(source, item, item.content, item.place) if isinstance(item.content, msgspec.Raw) else item
        for item in items
    ]


def _noted(source: str, item: Item, text: bytes | msgspec.Raw, place: str) -> Item:
    """place: of the text in its file. The text of a server is searched where it is, without a copy."""
    if was_stored(text):
        return item
    from kubescheduler.sources.duplicate_keys import json_duplicates

    repeats = json_duplicates(bytes(text), place)
    return msgspec.structs.replace(item, notes=_notes(source, repeats)) if repeats else item


def _notes(source: str, repeats: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{source}: {each}; the last one counts" for each in repeats)


def _yaml(source: str, data: bytes) -> list[Item]:
    from kubescheduler.sources.yaml_stream import parse_yaml

    notes: list[str] = []
    documents = parse_yaml(source, data, notes=notes)
    if not documents:
        raise DecodeError(f"{source}: no objects in it")
    several = len(documents) > 1
    items: list[Item] = []
    problems: list[str] = []
    for index, document in enumerate(documents):
        try:
            items += split(source, document, f"document {index + 1}" if several else "")
        except DecodeError as error:
            problems += error.problems
    if problems:
        raise DecodeError(problems)
    if len(items) >= MANY:
        notes.append(
            f"{source}: {len(items)} objects in YAML; JSON, as of kubectl get -o json, is read ten times faster"
        )
    return [msgspec.structs.replace(items[0], notes=tuple(notes)), *items[1:]] if notes and items else items
