"""Commands run on a terminal of a given width, and what it shows."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import tempfile
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs

SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@attrs.frozen
class Shown:
    """What a command left behind."""

    status: int
    """Its exit status."""
    out: str
    """What it wrote to standard output, where that was not the terminal."""
    raw: str
    """What the terminal got."""

    @property
    def lines(self) -> list[str]:
        """The lines on the screen, without colours."""
        return SEQUENCE.sub("", self.raw).replace("\r\n", "\n").splitlines()


def on_a_terminal(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    width: int = 0,
    whole: bool = True,
    cwd: Path | None = None,
) -> Shown:
    """Runs a command whose standard error, and if ``whole`` also its output, is a terminal. width: 0: unknown."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=theirs if whole else out,
            stderr=theirs,
            env={"TERM": "xterm", **environment},
            cwd=cwd,
        )
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # what Linux says at the end of a terminal
            while data := os.read(ours, 1 << 16):
                shown += data
        os.close(ours)
        status = process.wait()
        out.seek(0)
        return Shown(status, out.read().decode(), shown.decode())
