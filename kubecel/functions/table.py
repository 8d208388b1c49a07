"""All functions of the environment that Kubernetes 1.36 gives to selectors of devices, and what calls of them cost.

Upstream: k8s.io/apiserver pkg/cel/environment/base.go, and ``includes`` of k8s.io/dynamic-resource-allocation, which
stored expressions have whatever the feature gates. Functions of the authorizer are left out: nothing has its type.
Costs: cel-go interpreter/runtimecost.go; k8s.io/apiserver pkg/cel/library/cost.go.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import msgspec

from kubecel.functions.addresses import CIDR, IP, addresses, urls
from kubecel.functions.kubernetes_types import NamedFormat, named_formats, quantities, versions
from kubecel.functions.lists import COMPARABLE, lists, optionals, sets
from kubecel.functions.overloads import Act, Function, Signature, fits, missing_overload, read_signature
from kubecel.functions.standard import operators, standard, times
from kubecel.functions.strings import patterns, strings
from kubecel.values import CelMap, Optional, Value


class KnownFunction(msgspec.Struct, frozen=True, eq=False):
    """A function with what all libraries declare of it."""

    name: str
    signatures: tuple[Signature, ...]
    act: Act | None
    """For all signatures alike, if it has one."""
    guarded: bool

    def call(self, values: tuple[Value, ...], overload: str = "") -> Value:
        """What the function gives, by one overload or the first that fits. Raises ValueFault."""
        if self.act is not None:
            return self.act(*values)
        for signature in self.signatures:
            if overload and signature.id != overload:
                continue
            if signature.act is not None and len(signature.arguments) == len(values) and self._fits(signature, values):
                return signature.act(*values)
        raise missing_overload(self.name, values)

    def _fits(self, signature: Signature, values: tuple[Value, ...]) -> bool:
        return not self.guarded or all(map(fits, signature.arguments, values))


def _declared() -> tuple[Function, ...]:
    return (
        *operators(),
        *standard(),
        *times(),
        *optionals(),
        *strings(),
        *lists(),
        *sets(),
        *patterns(),
        *urls(),
        *addresses(),
        *quantities(),
        *versions(),
        *named_formats(),
    )


@cache
def function_table() -> dict[str, KnownFunction]:
    """Name → function."""
    gathered: dict[str, list[Function]] = {}
    for function in _declared():
        gathered.setdefault(function.name, []).append(function)
    return {name: _merged(name, found) for name, found in gathered.items()}


def _merged(name: str, functions: list[Function]) -> KnownFunction:
    signatures = tuple(read_signature(overload) for function in functions for overload in function.overloads)
    guarded = all(function.guarded for function in functions)
    return KnownFunction(name, signatures, functions[0].act, guarded)


Values = tuple[Value, ...]
Cost = Callable[[Values, Value], int]
"""Of (arguments, result)."""

NAME, LIST, MAP = 1, 10, 30
"""Of looking up a name or a member, of making a list, of making a map."""

_TEXT = 0.1
"""Of a character."""
_PATTERN = 0.25
"""Of a character of a pattern."""


def size(value: Value) -> int:
    """Characters, bytes or elements; 1 of what has no size."""
    if type(value) in (str, bytes, tuple) or isinstance(value, CelMap):
        return len(value)
    if isinstance(value, IP):
        return len(value.address.packed)
    if isinstance(value, CIDR):
        return -(-value.bits // 8)
    if type(value) is Optional and value.held:
        return size(value.held[0])
    return 1


def _library_size(value: Value) -> int:
    """As Kubernetes measures: an optional has no size."""
    return 1 if type(value) is Optional else size(value)


def _texts(amount: float) -> int:
    return math.ceil(amount * _TEXT)


def _one(_values: Values, _result: Value) -> int:
    return 1


def _read(times: int = 1) -> Cost:
    """The first argument is read so often."""
    return lambda values, _: math.ceil(_library_size(values[0]) * times * _TEXT)


def _traversal(value: Value) -> int:
    if type(value) is str:
        return int(len(value.encode("utf-8", "surrogatepass")) * _TEXT)
    if type(value) is bytes:
        return int(len(value) * _TEXT)
    if type(value) is tuple:
        return sum(map(_traversal, value))
    if isinstance(value, CelMap):
        return sum(_traversal(key) + _traversal(each) for key, each in value.items())
    return 1


def _pattern(values: Values, _result: Value) -> int:
    return math.ceil((1.0 + size(values[0])) * _TEXT) * math.ceil(size(values[1]) * _PATTERN)


def _smaller(values: Values, _result: Value) -> int:
    return _texts(min(size(values[0]), size(values[1])))


def _equality(values: Values, result: Value) -> int:
    plain = hasattr(values[0], "cel_type")
    return 1 if plain else _smaller(values, result)


def _inner_network(parsed: str) -> Cost:
    """Two prefixes compared, and text parsed."""

    def cost(values: Values, _result: Value) -> int:
        length = _library_size(values[0])
        total = math.ceil(2 * length * _TEXT)
        if "cidr" in parsed:
            total += math.ceil(length * _TEXT) + 1
        return total + (math.ceil(_library_size(values[1]) * _TEXT) if "string" in parsed else 0)

    return cost


def _validated(values: Values, _result: Value) -> int:
    wanted = values[0]
    if not isinstance(wanted, NamedFormat):
        return 1
    return math.ceil((1.0 + size(values[1])) * _TEXT) * math.ceil(wanted.pattern_size * _PATTERN)


def _allocated(elements: float) -> int:
    return int(elements) + 1 + LIST


def _self_compared(position: int) -> Cost:
    """Every element beside every other."""

    def cost(values: Values, _result: Value) -> int:
        elements = values[position]
        if type(elements) is not tuple:
            return 1
        factor = 2 + _TEXT if elements and type(elements[0]) in (str, bytes) else 2.0
        return _allocated(len(elements) ** 2 * factor)

    return cost


def _flattened(values: Values, _result: Value) -> int:
    depth = values[1] if len(values) == 2 else 1
    return _allocated(size(values[0]) * float(depth)) if type(depth) is int else 1


def _sets(times: int) -> Cost:
    return lambda values, _: 1 + size(values[0]) * size(values[1]) * times


_BY_OVERLOAD: dict[str, Cost] = {
    "list_slice": lambda _, result: _allocated(size(result)),
    "list_flatten": _flattened,
    "list_flatten_int": _flattened,
    "lists_range": lambda _, result: _allocated(size(result)),
    "list_reverse": lambda _, result: _allocated(size(result)),
    "list_distinct": _self_compared(0),
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
    "starts_with_string": _read(),
    "ends_with_string": _read(),
    "string_to_bytes": _read(),
    "bytes_to_string": _read(),
    "strings_quote": _read(),
    "string_format": _read(),
    "in_list": lambda values, _: size(values[1]),
    "matches_string": _pattern,
    "contains_string": lambda values, _: _texts(size(values[0])) * _texts(size(values[1])),
    "add_string": lambda values, _: _texts(size(values[0]) + size(values[1])),
    "add_bytes": lambda values, _: _texts(size(values[0]) + size(values[1])),
    "cidr_ip": _one,
    "cidr_contains_ip_string": _inner_network("ip string"),
    "cidr_contains_ip_ip": _inner_network("ip"),
    "cidr_contains_cidr_string": _inner_network("cidr string"),
    "cidr_contains_cidr": _inner_network("cidr"),
    **{f"list_{kind}_sort": _self_compared(0) for kind in COMPARABLE},
    **{f"list_{kind}_sortByAssociatedKeys": _self_compared(1) for kind in COMPARABLE},
    **{
        f"{order}_{kind}": _smaller
        for order in ("less", "greater", "less_equals", "greater_equals")
        for kind in ("string", "bytes")
    },
}
"""Overload → what a call costs; those that are not here and not below cost 1."""

_BY_FUNCTION: dict[str, Cost] = {
    **dict.fromkeys(
        ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), lambda values, _: _traversal(values[0])
    ),
    **dict.fromkeys(
        (
            "url",
            "lowerAscii",
            "upperAscii",
            "substring",
            "trim",
            "ip",
            "cidr",
            "isIP",
            "isCIDR",
            "quantity",
            "isQuantity",
            "semver",
            "isSemver",
        ),
        _read(),
    ),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), _read(2)),
    "join": lambda _, result: math.ceil(_library_size(result) * 2 * _TEXT),
    "find": _pattern,
    "findAll": _pattern,
    "validate": _validated,
    "containsIP": _inner_network("ip string"),
    "containsCIDR": _inner_network("cidr string"),
}
"""Function → what a call costs, whatever the overload."""


def cost_of(function: str, overload: str) -> Cost:
    """What a call of a function costs."""
    if overload and overload in _BY_OVERLOAD:
        return _BY_OVERLOAD[overload]
    return _BY_FUNCTION.get(function, _one)


def equality_cost(values: Values, negated: bool) -> int:
    """Of ``==``, or of ``!=``, which does not know the values of libraries."""
    return _smaller(values, None) if negated else _equality(values, None)
