"""Evaluation of macros: over elements, and of values that are worked out when asked for."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from clusterstate.cel.cel_faults import NotEvaluatedError, ValueFault
from clusterstate.cel.evaluation.evaluation_frame import UNSET, EvaluationFrame, Term
from clusterstate.cel.functions.value_texts import shown
from clusterstate.cel.values.cel_arithmetic import checked_size
from clusterstate.cel.values.cel_values import CelMap, Value, go_name


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
