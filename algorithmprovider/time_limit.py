"""How long a call of a user's own code may take: one that does not return is ended, with the line on which it stood.

Whoever hosts such code sets the limit (``limited``, or the variable KUBESCHEDULER_PATIENCE); without one nothing is
watched. A thread looks at the calls that run. The one that runs too long gets an exception: the main thread by a
signal, which also wakes it from sleep, others at their next line of Python. Code that swallows it, or never comes back
from C, takes the process with it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO, Any

VARIABLE = "KUBESCHEDULER_PATIENCE"
"""Seconds that a call may take, for processes that nobody gives a limit otherwise."""
PATIENCE = 10.0
"""Seconds by default."""
TICK = 0.1
"""Seconds between two looks."""
GRACE = 2.0
"""Seconds that a call has to end after it was told to."""
EXIT_ERROR = 2
_SIGNAL = getattr(signal, "SIGUSR2", None)
_PYTHON = str(Path(os.__file__).parent)
_LEAVE = os._exit


class OverrunError(TimeoutError):
    """A call has run for longer than it may; its traceback ends where it stood."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"it has run for {seconds:g} s and did not return")


class _Ended(BaseException):
    """Raised in the call; no Exception, so that code which catches those does not catch it."""


class _Limit:
    """What is watched in this process."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self.ends_process = True
        """Whether a call that cannot be ended otherwise ends the process."""
        self.running: dict[int, float] = {}
        """Thread → when its call began, in seconds of the monotonic clock."""
        self.places: dict[int, str] = {}
        """Thread that was told to end → where it stood."""
        self.lock = threading.Lock()
        self.process = 0
        self.dump: IO[Any] | None = None
        """Where Python writes the lines on which its threads stand when it ends; None: to standard error."""
        self.armed = 0.0

    def start(self) -> None:
        """The thread that looks, and what ends a call of the main thread; once in a process."""
        self.process = os.getpid()
        self.running.clear()
        if _SIGNAL is not None and threading.current_thread() is threading.main_thread():
            signal.signal(_SIGNAL, _end_call)
        os._exit = _leave  # type: ignore[assignment]
        threading.Thread(target=self._look, name="time limit", daemon=True).start()

    def arm(self, now: float) -> None:
        """Ends the process if nobody comes by in time, which is so where C code never gives Python a turn."""
        import faulthandler

        self.armed = now
        if self.ends_process and self.seconds is not None:
            with suppress(Exception):  # standard error may be closed, or no file
                file: Any = self.dump or sys.__stderr__
                faulthandler.dump_traceback_later(self.seconds + 2 * GRACE, exit=True, file=file)

    def _look(self) -> None:
        while True:
            time.sleep(TICK)
            now = time.monotonic()
            with self.lock:
                for thread, began in list(self.running.items()):
                    self._judge(thread, now - began)
                if self.armed and self.running:
                    self.arm(now)
                elif self.armed:
                    import faulthandler

                    faulthandler.cancel_dump_traceback_later()
                    self.armed = 0.0

    def _judge(self, thread: int, passed: float) -> None:
        seconds = self.seconds
        if seconds is None or passed < seconds:
            return
        if thread not in self.places:
            self.places[thread] = _place(sys._current_frames().get(thread))
            _raise_in(thread)
        elif passed > seconds + GRACE and self.ends_process:
            text = f"error: {self.places[thread]}it has run for {seconds:g} s and cannot be ended\n"
            with suppress(OSError):
                os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, text.encode())
            _LEAVE(EXIT_ERROR)


def _of_environment() -> float | None:
    with suppress(ValueError):
        return float(os.environ.get(VARIABLE, "")) or None
    return None


LIMIT = _Limit(_of_environment())
"""That of this process."""


@contextmanager
def limited(seconds: float | None, *, ends_process: bool = True) -> Iterator[None]:
    """While it is open a call may take so long; None or 0: as long as it likes.

    ends_process: one that cannot be ended otherwise ends the process, with status 2.
    """
    before = LIMIT.seconds, LIMIT.ends_process
    LIMIT.seconds, LIMIT.ends_process = seconds or None, ends_process
    try:
        yield
    finally:
        LIMIT.seconds, LIMIT.ends_process = before


def called(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function of a user's own answers. Raises OverrunError when it does not within the limit."""
    me = threading.get_ident()
    if LIMIT.seconds is None:
        return function(*arguments)
    if LIMIT.process != os.getpid():
        LIMIT.start()
    now = time.monotonic()
    if now - LIMIT.armed > 1:
        LIMIT.arm(now)
    within = me in LIMIT.running
    LIMIT.running[me] = now
    try:
        try:
            return function(*arguments)
        finally:
            _returned(me, within=within)
    except _Ended as ended:
        _returned(me, within=within)
        LIMIT.places.pop(me, None)
        raise OverrunError(LIMIT.seconds or PATIENCE).with_traceback(ended.__traceback__) from None


def _returned(thread: int, *, within: bool) -> None:
    """From here on nothing is raised in it for the call. within: another call goes on, whose time begins anew."""
    with LIMIT.lock:
        if within:
            LIMIT.running[thread] = time.monotonic()
        else:
            LIMIT.running.pop(thread, None)
        if thread in LIMIT.places:
            _raise_later(thread, None)


def _raise_in(thread: int) -> None:
    if _SIGNAL is not None and thread == threading.main_thread().ident and signal.getsignal(_SIGNAL) is _end_call:
        signal.pthread_kill(thread, _SIGNAL)
    else:
        _raise_later(thread, _Ended)


def _raise_later(thread: int, what: type[BaseException] | None) -> None:
    """Has a thread raise it at its next line of Python; None takes back what it has not raised yet."""
    import ctypes

    argument = None if what is None else ctypes.py_object(what)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), argument)


def _end_call(_: int, __: FrameType | None) -> None:
    """Where the main thread is told to end its call, unless it has ended meanwhile."""
    if threading.get_ident() in LIMIT.running:
        raise _Ended


def _leave(status: int) -> None:
    """``os._exit``, but in a call of a user's own: its end is no answer."""
    if os.getpid() == LIMIT.process and threading.get_ident() in LIMIT.running:
        raise SystemExit(f"os._exit({status}) would end the scheduler without an answer")
    _LEAVE(status)


def _place(frame: FrameType | None) -> str:
    """The innermost line that is neither Python's nor the project's own."""
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(("<", _PYTHON)) and "site-packages" not in name and not _is_project(frame):
            return f"{name}, line {frame.f_lineno}: "
        frame = frame.f_back
    return ""


def _is_project(frame: FrameType) -> bool:
    module = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return module in ("kubescheduler", "algorithmprovider", "predicates", "priorities", "clusterstate")
