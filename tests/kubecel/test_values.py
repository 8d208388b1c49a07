"""Equality, order, and conversions of values."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubecel import NotEvaluatedError
from kubecel.conversions import double_text, to_double, to_int, to_text, to_uint
from kubecel.values import CelMap, Duration, Optional, Timestamp, UInt, Value, compare, contains, equal
from tests.support.references.cel import fault_of, plain_values


@given(plain_values())
def test_everything_equals_itself(value: Value) -> None:
    """Equality is reflexive, but for NaN."""
    assert equal(value, value)


@given(plain_values(), plain_values())
def test_equality_has_no_direction(one: Value, other: Value) -> None:
    """Equality is symmetric."""
    assert equal(one, other) == equal(other, one)


@given(plain_values(), plain_values(), plain_values())
def test_equals_of_equals_are_equal(one: Value, other: Value, third: Value) -> None:
    """Equality is transitive where whole numbers are small enough to be doubles."""
    if equal(one, other) and equal(other, third) and not _has_large(one, other, third):
        assert equal(one, third)


def _has_large(*values: Value) -> bool:
    return any(len(digits) > 15 for value in values for digits in str(value).replace(".", " ").split())


@given(plain_values(), st.lists(plain_values(), max_size=4).map(tuple))
def test_membership_is_equality_with_an_element(value: Value, values: tuple[Value, ...]) -> None:
    """``in`` holds where an element is equal."""
    assert contains(values, value) == any(equal(value, each) for each in values)


@given(st.integers(-5, 5) | st.floats(-5, 5) | st.builds(UInt, st.integers(0, 5)), st.integers(-5, 5))
def test_order_and_equality_agree(one: Value, other: Value) -> None:
    """Numbers of any types are equal where neither is less."""
    assert (compare(one, other) == 0) == equal(one, other)
    assert compare(one, other) == -compare(other, one)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (1, UInt(1), True),
        (1, 1.0, True),
        (1, True, False),
        ("1", 1, False),
        (None, 0, False),
        (math.nan, math.nan, False),
        ((1, 2), (1.0, UInt(2)), True),
        ((1,), (1, 2), False),
        (CelMap(((1, "a"),)), CelMap(((1.0, "a"),)), True),
        (CelMap(((1, "a"),)), CelMap(((1, "b"),)), False),
        (Optional((1,)), Optional((1,)), True),
        (Optional(), Optional((1,)), False),
        (Duration(5), Duration(5), True),
        (Duration(5), Timestamp(5), False),
        (b"a", "a", False),
    ],
)
def test_equality_by_type(one: Value, other: Value, expected: bool) -> None:
    """Numbers are compared by value, other types never equal one another."""
    assert equal(one, other) is expected


def test_a_comparison_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that share their parts many times are given up on."""
    monkeypatch.setattr("kubecel.values.MOST_STEPS", 10_000)
    value: Value = (1,)
    for _ in range(40):
        value = (value, value)
    with pytest.raises(NotEvaluatedError):
        equal(value, value)


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("dyn('a') < 1", "no such overload"),
        ("double('NaN') < 1.0", "NaN values cannot be ordered"),
        ("dyn([1]) < 1", "no such overload: _<_"),
        ("dyn(null) + 1 == 2", "no such overload: _+_"),
        ("dyn('a') - dyn('b') == dyn('c')", "no such overload"),
        ("-dyn('a') == 1", "no such overload"),
        ("dyn(1) + 1u == 2u", "no such overload"),
        ("9223372036854775807 * 2 == 0", "integer overflow"),
        ("-9223372036854775808 / -1 == 0", "integer overflow"),
        ("-(-9223372036854775807 - 1) == 0", "integer overflow"),
        ("0u - 1u == 0u", "unsigned integer overflow"),
        ("1u / 0u == 0u", "division by zero"),
        ("1 % 0 == 0", "modulus by zero"),
    ],
)
def test_what_numbers_cannot_do(source: str, fault: str) -> None:
    """Overflows and missing overloads are errors in cel-go's words."""
    assert fault_of(source) == fault


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_is_read_back_from_its_text(number: float) -> None:
    """The text of a double has all digits that it needs."""
    assert to_double(double_text(number)) == number


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.0, "1"),
        (-12300.0, "-12300"),
        (1234567.0, "1.234567e+06"),
        (1e21, "1e+21"),
        (0.0001, "0.0001"),
        (1e-5, "1e-05"),
        (0.0, "0"),
    ],
)
def test_doubles_as_text(number: float, text: str) -> None:
    """As Go's %g writes them."""
    assert to_text(number) == text


@given(st.integers(-(2**63), 2**63 - 1))
def test_whole_numbers_survive_text(number: int) -> None:
    """An int is read back from its text, a uint too."""
    assert to_int(to_text(number)) == number
    if number >= 0:
        assert to_uint(to_text(UInt(number))) == UInt(number)
