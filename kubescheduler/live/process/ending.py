"""The end of a process: what is under way is finished, but nobody is waited for without end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from typing import Any

from kubescheduler.live.contract.wall_clock import WallClock
from kubescheduler.live.logs.log_writer import LogWriter
from kubescheduler.live.transport.api_client import ApiClient
from kubescheduler.live.transport.io_thread import IoThread

WRITES, LOST, REST = 10.0, 0.5, 5.0
"""Seconds for the bindings under way and the events that wait, when the process was asked to end and when it lost the
lock, and for all else."""


class Ending:
    """Waits for parts of a process to end."""

    def __init__(
        self, io: IoThread, clients: Sequence[ApiClient], log: LogWriter, clock: WallClock, *, lost: bool
    ) -> None:
        """clients: all but that of events, which goes on. lost: another may lead, so nothing is to be written."""
        self._io = io
        self._clients = [client for client in clients if client.is_shared]
        self._log = log
        self._clock = clock
        self._until = clock.monotonic() + (LOST if lost else WRITES)

    @property
    def left(self) -> float:
        """Seconds that there still are for writing."""
        return max(0.0, self._until - self._clock.monotonic())

    def finish(self, close: Callable[[], None]) -> bool:
        """Waits for the bindings under way, then gives up those that the server does not answer; whether all ended."""
        for client in self._clients:
            self._io.call(client.admit_no_more)
        closing = threading.Thread(target=close, name="ending", daemon=True)
        closing.start()
        closing.join(self.left)
        for client in self._clients:
            self._io.call(client.abort)
        closing.join(REST)
        if closing.is_alive():
            self._log.warning("some bindings did not end: a plugin, or an extender, does not answer")
        return not closing.is_alive()

    def join(self, thread: threading.Thread) -> None:
        """Waits for a thread, if it is another one."""
        if thread is not threading.current_thread():
            thread.join(REST)

    def wait(self, future: Future[Any]) -> None:
        """Waits for work on the I/O thread."""
        try:
            future.result(REST)
        except (TimeoutError, CancelledError):
            future.cancel()
        except Exception as error:  # it was reported when it was raised
            self._log.info(f"ending: {error}", 4)
