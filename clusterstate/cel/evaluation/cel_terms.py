"""Terms made of terms: junctions, conditions, comparisons, calls. Upstream: cel-go interpreter/interpretable.go."""

from __future__ import annotations

from clusterstate.cel.cel_faults import NO_OVERLOAD, ValueFault
from clusterstate.cel.evaluation import cel_costs as costs
from clusterstate.cel.evaluation.evaluation_frame import EvaluationFrame, Term
from clusterstate.cel.functions.function_table import KnownFunction
from clusterstate.cel.functions.value_texts import shown
from clusterstate.cel.values.cel_equality import equal
from clusterstate.cel.values.cel_values import CelMap, Optional, Value

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
        frame.charge(costs.equality_cost(values, negated))
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
    cost = costs.cost_of(function.name, overload)
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
        frame.charge(costs.LIST)
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
        frame.charge(costs.MAP)
        return found

    return term
