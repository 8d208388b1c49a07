"""What the releases' own decoders say of a document they cannot read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from kubescheduler.config.go_decoding import show_path
from kubescheduler.framework.args.document_schema import ListOf, Struct

if TYPE_CHECKING:
    from kubescheduler.config.go_decoding import UnknownKey


def strict_text(errors: Iterable[str]) -> str:
    """Release 1.36."""
    return f"strict decoding error: {', '.join(errors)}"


def unknown_fields(unknown: Iterable[UnknownKey]) -> list[str]:
    """Release 1.36: each as it is reported."""
    return [f'unknown field "{show_path(key.path)}"' for key in unknown]


def unknown_text_1_20(document: Mapping[str, Any], key: UnknownKey, struct: Struct, version: str) -> str:
    """Release 1.20 of the first key it does not know, but for the excerpt of the text at its end."""
    package = version.rpartition("/")[2]
    way = ""
    for step in key.path[:-1]:
        if isinstance(step, int):
            continue
        field = next(field for field in struct.fields if field.key == step)
        way += f"{package}.{struct.name}.{field.internal}: "
        kind = field.kind.item if isinstance(field.kind, ListOf) else field.kind
        if not isinstance(kind, Struct):
            break
        way += f"[]{package}.{kind.name}: " if isinstance(field.kind, ListOf) else ""
        struct = kind
    text = msgspec.json.encode(dict(document)).decode()
    found = f"{package}.{struct.name}.ReadObject: found unknown field: {key.path[-1]}"
    return f"strict decoder error for {text}: {way}{found}"
