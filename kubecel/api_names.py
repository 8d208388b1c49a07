"""Texts of Go and of the Kubernetes API: quoted text, durations (``15s``, ``1m30s``, ``500ms``), and names (labels,
qualified names, subdomains), with apimachinery's texts of 1.16 and later."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction


GO_ESCAPES = {
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


def go_quote(text: str) -> str:
    """``text`` in double quotes with escapes, as Go's ``%q`` prints it."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_go_character, text)) + '"'


def _go_character(character: str) -> str:
    if character in GO_ESCAPES:
        return GO_ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
"""Unit → its length."""

SECOND = UNITS["s"]
LONGEST = 2**63 - 1

_SMALL = ((UNITS["ms"], "ms"), (UNITS["µs"], "µs"))

_PART = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([^0-9.]*)")


def parse_duration(text: str) -> int:
    """The nanoseconds that ``text`` spells. Raises ValueError with Go's text."""
    sign, amount = (text[0], text[1:]) if text[:1] in ("-", "+") else ("", text)
    if amount == "0":
        return 0
    parts = _PART.findall(amount)
    if not parts or "".join(map("".join, parts)) != amount:
        raise ValueError(f"time: invalid duration {go_quote(text)}")
    for _, unit in parts:
        if not unit:
            raise ValueError(f"time: missing unit in duration {go_quote(text)}")
        if unit not in UNITS:
            raise ValueError(f"time: unknown unit {go_quote(unit)} in duration {go_quote(text)}")
    total = sum(int(_fraction(number) * UNITS[unit]) for number, unit in parts)
    if total > LONGEST + (sign == "-"):
        raise ValueError(f"time: invalid duration {go_quote(text)}")
    return -total if sign == "-" else total


def _fraction(number: str) -> Fraction:
    from fractions import Fraction

    return Fraction(f"0{number}" if number.startswith(".") else number.removesuffix("."))


def format_duration(nanoseconds: int) -> str:
    """As Go prints it."""
    return go_duration(nanoseconds / SECOND)


def go_duration(seconds: float) -> str:
    """``1m30s``, ``500ms``, ``0s``. Upstream: Go's time.Duration.String."""
    left = round(seconds * SECOND)
    if left == 0:
        return "0s"
    sign, left = ("-", -left) if left < 0 else ("", left)
    if left < SECOND:
        size, unit = next(((size, unit) for size, unit in _SMALL if left >= size), (1, "ns"))
        return f"{sign}{_decimal(left, size)}{unit}"
    minutes, left = divmod(left, 60 * SECOND)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(left, SECOND)}s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    return f"{sign}{hours}h{text}" if hours else f"{sign}{text}"


def _decimal(amount: int, size: int) -> str:
    """amount / size without trailing zeros."""
    whole, rest = divmod(amount, size)
    return f"{whole}.{str(rest).zfill(len(str(size)) - 1).rstrip('0')}" if rest else str(whole)


_LABEL_VALUE = r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
_QUALIFIED_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_OBJECT_NAME = re.compile(_SUBDOMAIN)
_NAME_CHARACTERS = (
    "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_SUBDOMAIN_RULE = (
    "a DNS-1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_NAME_EXAMPLES = ("MyName", "my.name", "123-abc")
NAME_LENGTH = 63
"""Most bytes in a label value or in the name part of a qualified name."""
SUBDOMAIN_LENGTH = 253
"""Most bytes in the prefix of a qualified name."""


def must_match(rule: str, pattern: str, *examples: str) -> str:
    """What is said of text that breaks a rule."""
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {shown}regex used for validation is '{pattern}')"


def is_too_long(text: str, most: int) -> bool:
    """Whether its UTF-8 has more than ``most`` bytes."""
    return len(text.encode("utf-8", "surrogatepass")) > most


@lru_cache(maxsize=65536)
def label_value_errors(value: str) -> tuple[str, ...]:
    """What is wrong with a label value; nothing when it is valid. The empty value is valid."""
    errors = []
    if is_too_long(value, NAME_LENGTH):
        errors.append(f"must be no more than {NAME_LENGTH} characters")
    if not re.fullmatch(_LABEL_VALUE, value):
        rule = f"a valid label must be an empty string or {_NAME_CHARACTERS}"
        errors.append(must_match(rule, _LABEL_VALUE, "MyValue", "my_value", "12345"))
    return tuple(errors)


def subdomain_errors(value: str) -> tuple[str, ...]:
    """What is wrong with a DNS-1123 subdomain; nothing when it is valid."""
    errors = []
    if is_too_long(value, SUBDOMAIN_LENGTH):
        errors.append(f"must be no more than {SUBDOMAIN_LENGTH} characters")
    if not re.fullmatch(_SUBDOMAIN, value):
        errors.append(must_match(_SUBDOMAIN_RULE, _SUBDOMAIN, "example.com"))
    return tuple(errors)


def is_object_name(value: str) -> bool:
    """Whether an API server takes a name for an object, or a namespace: a DNS-1123 subdomain. The fast test."""
    return len(value) <= SUBDOMAIN_LENGTH and _OBJECT_NAME.fullmatch(value) is not None


@lru_cache(maxsize=65536)
def qualified_name_errors(value: str) -> tuple[str, ...]:
    """What is wrong with ``[subdomain/]name``; nothing when it is valid."""
    parts = value.split("/")
    rule = must_match(f"must {_NAME_CHARACTERS}", _QUALIFIED_NAME, *_NAME_EXAMPLES)
    if len(parts) > 2:
        return (f"a qualified name {rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",)
    errors = []
    if len(parts) == 2:
        prefix_errors = subdomain_errors(parts[0]) if parts[0] else ("must be non-empty",)
        errors += [f"prefix part {error}" for error in prefix_errors]
    name = parts[-1]
    if not name:
        errors.append("name part must be non-empty")
    elif is_too_long(name, NAME_LENGTH):
        errors.append(f"name part must be no more than {NAME_LENGTH} characters")
    if not re.fullmatch(_QUALIFIED_NAME, name):
        errors.append(f"name part {rule}")
    return tuple(errors)


_SINCE_1_20 = (("a DNS-1123 subdomain must", "a lowercase RFC 1123 subdomain must"),)
_SINCE_1_36 = (
    *_SINCE_1_20,
    ("a qualified name must", "a valid label key must"),
    *((f"no more than {most} characters", f"no more than {most} bytes") for most in (NAME_LENGTH, SUBDOMAIN_LENGTH)),
)
"""(in 1.16, since)."""


def worded_1_20(text: str) -> str:
    """The text about a name as release 1.20 has it."""
    return _reworded(text, _SINCE_1_20)


def worded_1_36(text: str) -> str:
    """The text about a name as release 1.36 has it."""
    return _reworded(text, _SINCE_1_36)


def _reworded(text: str, table: Iterable[tuple[str, str]]) -> str:
    for old, new in table:
        text = text.replace(old, new)
    return text
