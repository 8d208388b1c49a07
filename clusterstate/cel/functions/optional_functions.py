"""Values that may be missing. Upstream: cel-go cel/library.go, version 2 of the library of optionals."""

from __future__ import annotations

from clusterstate.cel.cel_faults import ValueFault
from clusterstate.cel.functions.cel_overloads import Function, Overload
from clusterstate.cel.functions.value_texts import shown
from clusterstate.cel.values.cel_equality import is_number
from clusterstate.cel.values.cel_values import NONE, CelMap, Duration, Optional, Value


def _is_zero(value: Value) -> bool:
    """Whether it is what a field has that nobody set."""
    if value is None or value is False:
        return True
    if is_number(value):
        return bool(getattr(value, "number", value) == 0)
    if isinstance(value, CelMap) or type(value) in (str, bytes, tuple):
        return len(value) == 0
    if type(value) is Optional:
        return not value.held
    return type(value) is Duration and value.nanoseconds == 0


def _unless_zero(value: Value) -> Optional:
    return NONE if _is_zero(value) else Optional((value,))


def _first(values: tuple[Value, ...]) -> Optional:
    return Optional(values[:1])


def _last(values: tuple[Value, ...]) -> Optional:
    return Optional(values[-1:])


def _unwrapped(values: tuple[Value, ...]) -> tuple[Value, ...]:
    for value in values:
        if type(value) is not Optional:
            raise ValueFault(f"value {shown(value)} is not optional")
    return tuple(held for value in values for held in value.held)


def optionals() -> tuple[Function, ...]:
    """The functions of this file; ``or`` and ``orValue`` are evaluated as operators are."""
    return (
        Function.of("optional.of", ("optional_of", "(V) -> optional_type(V)", lambda value: Optional((value,)))),
        Function.of("optional.ofNonZeroValue", ("optional_ofNonZeroValue", "(V) -> optional_type(V)", _unless_zero)),
        Function.of("optional.none", ("optional_none", "() -> optional_type(V)", lambda: NONE)),
        Function.of("value", ("optional_value", "optional_type(V).() -> V", Optional.value)),
        Function.of("hasValue", ("optional_hasValue", "optional_type(V).() -> bool", lambda value: bool(value.held))),
        Function("or", (Overload("optional_or_optional", "optional_type(V).(optional_type(V)) -> optional_type(V)"),)),
        Function("orValue", (Overload("optional_orValue_value", "optional_type(V).(V) -> V"),)),
        Function(
            "_[?_]",
            (
                Overload("list_optindex_optional_int", "(list(V), int) -> optional_type(V)"),
                Overload("optional_list_optindex_optional_int", "(optional_type(list(V)), int) -> optional_type(V)"),
                Overload("map_optindex_optional_value", "(map(K, V), K) -> optional_type(V)"),
                Overload("optional_map_optindex_optional_value", "(optional_type(map(K, V)), K) -> optional_type(V)"),
            ),
        ),
        Function.of("last", ("list_last", "list(V).() -> optional_type(V)", _last)),
        Function.of("first", ("list_first", "list(V).() -> optional_type(V)", _first)),
        Function.of("optional.unwrap", ("optional_unwrap", "(list(optional_type(V))) -> list(V)", _unwrapped)),
        Function.of("unwrapOpt", ("optional_unwrapOpt", "list(optional_type(V)).() -> list(V)", _unwrapped)),
    )
