"""What every CEL has: operators, sizes, conversions, tests of texts. Upstream: cel-go common/stdlib/standard.go."""

from __future__ import annotations

from collections.abc import Callable

from kubecel import arithmetic, conversions
from kubecel.faults import NO_OVERLOAD, ValueFault
from kubecel.functions.overloads import Act, Function, Overload
from kubecel.types import CelType
from kubecel.values import CelMap, Duration, Timestamp, Value, compare, contains, is_comparable, type_of

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
            arithmetic.add,
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
            arithmetic.subtract,
            *numbers,
            ("duration_duration", _binary("duration")),
            ("timestamp_duration", "(timestamp, duration) -> timestamp"),
            ("timestamp_timestamp", "(timestamp, timestamp) -> duration"),
        ),
        _calculation("*", arithmetic.multiply, *numbers),
        _calculation("/", arithmetic.divide, *numbers),
        _calculation("%", arithmetic.modulo, *numbers[:2]),
        Function(
            "-_",
            (Overload("negate_double", "(double) -> double"), Overload("negate_int64", "(int) -> int")),
            arithmetic.negate,
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
        _conversion("bool", conversions.to_bool, "bool", "string"),
        _conversion("bytes", conversions.to_bytes, "bytes", "string"),
        _conversion("double", conversions.to_double, "double", "int", "string", "uint"),
        _conversion("duration", conversions.to_duration, "duration", "int", "string"),
        _conversion("int", conversions.to_int, "int", "double", "duration", "string", "timestamp", "uint"),
        _conversion("timestamp", conversions.to_timestamp, "timestamp", "int", "string"),
        _conversion("uint", conversions.to_uint, "uint", "double", "int", "string"),
        _conversion(
            "string", conversions.to_text, "string", "bool", "bytes", "double", "duration", "int", "timestamp", "uint"
        ),
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
