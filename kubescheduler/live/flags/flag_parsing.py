"""Reading flags as pflag reads them, with its texts for what is wrong."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs

from clusterstate.api_names import go_quote
from clusterstate.errors import ConfigError
from kubescheduler.framework.contract.go_durations import format_duration, parse_duration

TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})
WHOLE = re.compile(r"[+-]?\d+")


class FlagKind(enum.Enum):
    """What a flag's value is; the name as help prints it."""

    BOOL = ""
    TEXT = "string"
    INT = "int"
    FLOAT = "float"
    DURATION = "duration"
    TEXTS = "strings"
    PAIRS = "mapStringBool"
    EACH = "namedCertKey"
    """One text a use of the flag, commas and all."""


@attrs.frozen
class Flag:
    """One flag."""

    name: str
    kind: FlagKind
    default: Any
    """Durations are nanoseconds, several texts a tuple, pairs a mapping."""
    help: str
    deprecated: bool = False
    """Whether help says so; nothing is said where it is used."""
    short: str = ""
    """One letter."""


@attrs.frozen(eq=False)
class FlagValues:
    """What a command line says."""

    values: Mapping[str, Any]
    """Flag → its value, or its default."""
    given: frozenset[str]
    """The flags that are on the command line."""
    arguments: tuple[str, ...]
    """What is no flag."""

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def said(self, name: str) -> Any:
        """The value on the command line; None when it is not there."""
        return self.values[name] if name in self.given else None


class FlagError(ConfigError):
    """A command line that cannot be read; one text, pflag's."""


def parse_flags(table: Iterable[Flag], arguments: Sequence[str]) -> FlagValues:
    """Reads a command line. Raises FlagError at the first fault, as pflag does."""
    flags = {flag.name: flag for flag in table}
    shorts = {flag.short: flag for flag in flags.values() if flag.short}
    values = {name: flag.default for name, flag in flags.items()}
    given: dict[str, None] = {}
    left, rest = list(arguments), []
    while left:
        word = left.pop(0)
        if word == "--":
            rest += left
            break
        if not word.startswith("-") or word == "-":
            rest.append(word)
            continue
        flag, text = _flag(word, flags, shorts)
        if text is None:
            text = _next(flag, word, left)
        value = _value(flag, text)
        again = flag.name in given and flag.kind in (FlagKind.TEXTS, FlagKind.PAIRS, FlagKind.EACH)
        values[flag.name] = _joined(values[flag.name], value) if again else value
        given[flag.name] = None
    return FlagValues(values, frozenset(given), tuple(rest))


def _flag(word: str, flags: Mapping[str, Flag], shorts: Mapping[str, Flag]) -> tuple[Flag, str | None]:
    """(the flag of a word, its value where that stands behind the equals sign)."""
    name, equals, text = word.lstrip("-").partition("=")
    if word.startswith("--"):
        flag = flags.get(name.replace("_", "-"))
        if flag is None:
            raise FlagError(f"unknown flag: --{name}")
        return flag, text if equals else None
    flag = shorts.get(word[1:2])
    if flag is None:
        raise FlagError(f"unknown shorthand flag: {_letter(word[1:2])} in {word}")
    value = word[2:].removeprefix("=")
    return flag, value or None


def _letter(letter: str) -> str:
    return f"'{letter}'"


def _next(flag: Flag, word: str, left: list[str]) -> str:
    """The value of a flag that has none behind an equals sign."""
    if flag.kind is FlagKind.BOOL:
        return "true"
    if not left:
        raise FlagError(
            f"flag needs an argument: {word if word.startswith('--') else _letter(word[1:]) + ' in ' + word}"
        )
    return left.pop(0)


def _joined(before: Any, more: Any) -> Any:
    return {**before, **more} if isinstance(before, dict) else (*before, *more)


def _value(flag: Flag, text: str) -> Any:
    """What a text says. Raises FlagError with pflag's text."""
    try:
        return _READ[flag.kind](text)
    except ValueError as error:
        shown = f"-{flag.short}, --{flag.name}" if flag.short else f"--{flag.name}"
        raise FlagError(f"invalid argument {go_quote(text)} for {go_quote(shown)} flag: {error}") from None


def _bool(text: str) -> bool:
    if text not in TRUE | FALSE:
        raise ValueError(f"strconv.ParseBool: parsing {go_quote(text)}: invalid syntax")
    return text in TRUE


def _int(text: str) -> int:
    if not WHOLE.fullmatch(text):
        raise ValueError(f"strconv.ParseInt: parsing {go_quote(text)}: invalid syntax")
    number = int(text)
    if not -(2**31) <= number < 2**31:
        raise ValueError(f"strconv.ParseInt: parsing {go_quote(text)}: value out of range")
    return number


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"strconv.ParseFloat: parsing {go_quote(text)}: invalid syntax") from None


def _texts(text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()


def _each(text: str) -> tuple[str, ...]:
    return (text,)


def _pairs(text: str) -> dict[str, bool]:
    found = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise ValueError(f"missing bool value for {name}")
        if value not in TRUE | FALSE:
            raise ValueError(
                f"invalid value of {name}={value}, err: strconv.ParseBool: parsing {go_quote(value)}: invalid syntax"
            )
        found[name] = value in TRUE
    return found


_READ: dict[FlagKind, Callable[[str], Any]] = {
    FlagKind.BOOL: _bool,
    FlagKind.TEXT: str,
    FlagKind.INT: _int,
    FlagKind.FLOAT: _float,
    FlagKind.DURATION: parse_duration,
    FlagKind.TEXTS: _texts,
    FlagKind.PAIRS: _pairs,
    FlagKind.EACH: _each,
}


_SHOWN: dict[FlagKind, Callable[[Any], str]] = {
    FlagKind.BOOL: lambda value: "true" if value else "false",
    FlagKind.TEXT: str,
    FlagKind.INT: str,
    FlagKind.FLOAT: lambda value: f"{value:g}",
    FlagKind.DURATION: format_duration,
    FlagKind.TEXTS: lambda value: f"[{','.join(value)}]",
    FlagKind.PAIRS: lambda value: ",".join(f"{key}={str(on).lower()}" for key, on in sorted(value.items())),
    FlagKind.EACH: lambda value: f"[{';'.join(value)}]",
}


def shown_value(flag: Flag, value: Any) -> str:
    """A value as pflag prints it: durations as Go does, several texts between brackets."""
    return _SHOWN[flag.kind](value)


def flag_help(table: Iterable[Flag]) -> str:
    """The flags of a table by name, each with its type, its meaning and its default."""
    lines = []
    for flag in sorted(table, key=lambda flag: flag.name):
        name = f"-{flag.short}, --{flag.name}" if flag.short else f"    --{flag.name}"
        head = f"  {name} {flag.kind.value}".rstrip()
        lines.append(f"{head}\n          {flag.help}{_default(flag)}\n")
    return "".join(lines)


def _default(flag: Flag) -> str:
    if not flag.default:
        return ""
    value = format_duration(flag.default) if flag.kind is FlagKind.DURATION else flag.default
    if isinstance(value, tuple):
        value = f"[{','.join(value)}]"
    if flag.kind is FlagKind.TEXT:
        value = go_quote(value)
    return f" (default {str(value).lower() if isinstance(value, bool) else value})"
