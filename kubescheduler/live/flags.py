"""Flags as pflag has them: kinds of values, reading a command line, and what is written about flags."""

from __future__ import annotations

import enum
import ipaddress
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from clusterstate.errors import ConfigError
from kubecel.api_names import format_duration, go_quote, parse_duration

TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})
WHOLE = re.compile(r"[+-]?\d+")
CARDINAL = re.compile(r"\d+")


class FlagKind(enum.Enum):
    """What a flag's value is; the name as help prints it."""

    BOOL = ""
    TEXT = "string"
    INT = "int"
    INT32 = "int32"
    LEVEL = "Level"
    FLOAT = "float32"
    QUANTITY = "quantity"
    DURATION = "duration"
    IP = "ip"
    TEXTS = "strings"
    NUMBERS = "int32Slice"
    PAIRS = "mapStringBool"
    GATES = "colonSeparatedMultimapStringString"
    LABELS = "stringToString"
    CERTIFICATES = "namedCertKey"
    PATTERNS = "pattern=N,..."
    VERSION = "version[=true]"


COLLECTING = (
    FlagKind.TEXTS,
    FlagKind.NUMBERS,
    FlagKind.PAIRS,
    FlagKind.GATES,
    FlagKind.LABELS,
    FlagKind.CERTIFICATES,
)
"""Kinds whose values add up where a flag is given several times."""

ALONE: Mapping[FlagKind, str] = {FlagKind.BOOL: "true", FlagKind.VERSION: "true"}
"""Kinds of which a flag may stand alone → the value that means."""


def read_value(kind: FlagKind, text: str) -> Any:
    """What a text says. Raises ValueError with pflag's text."""
    return _READ[kind](text)


def _bool(text: str) -> bool:
    if text not in TRUE | FALSE:
        raise ValueError(f"strconv.ParseBool: parsing {go_quote(text)}: invalid syntax")
    return text in TRUE


def _whole(text: str, bits: int) -> int:
    if not WHOLE.fullmatch(text):
        raise ValueError(f"strconv.ParseInt: parsing {go_quote(text)}: invalid syntax")
    number = int(text)
    if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise ValueError(f"strconv.ParseInt: parsing {go_quote(text)}: value out of range")
    return number


def _int32(text: str) -> int:
    return _whole(text, 32)


def _level(text: str) -> int:
    if not CARDINAL.fullmatch(text):
        raise ValueError(f"strconv.ParseUint: parsing {go_quote(text)}: invalid syntax")
    if int(text) >= 1 << 31:
        raise ValueError(f"strconv.ParseUint: parsing {go_quote(text)}: value out of range")
    return int(text)


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"strconv.ParseFloat: parsing {go_quote(text)}: invalid syntax") from None


def _address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text.strip()))
    except ValueError:
        raise ValueError(f"failed to parse IP: {go_quote(text)}") from None


def _texts(text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()


def _pairs(text: str) -> dict[str, bool]:
    pairs = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise ValueError(f"missing bool value for {name}")
        if value not in TRUE | FALSE:
            raise ValueError(
                f"invalid value of {name}={value}, err: strconv.ParseBool: parsing {go_quote(value)}: invalid syntax"
            )
        pairs[name] = value in TRUE
    return pairs


def _gates(text: str) -> tuple[str, ...]:
    """What gates there are is looked at later."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _labels(text: str) -> dict[str, str]:
    """``metric,label='v1,v2'`` several times."""
    texts = {}
    for match in re.finditer(r"([^=']+)=(?:'([^']*)'|([^,]*)),?", text):
        texts[match[1].strip(", ")] = match[2] if match[2] is not None else match[3]
    if text and not texts:
        raise ValueError(f"{text} must be formatted as key=value")
    return texts


def _certificates(text: str) -> tuple[str, ...]:
    """One pair of files, perhaps with the names that it is for."""
    if "," not in text.partition(":")[0]:
        raise ValueError("expected comma separated certificate and key file paths")
    return (text,)


def _patterns(text: str) -> str:
    for part in filter(None, text.split(",")):
        pattern, equals, level = part.partition("=")
        if not equals or not pattern or not CARDINAL.fullmatch(level):
            raise ValueError(f"{go_quote(part)} does not have the pattern=N format")
    return text


_READ: dict[FlagKind, Callable[[str], Any]] = {
    FlagKind.BOOL: _bool,
    FlagKind.TEXT: str,
    FlagKind.INT: partial(_whole, bits=64),
    FlagKind.INT32: _int32,
    FlagKind.LEVEL: _level,
    FlagKind.FLOAT: _float,
    FlagKind.DURATION: parse_duration,
    FlagKind.QUANTITY: str,
    FlagKind.IP: _address,
    FlagKind.TEXTS: _texts,
    FlagKind.NUMBERS: lambda text: tuple(_int32(part) for part in _texts(text)),
    FlagKind.PAIRS: _pairs,
    FlagKind.GATES: _gates,
    FlagKind.LABELS: _labels,
    FlagKind.CERTIFICATES: _certificates,
    FlagKind.PATTERNS: _patterns,
    FlagKind.VERSION: str,
}


def written_value(kind: FlagKind, value: Any) -> str:
    """A value as pflag prints it."""
    write = _WRITTEN.get(kind)
    return str(value) if write is None else write(value)


def _in_brackets(parts: Iterable[object], between: str = ",") -> str:
    return f"[{between.join(map(str, parts))}]"


_WRITTEN: dict[FlagKind, Callable[[Any], str]] = {
    FlagKind.DURATION: format_duration,
    FlagKind.BOOL: lambda on: str(on).lower(),
    FlagKind.FLOAT: lambda number: f"{number:g}",
    FlagKind.PAIRS: lambda pairs: ",".join(f"{name}={str(on).lower()}" for name, on in sorted(pairs.items())),
    FlagKind.LABELS: lambda pairs: _in_brackets(f"{key}={text}" for key, text in sorted(pairs.items())),
    FlagKind.GATES: ",".join,
    FlagKind.TEXTS: _in_brackets,
    FlagKind.NUMBERS: _in_brackets,
    FlagKind.CERTIFICATES: lambda pairs: _in_brackets(pairs, ";"),
}


class Flag(msgspec.Struct, frozen=True):
    """One flag."""

    name: str
    kind: FlagKind
    default: Any
    """Durations are nanoseconds, several texts a tuple, pairs a mapping."""
    help: str
    short: str = ""
    """One letter."""
    section: str = ""
    """Under which help lists it: ``Misc``, ``Secure serving`` and so on."""
    idle: bool = False
    """Whether it is read, and has no effect here."""


class FlagValues(msgspec.Struct, frozen=True, eq=False):
    """What a command line says."""

    values: Mapping[str, Any]
    """Flag → its value, or its default."""
    given: tuple[str, ...]
    """The flags that are on the command line, those given last at the end."""
    arguments: tuple[str, ...]
    """What is no flag."""

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def get(self, name: str) -> Any:
        """The value of a flag; None where the release does not have it."""
        return self.values.get(name)

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
        again = flag.name in given and flag.kind in COLLECTING
        values[flag.name] = _joined(values[flag.name], value) if again else value
        given.pop(flag.name, None)
        given[flag.name] = None
    return FlagValues(values, tuple(given), tuple(rest))


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
    if flag.kind in ALONE:
        return ALONE[flag.kind]
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
        return read_value(flag.kind, text)
    except ValueError as error:
        shown = f"-{flag.short}, --{flag.name}" if flag.short else f"--{flag.name}"
        raise FlagError(f"invalid argument {go_quote(text)} for {go_quote(shown)} flag: {error}") from None


SECTIONS = (
    "Misc",
    "Secure serving",
    "Insecure serving",
    "Authentication",
    "Authorization",
    "Deprecated",
    "Leader election",
    "Feature gate",
    "Metrics",
    "Logs",
    "Global",
)
"""In the order in which help lists them."""

WIDTH, INDENT = 80, " " * 10
"""Columns of help, and what stands before the meaning of a flag."""


def usage(table: Iterable[Flag]) -> str:
    """All flags of a table, section by section, each with its type, its meaning and its default."""
    flags = sorted(table, key=lambda flag: flag.name)
    lines = ["Usage:\n  kube-scheduler [flags]\n"]
    for section in SECTIONS:
        shown = [flag for flag in flags if flag.section == section]
        if shown:
            lines.append(f"\n{section} flags:\n\n")
            lines += map(_line, shown)
    return "".join(lines)


def _line(flag: Flag) -> str:
    name = f"-{flag.short}, --{flag.name}" if flag.short else f"    --{flag.name}"
    head = f"  {name} {flag.kind.value}".rstrip()
    idle = " No effect here." if flag.idle else ""
    text = textwrap.fill(
        f"{flag.help}{idle}{_default(flag)}",
        WIDTH,
        initial_indent=INDENT,
        subsequent_indent=INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return f"{head}\n{text}\n"


def _default(flag: Flag) -> str:
    if not flag.default or flag.kind is FlagKind.VERSION:
        return ""
    text = written_value(flag.kind, flag.default)
    return f" (default {go_quote(text) if flag.kind is FlagKind.TEXT else text})"


def flag_lines(table: Iterable[Flag], values: FlagValues) -> list[str]:
    """``FLAG: --name="value"`` for every flag, by name: what upstream logs at verbosity 1."""
    flags = sorted(table, key=lambda flag: flag.name)
    return [f"FLAG: --{flag.name}={go_quote(written_value(flag.kind, values[flag.name]))}" for flag in flags]


def no_effect_notes(table: Iterable[Flag], values: FlagValues) -> list[str]:
    """One sentence that names the given flags without effect; none where there are none."""
    idle = [f"--{flag.name}" for flag in table if flag.idle and flag.name in values.given]
    if not idle:
        return []
    return [f"{', '.join(idle)} {'has' if len(idle) == 1 else 'have'} no effect here"]
