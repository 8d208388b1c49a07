"""LogWriter: one line for each thing that happens, with klog's head. Upstream: klog and component-base/logs."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import FrameType

import msgspec

from kubescheduler.live.contract.wall_clock import SystemClock, WallClock
from kubescheduler.live.logs.log_lines import LogLine, Severity, read_structured
from kubescheduler.live.logs.verbosity import Verbosity


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
        self._clock = SystemClock() if clock is None else clock
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
        self.put(LogLine(Severity.WARNING, text))

    def error(self, text: str) -> None:
        """Something went wrong."""
        self.put(LogLine(Severity.ERROR, text))

    def fatal(self, text: str) -> None:
        """The process ends because of this; ending it is up to the caller."""
        self.put(LogLine(Severity.FATAL, text))

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
