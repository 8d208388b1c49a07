"""What all objects share: mappings that never change, and metadata."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Generic, NoReturn, TypeVar

import msgspec

from clusterstate.quantity import format_quantity

K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Hashable)


class FrozenMap(dict[K, V], Generic[K, V]):
    """A mapping that never changes after it is made, and so can be a key itself."""

    __slots__ = ("_hash",)
    _hash: int

    def __hash__(self) -> int:  # type: ignore[override]
        try:
            return self._hash
        except AttributeError:
            self._hash = hash(frozenset(self.items()))
            return self._hash

    def __repr__(self) -> str:
        return f"FrozenMap({dict.__repr__(self)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (FrozenMap, (dict(self),))

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("a FrozenMap cannot be changed")

    __setitem__ = __delitem__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse
    __ior__ = _refuse


Labels = FrozenMap[str, str]
"""Labels or annotations: key → value."""

ResourceList = FrozenMap[str, int]
"""Resource name → amount in thousandths of the unit (cpu ``100m`` is 100, memory ``1Ki`` is 1,024,000)."""

NO_LABELS: Labels = FrozenMap()
NO_RESOURCES: ResourceList = FrozenMap()

_BYTES = ("memory", "storage", "ephemeral-storage")


def amounts_text(resources: Mapping[str, int]) -> str:
    """``cpu 500m, memory 8Gi``: amounts as Kubernetes writes them."""
    return ", ".join(f"{name} {format_quantity(milli, binary=name in _BYTES)}" for name, milli in resources.items())


class OwnerReference(msgspec.Struct, frozen=True):
    """Who made an object; at most one of its owners is the controller."""

    kind: str
    name: str
    uid: str
    controller: bool = False
    api_version: str = ""


class ObjectMeta(msgspec.Struct, frozen=True):
    """Names and labels. Timestamps are the API's RFC 3339 texts."""

    name: str
    namespace: str = ""
    uid: str = ""
    labels: Labels = NO_LABELS
    annotations: Labels = NO_LABELS
    owner_references: tuple[OwnerReference, ...] = ()
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None


class Manifested(msgspec.Struct, frozen=True, eq=False, kw_only=True, repr_omit_defaults=True):
    """An object that may keep what it was read from, which is no part of what it says: it is not compared."""

    manifest: Mapping[str, Any] | None = None
    """The object as it was read, if that is kept."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return _without_manifest(self) == _without_manifest(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(_without_manifest(self))

    def __repr__(self) -> str:
        return msgspec.Struct.__repr__(msgspec.structs.replace(self, manifest=None))


def _without_manifest(obj: Manifested) -> tuple[Any, ...]:
    return msgspec.structs.astuple(obj)[:-1]
