"""Evaluating an expression: a tree of terms, each a function of the frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from kubecel import NO_OVERLOAD, CostFault, NotEvaluatedError, ValueFault
from kubecel.functions.overloads import shown
from kubecel.functions.table import LIST, MAP, KnownFunction, cost_of, equality_cost
from kubecel.values import NONE, CelMap, Optional, UInt, Value, checked_size, equal, go_name, type_name

# --- What one evaluation works with ---------------------------------------------------------------

MOST_COST = 1_000_000
"""Of a selector of devices. Upstream: resource.k8s.io CELSelectorExpressionMaxCost."""

MOST_MADE = 40_000_000
"""Elements, characters and bytes that functions may make in one evaluation here."""

UNSET = object()
"""A variable that nobody asked for yet."""


class EvaluationFrame:
    """The variable of the environment, those that the expression binds, and what it cost so far."""

    __slots__ = ("cost", "limit", "made", "slots", "subject")

    def __init__(self, subject: Any, slots: int, limit: int = MOST_COST) -> None:
        self.subject = subject
        self.slots = [UNSET] * slots
        self.cost = 0
        self.limit = limit
        self.made = 0

    def charge(self, amount: int) -> None:
        """Raises CostFault when the limit is passed."""
        self.cost += amount
        if self.cost > self.limit:
            raise CostFault

    def count(self, elements: int) -> None:
        """Takes note of a value that was made. Raises NotEvaluatedError for too many of them, whatever they cost."""
        self.made += elements
        if self.made > MOST_MADE:
            raise NotEvaluatedError("its values would become too large")


Term = Callable[[EvaluationFrame], Any]
"""A value out of a frame; may raise ValueFault, CostFault and NotEvaluatedError."""


# --- Terms made of terms: junctions, conditions, comparisons, calls. Upstream: cel-go interpreter/interpretable.go ---

_SIZED = (str, bytes, tuple)


def constant(value: Value) -> Term:
    """A term of one value; it costs nothing."""
    return lambda _frame: value


def junction(terms: tuple[Term, ...], *, decisive: bool) -> Term:
    """``||`` for true, ``&&`` for false: a decisive value beside errors decides."""

    def term(frame: EvaluationFrame) -> bool:
        fault: ValueFault | None = None
        for each in terms:
            try:
                value = each(frame)
            except ValueFault as error:
                fault = fault or error
                continue
            if value is decisive:
                return value is True
            if type(value) is not bool:
                fault = fault or ValueFault(NO_OVERLOAD)
        if fault is not None:
            raise fault
        return not decisive

    return term


def conditional(condition: Term, first: Term, second: Term) -> Term:
    """``condition ? first : second``."""

    def term(frame: EvaluationFrame) -> Value:
        value = condition(frame)
        if value is True:
            return first(frame)
        if value is False:
            return second(frame)
        raise ValueFault(NO_OVERLOAD)

    return term


def equality(left: Term, right: Term, *, negated: bool) -> Term:
    """``==`` and ``!=``; what cannot be compared is an error for the one and differs for the other."""

    def term(frame: EvaluationFrame) -> bool:
        values = (left(frame), right(frame))
        frame.charge(equality_cost(values, negated))
        if not negated:
            return equal(*values)
        try:
            return not equal(*values)
        except ValueFault:
            return True

    return term


def not_strictly_false(inner: Term) -> Term:
    """False only for false."""

    def term(frame: EvaluationFrame) -> bool:
        try:
            value = inner(frame)
        except ValueFault:
            value = True
        frame.charge(1)
        return value is not False

    return term


def alternative(first: Term, second: Term, *, unwrapped: bool) -> Term:
    """``first.or(second)``; ``first.orValue(second)`` takes what the optional holds."""

    def term(frame: EvaluationFrame) -> Value:
        value = first(frame)
        if type(value) is not Optional:
            return value
        if not value.held:
            return second(frame)
        return value.held[0] if unwrapped else value

    return term


def membership(value: Term, members: tuple[Value, ...]) -> Term:
    """``value in members`` for constants, which costs nothing."""
    found = CelMap(tuple((member, True) for member in members))
    return lambda frame: found.has_key(value(frame))


def call(function: KnownFunction, overload: str, terms: tuple[Term, ...]) -> Term:
    """A function of terms."""
    cost = cost_of(function.name, overload)
    act = function.call

    def term(frame: EvaluationFrame) -> Value:
        values = tuple([each(frame) for each in terms])
        try:
            result = act(values, overload)
        except ValueFault:
            frame.charge(cost(values, None))
            raise
        frame.charge(cost(values, result))
        if type(result) in _SIZED:
            frame.count(len(result))
        return result

    return term


def listing(terms: tuple[Term, ...], optional: frozenset[int]) -> Term:
    """A list; elements that are optional are left out where they have no value."""

    def term(frame: EvaluationFrame) -> tuple[Value, ...]:
        found: list[Value] = []
        for at, each in enumerate(terms):
            value = each(frame)
            if at not in optional:
                found.append(value)
            elif type(value) is Optional:
                found.extend(value.held)
            else:
                what = f"cannot initialize optional list element from non-optional value {shown(value)}"
                raise ValueFault(what)
        frame.charge(LIST)
        return tuple(found)

    return term


def mapping(entries: tuple[tuple[Term, Term, bool], ...]) -> Term:
    """A map; entries that are optional are left out where they have no value."""

    def term(frame: EvaluationFrame) -> CelMap:
        found = CelMap()
        for key_of, value_of, optional in entries:
            key, value = key_of(frame), value_of(frame)
            if optional and type(value) is not Optional:
                what = f"cannot initialize optional entry '{shown(key)}' from non-optional value {shown(value)}"
                raise ValueFault(what)
            one = CelMap(((key, value.held[0] if optional and value.held else value),))
            if optional and not value.held:
                for gone in one.entries:
                    found.entries.pop(gone, None)
            else:
                found.entries |= one.entries
        frame.charge(MAP)
        return found

    return term


# --- Members of values: fields, keys and positions. Upstream: cel-go interpreter/attributes.go ----

_KEYS = (str, int, UInt, bool, float)
"""Types that can pick a member."""


class Qualifier(msgspec.Struct, frozen=True, eq=False):
    """One step from a value to a member of it."""

    key: Term
    """What picks the member."""
    cost: int
    """Of the step, beside what the key costs."""
    optional: bool = False
    """No member is no error."""
    test_only: bool = False
    """Only whether there is one counts."""


def find(holder: Value, key: Value) -> tuple[Value, bool]:
    """(the member, whether there is one). Raises ValueFault for a key that cannot be one."""
    if isinstance(holder, CelMap):
        if type(key) not in _KEYS:
            raise ValueFault(f"invalid qualifier type: {go_name(key)}")
        return holder.find(key)
    if type(key) not in _KEYS:
        raise ValueFault(f"invalid qualifier type: {go_name(key)}")
    if type(holder) is tuple:
        at = _position(key)
        return (holder[at], True) if 0 <= at < len(holder) else (None, False)
    return None, False


def _position(key: Value) -> int:
    if type(key) is UInt:
        return key.number
    if type(key) is int:
        return int(key)
    if type(key) is float and math.isfinite(key) and key.is_integer():
        return int(key)
    if type(key) is float:
        raise ValueFault(f"unsupported index value {shown(key)} in list")
    raise ValueFault(f"unsupported index type '{type_name(key)}' in list")


def missing(holder: Value, key: Value) -> ValueFault:
    """There is no such member."""
    if type(holder) is tuple:
        return ValueFault(f"index out of bounds: {shown(key)}")
    return ValueFault(f"no such key: {shown(key)}")


def followed(root: Term, qualifiers: tuple[Qualifier, ...], own_cost: int) -> Term:
    """A value and the steps behind it."""
    plain = not any(step.optional for step in qualifiers)
    if not qualifiers:
        return _alone(root, own_cost)
    if plain and not qualifiers[-1].test_only:
        return _plain(root, qualifiers, own_cost)
    return _careful(root, qualifiers, own_cost)


def _alone(root: Term, own_cost: int) -> Term:
    def term(frame: EvaluationFrame) -> Value:
        value = root(frame)
        frame.cost += own_cost
        return value

    return term


def _plain(root: Term, qualifiers: tuple[Qualifier, ...], own_cost: int) -> Term:
    careful_from = _careful_from(qualifiers, own_cost)
    steps = tuple((step.key, step.cost) for step in qualifiers)

    def term(frame: EvaluationFrame) -> Value:
        value = root(frame)
        if type(value) is Optional:
            return careful_from(value, frame)
        for key_of, cost in steps:
            key = key_of(frame)
            found, present = find(value, key)
            frame.cost += cost
            if not present:
                raise missing(value, key)
            value = found
        frame.charge(own_cost)
        return value

    return term


def _careful(root: Term, qualifiers: tuple[Qualifier, ...], own_cost: int) -> Term:
    go_on = _careful_from(qualifiers, own_cost)
    return lambda frame: go_on(root(frame), frame)


def _careful_from(qualifiers: tuple[Qualifier, ...], own_cost: int) -> Callable[[Value, EvaluationFrame], Value]:
    """Steps of which some may lead nowhere, or that start at something optional."""
    tested = qualifiers[-1].test_only

    def go_on(value: Value, frame: EvaluationFrame) -> Value:
        optional = type(value) is Optional
        if optional:
            if not value.held:
                frame.charge(own_cost)
                return False if tested else NONE
            value = value.held[0]
        for step in qualifiers:
            optional = optional or step.optional
            key = step.key(frame)
            found, present = find(value, key)
            frame.cost += step.cost if present or step.test_only or not optional else 0
            if not present:
                if not optional and not step.test_only:
                    raise missing(value, key)
                frame.charge(own_cost)
                return False if tested else NONE
            value = found
        frame.charge(own_cost)
        if tested:
            return True
        return Optional((value,)) if optional else value

    return go_on


# --- Evaluation of macros: over elements, and of values that are worked out when asked for --------


class Raised(msgspec.Struct, frozen=True):
    """What a variable has whose value failed."""

    fault: ValueFault


class Growing(list[Value]):
    """A list that a macro makes, element by element."""


class Fold(msgspec.Struct, frozen=True, eq=False):
    """A comprehension, its parts as terms."""

    range: Term
    first: int
    """The slot of the variable; likewise the others."""
    second: int | None
    total: int
    initial: Term
    condition: Term
    step: Term
    result: Term


def variable(slot: int) -> Term:
    """What a slot holds."""

    def term(frame: EvaluationFrame) -> Value:
        return frame.slots[slot]

    return term


def accumulator(slot: int, initial: Term) -> Term:
    """What a slot holds, at first what ``initial`` gives; a failure is remembered."""

    def term(frame: EvaluationFrame) -> Value:
        value = frame.slots[slot]
        if value is UNSET:
            value = _kept(initial, frame)
            frame.slots[slot] = value
        if type(value) is Raised:
            raise value.fault
        return value

    return term


def _kept(term: Term, frame: EvaluationFrame) -> Value:
    try:
        return term(frame)
    except ValueFault as fault:
        return Raised(fault)


def growing(total: Term, element: Term, cost: int) -> Term:
    """``total + [element]`` where only this macro has the list."""

    def term(frame: EvaluationFrame) -> Value:
        values = total(frame)
        found = values if type(values) is Growing else Growing(values)
        added = element(frame)
        frame.charge(cost)
        checked_size(len(found))
        found.append(added)
        return found

    return term


def inserting(total: Term, added: tuple[Term, ...], cost: int) -> Term:
    """One more entry, or those of a map, in a map that only this macro has."""

    def term(frame: EvaluationFrame) -> Value:
        found = total(frame)
        values = tuple([each(frame) for each in added])
        frame.charge(cost)
        if not isinstance(found, CelMap) or (len(values) == 1 and not isinstance(values[0], CelMap)):
            raise NotEvaluatedError("a map is needed")
        pairs: Iterable[tuple[Value, Value]] = values[0].items() if len(values) == 1 else [(values[0], values[1])]
        for key, value in pairs:
            if found.has_key(key):
                raise ValueFault(f"insert failed: key {shown(key)} already exists")
            found.entries |= CelMap(((key, value),)).entries
        return found

    return term


def folded(fold: Fold) -> Term:
    """The evaluation of a comprehension."""

    def term(frame: EvaluationFrame) -> Value:
        elements = _elements(fold.range(frame), fold.second is not None)
        slots = frame.slots
        slots[fold.total] = UNSET
        for first, second in elements:
            slots[fold.first] = first
            if fold.second is not None:
                slots[fold.second] = second
            if _is_over(fold.condition, frame):
                break
            slots[fold.total] = _kept(fold.step, frame)
        value = fold.result(frame)
        return tuple(value) if type(value) is Growing else value

    return term


def _is_over(condition: Term, frame: EvaluationFrame) -> bool:
    try:
        return condition(frame) is False
    except ValueFault:
        return False


def _elements(value: Value, pairs: bool) -> Iterable[tuple[Value, Value]]:
    """What the variables of a macro become, one after the other."""
    if isinstance(value, CelMap):
        return value.items()
    if type(value) is tuple:
        return enumerate(value) if pairs else ((element, None) for element in value)
    if pairs:
        raise ValueFault(f"unsupported comprehension range type: {go_name(value)}")
    raise ValueFault(f"got '{go_name(value)}', expected iterable type")
