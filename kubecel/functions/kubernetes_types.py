"""Kubernetes' own types: quantities, semantic versions, and named formats of texts.

Upstream: k8s.io/apiserver pkg/cel/library/quantity.go, semverlib.go, format.go; github.com/blang/semver/v4.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from functools import lru_cache
from typing import ClassVar

import msgspec

from kubecel import ValueFault, types
from kubecel.api_names import (
    go_quote,
    is_too_long,
    label_value_errors,
    must_match,
    qualified_name_errors,
    subdomain_errors,
)
from kubecel.functions.addresses import UrlFault, parse_request_url
from kubecel.functions.overloads import Function, accepts
from kubecel.types import CelType
from kubecel.values import LEAST_INT, MOST_INT, MOST_UINT, NONE, Optional, checked_int

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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.nanos == other.nanos

    def __hash__(self) -> int:
        return hash(self.nanos)

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


def _as_integer(amount: Quantity) -> int:
    found = amount.whole()
    if found is None:
        raise ValueFault("cannot convert value to integer")
    return found


def _compare_amounts(one: Quantity, other: Quantity) -> int:
    return int(one.nanos > other.nanos) - int(one.nanos < other.nanos)


_Q = "kubernetes.Quantity"


def quantities() -> tuple[Function, ...]:
    """The functions of this file; those that versions have too are declared with them."""
    return (
        Function.of("quantity", ("string_to_quantity", f"(string) -> {_Q}", quantity)),
        Function.of("isQuantity", ("is_quantity_string", "(string) -> bool", accepts(quantity))),
        Function.of("sign", ("quantity_sign", f"{_Q}.() -> int", lambda amount: _compare_amounts(amount, Quantity(0)))),
        Function.of(
            "isGreaterThan", ("quantity_is_greater_than", f"{_Q}.({_Q}) -> bool", lambda a, b: a.nanos > b.nanos)
        ),
        Function.of("isLessThan", ("quantity_is_less_than", f"{_Q}.({_Q}) -> bool", lambda a, b: a.nanos < b.nanos)),
        Function.of("compareTo", ("quantity_compare_to", f"{_Q}.({_Q}) -> int", _compare_amounts)),
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


_DIGITS = re.compile(r"[0-9]*", re.ASCII)
_WORD = re.compile(r"[0-9A-Za-z-]*", re.ASCII)
_LONGEST = 1000

Identifier = tuple[int, int, str]
"""Of a prerelease, as it is ordered: numbers before words."""


class Semver(msgspec.Struct, frozen=True):
    """A semantic version; what it was built from does not count."""

    cel_type: ClassVar[CelType] = types.SEMVER
    numbers: tuple[int, int, int]
    prerelease: tuple[Identifier, ...] = ()

    def ranks(self) -> tuple[tuple[int, int, int], bool, tuple[Identifier, ...]]:
        """What versions are ordered by: a prerelease comes before its release."""
        return self.numbers, not self.prerelease, self.prerelease


@lru_cache(maxsize=4096)
def semver(text: str) -> Semver:
    """``semver(text)``. Raises ValueFault."""
    if not text:
        raise ValueFault("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3 or len(text) > _LONGEST:
        raise ValueFault("No Major.Minor.Patch elements found")
    rest, plus, build = parts[2].partition("+")
    rest, dash, prerelease = rest.partition("-")
    numbers = tuple(
        _number(name, part) for name, part in zip(("Major", "Minor", "Patch"), (*parts[:2], rest), strict=True)
    )
    identifiers = tuple(map(_identifier, prerelease.split("."))) if dash else ()
    for part in build.split(".") if plus else ():
        if not part:
            raise ValueFault("Build meta data is empty")
        if not _WORD.fullmatch(part):
            raise ValueFault(f"Invalid character(s) found in build meta data {go_quote(part)}")
    return Semver((numbers[0], numbers[1], numbers[2]), identifiers)


def _number(name: str, text: str) -> int:
    if not _DIGITS.fullmatch(text):
        raise ValueFault(f"Invalid character(s) found in {name.lower()} number {go_quote(text)}")
    if len(text) > 1 and text.startswith("0"):
        raise ValueFault(f"{name} number must not contain leading zeroes {go_quote(text)}")
    return _uint(text)


def _uint(text: str) -> int:
    if not text:
        raise ValueFault('strconv.ParseUint: parsing "": invalid syntax')
    if len(text) > 20 or int(text) > MOST_UINT:
        raise ValueFault(f"strconv.ParseUint: parsing {go_quote(text)}: value out of range")
    return int(text)


def _identifier(text: str) -> Identifier:
    if not text:
        raise ValueFault("Prerelease is empty")
    if _DIGITS.fullmatch(text):
        if len(text) > 1 and text.startswith("0"):
            raise ValueFault(f"Numeric PreRelease version must not contain leading zeroes {go_quote(text)}")
        return 0, _uint(text), ""
    if not _WORD.fullmatch(text):
        raise ValueFault(f"Invalid character(s) found in prerelease {go_quote(text)}")
    return 1, 0, text


def normalised(text: str) -> str:
    """Without ``v`` before it and zeroes before its numbers, and with all three of them. Raises ValueFault."""
    parts = [_without_zeroes(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3:
        if any(sign in parts[-1] for sign in "+-"):
            raise ValueFault("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _without_zeroes(part: str) -> str:
    if len(part) < 2:
        return part
    part = part.lstrip("0")
    return part if part[:1].isascii() and part[:1].isdigit() else "0" + part


def _semver(text: str, lenient: bool = False) -> Semver:
    return semver(normalised(text) if lenient else text)


def _compare_versions(one: Semver, other: Semver) -> int:
    return int(one.ranks() > other.ranks()) - int(one.ranks() < other.ranks())


_V = "kubernetes.Semver"


def versions() -> tuple[Function, ...]:
    """The functions of this file."""
    return (
        Function.of(
            "semver",
            ("string_to_semver", f"(string) -> {_V}", _semver),
            ("string_bool_to_semver", f"(string, bool) -> {_V}", _semver),
        ),
        Function.of(
            "isSemver",
            ("is_semver_string", "(string) -> bool", accepts(_semver)),
            ("is_semver_string_bool", "(string, bool) -> bool", accepts(_semver)),
        ),
        Function.of(
            "isGreaterThan",
            ("semver_is_greater_than", f"{_V}.({_V}) -> bool", lambda a, b: _compare_versions(a, b) > 0),
        ),
        Function.of(
            "isLessThan", ("semver_is_less_than", f"{_V}.({_V}) -> bool", lambda a, b: _compare_versions(a, b) < 0)
        ),
        Function.of("compareTo", ("semver_compare_to", f"{_V}.({_V}) -> int", _compare_versions)),
        Function.of("major", ("semver_major", f"{_V}.() -> int", lambda version: checked_int(version.numbers[0]))),
        Function.of("minor", ("semver_minor", f"{_V}.() -> int", lambda version: checked_int(version.numbers[1]))),
        Function.of("patch", ("semver_patch", f"{_V}.() -> int", lambda version: checked_int(version.numbers[2]))),
    )


_UUID = r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$"
_TIME = r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$"
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})", re.ASCII)
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_OLD_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"
_LABEL_LENGTH = 63

Check = Callable[[str], tuple[str, ...]]


class NamedFormat(msgspec.Struct, frozen=True):
    """A format that text may have."""

    cel_type: ClassVar[CelType] = types.NAMED_FORMAT
    name: str
    check: Check
    """What is wrong with a text."""
    pattern_size: int
    """What its check costs: characters of a regular expression."""


def _label(text: str) -> tuple[str, ...]:
    rule = (
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
        "with an alphanumeric character"
    )
    return _checked_label(text, must_match(rule, _LABEL, "my-name", "123-abc"), _LABEL)


def _old_label(text: str) -> tuple[str, ...]:
    rule = (
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
        "character, and end with an alphanumeric character"
    )
    return _checked_label(text, must_match(rule, _OLD_LABEL, "my-name", "abc-123"), _OLD_LABEL)


def _checked_label(text: str, message: str, pattern: str) -> tuple[str, ...]:
    long = (f"must be no more than {_LABEL_LENGTH} characters",) if is_too_long(text, _LABEL_LENGTH) else ()
    matches = re.fullmatch(pattern, text[: 2 * _LABEL_LENGTH]) is not None
    return long if matches else (*long, message)


def _prefix(check: Check) -> Check:
    """A name may follow: a dash at the end will do."""

    def act(text: str) -> tuple[str, ...]:
        return check(text[:-2] + "a" if len(text) > 1 and text.endswith("-") else text)

    return act


def _unless(holds: Callable[[str], bool], message: str) -> Check:
    return lambda text: () if holds(text) else (message,)


def _uri(text: str) -> tuple[str, ...]:
    try:
        parse_request_url(text)
    except UrlFault as fault:
        return (str(fault),)
    return ()


def _is_date(text: str) -> bool:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text, re.ASCII):
        return False
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_datetime(text: str) -> bool:
    date, _, time = text.lower().partition("t")
    match = re.match(_TIME, time, re.ASCII) if "t" not in time and "\n" not in time else None
    return _is_date(date) and match is not None and int(match[1]) <= 23 and int(match[2]) <= 59 and int(match[3]) <= 59


def _constants() -> dict[str, NamedFormat]:
    found = (
        ("dns1123Label", "DNS1123Label", _label, 30),
        ("dns1123Subdomain", "DNS1123Subdomain", subdomain_errors, 60),
        ("dns1035Label", "DNS1035Label", _old_label, 30),
        ("qualifiedName", "QualifiedName", qualified_name_errors, 60),
        ("dns1123LabelPrefix", "DNS1123LabelPrefix", _prefix(_label), 30),
        ("dns1123SubdomainPrefix", "DNS1123SubdomainPrefix", _prefix(subdomain_errors), 60),
        ("dns1035LabelPrefix", "DNS1035LabelPrefix", _prefix(_old_label), 30),
        ("labelValue", "LabelValue", label_value_errors, 40),
        ("uri", "URI", _uri, 1103),
        (
            "uuid",
            "uuid",
            _unless(lambda text: re.fullmatch(_UUID[:-1], text) is not None, "does not match the UUID format"),
            len(_UUID),
        ),
        ("byte", "byte", _unless(lambda text: _BASE64.fullmatch(text) is not None, "invalid base64"), 84),
        ("date", "date", _unless(_is_date, "invalid date"), len(_TIME)),
        ("datetime", "datetime", _unless(_is_datetime, "invalid datetime"), len(_TIME)),
    )
    return {key: NamedFormat(name, check, size) for key, name, check, size in found}


def _validate(wanted: NamedFormat, text: str) -> Optional:
    errors = wanted.check(text)
    return Optional((tuple(errors),)) if errors else NONE


def named_formats() -> tuple[Function, ...]:
    """The functions of this file."""
    constants = _constants()

    def named(name: str) -> Optional:
        return Optional((constants[name],)) if name in constants else NONE

    kind = "kubernetes.NamedFormat"
    fixed = tuple(
        Function.of(f"format.{key}", (f"format.{key}", f"() -> {kind}", lambda each=each: each))
        for key, each in constants.items()
    )
    return (
        *fixed,
        Function.of("validate", ("format-validate", f"{kind}.(string) -> optional_type(list(string))", _validate)),
        Function.of("format.named", ("format-named", f"(string) -> optional_type({kind})", named)),
    )
