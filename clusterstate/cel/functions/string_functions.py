"""Texts: parts, searches, changes. Upstream: cel-go ext/strings.go, version 2."""

from __future__ import annotations

import re

from clusterstate.cel.cel_faults import ValueFault
from clusterstate.cel.functions.cel_overloads import Function
from clusterstate.cel.functions.text_formatting import formatted
from clusterstate.cel.functions.value_texts import shown
from clusterstate.cel.values.cel_arithmetic import checked_size

_SPACES = "\t\n\v\f\r \x85\xa0  　" + "".join(map(chr, range(0x2000, 0x200B))) + "\u1680\u2028\u2029\u202f\u205f"
_QUOTED = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}
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
    return '"' + "".join(_QUOTED.get(sign, sign) for sign in text) + '"'


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
