"""Formulas with their numbers, from the very functions that score.

A function of arrays is given ``traced`` ones, and ``formula`` says how a number of its result came about:

    formula(least(traced(requested), traced(allocatable))[0])        # (4000 - 1500) * 100 // 4000

Masks choose and are not shown; nor are, of numbers that are not traced, the factor 1, the 0 that a sum starts with, and
the 1 that keeps a divisor from being 0.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

SUM, PRODUCT, ONE = range(3)
"""How strongly the parts of a text hold together."""

Operator = Callable[[Any, Any], Any]


class Traced:
    """A number, and how it came about."""

    __slots__ = ("holds", "text", "value")

    def __init__(self, value: Any, text: str = "", holds: int = ONE) -> None:
        self.value = value
        self.text = text or str(value)
        self.holds = holds

    def __bool__(self) -> bool:
        return bool(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __abs__(self) -> Traced:
        return Traced(abs(self.value), f"abs({self.text})")

    __hash__ = None  # type: ignore[assignment]


def _of(number: Any) -> Traced:
    return number if isinstance(number, Traced) else Traced(number)


def _is_plain(number: Any, value: int) -> bool:
    return not isinstance(number, Traced) and bool(number == value)


def _inside(number: Traced, holds: int) -> str:
    return number.text if number.holds >= holds else f"({number.text})"


def _operation(sign: str, holds: int, compute: Operator) -> Operator:
    def operate(left: Any, right: Any) -> Any:
        if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
            return NotImplemented
        one, other = _of(left), _of(right)
        value = compute(one.value, other.value)
        if isinstance(right, bool):
            return Traced(value, one.text if right or sign == "+" else "0", one.holds)
        if sign == "*" and _is_plain(right, 1):
            return one
        if sign == "+" and _is_plain(left, 0):
            return other
        return Traced(value, f"{_inside(one, holds)} {sign} {_inside(other, holds + 1)}", holds)

    return operate


for _name, _sign, _holds, _compute in (
    ("add", "+", SUM, operator.add),
    ("sub", "-", SUM, operator.sub),
    ("mul", "*", PRODUCT, operator.mul),
    ("truediv", "/", PRODUCT, operator.truediv),
    ("floordiv", "//", PRODUCT, operator.floordiv),
):
    _operate = _operation(_sign, _holds, _compute)
    setattr(Traced, f"__{_name}__", _operate)
    setattr(Traced, f"__r{_name}__", lambda self, other, operate=_operate: operate(other, self))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _compare = getattr(operator, _name)
    setattr(Traced, f"__{_name}__", lambda self, other, compare=_compare: compare(self.value, _of(other).value))


def _least(left: Any, right: Any) -> Traced:
    one, other = _of(left), _of(right)
    return Traced(min(one.value, other.value), f"min({one.text}, {other.text})")


def _most(left: Any, right: Any) -> Traced:
    one, other = _of(left), _of(right)
    if right == 1 <= one.value:
        return one
    return Traced(max(one.value, other.value), f"max({one.text}, {other.text})")


def _whole(number: Any) -> Traced:
    one = _of(number)
    return Traced(int(one.value), f"trunc({one.text})") if isinstance(one.value, float) else one


_SHOWN: dict[str, Any] = {
    "minimum": np.frompyfunc(_least, 2, 1),
    "maximum": np.frompyfunc(_most, 2, 1),
}
_WHOLE, _TRACED = np.frompyfunc(_whole, 1, 1), np.frompyfunc(_of, 1, 1)


class _Array(np.ndarray[Any, Any]):
    """Of traced numbers."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: Any, *inputs: Any, out: Any = (), **options: Any) -> Any:
        if out:
            options["out"] = tuple(map(np.asarray, out))
        plain = [np.asarray(each) if isinstance(each, _Array) else each for each in inputs]
        shown = _SHOWN.get(ufunc.__name__, ufunc) if method == "__call__" else ufunc
        return _array(getattr(shown, method)(*plain, **options))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _array(super().__array_function__(function, types, args, kwargs))

    def astype(self, *_: Any, **__: Any) -> Any:
        """Whole numbers, whatever the type."""
        return _array(_WHOLE(np.asarray(self)))


def _array(result: Any) -> Any:
    return result.view(_Array) if isinstance(result, np.ndarray) and result.dtype == object else result


def traced(numbers: Any) -> Any:
    """An array, or a single number, whose numbers show in formulas."""
    return _array(_TRACED(numbers))


def formula(number: Any) -> str:
    """How a number came about."""
    return _of(number).text
