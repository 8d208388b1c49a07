"""``"%s is %d".format([name, 5])``. Upstream: cel-go ext/formatting.go, in the locale en_US."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from clusterstate.api_names import go_quote
from clusterstate.cel.cel_faults import NotEvaluatedError, ValueFault
from clusterstate.cel.values.cel_arithmetic import checked_size
from clusterstate.cel.values.cel_conversions import to_text
from clusterstate.cel.values.cel_types import CelType
from clusterstate.cel.values.cel_values import CelMap, DefaultMap, Duration, Timestamp, UInt, Value, type_name

_CLAUSE = re.compile(r"%(?:(?P<percent>%)|(?:\.(?P<digits>[0-9]*))?(?P<letter>.)?)", re.DOTALL)
_PRECISION = 6
_MOST_DIGITS, _LONGEST = 1000, 18
"""Behind the point, and of the number that says how many."""
_PRECISION_FAULT = "error while parsing precision"
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}

REFUSALS = {
    "s": (
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and "
        "timestamps, was given {}"
    ),
    "d": "decimal clause can only be used on integers, was given {}",
    "f": "fixed-point clause can only be used on doubles, was given {}",
    "e": "scientific clause can only be used on doubles, was given {}",
    "b": "only integers and bools can be formatted as binary, was given {}",
    "x": "only integers, byte buffers, and strings can be formatted as hex, was given {}",
    "o": "octal clause can only be used on integers, was given {}",
}
"""Clause → what is said of a value that it cannot format."""


def _refused(clause: str, value: Value) -> ValueFault:
    return ValueFault("error during formatting: " + REFUSALS[clause].format(type_name(value)))


def formatted(template: str, values: tuple[Value, ...]) -> str:
    """The template with its clauses replaced. Raises ValueFault."""
    out: list[str] = []
    at = used = 0
    for match in _CLAUSE.finditer(template):
        out.append(template[at : match.start()])
        at = match.end()
        if match["percent"]:
            out.append("%")
            continue
        if used >= len(values):
            raise ValueFault(f"index {used} out of range")
        out.append(_clause(match, values[used]))
        used += 1
        checked_size(sum(map(len, out)))
    return "".join(out) + template[at:]


def clause_of(match: re.Match[str]) -> tuple[str, int | None]:
    """(letter, precision) of a clause. Raises ValueFault for what is none."""
    letter, digits = match["letter"], match["digits"]
    if letter is None:
        if digits is None:
            raise ValueFault("unexpected end of string")
        raise ValueFault(
            f"could not parse formatting clause: {_PRECISION_FAULT}: could not find end of precision specifier"
        )
    precision = None if digits is None else _precision(digits)
    if letter not in "sdfebxXo":
        raise ValueFault(f'could not parse formatting clause: unrecognized formatting clause "{letter}"')
    return letter, precision


def _precision(digits: str) -> int:
    if not digits or len(digits) > _LONGEST:
        what = "value out of range" if digits else "invalid syntax"
        reason = f"error while converting precision to integer: strconv.Atoi: parsing {go_quote(digits[:50])}: {what}"
        raise ValueFault(f"could not parse formatting clause: {_PRECISION_FAULT}: {reason}")
    if int(digits) > _MOST_DIGITS:
        raise NotEvaluatedError("a number would have too many digits")
    return int(digits)


def clauses(template: str) -> list[str]:
    """The letters of all clauses in order. Raises ValueFault for what is none."""
    return [clause_of(match)[0] for match in _CLAUSE.finditer(template) if not match["percent"]]


def _clause(match: re.Match[str], value: Value) -> str:
    letter, precision = clause_of(match)
    if letter in "fe":
        return _float(letter, value, _PRECISION if precision is None else precision)
    return _ACTS[letter](value)


def _float(letter: str, value: Value, precision: int) -> str:
    number = _SPECIAL.get(value) if type(value) is str else value
    if type(number) is not float:
        raise _refused(letter, value)
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    if letter == "f":
        return f"{number:,.{precision}f}"
    mantissa, _, exponent = f"{number:.{precision}e}".partition("e")
    return f"{mantissa}\u202f×\u202f10{_superscript(exponent)}"


def _superscript(exponent: str) -> str:
    sign = "⁻" if exponent.startswith("-") else ""
    return sign + exponent[1:].translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _decimal(value: Value) -> str:
    if type(value) not in (int, UInt):
        raise _refused("d", value)
    return to_text(value)


def _whole(value: Value, clause: str) -> int:
    if type(value) is UInt:
        return value.number
    if type(value) is not int:
        raise _refused(clause, value)
    return int(value)


def _binary(value: Value) -> str:
    return str(int(value)) if type(value) is bool else format(_whole(value, "b"), "b")


def _hex(value: Value) -> str:
    if type(value) in (str, bytes):
        return (value.encode("utf-8", "surrogatepass") if type(value) is str else value).hex()
    return format(_whole(value, "x"), "x")


def _text(value: Value) -> str:
    """``%s`` of a value that is not part of another."""
    if type(value) is tuple or isinstance(value, CelMap):
        return _inner(value)
    if value is None:
        return "null"
    if type(value) in (str, int, UInt, float, bool, bytes, Timestamp, Duration, CelType):
        return to_text(value)
    raise _refused("s", value)


def _inner(value: Value) -> str:
    """A value as it stands in a list or map."""
    act = _INNER.get(type(value))
    if act is None:
        raise ValueFault(f"error during formatting: no formatting function for {type_name(value)}")
    return act(value)


def _inner_list(values: tuple[Value, ...]) -> str:
    parts = [_inner(each) for each in values]
    checked_size(sum(map(len, parts)))
    return "[" + ", ".join(parts) + "]"


def _inner_map(values: CelMap) -> str:
    pairs = sorted(f"{_key(key)}:{_inner(each)}" for key, each in values.items())
    checked_size(sum(map(len, pairs)))
    return "{" + ", ".join(pairs) + "}"


def _inner_double(value: float) -> str:
    special = math.isnan(value) or math.isinf(value)
    return go_quote(to_text(value)) if special else f"{value:.{_PRECISION}f}"


_INNER: dict[type, Callable[[Value], str]] = {
    tuple: _inner_list,
    CelMap: _inner_map,
    DefaultMap: _inner_map,
    str: go_quote,
    bytes: lambda value: "b" + go_quote(to_text(value)),
    Timestamp: lambda value: f"timestamp({go_quote(to_text(value))})",
    Duration: lambda value: f"duration({go_quote(to_text(value))})",
    float: _inner_double,
    int: to_text,
    UInt: to_text,
    bool: to_text,
    CelType: to_text,
    type(None): lambda _: "null",
}
"""Python's type → how its values stand in lists and maps."""


def _key(key: Value) -> str:
    if type(key) in (str, bool, int, UInt):
        return _inner(key)
    raise ValueFault(f"error during formatting: no formatting function for map key of type {type_name(key)}")


_ACTS: dict[str, Callable[[Value], str]] = {
    "s": _text,
    "d": _decimal,
    "b": _binary,
    "x": _hex,
    "X": lambda value: _hex(value).upper(),
    "o": lambda value: format(_whole(value, "o"), "o"),
}
