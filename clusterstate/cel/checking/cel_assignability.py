"""Whether a type may stand for another, and what open types become. Upstream: cel-go checker/types.go."""

from __future__ import annotations

from clusterstate.cel.values import cel_types as types
from clusterstate.cel.values.cel_types import CelType, is_dynamic

Bindings = dict[CelType, CelType]
"""Open type → what it was found to be."""

_NULLABLE = ("opaque", "object", "any", "duration", "timestamp")


def assigned(bindings: Bindings, pairs: list[tuple[CelType, CelType]]) -> Bindings | None:
    """The bindings under which each first type may stand for the second, or None."""
    tried = dict(bindings)
    return tried if all(_assignable(tried, one, other) for one, other in pairs) else None


def _is_loose(what: CelType) -> bool:
    return is_dynamic(what) or what.kind == "error"


def _assignable(bindings: Bindings, one: CelType, other: CelType) -> bool:
    if other.kind == "param":
        valid, bound = _bind(bindings, one, other)
        if valid or bound:
            return valid
    if one.kind == "param":
        return _bind(bindings, other, one)[0]
    if _is_loose(one) or _is_loose(other):
        return True
    return _assignable_closed(bindings, one, other)


def _assignable_closed(bindings: Bindings, one: CelType, other: CelType) -> bool:
    """Of two types that are known, but for their parameters."""
    kinds = (one.kind, other.kind)
    if "null" in kinds:
        return kinds == ("null", "null") or any(kind in _NULLABLE for kind in kinds)
    if one.kind == "type":
        return other.kind == "type"
    if one.kind != other.kind or one.name != other.name or len(one.parameters) != len(other.parameters):
        return False
    return all(_assignable(bindings, *pair) for pair in zip(one.parameters, other.parameters, strict=True))


def _bind(bindings: Bindings, what: CelType, open_type: CelType) -> tuple[bool, bool]:
    """(whether the open type may be this one, whether it was bound before)."""
    if what == open_type:
        return True, True
    known = bindings.get(open_type)
    if known is not None:
        if what == known:
            return True, True
        if not _assignable(bindings, what, known):
            return False, True
        general = most_general(what, known)
        if _is_free(bindings, open_type, general):
            bindings[open_type] = general
        return True, True
    if not _is_free(bindings, open_type, what):
        return False, False
    bindings[open_type] = what
    return True, False


def _is_free(bindings: Bindings, open_type: CelType, within: CelType) -> bool:
    """Whether a type does not contain an open one."""
    if within == open_type:
        return False
    if within.kind == "param":
        known = bindings.get(within)
        return known is None or _is_free(bindings, open_type, known)
    return all(_is_free(bindings, open_type, inner) for inner in within.parameters)


def most_general(one: CelType, other: CelType) -> CelType:
    """The less specific of two types of which one may stand for the other."""
    return one if _covers(one, other) else other


def _covers(one: CelType, other: CelType) -> bool:
    if is_dynamic(one) or one.kind == "param":
        return True
    if is_dynamic(other) or other.kind == "param" or one.kind != other.kind:
        return False
    if one.kind == "type":
        return True
    if one.name != other.name or len(one.parameters) != len(other.parameters):
        return False
    return all(_covers(*pair) for pair in zip(one.parameters, other.parameters, strict=True))


def substituted(bindings: Bindings, what: CelType, close: bool = False) -> CelType:
    """A type with what is known of its open ones; ``close`` makes those that stay open dynamic."""
    known = bindings.get(what) if what.kind == "param" else None
    if known is not None:
        return substituted(bindings, known, close)
    if what.kind == "param" and close:
        return types.DYN
    if not what.parameters:
        return what
    inner = tuple(substituted(bindings, each, close) for each in what.parameters)
    return CelType(what.kind, what.name, inner)
