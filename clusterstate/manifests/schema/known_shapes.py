"""The tables of fields as types of msgspec: whether JSON has only known fields, without looking at it in Python."""

from __future__ import annotations

import types
from functools import cache
from typing import Any, Literal

import msgspec

from clusterstate.manifests.schema.known_fields import TYPE_META, KnownField, known_types


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
