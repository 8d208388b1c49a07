"""What every CEL has: operators, sizes, conversions, tests of texts, parts of times.

Upstream: cel-go common/stdlib/standard.go.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable

from kubecel import NO_OVERLOAD, ValueFault
from kubecel.conversions import (
    clock_milliseconds,
    local_time,
    to_bool,
    to_bytes,
    to_double,
    to_duration,
    to_int,
    to_text,
    to_timestamp,
    to_uint,
)
from kubecel.functions.overloads import Act, Function, Overload
from kubecel.types import CelType
from kubecel.values import (
    CelMap,
    Duration,
    Timestamp,
    Value,
    add,
    compare,
    contains,
    divide,
    is_comparable,
    modulo,
    multiply,
    negate,
    subtract,
    type_of,
)

_SIZED = (str, bytes, tuple)


def _not(value: Value) -> bool:
    if type(value) is not bool:
        raise ValueFault(NO_OVERLOAD)
    return not value


def _size(value: Value) -> int:
    if not isinstance(value, CelMap) and type(value) not in _SIZED:
        raise ValueFault(NO_OVERLOAD if type(value) in (Duration, Timestamp) else f"{NO_OVERLOAD}: size")
    return len(value)


def _in(value: Value, container: Value) -> bool:
    if isinstance(container, CelMap):
        return container.has_key(value)
    if type(container) is tuple:
        return contains(container, value)
    raise ValueFault(NO_OVERLOAD)


def _order(sign: str, holds: Callable[[int], bool]) -> Act:
    def act(left: Value, right: Value) -> bool:
        if not is_comparable(left):
            raise ValueFault(f"{NO_OVERLOAD}: _{sign}_")
        return holds(compare(left, right))

    return act


def _text_test(test: Callable[[str, str], bool]) -> Act:
    def act(text: Value, part: Value) -> bool:
        if type(text) is not str or type(part) is not str:
            raise ValueFault(NO_OVERLOAD)
        return test(text, part)

    return act


def _type(value: Value) -> CelType:
    return type_of(value)


def _calculation(sign: str, act: Act, *types: tuple[str, str]) -> Function:
    """An operator; each of ``types`` is (the id's end, signature)."""
    names = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "%": "modulo"}
    return Function(f"_{sign}_", tuple(Overload(f"{names[sign]}_{end}", text) for end, text in types), act)


def _binary(kind: str) -> str:
    return f"({kind}, {kind}) -> {kind}"


_ORDERED = ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration")
_MIXED = (
    ("int", "double"),
    ("int", "uint"),
    ("uint", "double"),
    ("uint", "int"),
    ("double", "int"),
    ("double", "uint"),
)
_WIDE = {"int": "int64", "uint": "uint64"}


def _comparison(sign: str, name: str, holds: Callable[[int], bool]) -> Function:
    """``< <= > >=`` of everything that has an order, and of numbers of any two types."""
    same = [Overload(f"{name}_{_WIDE.get(kind, kind)}", f"({kind}, {kind}) -> bool") for kind in _ORDERED]
    mixed = [
        Overload(f"{name}_{_WIDE.get(one, one)}_{_WIDE.get(other, other)}", f"({one}, {other}) -> bool")
        for one, other in _MIXED
    ]
    return Function(f"_{sign}_", (*same, *mixed), _order(sign, holds))


def _conversion(name: str, act: Act, *sources: str) -> Function:
    kind = {"timestamp": "timestamp", "duration": "duration"}.get(name, name)
    return Function(name, tuple(Overload(f"{source}_to_{name}", f"({source}) -> {kind}", act) for source in sources))


def _same(value: Value) -> Value:
    return value


def operators() -> tuple[Function, ...]:
    """What is written with signs."""
    numbers = (("int64", _binary("int")), ("uint64", _binary("uint")), ("double", _binary("double")))
    return (
        Function("_?_:_", (Overload("conditional", "(bool, A, A) -> A"),)),
        Function("_&&_", (Overload("logical_and", "(bool, bool) -> bool"),)),
        Function("_||_", (Overload("logical_or", "(bool, bool) -> bool"),)),
        Function("!_", (Overload("logical_not", "(bool) -> bool"),), _not),
        Function("@not_strictly_false", (Overload("not_strictly_false", "(bool) -> bool"),)),
        Function("_==_", (Overload("equals", "(A, A) -> bool"),)),
        Function("_!=_", (Overload("not_equals", "(A, A) -> bool"),)),
        Function(
            "_[_]",
            (
                Overload("index_list", "(list(A), int) -> A"),
                Overload("index_map", "(map(A, B), A) -> B"),
                Overload("optional_list_index_int", "(optional_type(list(V)), int) -> optional_type(V)"),
                Overload("optional_map_index_value", "(optional_type(map(K, V)), K) -> optional_type(V)"),
            ),
        ),
        Function(
            "@in", (Overload("in_list", "(A, list(A)) -> bool"), Overload("in_map", "(A, map(A, B)) -> bool")), _in
        ),
        _calculation(
            "+",
            add,
            ("bytes", _binary("bytes")),
            ("double", _binary("double")),
            ("duration_duration", _binary("duration")),
            ("duration_timestamp", "(duration, timestamp) -> timestamp"),
            ("timestamp_duration", "(timestamp, duration) -> timestamp"),
            ("int64", _binary("int")),
            ("list", "(list(A), list(A)) -> list(A)"),
            ("string", _binary("string")),
            ("uint64", _binary("uint")),
        ),
        _calculation(
            "-",
            subtract,
            *numbers,
            ("duration_duration", _binary("duration")),
            ("timestamp_duration", "(timestamp, duration) -> timestamp"),
            ("timestamp_timestamp", "(timestamp, timestamp) -> duration"),
        ),
        _calculation("*", multiply, *numbers),
        _calculation("/", divide, *numbers),
        _calculation("%", modulo, *numbers[:2]),
        Function(
            "-_",
            (Overload("negate_double", "(double) -> double"), Overload("negate_int64", "(int) -> int")),
            negate,
        ),
        _comparison("<", "less", lambda order: order < 0),
        _comparison("<=", "less_equals", lambda order: order <= 0),
        _comparison(">", "greater", lambda order: order > 0),
        _comparison(">=", "greater_equals", lambda order: order >= 0),
    )


def standard() -> tuple[Function, ...]:
    """What is written as a function or method."""
    sizes = ("string", "bytes", "list(A)", "map(A, B)")
    return (
        Function(
            "size",
            tuple(
                overload
                for kind in sizes
                for overload in (
                    Overload(f"size_{kind[:4]}", f"({kind}) -> int"),
                    Overload(f"{kind[:4]}_size", f"{kind}.() -> int"),
                )
            ),
            _size,
        ),
        Function("type", (Overload("type", "(A) -> type(A)"),), _type),
        Function("dyn", (Overload("to_dyn", "(A) -> dyn"),), _same),
        _conversion("bool", to_bool, "bool", "string"),
        _conversion("bytes", to_bytes, "bytes", "string"),
        _conversion("double", to_double, "double", "int", "string", "uint"),
        _conversion("duration", to_duration, "duration", "int", "string"),
        _conversion("int", to_int, "int", "double", "duration", "string", "timestamp", "uint"),
        _conversion("timestamp", to_timestamp, "timestamp", "int", "string"),
        _conversion("uint", to_uint, "uint", "double", "int", "string"),
        _conversion("string", to_text, "string", "bool", "bytes", "double", "duration", "int", "timestamp", "uint"),
        Function(
            "contains",
            (Overload("contains_string", "string.(string) -> bool"),),
            _text_test(lambda text, part: part in text),
        ),
        Function("endsWith", (Overload("ends_with_string", "string.(string) -> bool"),), _text_test(str.endswith)),
        Function(
            "startsWith", (Overload("starts_with_string", "string.(string) -> bool"),), _text_test(str.startswith)
        ),
    )


_PARTS: dict[str, tuple[str, Callable[[datetime.datetime], int]]] = {
    "getFullYear": ("year", lambda moment: moment.year),
    "getMonth": ("month", lambda moment: moment.month - 1),
    "getDayOfYear": ("day_of_year", lambda moment: moment.timetuple().tm_yday - 1),
    "getDayOfMonth": ("day_of_month", lambda moment: moment.day - 1),
    "getDate": ("day_of_month_1_based", lambda moment: moment.day),
    "getDayOfWeek": ("day_of_week", lambda moment: (moment.weekday() + 1) % 7),
    "getHours": ("hours", lambda moment: moment.hour),
    "getMinutes": ("minutes", lambda moment: moment.minute),
    "getSeconds": ("seconds", lambda moment: moment.second),
}
"""Method of a timestamp → (what its ids end with, the part); months, days of month, year and week count from 0."""

_UNITS = {"getHours": 3600 * 10**9, "getMinutes": 60 * 10**9, "getSeconds": 10**9}
"""Method of a duration → nanoseconds of its unit."""


def _part(read: Callable[[datetime.datetime], int]) -> Act:
    def act(value: Timestamp, zone: str = "") -> int:
        return read(local_time(value, zone))

    return act


def _span(unit: int) -> Act:
    def act(value: Duration) -> int:
        return abs(value.nanoseconds) // unit * (1 if value.nanoseconds >= 0 else -1)

    return act


def _milliseconds(value: Timestamp, _zone: str = "") -> int:
    local_time(value, _zone)
    return clock_milliseconds(value)


def _overloads(end: str, act: Act) -> tuple[Overload, ...]:
    return (
        Overload(f"timestamp_to_{end}", "timestamp.() -> int", act),
        Overload(f"timestamp_to_{end}_with_tz", "timestamp.(string) -> int", act),
    )


def times() -> tuple[Function, ...]:
    """The functions of this file."""
    found = []
    for name, (end, read) in _PARTS.items():
        overloads = _overloads(end, _part(read))
        if name in _UNITS:
            overloads += (Overload(f"duration_to_{end}", "duration.() -> int", _span(_UNITS[name])),)
        found.append(Function(name, overloads))
    thousandths = Overload("duration_to_milliseconds", "duration.() -> int", _span(10**6))
    found.append(Function("getMilliseconds", (*_overloads("milliseconds", _milliseconds), thousandths)))
    return tuple(found)
