"""Signals to the process: the first one ends it cleanly, the second at once; SIGUSR2 asks for a dump."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

ENDING = (signal.SIGTERM, signal.SIGINT)
HURRY = 1
"""Exit status after the second signal."""


@contextmanager
def signals(
    stop: Callable[[], None], dump: Callable[[], None], leave: Callable[[int], Any] = os._exit
) -> Iterator[None]:
    """Passes signals on while the block runs; for the main thread.

    stop, dump: called in a thread of their own, which may wait for locks as a signal handler must not. leave: ends the
    process at once.
    """
    arrived: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
    ended: list[int] = []

    def end(number: int, _: object) -> None:
        if ended:
            leave(HURRY)
        ended.append(number)
        arrived.put(stop)

    before = {number: signal.signal(number, end) for number in ENDING}
    before[signal.SIGUSR2] = signal.signal(signal.SIGUSR2, lambda *_: arrived.put(dump))
    thread = threading.Thread(target=_pass_on, args=(arrived,), name="signals", daemon=True)
    thread.start()
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        arrived.put(None)
        thread.join()


def _pass_on(arrived: SimpleQueue[Callable[[], None] | None]) -> None:
    while (act := arrived.get()) is not None:
        act()
