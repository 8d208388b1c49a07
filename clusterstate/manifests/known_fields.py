"""The tables of fields, and what a manifest has that is in none of them.

A table has a type a paragraph: its name, a colon, and its fields. ``field`` holds a value that is not looked into,
``field:Type`` an object of a type or a list of such objects, ``field:{}Type`` objects by name, and ``field=A|B`` one of
these values, or a list of them. A type has the fields of all versions of the API, so that a manifest of any age passes.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Literal

import msgspec

from clusterstate.errors import nearest
from clusterstate.manifests.api_fields import CLUSTER, DEVICES, PODS, VOLUMES
from clusterstate.manifests.fields import describe, step
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


def has_only_known(kind: str, content: msgspec.Raw) -> bool:
    """True: the JSON has nothing that ``unknown_fields`` would name. False: it has to be looked at.

    That also goes for values of a wrong type, for kinds that are in no table, and for fields of a type within itself.
    """
    decoder = _decoder(kind)
    if decoder is None:
        return False
    try:
        decoder.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True


@cache
def _decoder(kind: str) -> msgspec.json.Decoder[Any] | None:
    return msgspec.json.Decoder(_shape(kind, ())) if kind in known_types() else None


@cache
def _shape(name: str, within: tuple[str, ...]) -> Any:
    """The type of an object; ``within`` are the types that it stands in, which it does not hold again."""
    fields = dict(known_types()[name])
    fields |= dict.fromkeys(() if within else TYPE_META, KnownField())
    inside = (*within, name)
    typed = [(f"f{at}", _type(known, inside)) for at, known in enumerate(fields.values())]
    return msgspec.defstruct(
        name,
        [(key, each, msgspec.field(default=None)) for key, each in typed],
        rename={f"f{at}": field for at, field in enumerate(fields)},
        forbid_unknown_fields=True,
        gc=False,
    )


def _type(known: KnownField, within: tuple[str, ...]) -> Any:
    if known.values:
        one: Any = Literal[("", *known.values)]
        return one | list[one] | None
    if not known.type:
        return msgspec.Raw
    if known.type in within:
        return None
    shape: Any = _shape(known.type, within)
    objects = types.GenericAlias(dict, (str, shape)) if known.by_name else shape
    return objects | types.GenericAlias(list, (shape,)) | None
