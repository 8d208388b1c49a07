"""Lines of the log: how grave they are, and texts with keys and values."""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from kubecel.api_names import go_quote

PAIR = re.compile(r'\s(?P<key>[A-Za-z_][\w.-]*)=(?P<value>"(?:[^"\\]|\\.)*"|<\n(?:\t.*\n)* >|\S+)')
HEAD = re.compile(r'"(?:[^"\\]|\\.)*"')


class Severity(enum.Enum):
    """How grave a line is; the value is its first letter."""

    INFO = "I"
    WARNING = "W"
    ERROR = "E"
    FATAL = "F"


class LogLine(msgspec.Struct, frozen=True):
    """One line before it is written."""

    severity: Severity
    text: str
    """What stands behind the bracket: a plain text, or what ``structured`` makes."""
    level: int = 0
    """The verbosity from which on it is written."""


def warning_line(text: str) -> LogLine:
    """Something may go wrong."""
    return LogLine(Severity.WARNING, text)


def error_line(text: str) -> LogLine:
    """Something went wrong."""
    return LogLine(Severity.ERROR, text)


def structured(message: str, **pairs: Any) -> str:
    """A message with keys and values, as klog's InfoS writes it.

    Texts are quoted; those of several lines are written one line each between ``<`` and ``>``. Records that know what
    to be called in a log, such as pods, are to be given as their ``namespace/name``.
    """
    return go_quote(message) + "".join(f" {key}={_value(value)}" for key, value in pairs.items())


def _value(value: Any) -> str:
    if isinstance(value, str):
        if "\n" not in value:
            return go_quote(value)
        lines = "".join(f"\t{line}\n" for line in value.removesuffix("\n").split("\n"))
        return f"<\n{lines} >"
    if isinstance(value, Sequence):
        return json.dumps(list(value), separators=(",", ":"))
    return json.dumps(value)


def read_structured(text: str) -> tuple[str, dict[str, Any]]:
    """(message, keys and values) of a line; a plain text is all message."""
    head = HEAD.match(text)
    if head is None:
        return text, {}
    pairs: dict[str, Any] = {}
    at = head.end()
    while at < len(text):
        match = PAIR.match(text, at)
        if match is None:
            return text, {}
        pairs[match["key"]] = _read_value(match["value"])
        at = match.end()
    return _unquoted(head[0]), pairs


def _read_value(text: str) -> Any:
    if text.startswith('"'):
        return _unquoted(text)
    if text.startswith("<"):
        return "\n".join(line.removeprefix("\t") for line in text[2:-2].split("\n"))
    try:
        return json.loads(text)
    except ValueError:
        return text


def _unquoted(text: str) -> str:
    try:
        return str(json.loads(text))
    except ValueError:
        return text[1:-1]
