"""How functions are declared: signatures, and what calls them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from kubecel import NO_OVERLOAD, ValueFault
from kubecel.api_names import go_quote
from kubecel.conversions import to_text
from kubecel.types import CelType, parse_type
from kubecel.values import CelMap, Duration, Optional, Timestamp, UInt, Value, type_name, type_of

Act = Callable[..., Value]


class Overload(msgspec.Struct, frozen=True):
    """One signature of a function."""

    id: str
    """As in cel-go; costs go by it."""
    signature: str
    """``(string, int) -> bool`` of a function, ``string.(int) -> bool`` of a method; ``A`` is open."""
    act: Act | None = None
    """None where the function acts for all signatures."""


class Function(msgspec.Struct, frozen=True):
    """A function or method of a name."""

    name: str
    overloads: tuple[Overload, ...]
    act: Act | None = None
    """For all signatures alike: it looks at the types itself."""
    guarded: bool = True
    """Types of arguments are looked at before an overload acts."""

    @classmethod
    def of(cls, name: str, *overloads: tuple[str, str, Act]) -> Function:
        """With signatures that act each: (id, signature, act), see Overload."""
        return cls(name, tuple(Overload(*one) for one in overloads))


class Signature(msgspec.Struct, frozen=True):
    """A signature, read."""

    id: str
    method: bool
    arguments: tuple[CelType, ...]
    """With what a method is called on first."""
    result: CelType
    act: Act | None
    open_names: frozenset[str]
    """Names of the types that it leaves open."""


def read_signature(overload: Overload) -> Signature:
    """Raises ValueError for text that is no signature."""
    before, _, result = overload.signature.rpartition(" -> ")
    target, _, rest = ("", "", before[1:]) if before.startswith("(") else before.rpartition(".(")
    listed = _types(rest.removesuffix(")"))
    arguments = (parse_type(target), *listed) if target else listed
    found = parse_type(result)
    names = frozenset(_open_names((*arguments, found)))
    return Signature(overload.id, bool(target), arguments, found, overload.act, names)


def _types(text: str) -> tuple[CelType, ...]:
    """Types between commas."""
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if sign == "," and not depth:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    return tuple(parse_type(part) for part in parts if part.strip())


def _open_names(types: Iterable[CelType]) -> Iterable[str]:
    for each in types:
        if each.kind == "param":
            yield each.name
        yield from _open_names(each.parameters)


def fits(wanted: CelType, value: Value) -> bool:
    """Whether a value may be an argument; of lists and maps the first element tells."""
    if wanted.kind in ("dyn", "any", "param"):
        return True
    if wanted.name != type_of(value).name:
        return False
    if wanted.kind == "list" and value:
        return fits(wanted.parameters[0], value[0])
    if wanted.kind == "map" and len(value):
        key, held = value.items()[0] if isinstance(value, CelMap) else (None, None)
        return fits(wanted.parameters[0], key) and fits(wanted.parameters[1], held)
    return True


def accepts(parse: Callable[..., Any]) -> Callable[..., bool]:
    """Whether a parser takes its arguments: does not raise ValueFault."""

    def check(*arguments: Value) -> bool:
        try:
            parse(*arguments)
        except ValueFault:
            return False
        return True

    return check


def missing_overload(name: str, values: tuple[Any, ...]) -> ValueFault:
    """No signature is of the types of these values."""
    return ValueFault(f"{NO_OVERLOAD}: {name}({', '.join(map(type_name, values))})")


# --- Values as a few messages print them. Upstream: the String methods of cel-go's types ----------

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
