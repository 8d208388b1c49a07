"""Calls of users' own algorithms: what they do wrong, in one sentence that says where, by which rule, for which pod and
node; and how long they may take.

A call that does not return is ended, with the line on which it stood. Whoever hosts such code sets the limit
(``limited``, or the variable KUBESCHEDULER_PATIENCE); without one nothing is watched. Another process looks
(``code_watch``): the one that started this one for that code, or one that is started with the first call. A call that
runs too long gets an exception: the main thread by a signal, which also wakes it from sleep, others at their next line
of Python. Code that swallows it, or never comes back from C, takes the process with it.

At the end is what installed packages bring; where they bring nothing, ``importlib.metadata`` is not imported, which
takes long.
"""

from __future__ import annotations

import inspect
import operator
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

import msgspec

from algorithmprovider import code_watch
from algorithmprovider.code_watch import NOT_THEIRS, SIGNAL, CodeWatch
from clusterstate.errors import InputError, KubeSchedulerError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


RAISED = (Exception, SystemExit, GeneratorExit)
"""Whatever a stranger's code raises, but for the interrupts of somebody at the keyboard."""


class CustomCodeError(InputError):
    """A predicate, priority or plugin of a user's own raised an exception, or answered what it must not.

    It is no answer of a scheduler, so it ends a command with the status of wrong input.
    """

    at: str = ""
    """Where in an attempt it was met, as ``Decision.error_at`` has it; empty outside of one."""

    def of_pod(self, pod: str) -> CustomCodeError:
        """The same with the pod that was being decided, for rules that judge pods alike at once."""
        out = CustomCodeError(f"{problem} (pod {pod})" for problem in self.problems)
        out.at = self.at
        return out


class CustomCall(msgspec.Struct, frozen=True, eq=False):
    """A function of a user's own that is about to be called, and the errors that name it."""

    name: str
    """As errors call it: ``plugin Mine, filter``."""
    function: Callable[..., Any]
    pod: str = ""
    """The pod that it is asked about, as namespace/name; empty where a whole class of pods is."""
    foreign: bool = True
    """It is a user's; of one that is not, exceptions are no fault of a user's, and are passed on."""

    def ask(self, *arguments: Any, node: str = "") -> Any:
        """What the function answers. node: the one that it is asked about, if it is one.

        Raises CustomCodeError for whatever it raises, but for errors of this project's, which are passed on.
        """
        try:
            return _closed(called(self.function, *arguments) if self.foreign else self.function(*arguments))
        except KubeSchedulerError:
            raise
        except RAISED as error:
            if not self.foreign:
                raise
            place = raised_at(error, self.function)
            raise CustomCodeError(f"{place}{self._about(node)}: {exception_text(error)}") from error

    def refused(self, text: str, node: str = "") -> CustomCodeError:
        """The error for an answer that the function must not give. text: what is wrong with it."""
        return CustomCodeError(f"{defined_at(self.function)}{self._about(node)}: {text}")

    def _about(self, node: str) -> str:
        about = (("pod", self.pod), ("node", node))
        return self.name + "".join(f", {what} {who}" for what, who in about if who)


def described(answer: object) -> str:
    """An answer as errors show it, cut when it is long."""
    try:
        text = repr(answer)
    except Exception:  # whatever a stranger's code raises
        text = f"an object of {type(answer).__name__}"
    return f"{text[:60]}…" if len(text) > 60 else text


def _closed(answer: Any) -> Any:
    """The answer; what an ``async`` function returns is refused by its caller, and not awaited."""
    if inspect.iscoroutine(answer):
        answer.close()
    return answer


def exception_text(error: BaseException) -> str:
    """An exception of a stranger's code as errors show it."""
    if isinstance(error, OverrunError):
        return str(error)
    try:
        text = str(error)
    except Exception:  # also that is a stranger's code
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def defined_at(function: Callable[..., Any]) -> str:
    """``file.py, line 3: ``, where a function begins; nothing for one without a source."""
    code = _code(function)
    return "" if code is None else f"{code.co_filename}, line {code.co_firstlineno}: "


def raised_at(error: BaseException, function: Callable[..., Any]) -> str:
    """``file.py, line 7: ``, the line of the function's own file in which it was raised, as deep as that goes."""
    if isinstance(error, OverrunError) and error.place:
        return error.place
    code = _code(function)
    frames = traceback.extract_tb(error.__traceback__)[1:]
    own = [frame for frame in frames if code is not None and frame.filename == code.co_filename]
    if not own:
        return defined_at(function)
    return f"{own[-1].filename}, line {own[-1].lineno}: "


def is_integer(answer: object) -> bool:
    """Whether an answer is a whole number, also one of numpy's; True and False are none."""
    if isinstance(answer, bool):
        return False
    try:
        operator.index(answer)  # type: ignore[arg-type]
    except Exception:  # whatever a stranger's code raises
        return False
    return True


def _code(function: Callable[..., Any]) -> Any:
    """The code of a function, method, partial or callable object; that of ``__init__`` for a class."""
    function = inspect.unwrap(getattr(function, "func", function))
    if isinstance(function, type):
        function = function.__init__  # type: ignore[misc]
    elif not hasattr(function, "__code__") and not hasattr(function, "__func__"):
        function = getattr(type(function), "__call__", function)  # noqa: B004
    return getattr(getattr(function, "__func__", function), "__code__", None)


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


def installed_entries(group: str) -> list[EntryPoint]:
    """The entry points of a group."""
    if not may_be_installed(group):
        return []
    from importlib.metadata import entry_points

    return list(entry_points(group=group))


def may_be_installed(group: str) -> bool:
    """Whether an installed package may have entry points of a group; False is certain.

    Looks at the folders of ``sys.path`` for the files that installers write. True where there are archives, packages
    of older kinds, or other ways to find packages than these folders.
    """
    wanted = group.encode()
    return any(hasattr(finder, "find_distributions") and not _is_standard(finder) for finder in sys.meta_path) or any(
        _may_have(path or ".", wanted) for path in dict.fromkeys(sys.path)
    )


def _is_standard(finder: object) -> bool:
    """Whether packages that a finder finds are in folders."""
    return getattr(finder, "__module__", "") == "_frozen_importlib_external"


def _may_have(folder: str, wanted: bytes) -> bool:
    try:
        names = os.listdir(folder)
    except NotADirectoryError:
        return True
    except OSError:
        return False
    for name in names:
        if name.endswith(".egg"):
            return True
        if name.endswith((".dist-info", ".egg-info")) and wanted in _read(
            os.path.join(folder, name, "entry_points.txt")
        ):
            return True
    return False


def _read(path: str) -> bytes:
    """What is in a file; nothing if there is none."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
