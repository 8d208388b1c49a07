"""What every API server of the tests has: HTTP on a port, a record of what was asked, faults and cuts on request."""

from __future__ import annotations

import abc
import asyncio
import json
import random
import socket
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

import attrs
from aiohttp import web

from kubescheduler.live.transport.io_thread import IoThread
from tests.support.apiserver.storage import StatusError, Storage

if TYPE_CHECKING:
    from tests.support.apiserver.real_server import RealStorage

ACCEPTING = 5
"""Turns of the event loop in which a connection is accepted."""

Answer = Callable[[web.Request], Awaitable[web.StreamResponse | None]]


@attrs.frozen(eq=False)
class Asked:
    """One request."""

    method: str
    path: str
    """With its query."""
    body: Any
    user_agent: str
    url: str
    """The address of the server that was used."""
    at: float
    """When it came, in seconds of the monotonic clock."""


@attrs.frozen(eq=False)
class Answered:
    """One request that the server was asked, which is not every one where there are faults."""

    asked: Asked
    code: int
    """The server's status, whether anybody learned of it or not."""
    at: float
    """When it was done, in seconds of the monotonic clock."""


ASKED = web.RequestKey("asked", Asked)


class FrontServer(abc.ABC):
    """Listens on a port of the loopback interface. Everything but the constructor is for any thread."""

    storage: Storage | RealStorage
    """What the server has, for whom HTTP is a detour."""

    def __init__(self, io: IoThread) -> None:
        self.asked: list[Asked] = []
        """Every request, in order."""
        self.done: list[Answered] = []
        """What the server was asked, in the order of the answers."""
        self.faults: list[Answer] = []
        """Each may answer instead of the server, or return None."""
        self.bound: Counter[str] = Counter()
        """Path of a binding → how often the server made it."""
        self.url = ""
        """Where it listens."""
        self._io = io
        self._ports: list[int] = []
        self._streams: set[asyncio.Task[Any]] = set()
        self._runner: web.AppRunner | None = None
        self._listens: list[socket.socket] = []

    # --- starting and ending -------------------------------------------------------------------

    def start(self, port: int = 0) -> None:
        """Listens; on the same port again after ``stop`` when that is given."""
        self._io.wait(self._start(port))

    def door(self) -> str:
        """One more address of the same server, by which those who use it are known."""
        return self._io.wait(self._opened(0))

    def stop(self) -> None:
        """Ends all connections at once."""
        self._io.wait(self._stop())

    def cut(self, share: float = 1.0) -> None:
        """Cuts each watch with this probability, without a word."""
        self._io.wait(self.cut_some(share))

    async def cut_some(self, share: float) -> None:
        """The same, on the I/O thread."""
        cut = [task for task in self._streams if random.random() < share]
        for task in cut:
            task.cancel()
        await asyncio.gather(*cut, return_exceptions=True)

    def restart(self) -> None:
        """Ends the server as a crash does, and starts it again on its port; what it stored is there."""
        port = int(self.url.rpartition(":")[2])
        self.stop()
        self.start(port)

    def __enter__(self) -> FrontServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def _start(self, port: int) -> None:
        app = web.Application(client_max_size=1 << 30)
        app.router.add_route("*", "/{tail:.*}", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.01)
        await self._runner.setup()
        doors, self._ports = self._ports[1:], []
        self.url = await self._opened(port)
        for door in doors:
            await self._opened(door)

    async def _opened(self, port: int) -> str:
        assert self._runner is not None
        listens = socket.create_server(("127.0.0.1", port), backlog=128)
        self._listens.append(listens)
        await web.SockSite(self._runner, listens).start()
        host, port = listens.getsockname()
        self._ports.append(port)
        return f"http://{host}:{port}"

    async def _stop(self) -> None:
        """Connections that are just being accepted would stay open for ever: they get their turns first."""
        assert self._runner is not None
        while self._listens:  # none is there when a test has stopped it, and then failed
            asyncio.get_running_loop().remove_reader(self._listens.pop())
        for _ in range(ACCEPTING):
            await asyncio.sleep(0)
        await self.cut_some(1.0)
        await self._runner.cleanup()

    # --- requests ------------------------------------------------------------------------------

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        text = await request.read()
        body, headers = json.loads(text) if text else None, request.headers
        assert request.transport is not None
        url = "http://{}:{}".format(*request.transport.get_extra_info("sockname"))
        asked = Asked(request.method, request.raw_path, body, headers.get("User-Agent", ""), url, time.monotonic())
        request[ASKED] = asked
        self.asked.append(asked)
        for fault in list(self.faults):
            answer = await fault(request)
            if answer is not None:
                return answer
        return await self.served(request)

    async def served(self, request: web.Request) -> web.StreamResponse:
        """What the server answers without faults; a fault that has asked for it may keep it to itself."""
        asked = request[ASKED]
        try:
            response = await self._served(request, asked.body)
        except StatusError as error:
            response = web.json_response(error.document, status=error.code)
        self.done.append(Answered(asked, response.status, time.monotonic()))
        if request.path.endswith("/binding") and response.status == 201:
            self.bound[request.path] += 1
        return response

    @abc.abstractmethod
    async def _served(self, request: web.Request, body: Any) -> web.StreamResponse:
        """Raises StatusError."""

    async def _streamed(
        self, request: web.Request, response: web.StreamResponse, stream: Coroutine[Any, Any, None]
    ) -> web.StreamResponse:
        """A watch, until its end or until it is cut."""
        task = asyncio.ensure_future(stream)
        self._streams.add(task)
        try:
            await task
        except (asyncio.CancelledError, ConnectionError):
            lost(request)
        finally:
            self._streams.discard(task)
        return response


def lost(request: web.Request) -> web.Response:
    """Cuts the connection instead of an answer."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=500)


def hanging_watches(path: str) -> Answer:
    """A fault: watches of a collection that go on from a version tell nothing until who watches goes away."""

    async def answer(request: web.Request) -> web.StreamResponse | None:
        if request.path != path or "watch" not in request.query or "sendInitialEvents" in request.query:
            return None
        response = web.StreamResponse()
        await response.prepare(request)
        while request.transport is not None and not request.transport.is_closing():
            await asyncio.sleep(0.05)
        return response

    return answer
