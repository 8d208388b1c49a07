"""A student's HTTP extender in a process of its own, for as long as a check takes."""

from __future__ import annotations

import contextlib
import os
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


@contextlib.contextmanager
def running_extender(program: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    """Starts ``python PROGRAM --port N`` with a free port of the loopback interface, and ends it afterwards.

    Gives its address, and a function for the last lines that it wrote to standard error. Raises ConfigError when it
    ends, or takes no calls.
    """
    port = _free_port()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, "-B", "-u", program.name, "--port", str(port)],
            cwd=program.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )
        try:
            _await(process, port, program, errors)
            yield f"http://127.0.0.1:{port}", lambda: _last_words(errors)
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


def _last_words(errors: IO[bytes]) -> str:
    """The last line of standard error, of a traceback with the place."""
    errors.seek(0)
    lines = [line for line in errors.read().decode(errors="replace").splitlines() if line.strip(" -")]
    places = [line.strip() for line in lines if line.lstrip().startswith("File ") and "line" in line]
    own = [place for place in places if "/lib/python" not in place]
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
