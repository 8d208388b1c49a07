"""Semantic versions. Upstream: k8s.io/apiserver pkg/cel/library/semverlib.go, github.com/blang/semver/v4."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import ClassVar

import msgspec

from kubecel import types
from kubecel.api_names import go_quote
from kubecel.arithmetic import checked_int
from kubecel.faults import ValueFault
from kubecel.functions.overloads import Function
from kubecel.types import CelType
from kubecel.values import MOST_UINT

_DIGITS = re.compile(r"[0-9]*", re.ASCII)
_WORD = re.compile(r"[0-9A-Za-z-]*", re.ASCII)
_LONGEST = 1000

Identifier = tuple[int, int, str]
"""Of a prerelease, as it is ordered: numbers before words."""


class Semver(msgspec.Struct, frozen=True, eq=False):
    """A semantic version; what it was built from does not count."""

    cel_type: ClassVar[CelType] = types.SEMVER
    numbers: tuple[int, int, int]
    prerelease: tuple[Identifier, ...] = ()

    def same(self, other: Semver) -> bool:
        """Whether they are equal."""
        return self.ranks() == other.ranks()

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


def _is_semver(text: str, lenient: bool = False) -> bool:
    try:
        _semver(text, lenient)
    except ValueFault:
        return False
    return True


def _compare(one: Semver, other: Semver) -> int:
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
            ("is_semver_string", "(string) -> bool", _is_semver),
            ("is_semver_string_bool", "(string, bool) -> bool", _is_semver),
        ),
        Function.of(
            "isGreaterThan", ("semver_is_greater_than", f"{_V}.({_V}) -> bool", lambda a, b: _compare(a, b) > 0)
        ),
        Function.of("isLessThan", ("semver_is_less_than", f"{_V}.({_V}) -> bool", lambda a, b: _compare(a, b) < 0)),
        Function.of("compareTo", ("semver_compare_to", f"{_V}.({_V}) -> int", _compare)),
        Function.of("major", ("semver_major", f"{_V}.() -> int", lambda version: checked_int(version.numbers[0]))),
        Function.of("minor", ("semver_minor", f"{_V}.() -> int", lambda version: checked_int(version.numbers[1]))),
        Function.of("patch", ("semver_patch", f"{_V}.() -> int", lambda version: checked_int(version.numbers[2]))),
    )
