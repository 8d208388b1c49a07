"""A student's HTTP extender in a process of its own, for as long as a check takes."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from clusterstate.errors import ConfigError

START_SECONDS = 15.0
"""How long an extender has until it takes calls."""
STOP_SECONDS = 3.0
"""How long it has to end after SIGTERM."""
PAUSE = 0.02
"""Seconds between two attempts to connect."""


_RUN = """\
import faulthandler, os, runpy, signal, sys
faulthandler.register(signal.SIGUSR1, all_threads=True)
sys.argv = sys.argv[1:]
sys.path[0] = ""
if not os.path.isfile(sys.argv[0]):
    print(f"there is no {sys.argv[0]}", file=sys.stderr)
    sys.exit(2)
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Runs a program that says where it stands when it is asked by a signal."""


@contextlib.contextmanager
def running_extender(program: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    """Starts ``python PROGRAM --port N`` with a free port of the loopback interface, and ends it afterwards.

    Gives its address, and a function for the last lines that it wrote to standard error. Raises ConfigError when it
    ends, or takes no calls.
    """
    port = _free_port()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, "-B", "-u", "-c", _RUN, program.name, "--port", str(port)],
            cwd=program.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )
        try:
            _await(process, port, program, errors)
            yield f"http://127.0.0.1:{port}", lambda: _told(process, program, errors)
        finally:
            _end(process)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _await(process: subprocess.Popen[bytes], port: int, program: Path, errors: IO[bytes]) -> None:
    """Until it takes a connection."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            said = _last_words(errors)
            raise ConfigError(
                f"{program}: it ended at once, with status {process.returncode}{': ' + said if said else ''}"
            )
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(PAUSE)
        else:
            return
    raise ConfigError(
        f"{program}: it takes no calls on 127.0.0.1:{port} after {START_SECONDS:g} s; it was given --port"
    )


def _told(process: subprocess.Popen[bytes], program: Path, errors: IO[bytes]) -> str:
    """What it wrote last, or where it stands."""
    said = _last_words(errors)
    return _standing(process, program, errors) or said


def _standing(process: subprocess.Popen[bytes], program: Path, errors: IO[bytes]) -> str:
    """``extender.py, line 20: it has run for 5 s``, the line of a call that has not come back; empty without one."""
    before = errors.seek(0, os.SEEK_END)
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGUSR1)
    until = time.monotonic() + 1
    while process.poll() is None and time.monotonic() < until:
        time.sleep(PAUSE)
        errors.seek(before)
        text = errors.read().decode(errors="replace")
        found = [
            re.findall(rf'File "(?:.*/)?{re.escape(program.name)}", line (\d+) in (?!<module>)', part)
            for part in text.split("\n\n")
        ]
        if lines := next(filter(None, found), None):
            return f"{program}, line {lines[0]}: it does not return"
        if "runpy" in text:
            return ""
    return ""


def _last_words(errors: IO[bytes]) -> str:
    """The last line of standard error, of a traceback with the place."""
    errors.seek(0)
    lines = [line for line in errors.read().decode(errors="replace").splitlines() if line.strip(" -")]
    places = [line.strip() for line in lines if line.lstrip().startswith("File ") and "line" in line]
    own = [place for place in places if "/lib/python" not in place and 'File "<' not in place]
    return " ".join(filter(None, (lines[-1].strip() if lines else "", f"({own[-1]})" if own else "")))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the process, and what it started, politely first."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(STOP_SECONDS)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
