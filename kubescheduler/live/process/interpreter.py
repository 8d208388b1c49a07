"""What a process sets of its interpreter: signals, how long a thread keeps it, and what is not collected."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

import attrs

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


TURN = 0.0005
"""Seconds. The I/O thread needs the interpreter for a moment after each packet; with Python's own 5 ms, reading a large
cluster anew while pods are decided on takes as long as there are packets.
"""


@contextmanager
def switch_interval() -> Iterator[None]:
    """Threads take turns of ``TURN`` seconds meanwhile, in the whole process."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


LONGEST = 0.05
"""Seconds of a full collection from which on what it left is set aside. The interpreter stands still meanwhile: with
50,000 pods for 0.4 s of CPU time, several times as long where others want the CPU.
"""


@attrs.define(eq=False)
class GcFreeze:
    """Sets aside what a long full collection of the garbage collector left; one of ``gc.callbacks``.

    Objects set aside are freed by their reference counts as ever, but cycles among them are not found any more. The
    objects of a cluster have no cycles.
    """

    clock: Callable[[], float] = time.perf_counter
    """Seconds."""
    set_aside: Callable[[], None] = gc.freeze
    """Takes everything that there is out of later collections."""
    _started: float = 0.0

    def __call__(self, phase: str, info: Mapping[str, Any]) -> None:
        """A collection starts or stops."""
        if info["generation"] < 2:
            return
        if phase == "start":
            self._started = self.clock()
        elif self.clock() - self._started > LONGEST:
            self.set_aside()


@contextmanager
def gc_freeze() -> Iterator[None]:
    """Full collections stay short meanwhile, in the whole process, however many objects are known."""
    lasting = GcFreeze()
    gc.callbacks.append(lasting)
    try:
        yield
    finally:
        gc.callbacks.remove(lasting)
        gc.unfreeze()
