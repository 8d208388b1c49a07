"""Values of expressions: Python's where one fits, and these where none does.

null: None; bool, int, float, str, bytes: themselves; a list: a tuple; a type: CelType.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from clusterstate.cel.cel_faults import ValueFault
from clusterstate.cel.values import cel_types as types
from clusterstate.cel.values.cel_types import CelType

Value = Any
"""What an expression can evaluate to."""

LEAST_INT, MOST_INT, MOST_UINT = -(2**63), 2**63 - 1, 2**64 - 1


class UInt(msgspec.Struct, frozen=True):
    """An unsigned whole number below 2**64."""

    number: int


class Duration(msgspec.Struct, frozen=True):
    """A span of time."""

    nanoseconds: int


class Timestamp(msgspec.Struct, frozen=True):
    """A point in time, between the years 1 and 9999."""

    nanoseconds: int
    """Since 1970, UTC."""


class Optional(msgspec.Struct, frozen=True):
    """A value that may be missing."""

    held: tuple[Value, ...] = ()
    """At most one value."""

    def value(self) -> Value:
        """Raises ValueFault where there is none."""
        if not self.held:
            raise ValueFault("optional.none() dereference")
        return self.held[0]


NONE = Optional()


class CelMap:
    """A map. 1, 1u and 1.0 are one key."""

    __slots__ = ("entries",)

    def __init__(self, pairs: Iterator[tuple[Value, Value]] | tuple[tuple[Value, Value], ...] = ()) -> None:
        self.entries: dict[Any, tuple[Value, Value]] = {key_of(key): (key, value) for key, value in pairs}
        """Comparable key → (key, value)."""

    @classmethod
    def of_texts(cls, values: Mapping[str, Value]) -> CelMap:
        """A map whose keys are texts."""
        found = cls()
        found.entries = {key: (key, value) for key, value in values.items()}
        return found

    def find(self, key: Value) -> tuple[Value, bool]:
        """(the value, True), or (None, False)."""
        entry = self.entries.get(key_of(key))
        return (None, False) if entry is None else (entry[1], True)

    def has_key(self, key: Value) -> bool:
        """Whether ``key in map`` holds."""
        return key_of(key) in self.entries

    def keys(self) -> list[Value]:
        """In the order in which they were given."""
        return [key for key, _ in self.entries.values()]

    def items(self) -> list[tuple[Value, Value]]:
        """In the order in which they were given."""
        return list(self.entries.values())

    def __len__(self) -> int:
        return len(self.entries)


class DefaultMap(CelMap):
    """A map in which every key that is missing has an empty map, as in the domains of a device."""

    __slots__ = ()

    def find(self, key: Value) -> tuple[Value, bool]:
        """Always finds something."""
        found, present = super().find(key)
        return (found, True) if present else (CelMap(), True)


def key_of(key: Value) -> Any:
    """What makes equal keys equal in Python; other values are keys only of themselves."""
    if type(key) is str:
        return key
    if type(key) is bool or key is None:
        return ("constant", key)
    if type(key) is UInt:
        return ("number", key.number)
    if type(key) is float:
        return ("number", int(key)) if key.is_integer() else ("double", repr(key))
    return ("number", key) if type(key) is int else ("itself", id(key))


_TYPES: dict[type, CelType] = {
    type(None): types.NULL,
    bool: types.BOOL,
    int: types.INT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    tuple: types.list_of(types.DYN),
    UInt: types.UINT,
    Duration: types.DURATION,
    Timestamp: types.TIMESTAMP,
    Optional: types.optional_of(types.DYN),
    CelMap: types.map_of(types.DYN, types.DYN),
    DefaultMap: types.map_of(types.DYN, types.DYN),
    CelType: types.TYPE,
}
"""Python's type → the type in CEL."""


def type_of(value: Value) -> CelType:
    """The type of a value at run time; values of libraries say their own."""
    found = _TYPES.get(type(value))
    return found if found is not None else value.cel_type


def type_name(value: Value) -> str:
    """The type of a value in the words of messages."""
    return type_of(value).name


_GO_NAMES: dict[type, str] = {
    type(None): "types.Null",
    bool: "types.Bool",
    int: "types.Int",
    float: "types.Double",
    str: "types.String",
    bytes: "types.Bytes",
    tuple: "*types.baseList",
    UInt: "types.Uint",
    Duration: "types.Duration",
    Timestamp: "types.Timestamp",
    Optional: "*types.Optional",
    CelMap: "*types.baseMap",
    DefaultMap: "cel.mapper",
    CelType: "*types.Type",
}


def go_name(value: Value) -> str:
    """What a few messages of cel-go print for a value: its type in Go."""
    return _GO_NAMES.get(type(value)) or f"cel.{type(value).__name__}"
