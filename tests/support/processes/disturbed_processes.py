"""The command line in a process that stops at a chosen place, so that a test can disturb it there."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import attrs

from kubescheduler.cli import run

ROOT = Path(__file__).parents[3]

_SITE = '''\
"""Stops where STOP_AT says: a module that is imported, or FILE:FUNCTION that is called for the TIMES-th time."""

import os
import sys

stop_at, left = os.environ.get("STOP_AT", ""), int(os.environ.get("TIMES", "1"))
size = os.environ.get("FILE_SIZE")
if size:
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), int(size)))


def stop():
    global left
    left -= 1
    if not left:
        sys.setprofile(None)
        os.write(int(os.environ["REACHED"]), b"x")
        os.read(int(os.environ["RELEASE"]), 1)


class Importing:
    def find_spec(self, name, path=None, target=None):
        if name == stop_at:
            stop()


def called(frame, event, _):
    if event == "call" and frame.f_code.co_name == function and frame.f_code.co_filename.endswith(file):
        stop()


if os.environ.get("REACHED") and "multiprocessing-fork" not in " ".join(sys.orig_argv):
    file, colon, function = stop_at.partition(":")
    if colon:
        sys.setprofile(called)
    else:
        sys.meta_path.insert(0, Importing())
'''


@attrs.frozen
class Stopped:
    """A process that waits at its place."""

    process: subprocess.Popen[bytes]
    _release: int

    def send(self, number: signal.Signals) -> tuple[int, str, str]:
        """Sends a signal to the process and those that it started, as a terminal does; status, output and errors."""
        os.killpg(self.process.pid, number)
        return self.end()

    def go_on(self) -> tuple[int, str, str]:
        """Lets it go on."""
        os.write(self._release, b"x")
        return self.end()

    def end(self) -> tuple[int, str, str]:
        """What it leaves behind: status, output, errors."""
        out, err = self.process.communicate()
        return self.process.returncode, out.decode(), err.decode()


def _environment(folder: Path, **more: str) -> dict[str, str]:
    """Of a process that begins with the module above, which is written to a hidden folder."""
    site = folder / ".site"
    site.mkdir(exist_ok=True)
    (site / "sitecustomize.py").write_text(_SITE)
    plain = {"PATH": "", "PYTHONWARNINGS": "error", "PYTHONDONTWRITEBYTECODE": "1"}
    return {**plain, "PYTHONPATH": f"{site}:{ROOT}", **more}


@contextmanager
def stopped(folder: Path, place: str, *arguments: str, times: int = 1) -> Iterator[Stopped]:
    """Runs a command line in ``folder`` until it reaches a place; the block has it waiting there.

    place: a module, at the beginning of its import; or ``file.py:function``, at its ``times``-th call.
    """
    reached_read, reached_write = os.pipe()
    release_read, release_write = os.pipe()
    environment = _environment(
        folder, STOP_AT=place, TIMES=str(times), REACHED=str(reached_write), RELEASE=str(release_read)
    )
    with subprocess.Popen(
        [sys.executable, "-m", "kubescheduler", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=environment,
        pass_fds=(reached_write, release_read),
        start_new_session=True,
    ) as process:
        os.close(reached_write)
        os.close(release_read)
        try:
            if os.read(reached_read, 1) != b"x":
                raise AssertionError(f"{place} was not reached: {process.communicate()}")
            yield Stopped(process, release_write)
        finally:
            process.kill()
            os.close(reached_read)
            os.close(release_write)


def with_file_size(folder: Path, size: int, *arguments: str, **streams: object) -> tuple[int, str, str]:
    """Runs a command line whose files cannot be longer than ``size`` bytes: status, output and errors."""
    return finished(folder, arguments, {"FILE_SIZE": str(size)}, **streams)


def finished(
    folder: Path, arguments: Sequence[str], environment: Mapping[str, str] | None = None, **streams: object
) -> tuple[int, str, str]:
    """Runs a command line to its end; streams: as subprocess takes them. Status, output and errors."""
    given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    done = subprocess.run(
        [sys.executable, "-m", "kubescheduler", *arguments],
        cwd=folder,
        env=_environment(folder, **(environment or {})),
        check=False,
        **given,  # type: ignore[call-overload]
    )
    return done.returncode, (done.stdout or b"").decode(), (done.stderr or b"").decode()


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


def on_a_terminal(command: Sequence[str], environment: Mapping[str, str], *, whole: bool) -> Shown:
    """Runs a command whose standard error, and if ``whole`` also its output, is a terminal of unknown width."""
    ours, theirs = _terminal(0)
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=theirs if whole else out,
            stderr=theirs,
            env={"TERM": "xterm", **environment},
        )
        os.close(theirs)
        shown = _all_of(ours)
        status = process.wait()
        out.seek(0)
        return Shown(status, out.read().decode(), shown)


def here_on_a_terminal(arguments: Sequence[str], *, width: int = 0, **environment: str) -> Shown:
    """Runs a command line in this process, with a terminal as its output and errors. width: 0: unknown.
    environment: what of it differs from a plain terminal's."""
    ours, theirs = _terminal(width)
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    with ThreadPoolExecutor(1) as reader:
        shown = reader.submit(_all_of, ours)
        with (
            patch.dict(os.environ, {**kept, "TERM": "xterm", **environment}, clear=True),
            open(theirs, "w", encoding="utf-8") as screen,
            contextlib.redirect_stdout(screen),
            contextlib.redirect_stderr(screen),
        ):
            status = run([*arguments])
        return Shown(status, "", shown.result())


def _terminal(width: int) -> tuple[int, int]:
    """The end that reads what is shown, and the end that programs write to."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    return ours, theirs


def _all_of(ours: int) -> str:
    """Everything that a terminal shows until nobody writes to it any more."""
    shown = b""
    with contextlib.suppress(OSError):  # what Linux says at the end of a terminal
        while data := os.read(ours, 1 << 16):
            shown += data
    os.close(ours)
    return shown.decode()
