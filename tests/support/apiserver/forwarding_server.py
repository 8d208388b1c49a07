"""A server between a scheduler and a real API server, which may answer as a test wants it to."""

from __future__ import annotations

from typing import Any

import aiohttp
from aiohttp import web

from kubescheduler.live.transport.io_thread import IoThread
from tests.support.apiserver.front_server import FrontServer, lost
from tests.support.apiserver.real_server import RealServer, RealStorage

KEPT = ("Content-Type", "Accept", "User-Agent")
"""Headers of requests that the server sees."""
SHOWN = ("Content-Type", "Retry-After")
"""Headers of answers that the client sees."""


class ForwardingServer(FrontServer):
    """Asks a real server, in the name of a user of its own."""

    storage: RealStorage

    def __init__(self, io: IoThread, real: RealServer) -> None:
        super().__init__(io)
        self.storage = RealStorage(real)
        self.token = "admin-token"
        """By which the server knows who asks."""
        self.real = real
        """The server behind it."""
        self._session: aiohttp.ClientSession | None = None

    def restart(self) -> None:
        """Kills the real server, and starts it again."""
        self.real.kill()
        self.real.start()

    def __enter__(self) -> ForwardingServer:
        self.start()
        return self

    async def _start(self, port: int) -> None:
        connector = aiohttp.TCPConnector(ssl=False, limit=512)
        self._session = aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None))
        await super()._start(port)

    async def _stop(self) -> None:
        await super()._stop()
        assert self._session is not None
        await self._session.close()

    def _forwarded(self, request: web.Request, body: bytes) -> Any:
        assert self._session is not None
        headers = {key: request.headers[key] for key in KEPT if key in request.headers}
        headers["Authorization"] = f"Bearer {self.token}"
        # An empty body would be sent as application/octet-stream, which the server refuses where it says what it has.
        url = self.real.url + request.raw_path
        return self._session.request(request.method, url, data=body or None, headers=headers)

    async def _served(self, request: web.Request, body: Any) -> web.StreamResponse:
        if request.query.get("watch") == "true":
            response = web.StreamResponse()
            return await self._streamed(request, response, self._stream(request, response))
        try:
            async with self._forwarded(request, await request.read()) as answer:
                content = await answer.read()
        except aiohttp.ClientError:
            return lost(request)
        if request.method != "GET":
            for listen in list(self.storage.listeners):
                listen()
        headers = {key: answer.headers[key] for key in SHOWN if key in answer.headers}
        return web.Response(status=answer.status, body=content, headers=headers)

    async def _stream(self, request: web.Request, response: web.StreamResponse) -> None:
        try:
            async with self._forwarded(request, b"") as answer:
                response.set_status(answer.status)
                response.headers["Content-Type"] = answer.headers.get("Content-Type", "application/json")
                await response.prepare(request)
                async for chunk in answer.content.iter_any():
                    await response.write(chunk)
        except aiohttp.ClientError as error:
            raise ConnectionError(str(error)) from error
