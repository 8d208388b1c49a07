"""The keys of arguments as fields of a form, from the schemas by which the release reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kubescheduler.config.go_decoding import GoDecoder
from kubescheduler.framework.args.args_type import ArgsType
from kubescheduler.framework.args.document_schema import BOOL, FLOAT, Kind, MapOf, Scalar, Struct
from kubescheduler.framework.args.field_errors import UNSUPPORTED
from kubescheduler.lab.tuning.form_rows import ArgumentField

NOBODY = "no such value"
"""What no release takes; its refusal lists what it does take."""

_QUOTED = re.compile(r'"([^"]*)"')


def plugin_fields(args: ArgsType, gates: Mapping[str, bool], value: Mapping[str, Any]) -> Iterator[ArgumentField]:
    """Of a plugin. value: its arguments as a document."""
    struct = args.keys(gates)
    default = args.document(struct.build())
    for field in schema_fields(struct, value, default):
        found = choices(args, struct, field.path, default) if field.type == "text" else ()
        yield ArgumentField(field.path, "choice", field.value, field.default, found) if found else field


def schema_fields(
    struct: Struct, value: Mapping[str, Any], default: Mapping[str, Any], prefix: str = ""
) -> Iterator[ArgumentField]:
    """The single values and lists of an object, those of the objects in it with their paths."""
    for field in struct.fields:
        path = f"{prefix}{field.key}"
        now, usual = value.get(field.key), default.get(field.key)
        if isinstance(field.kind, Struct):
            inner, usually = (each if isinstance(each, Mapping) else {} for each in (now, usual))
            yield from schema_fields(field.kind, inner, usually, f"{path}.")
        else:
            yield ArgumentField(path, kind_name(field.kind), now, usual)


def kind_name(kind: Kind) -> str:
    """int, number, bool, text, list or object."""
    if isinstance(kind, Scalar):
        return "int" if kind.bits else {BOOL: "bool", FLOAT: "number"}.get(kind, "text")
    return "object" if isinstance(kind, MapOf | Struct) else "list"


def choices(args: ArgsType, struct: Struct, path: str, default: Mapping[str, Any]) -> tuple[str, ...]:
    """The texts that the release takes at a path, read from its refusal of another; empty where it takes any."""
    document = with_value(default, path.split("."), NOBODY)
    for error in args.errors(GoDecoder().decode(struct, document)):
        if error.path == path and error.kind == UNSUPPORTED:
            return tuple(_QUOTED.findall(error.detail))
    return ()


def with_value(document: Mapping[str, Any], path: list[str], value: Any) -> dict[str, Any]:
    """The document with another value at a path."""
    key, *rest = path
    inner = document.get(key)
    below = with_value(inner if isinstance(inner, Mapping) else {}, rest, value) if rest else value
    return {**document, key: below}
