"""Lines of the log, and LogWriter: one line for each thing that happens, with klog's head. Upstream: klog."""

from __future__ import annotations

import contextlib
import enum
import json
import os
import re
import sys
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Any

import attrs
import msgspec

from kubecel.api_names import go_quote
from kubescheduler.live.transport.io_thread import WallClock

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


@attrs.define(eq=False)
class Verbosity:
    """How much is logged; ``/debug/flags/v`` changes it."""

    level: int = 0
    """As the flag ``-v`` says it."""


class LogPlace(msgspec.Struct, frozen=True):
    """From where a line is written."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


Layout = Callable[[LogLine, datetime, int, LogPlace], str]
"""Of (line, moment, process id, place): what is written, without the end of the line."""


def text_layout(line: LogLine, moment: datetime, pid: int, place: LogPlace) -> str:
    """``I1122 07:05:33.533563   19817 file.py:72] text``, in the time zone of the machine."""
    when = moment.astimezone().strftime("%m%d %H:%M:%S.%f")
    return f"{line.severity.value}{when} {pid:7d} {place}] {line.text}"


def json_layout(line: LogLine, moment: datetime, pid: int, place: LogPlace) -> str:  # noqa: ARG001
    """An object with ts (milliseconds), caller, msg, the line's keys, and v for what is no error."""
    message, pairs = read_structured(line.text)
    head = {"ts": round(moment.timestamp() * 1000, 3), "caller": str(place), "msg": message}
    grave = line.severity in (Severity.ERROR, Severity.FATAL)
    return json.dumps({**head, **({} if grave else {"v": line.level}), **pairs}, ensure_ascii=False)


LAYOUTS: dict[str, Layout] = {"text": text_layout, "json": json_layout}
"""``--logging-format`` → how lines look."""


class LogWriter:
    """Writes lines; for any thread. One that cannot be written is dropped: a full disk ends no scheduler.

    write: takes whole lines with their ends. level: ``-v``; lines of a higher one are left out.
    """

    def __init__(
        self,
        write: Callable[[str], object],
        *,
        level: int = 0,
        layout: Layout = text_layout,
        clock: WallClock | None = None,
        pid: int | None = None,
    ) -> None:
        self._write = write
        self._layout = layout
        self._clock = clock or WallClock()
        self._pid = os.getpid() if pid is None else pid
        self._lock = threading.Lock()
        self.verbosity = Verbosity(level)
        """What may change while it writes."""

    def enabled(self, level: int) -> bool:
        """Whether lines of a verbosity are written."""
        return level <= self.verbosity.level

    def info(self, text: str, level: int = 0) -> None:
        """Something happened."""
        self.put(LogLine(Severity.INFO, text, level))

    def warning(self, text: str) -> None:
        """Something may go wrong."""
        self.put(warning_line(text))

    def error(self, text: str) -> None:
        """Something went wrong."""
        self.put(error_line(text))

    def put(self, line: LogLine) -> None:
        """Writes a line, if its verbosity is asked for."""
        if not self.enabled(line.level):
            return
        text = self._layout(line, self._clock.now(), self._pid, _caller()) + "\n"
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._write(text)


def _caller() -> LogPlace:
    """The nearest place outside of this file."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return LogPlace("?", 0) if frame is None else LogPlace(Path(frame.f_code.co_filename).name, frame.f_lineno)


def to_stream(write: Callable[[str], object], flush: Callable[[], object]) -> Callable[[str], None]:
    """Writes and flushes at once: who reads a log reads it now."""

    def whole(text: str) -> None:
        write(text)
        flush()

    return whole
