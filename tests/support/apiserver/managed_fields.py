"""``metadata.managedFields``, as far as a scheduler sees them: they change whenever somebody changes a field anew."""

from __future__ import annotations

import copy
from typing import Any

Document = dict[str, Any]

TIME = "2026-01-01T00:00:00Z"
"""Real servers write the second of the change; all of a test is within one."""


def take_over(before: Document, after: Document, manager: str, part: str) -> None:
    """Notes in ``after`` that somebody changed the fields in which it differs from ``before``.

    manager: the first word of the user agent. part: the subresource, empty for the object. Upstream: apimachinery's
    managedFieldsUpdater, in API servers since 1.18.
    """
    entries = copy.deepcopy(before["metadata"].get("managedFields", []))
    changed = _changed(_bare(before), _bare(after))
    if changed:
        same = (entry for entry in entries if (entry["manager"], entry.get("subresource", "")) == (manager, part))
        entry = next(same, None)
        if entry is None:
            entry = {"manager": manager, "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {}}
            entries.append({**entry, **({"subresource": part} if part else {})})
            entry = entries[-1]
        entry["fieldsV1"] = _union(entry["fieldsV1"], changed)
        entry["time"] = TIME
    if entries:
        after["metadata"]["managedFields"] = entries


def _bare(obj: Document) -> Document:
    metadata = {key: value for key, value in obj["metadata"].items() if key not in ("managedFields", "resourceVersion")}
    return {**obj, "metadata": metadata}


def _changed(before: Any, after: Any) -> Document:
    """The fields in which two values differ, as FieldsV1; lists are one field."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return {}
    return {
        f"f:{key}": _changed(before.get(key), after.get(key))
        for key in sorted({*before, *after})
        if before.get(key) != after.get(key)
    }


def _union(first: Document, second: Document) -> Document:
    return {key: _union(first.get(key, {}), second.get(key, {})) for key in sorted({*first, *second})}
