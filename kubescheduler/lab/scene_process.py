"""The process of a tab: its scene lives there, and code of a user's own can only ever end that.

Processes are forked from one that has nothing but what the command line named, and no threads. While a process answers,
an understudy that it forked stands by: a copy of the scene as it was before. It looks at calls of a user's own, hears
when an answer is no longer wanted, and then ends the process and takes its place.
"""

from __future__ import annotations

import gc
import os
import re
import signal
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

import attrs
import msgspec

from algorithmprovider.code_watch import TICK, CodeWatch
from algorithmprovider.custom_code import LIMIT
from clusterstate.errors import InputError

OPEN = "open"
"""What opens the scene of a tab, with its name; no verb, since it has no scene yet."""
REREAD = "reread"
"""Has the scene read files again that were saved; answers with what is wrong with them."""
CHANGING = frozenset({"edit", "undo", "redo", "exerciseFile", "exerciseCheck", "exerciseHint", OPEN, REREAD})
"""What changes the scene. It is not stopped because another is asked meanwhile, and calls of a user's own that did not
return before are tried again."""

_STOP = "stop"
_DIED = "the process of this tab ended, and nothing of it is an answer"


Opens = Callable[[Mapping[str, Any]], Any]
"""Makes the scene that the page asks for: it has ``version``, which grows with each change, ``watched`` for the files
outside that it is made of, and ``reread``, which reads these again and gives what is wrong with them; everything else
is asked through verbs. Raises InputError with every problem."""


class SceneCode(msgspec.Struct, frozen=True):
    """What processes run."""

    verbs: Mapping[str, Callable[[Any, dict[str, Any]], Mapping[str, Any]]]
    """Name → what answers, of a scene and its parameters."""
    opens: Opens
    """Makes the scene of a tab, of what the page says to open."""
    unexpected: Callable[[Exception], str]
    """What is said of a fault in this program."""


class _Asked(NamedTuple):
    """Pickled, since the server is to be trusted; replies are not, since a student's code runs where they come from."""

    number: int
    verb: str
    asked: dict[str, Any]


class _Reply(msgspec.Struct, array_like=True):
    body: bytes = b""
    problems: list[str] = []
    """Why the scene refuses."""
    fault: str = ""
    """What is said of a fault in this program."""
    stopped: bool = False
    lost: bool = False
    """Whether the process ended over it; ``problems`` says why."""
    version: int = 0
    files: list[bytes] = []
    """What the scene watches."""
    process: int = 0


class StoppedError(Exception):
    """The answer was no longer wanted."""


class FaultError(Exception):
    """A fault in this program; its text is what is said of it."""


class SceneProcess:
    """A tab's process, as the server sees it. One thread at a time asks; any may stop it."""

    def __init__(self, connected: socket.socket) -> None:
        self.version = 0
        self.files: list[Path] = []
        """What the scene watches."""
        self.process = 0
        """Its id; another once an understudy has taken over."""
        self._socket = connected
        self._connection = Connection(os.dup(connected.fileno()))
        self._number = 0
        self._lock = threading.Lock()

    def ask(self, verb: str, asked: dict[str, Any]) -> bytes:
        """The answer. Raises InputError for the scene's no, StoppedError, FaultError; EOFError or OSError when the
        process is gone."""
        with self._lock:
            self._number += 1
            self._connection.send(_Asked(self._number, verb, asked))
        reply = msgspec.msgpack.decode(self._connection.recv_bytes(), type=_Reply)
        self.version, self.process, self.files = (
            reply.version,
            reply.process,
            [Path(os.fsdecode(file)) for file in reply.files],
        )
        if reply.stopped:
            raise StoppedError
        if reply.problems:
            raise InputError(reply.problems)
        if reply.fault:
            raise FaultError(reply.fault)
        return reply.body

    def stop(self) -> None:
        """What is being answered is not wanted any more."""
        with self._lock, suppress(OSError):
            self._connection.send(_Asked(self._number, _STOP, {}))

    def close(self) -> None:
        """Ends the process; an answer that is waited for fails."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()


class SceneProcesses:
    """Where they come from: a process that is forked when this is made, which should be before there are threads."""

    def __init__(self, code: SceneCode) -> None:
        self._ours, theirs = socket.socketpair()
        sys.stdout.flush()
        sys.stderr.flush()
        self._process = os.fork()
        if self._process == 0:
            self._ours.close()
            try:
                _fork_scenes(theirs, code)
            finally:
                os._exit(0)
        theirs.close()

    def new(self) -> SceneProcess:
        """A process without a scene."""
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._ours, [b"x"], [theirs.fileno()])
        return SceneProcess(ours)

    def close(self) -> None:
        """No more of them; those that there are end with their connections."""
        if self._process:
            self._ours.shutdown(socket.SHUT_RDWR)
            self._ours.close()
            os.waitpid(self._process, 0)
            self._process = 0


# --- in the processes ----------------------------------------------------------------------------


MOST_EXACT = 2**53 - 1
"""JavaScript's numbers are exact up to here."""
LONG_NUMBER = re.compile(rb"[0-9]{16}")
"""What an answer with a number beyond that has in it."""


def answer_bytes(answer: Mapping[str, Any]) -> bytes:
    """An answer as JSON; records by their fields, numbers of numpy as numbers."""
    body = msgspec.json.encode(answer, enc_hook=_plain)
    return msgspec.json.encode(_exact(msgspec.json.decode(body))) if LONG_NUMBER.search(body) else body


def _exact(answer: Any) -> Any:
    """The same with whole numbers as text where a browser's numbers have no place for all their digits."""
    if isinstance(answer, dict):
        return {key: _exact(value) for key, value in answer.items()}
    if isinstance(answer, list):
        return [_exact(value) for value in answer]
    return str(answer) if type(answer) is int and abs(answer) > MOST_EXACT else answer


def _plain(value: Any) -> Any:
    """What msgspec does not know: numbers and arrays of numpy, and read-only mappings."""
    to_list: Callable[[], Any] | None = getattr(value, "tolist", None)
    if to_list is not None:
        return to_list()
    if isinstance(value, Mapping):
        return dict(value)
    raise NotImplementedError


def _fork_scenes(place: socket.socket, code: SceneCode) -> None:
    """Forks a process for each connection that arrives, until there come no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for the server, and ends these with it
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    LIMIT.keeps = True
    gc.freeze()
    while True:
        _, files, _, _ = socket.recv_fds(place, 1, 1)
        if not files:
            return
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            place.close()
            _ScenePlayer(Connection(files[0]), code).play()
        os.close(files[0])


class _ScenePlayer:
    """The process itself."""

    def __init__(self, connection: Connection, code: SceneCode) -> None:
        self._connection, self._code = connection, code
        self._scene: Any = None
        self._stopped = 0

    def play(self) -> None:
        """Answers one after the other until the server closes the connection."""
        with suppress(EOFError, OSError):
            while True:
                asked: _Asked = self._connection.recv()
                if asked.verb == _STOP:
                    self._stopped = asked.number
                    continue
                reply = _Reply(stopped=True) if asked.number <= self._stopped else self._guarded(asked)
                if reply.lost and asked.verb not in CHANGING:  # what can be answered without calls of a user's own
                    again = self._guarded(asked)
                    reply = reply if again.lost else again
                reply.process = os.getpid()
                if self._scene is not None:
                    reply.version, reply.files = self._scene.version, [*map(os.fsencode, self._scene.watched())]
                self._connection.send_bytes(msgspec.msgpack.encode(reply))
        self._end()

    def _end(self) -> None:
        """Without what other parts of the program do at their end; a scene clears up after itself."""
        self._scene = None
        gc.collect()
        os._exit(0)

    def _guarded(self, asked: _Asked) -> _Reply:
        """The reply, or what an understudy says that takes over in the midst of it."""
        watch, me = CodeWatch(), os.getpid()
        hears, says = os.pipe()
        if asked.verb in CHANGING:
            LIMIT.overrun = ""
        understudy = os.fork()
        if understudy == 0:
            os.close(says)
            reply = self._stand_by(asked, me, hears, watch)
        else:
            LIMIT.begin(watch)
            reply = self._reply(asked)
            LIMIT.end()
            sys.stdout.flush()
            os.write(says, b"x")
            os.waitpid(understudy, 0)
            os.close(says)
        os.close(hears)
        watch.close()
        return reply

    def _stand_by(self, asked: _Asked, process: int, hears: int, watch: CodeWatch) -> _Reply:
        """Does not return unless the process ended without a reply.

        It may have one just as it is killed: the reply is not sent then, and nobody but this process is left.
        """
        stopped = False
        while os.getppid() == process:
            ready = wait([hears, self._connection], TICK)
            if hears in ready and not (stopped or watch.has_ended) and os.read(hears, 1):
                os._exit(0)
            if self._connection in ready and not stopped:
                try:
                    stopped = self._connection.recv().number >= asked.number
                except (EOFError, OSError):
                    os.kill(process, signal.SIGKILL)
                    self._end()
                if stopped:
                    os.kill(process, signal.SIGKILL)
            watch.look(process)
        if stopped:
            return _Reply(stopped=True)
        LIMIT.overrun = watch.problem(_DIED)
        return _Reply(problems=[LIMIT.overrun], lost=True)

    def _reply(self, asked: _Asked) -> _Reply:
        try:
            if asked.verb == OPEN:
                tab = asked.asked.pop("tab")
                self._scene = scene = self._code.opens(asked.asked)
                shown = self._code.verbs["state"](scene, {})
                return _Reply(answer_bytes({"tab": tab, "version": scene.version, "state": shown}))
            assert self._scene is not None
            if asked.verb == REREAD:
                return _Reply(answer_bytes({"problems": self._scene.reread()}))
            answer = self._code.verbs[asked.verb](self._scene, asked.asked)
            return _Reply(answer_bytes({**answer, "version": self._scene.version}))
        except InputError as error:
            return _Reply(problems=[one.encode(errors="replace").decode() for one in error.problems])
        except Exception as error:
            return _Reply(fault=self._code.unexpected(error))


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
