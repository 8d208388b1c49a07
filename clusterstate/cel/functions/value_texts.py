"""Values as a few messages print them. Upstream: the String methods of cel-go's types."""

from __future__ import annotations

from collections.abc import Callable

from clusterstate.api_names import go_quote
from clusterstate.cel.values.cel_conversions import to_text
from clusterstate.cel.values.cel_types import CelType
from clusterstate.cel.values.cel_values import CelMap, Duration, Optional, Timestamp, UInt, Value, type_name

_DEEPEST, _MOST = 3, 20
"""Levels and elements that are printed."""
_LONGEST = 200
"""Characters of a printed value."""


def shown(value: Value) -> str:
    """A value at the outside, such as a key that is missing; long ones are cut."""
    text = str(value) if type(value) is str else written(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def written(value: Value, deep: int = 0) -> str:
    """A value as it would be written in an expression."""
    if deep > _DEEPEST:
        return "…"
    act = _WRITTEN.get(type(value))
    if act is not None:
        return act(value)
    if type(value) is tuple:
        return "[" + ", ".join(written(each, deep + 1) for each in value[:_MOST]) + "]"
    if isinstance(value, CelMap):
        parts = (f"{written(key, deep + 1)}: {written(each, deep + 1)}" for key, each in value.items()[:_MOST])
        return "{" + ", ".join(parts) + "}"
    if type(value) is Optional:
        return f"optional({written(value.held[0], deep + 1)})" if value.held else "optional.none()"
    return type_name(value)


_WRITTEN: dict[type, Callable[[Value], str]] = {
    type(None): lambda _: "null",
    bool: to_text,
    int: to_text,
    float: to_text,
    CelType: to_text,
    str: lambda value: go_quote(value[:_LONGEST]),
    bytes: lambda value: "b" + go_quote(value[:_LONGEST].decode("latin-1")),
    UInt: lambda value: f"{value.number}u",
    Duration: lambda value: f"duration({go_quote(to_text(value))})",
    Timestamp: lambda value: f"timestamp({go_quote(to_text(value))})",
}
"""Python's type → how its values are written."""
