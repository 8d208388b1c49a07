"""Looking from one process at a call of a user's own code in another, which may hold that one up for good.

The process that runs the code writes onto a board, a piece of shared memory, when its call has to be over. The one that
looks tells it when that time has passed, by a signal. At that Python ends the call, as long as it has a turn; in any
case the lines on which its threads stand are written to a pipe. If the call goes on, the process is ended.

Run as a script it looks at a process that nobody started for that purpose, as pytest is; it needs nothing but Python.
"""

from __future__ import annotations

import mmap
import os
import re
import signal
import struct
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

TICK = 0.05
"""Seconds between two looks."""
GRACE = 2.0
"""Seconds that a call has to end after it was told to."""
LINES = 10.0
"""Seconds that its process has to write its lines: a busy machine may not give it a turn for a while."""
SIGNAL = getattr(signal, "SIGURG", None)
"""What tells a process that its call has to end; None where the system has no signals: there nothing is watched."""

_BOARD = struct.Struct("dd")
_FRAME = re.compile(r'^  File "(?P<file>[^"]+)", line (?P<line>\d+) in ', re.MULTILINE)
_ESCAPED = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")
_ROOT = Path(__file__).parents[1]
_PACKAGES = ("kubescheduler", "algorithmprovider", "predicates", "priorities", "clusterstate")
NOT_THEIRS = ("<", str(Path(os.__file__).parent), *(f"{_ROOT / name}{os.sep}" for name in _PACKAGES))
"""How the names of files begin that are Python's or the project's own."""


class CodeWatch:
    """The board, and the pipe of the lines; made before the processes part."""

    def __init__(self, board: int = -1, lines: int | None = None) -> None:
        """board, lines: of one that was made elsewhere: its file, and the end of its pipe that is read."""
        self.board = board
        # Not a file unless another program is to look: on a full disk there is room for no board.
        self._memory = mmap.mmap(board, _BOARD.size)
        self.lines, self.dump = (lines, -1) if lines is not None else os.pipe()
        for end in (self.lines, self.dump):
            if end != -1:
                os.set_blocking(end, False)
        self._told = self._told_at = 0.0
        self._written = ""
        """The lines of the call that was told to end."""
        self._overran: float | None = None

    @classmethod
    def on_file(cls) -> CodeWatch:
        """One whose board another program can look at."""
        with tempfile.TemporaryFile() as file:
            file.write(bytes(_BOARD.size))
            file.flush()
            return cls(os.dup(file.fileno()))

    def close(self) -> None:
        """Lets go of everything; the other process has its own."""
        self._memory.close()
        for file in (self.board, self.lines, self.dump):
            if file != -1:
                os.close(file)

    def note(self, due: float, seconds: float) -> None:
        """That a call has to be over then, in seconds of the monotonic clock, 0: none runs. seconds: its limit."""
        _BOARD.pack_into(self._memory, 0, due, seconds)

    def look(self, process: int) -> None:
        """Tells the process that its call has to end, and ends it if it was told."""
        due, seconds = _BOARD.unpack_from(self._memory)
        now = time.monotonic()
        if SIGNAL is None or not due or now < due:
            return
        if self._told != due:
            self._read()
            self._written, self._told, self._told_at = "", due, now
            _send(process, SIGNAL)
            return
        self._written += self._read()
        if now > self._told_at + (min(GRACE, max(seconds, 10 * TICK)) if self._written else LINES):
            self._overran = seconds
            _send(process, signal.SIGKILL)

    @property
    def has_ended(self) -> bool:
        """Whether it ended the process that it looks at."""
        return self._overran is not None

    def problem(self, otherwise: str) -> str:
        """Why the process ended: that a call overran, or what is said otherwise; with the user's innermost line."""
        text = self._written + self._read()
        said = otherwise if self._overran is None else f"it has run for {self._overran:g} s and cannot be ended"
        _, here, current = text.rpartition("Current thread ")
        for frame in (*_FRAME.finditer(here + current), *_FRAME.finditer(text)):
            file = _ESCAPED.sub(lambda escape: escape[0].encode().decode("unicode_escape"), frame["file"])
            if not file.startswith(NOT_THEIRS) and "site-packages" not in file:
                return f"{file}, line {frame['line']}: {said}"
        return said if self._overran is None else f"code of your own: {said}"

    def watch(self, process: int, complaints: int) -> None:
        """Looks until the process is gone; says why, if it was ended."""
        while _is_there(process):
            self.look(process)
            if self.has_ended:
                os.write(complaints, f"error: {self.problem('')}\n".encode())
                return
            time.sleep(TICK)

    def _read(self) -> str:
        """The lines that were written since they were last read."""
        out = b""
        with suppress(OSError):
            while piece := os.read(self.lines, 65536):
                out += piece
        return out.decode(errors="replace")


def _send(process: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, number)


def _is_there(process: int) -> bool:
    """Whether it is still the parent of this process."""
    return os.getppid() == process


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    CodeWatch(int(sys.argv[2]), int(sys.argv[3])).watch(int(sys.argv[1]), 2)
