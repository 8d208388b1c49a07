"""``kubescheduler run`` as a process of its own, beside an API server in this one."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs

from tests.support.apiserver import FrontServer
from tests.support.apiserver.storage import StatusError
from tests.support.processes.dependent_processes import dependent

SECONDS = 120.0
"""Until a test gives up."""
CLOSED = {
    "1.16": ("--secure-port=0", "--port=0"),
    "1.20": ("--secure-port=0", "--port=0"),
    "1.36": ("--secure-port=0",),
}
"""Flags with which nothing is served."""


@attrs.define(eq=False)
class RunningProcess:
    """One run."""

    process: subprocess.Popen[bytes]
    log: Path
    """What it writes to stderr."""

    def text(self) -> str:
        return self.log.read_text()

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def status(self) -> int:
        """Waits for its end."""
        return self.process.wait(SECONDS)

    def until(self, holds: Callable[[], bool], server: FrontServer | None = None) -> None:
        """Waits for something to hold of what the server has, or of what the log says."""
        changed = threading.Event()
        if server is not None:
            server.storage.listeners.append(changed.set)
        end = time.monotonic() + SECONDS
        while not _holds(holds):
            assert self.process.poll() is None, self.text()
            assert time.monotonic() < end, self.text()
            changed.wait(0.05)
            changed.clear()


def _holds(holds: Callable[[], bool]) -> bool:
    try:
        return holds()
    except StatusError:
        return False


@contextmanager
def started(folder: Path, release: str, *flags: str) -> Iterator[RunningProcess]:
    """A process that runs until the end of the block at most."""
    log = folder / "stderr.txt"
    command = [sys.executable, "-m", "kubescheduler", "run", "--release", release, "--", *CLOSED[release], *flags]
    with (
        log.open("wb") as stream,
        subprocess.Popen(dependent(command), stdout=subprocess.DEVNULL, stderr=stream) as process,
    ):
        try:
            yield RunningProcess(process, log)
        finally:
            process.kill()
