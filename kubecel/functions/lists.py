"""Lists and sets. Upstream: cel-go ext/lists.go (version 3), ext/sets.go; k8s.io/apiserver pkg/cel/library/lists.go."""

from __future__ import annotations

from functools import cmp_to_key
from itertools import pairwise

from kubecel import NO_OVERLOAD, CostFault, ValueFault
from kubecel.functions.overloads import Act, Function, Overload, shown
from kubecel.types import full_name
from kubecel.values import (
    NONE,
    CelMap,
    Duration,
    Optional,
    UInt,
    Value,
    add,
    checked_size,
    compare,
    contains,
    equal,
    is_comparable,
    is_number,
    type_of,
)

MOST_COST = 1_000_000
"""Of an evaluation: more elements than this cost more."""

MOST_VALUES = 48
"""Of an attribute of a device. Upstream: resource.k8s.io ResourceSliceMaxAttributeValuesPerDevice."""

Values = tuple[Value, ...]

COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
"""Types whose elements can be sorted."""
_SUMMABLE = {"int": 0, "uint": UInt(0), "double": 0.0, "duration": Duration(0)}


def _slice(values: Values, start: int, end: int) -> Values:
    what = f"cannot slice({start}, {end}), "
    if start < 0 or end < 0:
        raise ValueFault(what + "negative indexes not supported")
    if start > end:
        raise ValueFault(what + "start index must be less than or equal to end index")
    if len(values) < end:
        raise ValueFault(what + f"list is length {len(values)}")
    return values[start:end]


def _flatten(values: Value, *depths: Value) -> Values:
    depth = depths[0] if depths else 1
    if type(values) is not tuple or type(depth) is not int:
        shown_types = [full_name(type_of(value)) for value in (values, *depths)]
        raise ValueFault(f"{NO_OVERLOAD}: {shown_types[0]}.flatten({''.join(shown_types[1:])})")
    if depth < 0:
        raise ValueFault("level must be non-negative")
    found: list[Value] = []
    stack = [(each, depth) for each in reversed(values)]
    while stack:
        each, left = stack.pop()
        if type(each) is tuple and left:
            stack.extend((inner, left - 1) for inner in reversed(each))
            checked_size(len(stack))
        else:
            found.append(each)
            checked_size(len(found))
    return tuple(found)


def _sort(values: Value) -> Values:
    if type(values) is not tuple:
        raise ValueFault(f"{NO_OVERLOAD}: sort")
    return _sort_by(values, values)


def _sort_by(values: Value, keys: Value) -> Values:
    if type(values) is not tuple or type(keys) is not tuple:
        raise ValueFault(NO_OVERLOAD)
    if not values:
        return ()
    if not is_comparable(keys[0]):
        raise ValueFault("list elements must be comparable")
    if any(type(key) is not type(keys[0]) for key in keys):
        raise ValueFault("list elements must have the same type")
    order = cmp_to_key(compare)
    return tuple(values[at] for at in sorted(range(len(values)), key=lambda at: order(keys[at])))


def _range(count: int) -> Values:
    if count > MOST_COST:
        raise CostFault
    return tuple(range(count))


def _distinct(values: Values) -> Values:
    if len(values) > MOST_COST // 1000:
        raise CostFault
    found: list[Value] = []
    for value in values:
        if not contains(tuple(found), value):
            found.append(value)
    return tuple(found)


def _is_sorted(values: Values) -> bool:
    return all(_compared(one, other) <= 0 for one, other in pairwise(values))


def _compared(one: Value, other: Value) -> int:
    if not is_comparable(one):
        raise ValueFault(NO_OVERLOAD)
    return compare(one, other)


def _sum(zero: Value) -> Act:
    def act(values: Values) -> Value:
        total = zero
        for value in values:
            total = add(total, value)
        return total

    return act


def _extreme(name: str, sign: int) -> Act:
    def act(values: Values) -> Value:
        if not values:
            raise ValueFault(f"{name} called on empty list")
        best = values[0]
        for value in values[1:]:
            if _compared(value, best) == sign:
                best = value
        return best

    return act


def _place(values: Values, wanted: Value) -> int:
    return next((at for at, value in enumerate(values) if _is(value, wanted)), -1)


def _last_place(values: Values, wanted: Value) -> int:
    return next((at for at in reversed(range(len(values))) if _is(values[at], wanted)), -1)


def _is(value: Value, wanted: Value) -> bool:
    try:
        return equal(value, wanted)
    except ValueFault:
        return False


def _includes(target: Value, wanted: Value) -> bool:
    """Whether an attribute is a value, or a list that has it."""
    if type(target) is not tuple:
        return _is(target, wanted)
    for value in target[:MOST_VALUES]:
        if _is(value, wanted):
            return True
    if len(target) > MOST_VALUES:
        raise ValueFault(f"'includes' function cannot be applied to lists longer than {MOST_VALUES} values")
    return False


def _inserted(target: CelMap, *added: Value) -> CelMap:
    """The map with one more entry, or with those of another map."""
    found = CelMap()
    found.entries = dict(target.entries)
    for key, value in added[0].items() if len(added) == 1 else [added]:
        if found.has_key(key):
            raise ValueFault(f"insert failed: key {shown(key)} already exists")
        found.entries |= CelMap(((key, value),)).entries
    return found


def _contains_all(values: Values, wanted: Values) -> bool:
    if len(values) * len(wanted) > MOST_COST:
        raise CostFault
    return all(contains(values, each) for each in wanted)


def _equivalent(one: Values, other: Values) -> bool:
    return _contains_all(one, other) and _contains_all(other, one)


def _intersects(one: Values, other: Values) -> bool:
    if len(one) * len(other) > MOST_COST:
        raise CostFault
    return any(contains(other, each) for each in one)


def _each(name: str, template: str, signature: str, act: Act) -> Function:
    overloads = tuple(Overload(template.format(kind), signature.format(kind), act) for kind in COMPARABLE)
    return Function(name, overloads)


def lists() -> tuple[Function, ...]:
    """The functions of this file that lists have."""
    sums = tuple(
        Overload(f"list_{kind}_sum_{kind}", f"list({kind}).() -> {kind}", _sum(zero))
        for kind, zero in _SUMMABLE.items()
    )
    sorts = tuple(Overload(f"list_{kind}_sort", f"list({kind}).() -> list({kind})") for kind in COMPARABLE)
    keys = tuple(
        Overload(f"list_{kind}_sortByAssociatedKeys", f"list(T).(list({kind})) -> list(T)") for kind in COMPARABLE
    )
    return (
        Function.of("slice", ("list_slice", "list(T).(int, int) -> list(T)", _slice)),
        Function(
            "flatten",
            (
                Overload("list_flatten", "list(list(T)).() -> list(T)", _flatten),
                Overload("list_flatten_int", "list(dyn).(int) -> list(dyn)", _flatten),
            ),
            guarded=False,
        ),
        Function("sort", sorts, _sort),
        Function("@sortByAssociatedKeys", keys, _sort_by),
        Function.of("lists.range", ("lists_range", "(int) -> list(int)", _range)),
        Function.of("reverse", ("list_reverse", "list(T).() -> list(T)", lambda values: values[::-1])),
        Function.of("distinct", ("list_distinct", "list(T).() -> list(T)", _distinct)),
        _each("isSorted", "list_{}_is_sorted_bool", "list({}).() -> bool", _is_sorted),
        Function("sum", sums),
        _each("max", "list_{0}_max_{0}", "list({0}).() -> {0}", _extreme("max", 1)),
        _each("min", "list_{0}_min_{0}", "list({0}).() -> {0}", _extreme("min", -1)),
        Function.of("indexOf", ("list_a_index_of_int", "list(A).(A) -> int", _place)),
        Function.of("lastIndexOf", ("list_a_last_index_of_int", "list(A).(A) -> int", _last_place)),
        Function.of("includes", ("dra_includes_dyn_dyn", "dyn.(dyn) -> bool", _includes)),
        Function.of(
            "cel.@mapInsert",
            ("@mapInsert_map_key_value", "(map(K, V), K, V) -> map(K, V)", _inserted),
            ("@mapInsert_map_map", "(map(K, V), map(K, V)) -> map(K, V)", _inserted),
        ),
    )


def sets() -> tuple[Function, ...]:
    """Lists as sets."""
    return (
        Function.of("sets.contains", ("list_sets_contains_list", "(list(T), list(T)) -> bool", _contains_all)),
        Function.of("sets.equivalent", ("list_sets_equivalent_list", "(list(T), list(T)) -> bool", _equivalent)),
        Function.of("sets.intersects", ("list_sets_intersects_list", "(list(T), list(T)) -> bool", _intersects)),
    )


# --- Values that may be missing. Upstream: cel-go cel/library.go, version 2 of the library of optionals ---


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
