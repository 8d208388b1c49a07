"""What release 1.20's own decoder says of a policy it cannot read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kubescheduler.config.policy.policy_1_20_schema import POLICY_1_20
from kubescheduler.framework.args.document_schema import ListOf, Struct

if TYPE_CHECKING:
    from kubescheduler.config.go_decoding import Fault, Path, UnknownKey

_HTML = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_ESCAPES = str.maketrans(_HTML)


def sorted_document(value: Any) -> Any:
    """The value with every mapping in the order of its keys: so the strict decoder goes through it."""
    if isinstance(value, Mapping):
        return {key: sorted_document(value[key]) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [sorted_document(item) for item in value]
    return value


def fault_text(document: Mapping[str, Any], fault: Fault) -> str:
    """The text for a value of the wrong type; inside extenders exactly as the decoders put it."""
    if fault.path[0] != "extenders" or len(fault.path) < 2:
        return str(fault)
    before: dict[str, Any] = {}
    for key, value in document.items():
        before[key] = value[: int(fault.path[1]) + 1] if key == "extenders" else value
        if key == "extenders":
            break
    around = _around(_json(document), len(_json(before)) - len("]}"))
    return f"v1.Policy.Extenders: []v1.LegacyExtender: unmarshalerDecoder: {fault.go_text}{around}"


def unknown_text(document: Mapping[str, Any], key: UnknownKey, *, internal: bool) -> str:
    """The text for a key that no field has. ``internal``: the document is in the unversioned form."""
    way, struct = "", POLICY_1_20
    for step in key.path[:-1]:
        if isinstance(step, int):
            continue
        field = next(field for field in struct.fields if step in (field.key, field.internal))
        way += f"{_go_name(struct, internal)}.{field.internal}: "
        listed = isinstance(field.kind, ListOf)
        kind = field.kind.item if isinstance(field.kind, ListOf) else field.kind
        assert isinstance(kind, Struct)
        struct = kind
        way += f"[]{_go_name(struct, internal)}: " if listed else ""
    text = _json(sorted_document(document)).translate(_ESCAPES)
    around = _around(text, _end_of_key(sorted_document(document), key.path))
    return f"{way}{_go_name(struct, internal)}.ReadObject: found unknown field: {key.path[-1]}{around}"


def _go_name(struct: Struct, internal: bool) -> str:
    return f"config.{struct.name.removeprefix('Legacy')}" if internal else f"v1.{struct.name}"


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _end_of_key(value: Any, path: Path) -> int:
    """Where in the JSON text of ``value`` the key at the end of ``path`` ends."""
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        at = _length_before(value[:step])
        return at + _end_of_key(value[step], rest)
    at = _length_before({key: item for key, item in value.items() if key < step}) + _length(step)
    return at + len(":") + _end_of_key(value[step], rest) if rest else at


def _length_before(items: Any) -> int:
    """The length of the open bracket, the items and their commas."""
    return _length(items) - (0 if items else 1)


def _length(value: Any) -> int:
    return len(_json(value).translate(_ESCAPES))


def _around(text: str, at: int) -> str:
    """Where the decoder stood, and the text there."""
    document, head = text.encode(), len(text[:at].encode())
    near, wide = (document[max(0, head - n) : head + n].decode("utf-8", "replace") for n in (10, 50))
    return f", error found in #{min(head, 10)} byte of ...|{near}|..., bigger context ...|{wide}|..."
