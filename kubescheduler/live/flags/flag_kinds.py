"""What the values of flags are, and how they are read from texts and written, as pflag does both."""

from __future__ import annotations

import enum
import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kubecel.api_names import go_quote
from kubescheduler.framework.contract.go_durations import format_duration, parse_duration

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


def _int(text: str) -> int:
    return _whole(text, 64)


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


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(_int32(part) for part in _texts(text))


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


def _gates(text: str) -> tuple[str, ...]:
    """What gates there are is looked at later."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _labels(text: str) -> dict[str, str]:
    """``metric,label='v1,v2'`` several times."""
    found = {}
    for match in re.finditer(r"([^=']+)=(?:'([^']*)'|([^,]*)),?", text):
        found[match[1].strip(", ")] = match[2] if match[2] is not None else match[3]
    if text and not found:
        raise ValueError(f"{text} must be formatted as key=value")
    return found


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
    FlagKind.INT: _int,
    FlagKind.INT32: _int32,
    FlagKind.LEVEL: _level,
    FlagKind.FLOAT: _float,
    FlagKind.DURATION: parse_duration,
    FlagKind.QUANTITY: str,
    FlagKind.IP: _address,
    FlagKind.TEXTS: _texts,
    FlagKind.NUMBERS: _numbers,
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
