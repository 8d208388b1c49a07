"""The tables of fields, and what a manifest has that is in none of them.

A table has a type a paragraph: its name, a colon, and its fields. ``field`` holds a value that is not looked into,
``field:Type`` an object of a type or a list of such objects, ``field:{}Type`` objects by name, and ``field=A|B`` one of
these values, or a list of them. A type has the fields of all versions of the API, so that a manifest of any age passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import msgspec

from clusterstate.errors import nearest
from clusterstate.manifests.fields import describe, step
from clusterstate.manifests.schema.known_cluster import CLUSTER
from clusterstate.manifests.schema.known_devices import DEVICES
from clusterstate.manifests.schema.known_pods import PODS
from clusterstate.manifests.schema.known_volumes import VOLUMES
from clusterstate.manifests.strictness import Accepted

TYPE_META = ("apiVersion", "kind")
"""Fields of every kind."""
_ALL = Accepted()


class KnownField(msgspec.Struct, frozen=True):
    """What a field may hold."""

    type: str = ""
    """The type of the object, or of the objects, in it; empty when that is not looked into."""
    by_name: bool = False
    """Whether it holds objects by names of the user's choice."""
    values: tuple[str, ...] = ()
    """The texts it may hold besides an empty one; none when any may be."""


@cache
def known_types() -> Mapping[str, Mapping[str, KnownField]]:
    """Type → its fields. A kind is a type of its own name."""
    types: dict[str, dict[str, KnownField]] = {}
    fields: dict[str, KnownField] = {}
    for word in f"{PODS} {VOLUMES} {CLUSTER} {DEVICES}".split():
        if word.endswith(":"):
            fields = types.setdefault(word[:-1], {})
        else:
            name, known = _field(word)
            fields[name] = known
    return types


def _field(word: str) -> tuple[str, KnownField]:
    name, _, values = word.partition("=")
    if values:
        return name, KnownField(values=tuple(values.split("|")))
    name, _, kind = word.partition(":")
    return name, KnownField(kind.removeprefix("{}"), by_name=kind.startswith("{}"))


def unknown_fields(kind: str, manifest: Mapping[Any, Any], accepted: Accepted = _ALL) -> list[str]:
    """``path: what is wrong`` for each field that the kind does not have, and for each value no API server takes.

    accepted: where the API server of a release takes less. Nothing for a kind that is in no table. What is of a wrong
    type altogether is not looked into.
    """
    if kind not in known_types():
        return []
    given = {key: value for key, value in manifest.items() if key not in TYPE_META}
    return list(_in_object(given, kind, "", accepted))


def _in_object(given: Mapping[Any, Any], kind: str, path: str, accepted: Accepted) -> Iterator[str]:
    fields = known_types()[kind]
    for key, value in given.items():
        place = f"{path}{step(key)}".lstrip(".")
        known = fields.get(key) if isinstance(key, str) else None
        if known is None:
            yield f"{place}: unknown field{_meant(str(key), fields)}"
        elif known.values:
            yield from _in_values(value, known.values, place, accepted.values.get((kind, key)))
        elif known.type:
            for item, where in objects_in(value, known, place):
                yield from _in_object(item, known.type, where, accepted)


def _meant(key: str, fields: Mapping[str, KnownField]) -> str:
    """A field of an object one level down that has the very name comes before one whose name is merely like it."""
    types = known_types()
    inside = [
        f"{name}.{key}" for name, known in fields.items() if not known.by_name and key in types.get(known.type, ())
    ]
    return (
        nearest(key, fields) if not inside or key.lower() in map(str.lower, fields) else f"; did you mean {inside[0]}?"
    )


def objects_in(value: object, known: KnownField, place: str) -> Iterator[tuple[Mapping[Any, Any], str]]:
    """(object, where it is) for each object that is in a field. place: of the field."""
    found: Iterable[tuple[object, str]] = ((value, place),)
    if isinstance(value, list | tuple):
        found = ((item, f"{place}[{index}]") for index, item in enumerate(value))
    elif isinstance(value, Mapping) and known.by_name:
        found = ((item, f"{place}{step(name)}") for name, item in value.items())
    return ((item, where) for item, where in found if isinstance(item, Mapping))


def _in_values(
    value: object, values: tuple[str, ...], place: str, accepted: tuple[tuple[str, ...], str] | None
) -> Iterator[str]:
    if isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _in_values(item, values, f"{place}[{index}]", accepted)
        return
    taken, why = accepted or (values, "")
    if not isinstance(value, str) or not value or value in taken:
        return
    hint = f" ({why})" if value in values else nearest(value, taken)
    yield f"{place}: {describe(value)} is not one of {', '.join(taken)}{hint}"
