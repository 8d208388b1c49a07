"""Amounts. Upstream: k8s.io/apiserver pkg/cel/library/quantity.go, k8s.io/apimachinery pkg/api/resource."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import ClassVar

import msgspec

from kubecel import types
from kubecel.faults import ValueFault
from kubecel.functions.overloads import Function
from kubecel.types import CelType
from kubecel.values import LEAST_INT, MOST_INT

_TEXT = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)", re.ASCII)
_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_NANOS = 10**9
_SHORT = 18
"""Digits that Go reads as a whole number with a power of ten; more, it reads as a decimal."""
_FURTHEST = 40
"""Powers of ten beyond which an amount is the largest one, or the smallest."""


class Quantity(msgspec.Struct, frozen=True, eq=False):
    """An amount."""

    cel_type: ClassVar[CelType] = types.QUANTITY
    nanos: int
    """In thousandths of millionths."""
    scale: int | None = 0
    """Power of ten of the whole number that Go holds it as; None for a decimal."""

    def same(self, other: Quantity) -> bool:
        """Whether they are equal."""
        return self.nanos == other.nanos

    def whole(self) -> int | None:
        """The amount as an int, or None where Go does not see it as one: ``1000m`` is none."""
        if self.scale is None or self.scale < 0 or self.nanos % _NANOS:
            return None
        amount = self.nanos // _NANOS
        return amount if LEAST_INT <= amount <= MOST_INT else None

    def plus(self, other: Quantity) -> Quantity:
        """The sum, held as Go would."""
        nanos = self.nanos + other.nanos
        if not self.nanos and self.scale is not None:
            return Quantity(nanos, other.scale)
        if self.scale is None or other.scale is None:
            return Quantity(nanos, None)
        scale = min(self.scale, other.scale)
        from fractions import Fraction  # slow to import, and rarely needed

        fits = abs(Fraction(nanos, _NANOS) / Fraction(10) ** scale) <= MOST_INT
        return Quantity(nanos, scale if fits else None)

    def minus(self, other: Quantity) -> Quantity:
        """The difference, held as Go would."""
        return self.plus(Quantity(-other.nanos, other.scale))


def of_thousandths(amount: int) -> Quantity:
    """An amount of a manifest."""
    return Quantity(amount * 10**6, 0 if amount % 1000 == 0 else -3)


def of_int(amount: int) -> Quantity:
    """A whole amount."""
    return Quantity(amount * _NANOS, 0)


@lru_cache(maxsize=4096)
def quantity(text: str) -> Quantity:
    """``quantity(text)``. Raises ValueFault."""
    match = _TEXT.fullmatch(text) if text and len(text) <= 1000 else None
    if match is None:
        raise ValueFault(_WRONG)
    sign, whole, fraction, suffix = match[1], match[2], match[3] or "", match[4]
    tens, twos = _scale(suffix)
    if not whole and not fraction:
        raise ValueFault("unable to parse numeric part of quantity")
    digits = (whole.lstrip("0") + fraction) or "0"
    scale = tens - len(fraction)
    short = len(digits) <= _SHORT and (not twos or not fraction)
    nanos = _nanos(int(digits), max(-_FURTHEST * 30, min(_FURTHEST, scale)), twos)
    held = scale if short and abs(scale) <= 18 and not (scale < -9) and nanos < MOST_INT * _NANOS else None
    return Quantity(-nanos if sign == "-" else nanos, held)


def _scale(suffix: str) -> tuple[int, int]:
    """(power of ten, power of two) of a suffix."""
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], 0
    if suffix in _BINARY:
        return 0, _BINARY[suffix]
    match = _EXPONENT.fullmatch(suffix)
    if match is None or len(match[1]) > 5:
        letters = suffix.rstrip("0123456789").rstrip("+-")
        raise ValueFault("unable to parse quantity's suffix" if suffix == letters or match is None else _WRONG)
    return int(match[1]), 0


def _nanos(digits: int, tens: int, twos: int) -> int:
    """digits · 10**tens · 2**twos in nanos, rounded up, at most what an int holds."""
    from fractions import Fraction

    exact = Fraction(digits << twos) * Fraction(10) ** tens * _NANOS
    return min(-(-exact.numerator // exact.denominator), MOST_INT * _NANOS)


def _is_quantity(text: str) -> bool:
    try:
        quantity(text)
    except ValueFault:
        return False
    return True


def _as_integer(amount: Quantity) -> int:
    found = amount.whole()
    if found is None:
        raise ValueFault("cannot convert value to integer")
    return found


def _compare(one: Quantity, other: Quantity) -> int:
    return int(one.nanos > other.nanos) - int(one.nanos < other.nanos)


_Q = "kubernetes.Quantity"


def quantities() -> tuple[Function, ...]:
    """The functions of this file; those that versions have too are declared with them."""
    return (
        Function.of("quantity", ("string_to_quantity", f"(string) -> {_Q}", quantity)),
        Function.of("isQuantity", ("is_quantity_string", "(string) -> bool", _is_quantity)),
        Function.of("sign", ("quantity_sign", f"{_Q}.() -> int", lambda amount: _compare(amount, Quantity(0)))),
        Function.of(
            "isGreaterThan", ("quantity_is_greater_than", f"{_Q}.({_Q}) -> bool", lambda a, b: a.nanos > b.nanos)
        ),
        Function.of("isLessThan", ("quantity_is_less_than", f"{_Q}.({_Q}) -> bool", lambda a, b: a.nanos < b.nanos)),
        Function.of("compareTo", ("quantity_compare_to", f"{_Q}.({_Q}) -> int", _compare)),
        Function.of(
            "asApproximateFloat", ("quantity_get_float", f"{_Q}.() -> double", lambda amount: amount.nanos / _NANOS)
        ),
        Function.of("asInteger", ("quantity_get_int", f"{_Q}.() -> int", _as_integer)),
        Function.of(
            "isInteger", ("quantity_is_integer", f"{_Q}.() -> bool", lambda amount: amount.whole() is not None)
        ),
        Function.of(
            "add",
            ("quantity_add", f"{_Q}.({_Q}) -> {_Q}", Quantity.plus),
            ("quantity_add_int", f"{_Q}.(int) -> {_Q}", lambda amount, more: amount.plus(of_int(more))),
        ),
        Function.of(
            "sub",
            ("quantity_sub", f"{_Q}.({_Q}) -> {_Q}", Quantity.minus),
            ("quantity_sub_int", f"{_Q}.(int) -> {_Q}", lambda amount, less: amount.minus(of_int(less))),
        ),
    )
