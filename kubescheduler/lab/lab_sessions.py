"""The tabs of a server, a scene for each, and what their pages ask.

Tabs are bounded in number: who comes late takes the place of who was idle longest. A question goes from the request to
the scene's process and back.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from clusterstate.errors import InputError, listed
from kubescheduler.lab.plugin_file import stamp_of
from kubescheduler.lab.scene_process import (
    CHANGING,
    OPEN,
    REREAD,
    Busy,
    FaultError,
    SceneProcess,
    SceneProcesses,
    StoppedError,
    Superseded,
    VerbWorker,
    Work,
    answer_bytes,
)
from kubescheduler.sources.untrusted import exceeded, limit


class ServerLimits(msgspec.Struct, frozen=True):
    """Bounds of one server; tests choose smaller ones."""

    sessions: int = 64
    """Tabs at once; one more takes the place of the one that was idle longest."""
    idle: float = 8 * 3600
    """Seconds without a request after which a session goes."""
    memory: int = 3 * 2**30
    """Bytes of all tabs above which a new tab takes the place of the one that was idle longest."""
    body: int = 2 * 2**20
    """Bytes of a request."""
    opening_body: int = 32 * 2**20
    """Bytes of a request that opens a scene, which may be a whole file."""
    receiving: float = 30
    """Seconds in which a request's body has to arrive."""
    answering: float = 60
    """Seconds after which a verb is stopped."""
    impatient: float = 1
    """Seconds after which a verb that only reads is stopped when its answer is no longer wanted."""
    waiting: int = 32
    """Requests of one tab that wait for their turn."""
    streams: int = 4
    """Event streams of one tab."""
    heartbeat: float = 15
    """Seconds between signs of life on a stream without events."""
    watching: float = 0.4
    """Seconds between looks at the files that scenes watch."""


_SHARE = re.compile(r"^Pss: +(\d+) kB", re.MULTILINE)


def resident_bytes(processes: Iterable[int]) -> int:
    """What they hold together, what is shared counted once; 0 where the system does not say it (it is not Linux)."""
    kilobytes = 0
    for process in processes:
        with suppress(OSError):
            found = _SHARE.search(Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii"))
            kilobytes += int(found[1]) if found else 0
    return kilobytes * 1024


def stamps(paths: Iterable[Path]) -> Mapping[Path, tuple[int, int] | None]:
    """Path → see ``stamp_of``."""
    return {path: stamp_of(path) for path in paths}


Event = Mapping[str, Any]
"""What an event stream tells; its keys are those of the message."""

GONE: Event = {"what": "gone"}
"""The last event of a session that was dropped."""


class LabSession:
    """One tab: the process of its scene, the thread that waits for that, and who listens."""

    def __init__(self, limits: ServerLimits, process: SceneProcess) -> None:
        self.tab = secrets.token_urlsafe(12)
        """Its name, which nobody can guess."""
        self.process = process
        """Where the scene is."""
        self.worker = VerbWorker(process.stop, most=limits.waiting, impatient=limits.impatient)
        """Does what the page asks, in order."""
        self.used: float = 0
        """When it was last asked something, in seconds of the monotonic clock."""
        self.listeners: list[asyncio.Queue[Event | None]] = []
        """Open event streams."""
        self.gone = False
        """Whether it was dropped."""
        self.seen: Mapping[Path, object] = {}
        """The watched files as they were last seen."""

    def tell(self, event: Event | None) -> None:
        """Puts an event on each stream, None to end it; in the thread of the event loop."""
        for listener in self.listeners:
            if listener.full():  # a stream that nobody reads: the next hello says the version anyway
                continue
            listener.put_nowait(event)

    def close(self) -> None:
        """Ends thread and process."""
        self.worker.close()
        self.process.close()


class Sessions:
    """The sessions of a server; for the thread of the event loop only."""

    def __init__(
        self,
        limits: ServerLimits,
        clock: Callable[[], float] = time.monotonic,
        memory: Callable[[Iterable[int]], int] = resident_bytes,
    ) -> None:
        self._limits, self._clock, self._memory = limits, clock, memory
        self._by_tab: dict[str, LabSession] = {}

    def __len__(self) -> int:
        return len(self._by_tab)

    def all(self) -> list[LabSession]:
        """Those that are open."""
        return list(self._by_tab.values())

    def keep(self, session: LabSession) -> None:
        """Counts it from now on; others go where there are too many, or their processes are too large."""
        self.drop_idle()
        while len(self._by_tab) >= self._limits.sessions:
            self._drop_oldest()
        if self._by_tab and self._memory(one.process.process for one in self.all()) > self._limits.memory:
            self._drop_oldest()
        session.used = self._clock()
        self._by_tab[session.tab] = session

    def find(self, tab: str) -> LabSession | None:
        """The session, from now on the one used last; None for one that is unknown or was dropped."""
        session = self._by_tab.get(tab)
        if session is not None:
            session.used = self._clock()
        return session

    def drop_idle(self) -> None:
        """Drops those that nobody has asked for long."""
        since = self._clock() - self._limits.idle
        for session in [one for one in self._by_tab.values() if one.used < since and not one.listeners]:
            self.drop(session)

    def drop(self, session: LabSession) -> None:
        """Ends it: its streams say that it is gone."""
        self._by_tab.pop(session.tab, None)
        session.close()
        session.gone = True
        session.tell(GONE)
        session.tell(None)

    def close(self) -> None:
        """Ends all; streams just end, so that pages try again."""
        for session in self.all():
            session.close()
            session.tell(None)
        self._by_tab.clear()

    def _drop_oldest(self) -> None:
        def order(session: LabSession) -> tuple[bool, float]:
            return (not session.worker.idle, session.used)

        self.drop(min(self._by_tab.values(), key=order))


MOST_UNREAD = 100
"""Events that wait for a reader; a browser that sleeps does not fill the memory."""

RETRY = b"retry: 1000\n\n"
"""Milliseconds after which a browser connects again."""


async def event_stream(session: LabSession, heartbeat: float) -> AsyncIterator[bytes]:
    """The events of a session from now on, after a first with its version; a comment after so many silent seconds."""
    queue: asyncio.Queue[Event | None] = asyncio.Queue(MOST_UNREAD)
    session.listeners.append(queue)
    try:
        if session.gone:  # dropped after the stream was asked for, and before it began
            yield _written(GONE)
            return
        yield RETRY
        yield _written({"version": session.process.version, "what": "hello"})
        while True:
            try:
                event = await asyncio.wait_for(queue.get(), heartbeat)
            except TimeoutError:
                yield b": still here\n\n"
                continue
            if event is None:
                return
            yield _written(event)
    finally:
        session.listeners.remove(queue)


async def gone_stream() -> AsyncIterator[bytes]:
    """What a tab hears whose session the server does not have: that it is gone."""
    yield _written(GONE)


def _written(event: Event) -> bytes:
    return b"data: " + msgspec.json.encode(event) + b"\n\n"


_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"?')
_BRACKET = re.compile(rb"[][{}]")


class PageRequest(msgspec.Struct, frozen=True):
    """What a page sent."""

    tab: str
    """Whose scene is asked; empty when one is opened."""
    slot: str | None
    """What the request is one of; None: it is never superseded."""
    serial: int
    """Its number in the slot."""
    asked: dict[str, Any]
    """The verb's own parameters."""


def read_request(body: bytes) -> PageRequest:
    """The body of a POST. Raises InputError with every fault."""
    _check_depth(body)
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise InputError("the request is no JSON") from None
    if not isinstance(found, dict):
        raise InputError("the request is no JSON object")
    tab, slot, serial = found.pop("tab", ""), found.pop("ask", None), found.pop("serial", 0)
    problems = []
    if not isinstance(tab, str):
        problems.append("tab: must be text")
    if slot is not None and not (isinstance(slot, str) and len(slot) <= 100):
        problems.append("ask: must be a short text")
    if not isinstance(serial, int) or isinstance(serial, bool) or serial < 0:
        problems.append("serial: must be a whole number")
    if problems:
        raise InputError(problems)
    return PageRequest(tab, slot, serial, found)


def _check_depth(body: bytes) -> None:
    """Raises InputError for lists and objects nested deeper than any file that is read may be."""
    depth, most = 0, limit("depth")
    for bracket in _BRACKET.findall(_TEXT.sub(b"", body)):
        depth += 1 if bracket in b"[{" else -1
        if depth > most:
            raise InputError(f"the request is nested too deeply: {exceeded('depth')}")


JSON = "application/json"
NOT_HERE = "this tab's scene is no longer here; open it again"
LONG = "this takes too long, and was stopped"
CROWDED = "too much is asked at once, or the server ends"


class RefusedError(Exception):
    """A request that is answered with a status and problems: one that the page does not send, or that found no time."""

    def __init__(self, status: int, *problems: str) -> None:
        self.status, self.problems = status, problems
        super().__init__(status, *problems)


class GoneError(Exception):
    """A question of a tab whose scene is not here."""


def refused_answer(kind: str, *problems: str) -> Response:
    """The scene's no to a question that was in order: an answer like others, since browsers write every other status on
    their console. kind: ``asked`` (the scene refuses it), ``tab`` (no such scene), ``superseded`` (by a newer one)."""
    return _json(answer_bytes({"refused": kind, "problems": listed(problems)}))


def problems_answer(status: int, *problems: str, headers: Mapping[str, str] | None = None) -> Response:
    """An answer that says what is wrong."""
    return _json(answer_bytes({"problems": listed(problems)}), status, headers)


def _json(body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(body, status, {"cache-control": "no-store", **(headers or {})}, JSON)


class AskedVerbs(msgspec.Struct, frozen=True):
    """Answers the page's questions, each in the process of its scene."""

    verbs: frozenset[str]
    """Names of what scenes answer."""
    shared: Mapping[str, Callable[[], Mapping[str, Any]]]
    """Name → what is answered alike to every tab, here."""
    processes: SceneProcesses
    """Where scenes are."""
    sessions: Sessions
    limits: ServerLimits
    """How much is taken on."""
    unexpected: Callable[[Exception], str]
    """What is said of a fault in this program."""

    async def answer(self, request: Request) -> Response:
        """The answer to one question, or what is wrong with it."""
        verb = request.path_params["verb"]
        try:
            if verb != OPEN and verb not in self.verbs and verb not in self.shared:
                raise RefusedError(404, f"there is no verb {verb[:50]}")
            asked = await self._read(request, self.limits.opening_body if verb == OPEN else self.limits.body)
            body = await (self._open(request, asked) if verb == OPEN else self._ask(request, verb, asked))
        except ClientDisconnect:
            return Response(status_code=400)
        except Exception as error:
            return self._refusal(error)
        return _json(body)

    def _refusal(self, error: Exception) -> Response:
        """What says why there is no answer."""
        match error:
            case InputError():
                return refused_answer("asked", *error.problems)
            case GoneError():
                return refused_answer("tab", NOT_HERE)
            case Superseded() | StoppedError():
                return refused_answer("superseded", "superseded")
            case RefusedError():
                return problems_answer(error.status, *error.problems)
            case Busy():
                return problems_answer(503, CROWDED)
            case _:
                said = str(error) if isinstance(error, FaultError) else self.unexpected(error)
                return problems_answer(500, said)

    async def look_at_files(self, session: LabSession) -> None:
        """Has the scene read again what changed on disk since it was last looked at, and tells the page."""
        process = session.process
        seen = await asyncio.to_thread(stamps, process.files)
        before, session.seen = session.seen, seen
        if before == seen:
            return
        try:
            found = await self._done(session, Work(partial(process.ask, REREAD, {}), reads=False))
            problems = msgspec.json.decode(found)["problems"]
        except InputError as error:
            problems = list(error.problems)
        except (Busy, RefusedError, GoneError, StoppedError, FaultError):
            session.seen = before
            return
        session.tell({"version": process.version, "what": "plugin", "problems": problems})

    async def _read(self, request: Request, most: int) -> PageRequest:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            raise RefusedError(415, f"a question is {JSON}")
        length = request.headers.get("content-length", "")
        if length.isdecimal() and int(length) > most:
            raise RefusedError(413, f"a question has at most {most:,} bytes")
        body = bytearray()
        try:
            async with asyncio.timeout(self.limits.receiving):
                async for piece in request.stream():
                    body += piece
                    if len(body) > most:
                        raise RefusedError(413, f"a question has at most {most:,} bytes")
        except TimeoutError:
            raise RefusedError(408, "the question did not arrive in time") from None
        try:
            return await asyncio.to_thread(read_request, bytes(body))
        except InputError as error:
            raise RefusedError(400, *error.problems) from error

    async def _ask(self, request: Request, verb: str, asked: PageRequest) -> bytes:
        session = self.sessions.find(asked.tab)
        if session is None:
            raise GoneError
        if verb in self.shared:
            answer = await asyncio.to_thread(self.shared[verb])
            return answer_bytes({**answer, "version": session.process.version})
        act = partial(session.process.ask, verb, asked.asked)
        work = Work(act, asked.slot, asked.serial, reads=verb not in CHANGING)
        body = await self._done(session, work, request)
        if verb in CHANGING and len(session.listeners) > 1:  # the tab was duplicated: its pages have one scene
            session.tell({"version": session.process.version, "what": "changed"})
        return body

    async def _open(self, request: Request, asked: PageRequest) -> bytes:
        session = LabSession(self.limits, self.processes.new())
        act = partial(session.process.ask, OPEN, {**asked.asked, "tab": session.tab})
        try:
            body = await self._done(session, Work(act, reads=True), request)
        except BaseException:
            session.close()
            raise
        session.seen = stamps(session.process.files)
        self.sessions.keep(session)
        return body

    async def _done(self, session: LabSession, work: Work, request: Request | None = None) -> bytes:
        """What came of the work. It is withdrawn when the page goes away, and stopped after its time."""
        session.worker.submit(work)
        answer: asyncio.Future[Any] = asyncio.wrap_future(work.answer)
        left: asyncio.Future[Any] = asyncio.ensure_future(_left(request))
        try:
            await asyncio.wait({answer, left}, timeout=self.limits.answering, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done() and left.done():
                session.worker.withdraw(work, Superseded())
                await asyncio.wait({answer}, timeout=self.limits.answering)
            if not answer.done():
                session.worker.withdraw(work, RefusedError(503, LONG), also_begun=True)
            body: bytes = await answer
            return body
        except (EOFError, OSError):  # the process was ended from outside
            self.sessions.drop(session)
            raise GoneError from None
        finally:
            left.cancel()


async def _left(request: Request | None) -> None:
    """Returns when the page has gone away before it was answered; never, where there is no page."""
    while request is None:
        await asyncio.sleep(3600)
    while (await request.receive())["type"] != "http.disconnect":
        continue
