"""Members of values: fields, keys and positions. Upstream: cel-go interpreter/attributes.go."""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec

from clusterstate.cel.cel_faults import ValueFault
from clusterstate.cel.evaluation.evaluation_frame import EvaluationFrame, Term
from clusterstate.cel.functions.value_texts import shown
from clusterstate.cel.values.cel_values import (
    NONE,
    CelMap,
    Optional,
    UInt,
    Value,
    go_name,
    type_name,
)

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
