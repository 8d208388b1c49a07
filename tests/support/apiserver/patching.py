"""Strategic merge patches, as far as a scheduler sends them."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]

MERGE_KEYS = {
    "conditions": "type",
    "containers": "name",
    "reservedFor": "uid",
    "schedulingGates": "name",
    "taints": "key",
}
"""List → the member by which its entries are told apart."""


def merged(target: Document, patch: Document) -> Document:
    """A document with a patch applied."""
    out = dict(target)
    for key, value in patch.items():
        if key.startswith("$"):
            continue
        if value is None:
            out.pop(key, None)
        elif isinstance(value, dict):
            out[key] = merged(out.get(key) or {}, value)
        elif isinstance(value, list) and key in MERGE_KEYS:
            out[key] = _list(out.get(key) or [], value, MERGE_KEYS[key])
        else:
            out[key] = value
    return out


def _list(target: list[Document], patch: list[Document], key: str) -> list[Document]:
    entries = {entry[key]: entry for entry in target}
    for entry in patch:
        if entry.get("$patch") == "delete":
            entries.pop(entry[key], None)
        else:
            entries[entry[key]] = merged(entries.get(entry[key], {}), entry)
    return list(entries.values())
