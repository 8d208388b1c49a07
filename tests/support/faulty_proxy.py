"""A proxy between schedulers and an API server, in which things go wrong; it counts the bindings that were made."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
from aiohttp import web

from kubescheduler.live.transport.io_thread import IoThread

Forward = Callable[[], Awaitable[web.Response]]
Fault = Callable[[web.Request, Forward], Awaitable[web.StreamResponse | None]]
"""May answer a request, after it was forwarded or not; None: the server answers."""

CODES = {409: "Conflict", 429: "TooManyRequests", 500: "InternalError"}


class FaultyProxy:
    """Plain HTTP in front of an API server. Everything but the constructor is for any thread."""

    def __init__(self, io: IoThread, upstream: str, token: str = "") -> None:
        """upstream: the server's address; its certificate is not looked at."""
        self._io, self._upstream, self._token = io, upstream, token
        self.faults: list[Fault] = []
        self.bound: Counter[str] = Counter()
        """Path of a binding → how often the server made it, whether anybody learned of it or not."""
        self.url = ""
        self._streams: set[asyncio.Task[Any]] = set()

    def __enter__(self) -> FaultyProxy:
        self._io.wait(self._start())
        return self

    def __exit__(self, *_: object) -> None:
        self._io.wait(self._stop())

    async def _start(self) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=False, limit=256), timeout=aiohttp.ClientTimeout(total=None)
        )
        app = web.Application(client_max_size=1 << 30)
        app.router.add_route("*", "/{tail:.*}", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.01)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = "http://{}:{}".format(*self._runner.addresses[0])

    async def _stop(self) -> None:
        self.cut(1.0)
        await asyncio.gather(*self._streams, return_exceptions=True)
        await self._runner.cleanup()
        await self._session.close()

    def cut(self, share: float) -> None:
        """Cuts each watch with this probability; on the I/O thread."""
        for task in list(self._streams):
            if random.random() < share:
                task.cancel()

    # --- requests ------------------------------------------------------------------------------

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()

        async def forward() -> web.Response:
            return await self._forwarded(request, body)

        for fault in list(self.faults):
            answer = await fault(request, forward)
            if answer is not None:
                return answer
        if request.query.get("watch") == "true":
            return await self._watched(request)
        return await forward()

    def _asked(self, request: web.Request, body: bytes = b"") -> Any:
        headers = {"Content-Type": request.headers.get("Content-Type", "application/json")}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        return self._session.request(request.method, self._upstream + request.raw_path, data=body, headers=headers)

    async def _forwarded(self, request: web.Request, body: bytes) -> web.Response:
        try:
            async with self._asked(request, body) as answer:
                content = await answer.read()
        except aiohttp.ClientError:
            return lost(request)
        if request.path.endswith("/binding") and answer.status == 201:
            self.bound[request.path] += 1
        return web.Response(status=answer.status, body=content, content_type="application/json")

    async def _watched(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        task = asyncio.ensure_future(self._stream(request, response))
        self._streams.add(task)
        try:
            await task
        except (asyncio.CancelledError, aiohttp.ClientError, ConnectionError):
            lost(request)
        finally:
            self._streams.discard(task)
        return response

    async def _stream(self, request: web.Request, response: web.StreamResponse) -> None:
        async with self._asked(request) as answer:
            response.set_status(answer.status)
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)


def lost(request: web.Request) -> web.Response:
    """Cuts the connection instead of an answer."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=500)


def refused(code: int) -> web.Response:
    """An answer of the server that is no."""
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    return web.json_response({**status, "message": "no", "reason": CODES[code]}, status=code)


def failing_writes(share: float, rng: random.Random) -> Fault:
    """That share of the writes about pods is refused, or done without anybody learning of it."""

    async def fault(request: web.Request, forward: Forward) -> web.Response | None:
        if request.method == "GET" or "/pods/" not in request.path or rng.random() >= share:
            return None
        how = rng.choice((*CODES, 0))
        if how:
            return refused(how)
        await forward()
        return lost(request)

    return fault


def before_binding(number: int, act: Callable[[web.Request, Any], Awaitable[object]]) -> Fault:
    """Something happens right before the binding of this number, counted from 1. act: of (request, its body)."""
    seen = 0

    async def fault(request: web.Request, forward: Forward) -> None:
        nonlocal seen
        if request.path.endswith("/binding"):
            seen += 1
            if seen == number:
                await act(request, await request.json())

    return fault
