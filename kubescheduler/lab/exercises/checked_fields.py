"""Reading the keys of ``exercise.yaml``: what is needed, and what is unknown."""

from __future__ import annotations

from collections.abc import Sequence

from clusterstate.errors import nearest
from clusterstate.manifests.fields import Fields, step


def only_keys(fields: Fields, known: Sequence[str]) -> None:
    """Notes every key that is not known, with the nearest that is."""
    for key in fields.data:
        if key not in known:
            fields.fault(
                step(key), f"there is no such key{nearest(str(key), known) or '; known are ' + ', '.join(known)}"
            )


def needed_text(fields: Fields, key: str) -> str:
    """The text under a key that has to be there."""
    found = fields.text(key)
    if not found and not (fields.has(key) and not isinstance(fields.data[key], str)):
        fields.fault(step(key), "is missing")
    return found


def needed_texts(fields: Fields, key: str) -> tuple[str, ...]:
    """The texts under a key that has to be there and name at least one."""
    found = fields.texts(key)
    if not found and not (fields.has(key) and not isinstance(fields.data[key], list)):
        fields.fault(step(key), "has to name at least one")
    return found


def count_of(fields: Fields, key: str) -> int | None:
    """The number under a key, 0 or more; None when there is none."""
    found = fields.integer_or_none(key)
    if found is not None and found < 0:
        fields.fault(step(key), f"must be 0 or more, not {found}")
    return found
