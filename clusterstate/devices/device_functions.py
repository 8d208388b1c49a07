"""The functions, methods and arithmetic of expressions about devices."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

from clusterstate.devices.device_values import (
    Domains,
    NotEvaluatedError,
    Quantity,
    ValueFault,
    Version,
    quantity,
    type_name,
    version,
)
from clusterstate.objects.resource import Device

Term = Callable[[str, Device], Any]

LEAST, MOST = -(1 << 63), (1 << 63) - 1
"""Whole numbers have 64 bits."""

NO_OVERLOAD = "no such overload"


def number(text: str) -> int | float:
    """A literal. Raises NotEvaluatedError for one of more than 64 bits."""
    if text.startswith("0x"):
        return int(text, 16)
    if not text.isdigit():
        return float(text)
    if int(text) > MOST + 1:
        raise NotEvaluatedError(f"{text} is no number of 64 bits")
    return int(text)


def mapping(pairs: Sequence[tuple[Term, Term]]) -> Term:
    """A map of these keys and values."""

    def term(driver: str, device: Device) -> dict[Any, Any]:
        out = {}
        for key, value in pairs:
            found = key(driver, device)
            if not isinstance(found, str | int):
                raise ValueFault("unsupported key type")
            out[found] = value(driver, device)
        return out

    return term


def choice(condition: Term, first: Term, second: Term) -> Term:
    """``condition ? first : second``."""

    def term(driver: str, device: Device) -> Any:
        found = condition(driver, device)
        if not isinstance(found, bool):
            raise ValueFault(NO_OVERLOAD)
        return (first if found else second)(driver, device)

    return term


# --- arithmetic ----------------------------------------------------------------------------


def negative(term: Term) -> Term:
    """``-term``."""

    def found(driver: str, device: Device) -> Any:
        value = term(driver, device)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueFault(NO_OVERLOAD)
        return -value

    return found


def arithmetic(sign: str, left: Term, right: Term) -> Term:
    """``+ - * / %`` of whole numbers, of floating-point ones; ``+`` also of texts and lists."""
    return lambda driver, device: _calculated(sign, left(driver, device), right(driver, device))


def _calculated(sign: str, left: Any, right: Any) -> Any:
    if type(left) is not type(right) or isinstance(left, bool):
        raise ValueFault(NO_OVERLOAD)
    if isinstance(left, int):
        return _whole(sign, left, right)
    if isinstance(left, float) and sign in _FLOATS:
        return _FLOATS[sign](left, right)
    if sign == "+" and isinstance(left, str | list):
        return left + right
    raise ValueFault(NO_OVERLOAD)


def _whole(sign: str, left: int, right: int) -> int:
    if sign in "/%" and not right:
        raise ValueFault("division by zero" if sign == "/" else "modulus by zero")
    result = _WHOLES[sign](left, right)
    if not LEAST <= result <= MOST:
        raise ValueFault("integer overflow")
    return result


def _quotient(left: int, right: int) -> int:
    """Rounded towards zero."""
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


def _divided(left: float, right: float) -> float:
    if right:
        return left / right
    return left * float("inf") if left else float("nan")


_WHOLES: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _quotient,
    "%": lambda left, right: left - _quotient(left, right) * right,
}
_FLOATS: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divided,
}


# --- functions -----------------------------------------------------------------------------


def function(name: str, arguments: Sequence[Term]) -> Term:
    """A function of the global name. Raises NotEvaluatedError for one that is not known."""
    act = _FUNCTIONS.get((name, len(arguments)))
    if act is None:
        raise NotEvaluatedError(f"the function {name} is not known with {len(arguments)} arguments")
    return _call(act, arguments)


def method(name: str, receiver: Term, arguments: Sequence[Term]) -> Term:
    """A method of a value. Raises NotEvaluatedError for one that is not known."""
    act = _METHODS.get((name, len(arguments)))
    if act is None:
        raise NotEvaluatedError(f"the method {name} is not known with {len(arguments)} arguments")
    return _call(act, (receiver, *arguments))


Kinds = tuple[type, ...]
Act = tuple[tuple[Kinds, ...], Callable[..., Any]]
"""(the types of each argument, what is done with them)."""


def _call(overloads: Sequence[Act], arguments: Sequence[Term]) -> Term:
    def term(driver: str, device: Device) -> Any:
        values = [argument(driver, device) for argument in arguments]
        for kinds, apply in overloads:
            if all(type(value) in kind for value, kind in zip(values, kinds, strict=True)):
                return apply(*values)
        raise ValueFault(NO_OVERLOAD)

    return term


_WHOLE_TEXT = re.compile(r"[+-]?\d{1,19}")


def _int(value: Any) -> int:
    fault = ValueFault(f"type conversion error from '{type_name(value)}' to 'int'")
    if isinstance(value, str) and not _WHOLE_TEXT.fullmatch(value):
        raise fault
    try:
        result = int(value)
    except (ValueError, OverflowError) as error:
        raise fault from error
    if not LEAST <= result <= MOST:
        raise ValueFault("integer overflow")
    return result


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else format(value, "g") if type(value) is float else str(value)


def _float(value: Any) -> float:
    try:
        return float(value)
    except ValueError as error:
        raise ValueFault(f"type conversion error from '{type_name(value)}' to 'double'") from error


def _is(convert: Callable[[str], Any]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            convert(text)
        except ValueFault:
            return False
        return True

    return check


def _size(value: Any) -> int:
    elements: list[Any] = value.domains() if isinstance(value, Domains) else value
    return len(elements)


_REPEATED_REPEAT = re.compile(r"[*+}?][^()]*\)+[*+{]")
_NOT_IN_RE2 = re.compile(r"\\[1-9]|\(\?(?:[=!]|<[=!]|P=|\()")


def _matches(text: str, pattern: str) -> bool:
    """Raises NotEvaluatedError for what CEL's regular expressions lack, and for what might take Python too long."""
    if _REPEATED_REPEAT.search(pattern) or _NOT_IN_RE2.search(pattern):
        raise NotEvaluatedError(f"the pattern {pattern!r} is not understood")
    try:
        return re.search(pattern, text) is not None
    except re.error as error:
        raise ValueFault(f"error parsing regexp: {error}") from error


def _as_integer(amount: Quantity) -> int:
    if amount.thousandths % 1000:
        raise ValueFault("cannot convert value to integer")
    return amount.thousandths // 1000


def _sign(amount: Quantity) -> int:
    return (amount.thousandths > 0) - (amount.thousandths < 0)


def _thousandths(value: Quantity | int) -> int:
    return value.thousandths if isinstance(value, Quantity) else 1000 * value


def _compare(left: Any, right: Any) -> int:
    return int(left > right) - int(left < right)


def _substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if not 0 <= start <= stop <= len(text):
        raise ValueFault(
            f"index out of range: {start}" if not 0 <= start <= len(text) else f"index out of range: {stop}"
        )
    return text[start:stop]


def _char(text: str, position: int) -> str:
    if not 0 <= position <= len(text):
        raise ValueFault(f"index out of range: {position}")
    return text[position : position + 1]


def _joined(values: list[Any], by: str = "") -> str:
    if not all(isinstance(value, str) for value in values):
        raise ValueFault(NO_OVERLOAD)
    return by.join(values)


def _place(values: list[Any], value: Any) -> int:
    return values.index(value) if value in values else -1


TEXT: Kinds = (str,)
WHOLE: Kinds = (int,)
NUMBERS: Kinds = (int, float)
LIST: Kinds = (list,)
SIZED: Kinds = (str, list, dict, Domains)
AMOUNT: Kinds = (Quantity,)
VERSION: Kinds = (Version,)
AMOUNT_OR_WHOLE: Kinds = (Quantity, int)

_FUNCTIONS: dict[tuple[str, int], tuple[Act, ...]] = {
    ("quantity", 1): (((TEXT,), quantity),),
    ("isQuantity", 1): (((TEXT,), _is(quantity)),),
    ("semver", 1): (((TEXT,), version),),
    ("isSemver", 1): (((TEXT,), _is(version)),),
    ("size", 1): (((SIZED,), _size),),
    ("int", 1): ((((int, float, str),), _int),),
    ("double", 1): ((((int, float, str),), _float),),
    ("string", 1): ((((int, float, str, bool),), _text),),
    ("matches", 2): (((TEXT, TEXT), _matches),),
    ("dyn", 1): (((SIZED + NUMBERS + (bool, Quantity, Version),), lambda value: value),),
}
"""(name, number of arguments) → its overloads."""

_METHODS: dict[tuple[str, int], tuple[Act, ...]] = {
    ("compareTo", 1): (((AMOUNT, AMOUNT), _compare), ((VERSION, VERSION), _compare)),
    ("isGreaterThan", 1): (((AMOUNT, AMOUNT), operator.gt), ((VERSION, VERSION), operator.gt)),
    ("isLessThan", 1): (((AMOUNT, AMOUNT), operator.lt), ((VERSION, VERSION), operator.lt)),
    ("isInteger", 0): (((AMOUNT,), lambda amount: amount.thousandths % 1000 == 0),),
    ("asInteger", 0): (((AMOUNT,), _as_integer),),
    ("asApproximateFloat", 0): (((AMOUNT,), lambda amount: amount.thousandths / 1000),),
    ("sign", 0): (((AMOUNT,), _sign),),
    ("add", 1): (((AMOUNT, AMOUNT_OR_WHOLE), lambda a, b: Quantity(a.thousandths + _thousandths(b))),),
    ("sub", 1): (((AMOUNT, AMOUNT_OR_WHOLE), lambda a, b: Quantity(a.thousandths - _thousandths(b))),),
    ("major", 0): (((VERSION,), lambda v: v.ranks[0]),),
    ("minor", 0): (((VERSION,), lambda v: v.ranks[1]),),
    ("patch", 0): (((VERSION,), lambda v: v.ranks[2]),),
    ("size", 0): (((SIZED,), _size),),
    ("startsWith", 1): (((TEXT, TEXT), str.startswith),),
    ("endsWith", 1): (((TEXT, TEXT), str.endswith),),
    ("contains", 1): (((TEXT, TEXT), lambda text, part: part in text),),
    ("matches", 1): (((TEXT, TEXT), _matches),),
    ("lowerAscii", 0): (((TEXT,), str.lower),),
    ("upperAscii", 0): (((TEXT,), str.upper),),
    ("trim", 0): (((TEXT,), str.strip),),
    ("charAt", 1): (((TEXT, WHOLE), _char),),
    ("indexOf", 1): (((TEXT, TEXT), str.find), ((LIST, SIZED + NUMBERS), _place)),
    ("lastIndexOf", 1): (((TEXT, TEXT), str.rfind),),
    ("substring", 1): (((TEXT, WHOLE), _substring),),
    ("substring", 2): (((TEXT, WHOLE, WHOLE), _substring),),
    ("replace", 2): (((TEXT, TEXT, TEXT), str.replace),),
    ("replace", 3): (((TEXT, TEXT, TEXT, WHOLE), str.replace),),
    ("split", 1): (((TEXT, TEXT), lambda text, by: text.split(by) if by else list(text)),),
    ("join", 0): (((LIST,), _joined),),
    ("join", 1): (((LIST, TEXT), _joined),),
}
"""(name, number of arguments without the receiver) → its overloads."""
