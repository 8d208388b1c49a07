"""Tables of fields: the keys of a document's objects, their types as Go has them, and what they become."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec


class Scalar(msgspec.Struct, frozen=True):
    """A single value. ``go`` is Go's name of its type; integers have ``bits``."""

    go: str
    wanted: str
    bits: int = 0


TEXT = Scalar("string", "a string")
BOOL = Scalar("bool", "true or false")
BYTES = Scalar("[]uint8", "a base64 string")
INT = Scalar("int", "an integer", 64)
INT32 = Scalar("int32", "a 32-bit integer", 32)
INT64 = Scalar("int64", "an integer", 64)
DURATION = Scalar("time.Duration", "an integer number of nanoseconds", 64)
FLOAT = Scalar("float32", "a number")
GO_DURATION = Scalar("v1.Duration", 'a duration such as "15s" or "1m30s"')
"""Nanoseconds, written as Go writes durations."""


class ListOf(msgspec.Struct, frozen=True):
    """A list, as a tuple; null elements are zero values."""

    item: Kind

    @property
    def go(self) -> str:
        """The type as Go writes it."""
        return f"[]{self.item.go}"


class MapOf(msgspec.Struct, frozen=True):
    """A mapping of texts to scalars, as a FrozenMap."""

    item: Scalar

    @property
    def go(self) -> str:
        """The type as Go writes it."""
        return f"map[string]{self.item.go}"


class Anything(msgspec.Struct, frozen=True):
    """A value that is decoded later, or never."""

    go: str = "runtime.RawExtension"


class Field(msgspec.Struct, frozen=True):
    """One key of a struct, and the argument of ``build`` it becomes.

    ``internal`` is the key in the unversioned form of the struct, by default ``key`` with a capital.
    """

    key: str
    attribute: str
    kind: Kind
    internal: str = ""
    internal_kind: Kind | None = None

    def __post_init__(self) -> None:
        if not self.internal:
            msgspec.structs.force_setattr(self, "internal", self.key[:1].upper() + self.key[1:])


class Struct(msgspec.Struct, frozen=True):
    """An object. ``build`` takes the fields that were given, by attribute."""

    name: str
    build: Callable[..., Any]
    fields: tuple[Field, ...]
    fold_case: bool = False
    """Keys of the versioned form match in any case, here and below."""

    @property
    def go(self) -> str:
        """The type as Go writes it."""
        return f"v1.{self.name}"


Kind = Scalar | ListOf | MapOf | Anything | Struct
