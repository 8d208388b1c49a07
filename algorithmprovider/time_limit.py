"""How long a call of a user's own code may take: one that does not return is ended, with the line on which it stood.

Whoever hosts such code sets the limit (``limited``, or the variable KUBESCHEDULER_PATIENCE); without one nothing is
watched. Another process looks (``code_watch``): the one that started this one for that code, or one that is started
with the first call. A call that runs too long gets an exception: the main thread by a signal, which also wakes it from
sleep, others at their next line of Python. Code that swallows it, or never comes back from C, takes the process with
it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from algorithmprovider import code_watch
from algorithmprovider.code_watch import NOT_THEIRS, SIGNAL, CodeWatch

VARIABLE = "KUBESCHEDULER_PATIENCE"
"""Seconds that a call may take, for processes that nobody gives a limit otherwise."""
COMPLAINTS = "KUBESCHEDULER_COMPLAINTS"
"""``PROCESS:FILE``: the file of that process to which is written why it was ended; otherwise its standard error."""
PATIENCE = 10.0
"""Seconds by default."""
_LEAVE = os._exit


class OverrunError(TimeoutError):
    """A call has run for longer than it may; its traceback ends where it stood."""

    def __init__(self, text: str, place: str = "") -> None:
        """place: ``rules.py, line 5: ``, where it was another call that stood there; empty: the traceback says it."""
        super().__init__(text)
        self.place = place


class _Ended(BaseException):
    """Raised in the call; no Exception, so that code which catches those does not catch it."""


class _Limit:
    """What is watched in this process."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self.running: dict[int, float] = {}
        """Thread → when its call has to be over, in seconds of the monotonic clock."""
        self.told: set[int] = set()
        """Threads other than the main one that were told to end their calls."""
        self.overrun = ""
        """What is said of every call since one overran, ``rules.py, line 5: it has run …``; empty: they are made."""
        self.keeps = False
        """Whether ``overrun`` is set by a call that does."""
        self._watch: CodeWatch | None = None
        self._process = 0

    def begin(self, watch: CodeWatch | None = None) -> None:
        """From here on this process is watched; once in a process. watch: how another does it, None: start one."""
        import faulthandler

        self._process = os.getpid()
        self.running.clear()
        os._exit = _leave  # type: ignore[assignment]
        if SIGNAL is None:
            return
        try:
            self._watch = watch or CodeWatch.on_file()
        except OSError:  # a full disk: nothing is ended
            return
        faulthandler.unregister(SIGNAL)
        if threading.current_thread() is threading.main_thread():
            signal.signal(SIGNAL, _end_calls)
        faulthandler.register(SIGNAL, self._watch.dump, chain=signal.getsignal(SIGNAL) is _end_calls)
        if watch is None:
            _start_watcher(self._watch)
        else:
            faulthandler.enable(self._watch.dump)

    def end(self) -> None:
        """This process is not watched any more."""
        import faulthandler

        if SIGNAL is not None:
            faulthandler.unregister(SIGNAL)
        faulthandler.disable()
        self._watch, self._process = None, 0

    def note(self, thread: int, due: float | None) -> None:
        """Has the watcher know when the thread's call has to be over; None: it is."""
        if due is None:
            self.running.pop(thread, None)
        else:
            self.running[thread] = due
        if self._watch is not None:
            self._watch.note(min(self.running.values(), default=0.0), self.seconds or 0.0)

    @property
    def begun(self) -> bool:
        """Whether this process is watched; one that was forked from it is not."""
        return self._process == os.getpid()


def _of_environment() -> float | None:
    with suppress(ValueError):
        return float(os.environ.get(VARIABLE, "")) or None
    return None


LIMIT = _Limit(_of_environment())
"""That of this process."""


@contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """While it is open a call may take so long; None or 0: as long as it likes."""
    before, LIMIT.seconds = LIMIT.seconds, seconds or None
    if seconds and SIGNAL is not None and threading.current_thread() is threading.main_thread() and not LIMIT.begun:
        signal.signal(SIGNAL, _end_calls)
    try:
        yield
    finally:
        LIMIT.seconds = before


def called(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function of a user's own answers. Raises OverrunError when it does not within the limit."""
    me, seconds = threading.get_ident(), LIMIT.seconds
    if seconds is None:
        return function(*arguments)
    if LIMIT.overrun:
        place, colon, text = LIMIT.overrun.rpartition(": ")
        raise OverrunError(text, place + colon)
    if not LIMIT.begun:
        LIMIT.begin()
    within = me in LIMIT.running
    LIMIT.note(me, time.monotonic() + seconds)
    try:
        try:
            return function(*arguments)
        finally:
            _returned(me, seconds, within=within)
    except _Ended as ended:
        _returned(me, seconds, within=within)
        said = f"it has run for {seconds:g} s and did not return"
        if LIMIT.keeps:
            LIMIT.overrun = f"{_place(ended)}{said}"
        raise OverrunError(said).with_traceback(ended.__traceback__) from None


def _returned(thread: int, seconds: float, *, within: bool) -> None:
    """From here on nothing is raised in it for the call. within: another call goes on, whose time begins anew."""
    LIMIT.note(thread, time.monotonic() + seconds if within else None)
    if thread in LIMIT.told:
        LIMIT.told.discard(thread)
        _raise_later(thread, None)


def _end_calls(_: int, __: FrameType | None) -> None:
    """In the main thread: ends the calls that are still not over."""
    now = time.monotonic()
    late = [thread for thread, due in list(LIMIT.running.items()) if due <= now]
    for thread in late:
        if thread != threading.get_ident():
            LIMIT.told.add(thread)
            _raise_later(thread, _Ended)
    if threading.get_ident() in late:
        raise _Ended


def _place(error: BaseException) -> str:
    """``rules.py, line 5: ``, the innermost line of its traceback that is neither Python's nor the project's own."""
    own = [one for one in traceback.extract_tb(error.__traceback__) if not one.filename.startswith(NOT_THEIRS)]
    return f"{own[-1].filename}, line {own[-1].lineno}: " if own else ""


def _raise_later(thread: int, what: type[BaseException] | None) -> None:
    """Has a thread raise it at its next line of Python; None takes back what it has not raised yet."""
    import ctypes

    argument = None if what is None else ctypes.py_object(what)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), argument)


def _leave(status: int) -> None:
    """``os._exit``, but in a call of a user's own: its end is no answer."""
    if LIMIT.begun and threading.get_ident() in LIMIT.running:
        raise SystemExit(f"os._exit({status}) would end the scheduler without an answer")
    _LEAVE(status)


def _start_watcher(watch: CodeWatch) -> None:
    """A process that ends with this one; nobody waits for it."""
    process, _, file = os.environ.get(COMPLAINTS, "").partition(":")
    complaints = int(file) if process == str(os.getpid()) else 2
    words = [sys.executable, "-I", "-S", code_watch.__file__, *map(str, (os.getpid(), watch.board, watch.lines))]
    files = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1)]
    for end in (watch.board, watch.lines):
        os.set_inheritable(end, True)
    with suppress(OSError):  # where no process can be started, nothing is ended
        os.posix_spawn(sys.executable, words, os.environ, file_actions=[*files, (os.POSIX_SPAWN_DUP2, complaints, 2)])
    for end in (watch.board, watch.lines):
        os.set_inheritable(end, False)
