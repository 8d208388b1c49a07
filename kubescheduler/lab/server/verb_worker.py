"""The thread that works for one scene, one request after the other, and what becomes of requests nobody waits for."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from queue import SimpleQueue

import attrs


class Superseded(Exception):
    """A newer request of the same kind came before this one's answer."""


class Busy(Exception):
    """A worker has too much to do, or cannot be stopped."""


@attrs.define(eq=False)
class Work:
    """One request on its way."""

    act: Callable[[], bytes]
    """Does the work; in the worker's thread."""
    slot: str | None = None
    """What it is one of: of requests in the same slot only the newest matters."""
    serial: int = 0
    """Its number in the slot."""
    reads: bool = True
    """Whether it changes nothing, so that it can be stopped without loss."""
    answer: Future[bytes] = attrs.field(factory=Future)
    """What came of it."""
    begun: float | None = None
    """When the thread took it up, in seconds of the monotonic clock."""


class VerbWorker:
    """Runs work in one thread, in order. Its thread begins with the first work and ends with ``close``."""

    def __init__(self, stop: Callable[[], None], *, most: int = 32, impatient: float = 1) -> None:
        """stop: has the work that runs fail soon; it does not wait for that.

        most: work that may wait. impatient: seconds after which work that reads is stopped when it is superseded.
        """
        self._stop = stop
        self._most, self._impatient = most, impatient
        self._waiting: deque[Work] = deque()
        self._newest: dict[str, int] = {}
        self._running: Work | None = None
        self._stopping = False
        self._closed = False
        self._thread: threading.Thread | None = None
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._lock = threading.Lock()

    @property
    def idle(self) -> bool:
        """Whether nothing runs and nothing waits."""
        with self._lock:
            return self._running is None and not self._waiting

    @property
    def waiting(self) -> int:
        """How much work waits behind what runs."""
        with self._lock:
            return len(self._waiting)

    @property
    def is_slow(self) -> bool:
        """Whether what runs would be stopped for newer work in its slot."""
        with self._lock:
            return self._running is not None and self._is_slow(self._running)

    def submit(self, work: Work) -> None:
        """Queues it. Its answer fails with Superseded if it is stale; raises Busy where too much waits."""
        with self._lock:
            if work.slot is not None and not self._is_newest(work.slot, work.serial):
                _fail(work, Superseded())
                return
            if self._closed or len(self._waiting) >= self._most:
                raise Busy
            self._waiting.append(work)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="lab scene", daemon=True)
                self._thread.start()
        self._bell.put(None)

    def withdraw(self, work: Work, why: BaseException, *, also_begun: bool = False) -> None:
        """Nobody waits for it. It is not begun; what has begun is stopped if it reads and takes long, or as asked."""
        with self._lock:
            if work in self._waiting:
                self._waiting.remove(work)
            elif work is not self._running:
                return
            elif also_begun or self._is_slow(work):
                self._stop_running()
            else:
                return
        _fail(work, why)

    def close(self) -> None:
        """Ends the thread as soon as it can be; what waits or runs fails with Busy."""
        with self._lock:
            self._closed = True
            left = list(self._waiting)
            self._waiting.clear()
            if self._running is not None:
                left.append(self._running)
                self._stop_running()
        for work in left:
            _fail(work, Busy())
        self._bell.put(None)

    def _is_newest(self, slot: str, serial: int) -> bool:
        """Notes the serial, and drops what it supersedes; False for one that is itself stale."""
        if serial <= self._newest.get(slot, -1):
            return False
        self._newest[slot] = serial
        stale = [work for work in self._waiting if work.slot == slot]
        for work in stale:
            self._waiting.remove(work)
        if self._running is not None and self._running.slot == slot and self._is_slow(self._running):
            stale.append(self._running)
            self._stop_running()
        for work in stale:
            _fail(work, Superseded())
        return True

    def _is_slow(self, work: Work) -> bool:
        return work.reads and work.begun is not None and time.monotonic() - work.begun >= self._impatient

    def _stop_running(self) -> None:
        """With the lock held: no other work can begin meanwhile."""
        if not self._stopping:
            self._stopping = True
            self._stop()

    def _work(self) -> None:
        while True:
            self._bell.get()
            with self._lock:
                if self._closed:
                    return
                if not self._waiting:  # it was withdrawn
                    continue
                self._running = work = self._waiting.popleft()
                work.begun = time.monotonic()
            _do(work)
            with self._lock:
                self._running, self._stopping = None, False


def _do(work: Work) -> None:
    try:
        found = work.act()
    except Exception as error:
        _fail(work, error)
    else:
        with suppress(InvalidStateError):  # whoever waited has had another answer
            work.answer.set_result(found)


def _fail(work: Work, why: BaseException) -> None:
    with suppress(InvalidStateError):
        work.answer.set_exception(why)
