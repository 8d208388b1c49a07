"""Texts: parts, searches, changes. Upstream: cel-go ext/strings.go, version 2."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from kubecel import NO_OVERLOAD, NotEvaluatedError, ValueFault
from kubecel.api_names import GO_ESCAPES, go_quote
from kubecel.conversions import to_text
from kubecel.functions.overloads import Function, Overload, shown
from kubecel.types import CelType
from kubecel.values import CelMap, DefaultMap, Duration, Timestamp, UInt, Value, checked_size, type_name

# --- ``"%s is %d".format([name, 5])``. Upstream: cel-go ext/formatting.go, in the locale en_US ----

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


# --- Texts: parts, searches, changes. Upstream: cel-go ext/strings.go, version 2 ------------------

_SPACES = "\t\n\v\f\r \x85\xa0  　" + "".join(map(chr, range(0x2000, 0x200B))) + "\u1680\u2028\u2029\u202f\u205f"
_UPPER = re.compile("[A-Z]+")
_LOWER = re.compile("[a-z]+")


def _out_of_range(index: int) -> ValueFault:
    return ValueFault(f"index out of range: {index}")


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if not part:
        return start
    if start < 0:
        raise _out_of_range(start)
    return text.find(part, start) if start < len(text) else -1


def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if not part:
        return len(text) if start is None else start
    if start is None:
        return text.rfind(part)
    if start < 0:
        raise _out_of_range(start)
    return text.rfind(part, 0, start + len(part)) if start < len(text) else -1


def _lower(text: str) -> str:
    return _UPPER.sub(lambda match: match[0].lower(), text)


def _upper(text: str) -> str:
    return _LOWER.sub(lambda match: match[0].upper(), text)


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    found = text.count(old) if count < 0 else min(count, text.count(old))
    checked_size(len(text) + found * len(new))
    return text.replace(old, new, count)


def _split(text: str, separator: str, count: int = -1) -> tuple[str, ...]:
    if count == 0:
        return ()
    if separator:
        return tuple(text.split(separator, count - 1 if count > 0 else -1))
    if count < 0 or count >= len(text):
        return tuple(text)
    return (*text[: count - 1], text[count - 1 :])


def _substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if end is not None and start > end:
        raise ValueFault(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, stop):
        if not 0 <= index <= len(text):
            raise _out_of_range(index)
    return text[start:stop]


def _join(values: tuple[str, ...], separator: str = "") -> str:
    for value in values:
        if type(value) is not str:
            raise ValueFault(f"join: invalid input: {shown(value)}")
    checked_size(sum(map(len, values)) + len(values) * len(separator))
    return separator.join(values)


def _quote(text: str) -> str:
    return '"' + "".join(GO_ESCAPES.get(sign, sign) for sign in text) + '"'


def strings() -> tuple[Function, ...]:
    """The functions of this file; ``indexOf`` and ``lastIndexOf`` of lists are the lists'."""
    return (
        Function.of("charAt", ("string_char_at_int", "string.(int) -> string", _char_at)),
        Function.of(
            "indexOf",
            ("string_index_of_string", "string.(string) -> int", _index_of),
            ("string_index_of_string_int", "string.(string, int) -> int", _index_of),
        ),
        Function.of(
            "lastIndexOf",
            ("string_last_index_of_string", "string.(string) -> int", _last_index_of),
            ("string_last_index_of_string_int", "string.(string, int) -> int", _last_index_of),
        ),
        Function.of("lowerAscii", ("string_lower_ascii", "string.() -> string", _lower)),
        Function.of("upperAscii", ("string_upper_ascii", "string.() -> string", _upper)),
        Function.of(
            "replace",
            ("string_replace_string_string", "string.(string, string) -> string", _replace),
            ("string_replace_string_string_int", "string.(string, string, int) -> string", _replace),
        ),
        Function.of(
            "split",
            ("string_split_string", "string.(string) -> list(string)", _split),
            ("string_split_string_int", "string.(string, int) -> list(string)", _split),
        ),
        Function.of(
            "substring",
            ("string_substring_int", "string.(int) -> string", _substring),
            ("string_substring_int_int", "string.(int, int) -> string", _substring),
        ),
        Function.of("trim", ("string_trim", "string.() -> string", lambda text: text.strip(_SPACES))),
        Function.of("format", ("string_format", "string.(list(dyn)) -> string", formatted)),
        Function.of("strings.quote", ("strings_quote", "(string) -> string", _quote)),
        Function.of(
            "join",
            ("list_join", "list(string).() -> string", _join),
            ("list_join_string", "list(string).(string) -> string", _join),
        ),
    )


# --- Regular expressions as Go's, by RE2: they never take longer than the text is long, times the pattern ---

_GO_WORDS = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "unexpected )": "unexpected )",
    "bad repetition operator": "invalid nested repetition operator",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "trailing \\": "trailing backslash at end of expression",
    "invalid character class range": "invalid character class range",
    "invalid escape sequence": "invalid escape sequence",
    "invalid UTF-8": "invalid UTF-8",
}
"""What RE2 calls a fault → what Go calls it."""

_WHOLE = ("missing )", "unexpected )")
"""Faults beside which Go prints the whole pattern."""

_NAMES = re.compile(r"\(\?P?<([A-Za-z0-9_]+)>")
_ANY_BYTE = re.compile(r"(?<!\\)(?:\\\\)*\\C")
_LONGEST_PATTERN = 10_000


def _fault(what: str, part: str) -> ValueFault:
    return ValueFault(f"error parsing regexp: {what}: `{part[:200]}`")


@lru_cache(maxsize=512)
def compile_pattern(pattern: str) -> Any:
    """RE2's pattern. Raises ValueFault in Go's words for what is none."""
    import re2  # type: ignore[import-untyped]

    if len(pattern) > _LONGEST_PATTERN:
        raise ValueFault("error parsing regexp: expression too large")
    if _ANY_BYTE.search(pattern):
        raise _fault("invalid escape sequence", "\\C")
    options = re2.Options()
    options.log_errors = False
    try:
        found = re2.compile(_encodable(pattern), options)
    except re2.error as error:
        raise _in_go_words(error.args[0], pattern) from None
    names = _NAMES.findall(pattern)
    for name in names:
        if names.count(name) > 1 and len(found.groupindex) < len(names):
            raise _fault("duplicate capture group name", name)
    return found


def _in_go_words(message: Any, pattern: str) -> ValueFault:
    text = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
    for said, go in _GO_WORDS.items():
        if text.startswith(said):
            part = pattern if said in _WHOLE else text[len(said) :].removeprefix(": ")
            return _fault(go, part)
    return ValueFault("error parsing regexp: expression too large")


def _encodable(text: str) -> str:
    """Text without halves of characters, which UTF-8 lacks."""
    return text.encode("utf-8", "replace").decode()


def matches(text: str, pattern: str) -> bool:
    """Whether the pattern is somewhere in the text."""
    return compile_pattern(pattern).search(_encodable(text)) is not None


def find_all(text: str, pattern: str, most: int = -1) -> tuple[str, ...]:
    """At most so many matches that do not overlap; any number below 0."""
    found: list[str] = []
    for match in _all_matches(_encodable(text), pattern):
        if 0 <= most <= len(found):
            break
        found.append(match)
    return tuple(found)


def _all_matches(text: str, pattern: str) -> Iterator[str]:
    """As Go: an empty match right behind another does not count."""
    compiled = compile_pattern(pattern)
    at, last_end = 0, -1
    while at <= len(text):
        match = compiled.search(text, at)
        if match is None:
            return
        start, end = match.span()
        counts = end > at or start != last_end
        at = at + 1 if end == at else end
        last_end = end
        if counts:
            yield match[0]


# --- Regular expressions. Upstream: cel-go's ``matches``; k8s.io/apiserver pkg/cel/library/regex.go ---


def _matches(text: Value, pattern: Value) -> bool:
    if type(text) is not str:
        raise ValueFault(NO_OVERLOAD if type(text) in (Duration, Timestamp) else f"{NO_OVERLOAD}: matches")
    if type(pattern) is not str:
        raise ValueFault(NO_OVERLOAD)
    return matches(text, pattern)


def _legal(pattern: str) -> str:
    try:
        compile_pattern(pattern)
    except ValueFault as fault:
        raise ValueFault(f"Illegal regex: {fault}") from None
    return pattern


def _find(text: str, pattern: str) -> str:
    found = compile_pattern(_legal(pattern)).search(_encodable(text))
    return found[0] if found is not None else ""


def _find_all(text: str, pattern: str, most: int = -1) -> tuple[str, ...]:
    return find_all(text, _legal(pattern), most)


def patterns() -> tuple[Function, ...]:
    """The functions of this file."""
    return (
        Function(
            "matches",
            (
                Overload("matches", "(string, string) -> bool"),
                Overload("matches_string", "string.(string) -> bool"),
            ),
            _matches,
        ),
        Function.of("find", ("string_find_string", "string.(string) -> string", _find)),
        Function.of(
            "findAll",
            ("string_find_all_string", "string.(string) -> list(string)", _find_all),
            ("string_find_all_string_int", "string.(string, int) -> list(string)", _find_all),
        ),
    )


PATTERN_METHODS = ("matches", "find", "findAll")
"""Functions whose second value is a pattern, compiled with the expression if it is a literal."""
