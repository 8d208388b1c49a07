"""Processes that tests start, disturb and end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

SECONDS = 240.0
"""Until a test gives up waiting: only what is broken takes that long, however busy the machine. Below the time that
pytest gives a test (setup.cfg), so that the test itself says what it has waited for."""


def until(holds: Callable[[], object], said: Callable[[], str] = lambda: "it does not come to hold") -> None:
    """Waits until something holds. said: what a failure says of it."""
    end, pause = time.monotonic() + SECONDS, threading.Event()
    while not holds():
        assert time.monotonic() < end, said()
        pause.wait(0.005)
