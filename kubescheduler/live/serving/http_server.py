"""Ports that are listened on, on the I/O thread."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import time
from collections.abc import Callable
from typing import Any

from aiohttp import web

from clusterstate.errors import ConfigError
from kubescheduler.live.logs.log_lines import LogLine, Severity, error_line, structured
from kubescheduler.live.serving.guard import Guard
from kubescheduler.live.serving.http_answers import HttpAnswer, HttpRequest, error_answer
from kubescheduler.live.serving.routes import Routes
from kubescheduler.live.serving.tls_contexts import TlsContexts, client_chain

LOGGED_FROM = 3
"""The verbosity from which every request is logged."""
PATIENCE = 1.0
"""Seconds that requests under way have when a server ends."""


def listening_socket(address: str, port: int, *, shares_port: bool = False) -> socket.socket:
    """A socket that listens; any IPv4 address means any address, as in Go. Raises ConfigError with Go's text."""
    found = ipaddress.ip_address(address)
    dual = found.is_unspecified and socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if dual or found.version == 6 else socket.AF_INET
    host = "::" if dual else str(found)
    try:
        return socket.create_server(
            (host, port), family=family, dualstack_ipv6=dual, reuse_port=shares_port, backlog=128
        )
    except OSError as error:
        place = f"[{found}]:{port}" if found.version == 6 else f"{found}:{port}"
        text = (os.strerror(error.errno) if error.errno else str(error)).lower()
        raise ConfigError(
            f"failed to create listener: failed to listen on {place}: listen tcp {place}: bind: {text}"
        ) from None


def shown_address(listener: socket.socket) -> str:
    """Where a socket listens, as Go prints it."""
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class HttpServer:
    """Serves pages to whom a guard lets pass. ``start`` and ``stop`` are for the I/O thread."""

    def __init__(
        self,
        listener: socket.socket,
        routes: Routes,
        guard: Guard,
        *,
        tls: TlsContexts | None = None,
        log: Callable[[LogLine], None] = lambda _: None,
    ) -> None:
        """tls: None for plain HTTP."""
        self.listener = listener
        """Closed by ``stop``."""
        self._routes = routes
        self._guard = guard
        self._tls = tls
        self._log = log
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Answers from now on."""
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        app.on_response_prepare.append(_without_server)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=PATIENCE)
        await self._runner.setup()
        context = None if self._tls is None else self._tls.listening
        await web.SockSite(self._runner, self.listener, ssl_context=context).start()

    async def stop(self) -> None:
        """Ends all connections, those that answer after a moment."""
        if self._runner is not None:
            await self._runner.cleanup()
        self.listener.close()

    # --- requests ----------------------------------------------------------------------------------

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        started = time.monotonic()
        asked = await _read(request)
        answer = await self._guarded(request, asked)
        self._log(_line(request, asked, answer, time.monotonic() - started))
        response = web.Response(status=answer.code, body=answer.body, headers=dict(answer.headers))
        response.headers["Content-Type"] = answer.content_type
        response.headers["Cache-Control"] = "no-cache, private"
        if answer.compressible and "gzip" in request.headers.get("Accept-Encoding", ""):
            response.enable_compression(web.ContentCoding.gzip)
        return response

    async def _guarded(self, request: web.Request, asked: HttpRequest) -> HttpAnswer:
        """A page that fails is no reason to end: it is answered with 500. Upstream: WithPanicRecovery."""
        connection = None if request.transport is None else request.transport.get_extra_info("ssl_object")
        try:
            refusal = await self._guard.refusal(asked, client_chain(connection), request.headers.items())
            if refusal is not None:
                return refusal
            if self._routes.waits(asked):
                return await asyncio.to_thread(self._routes.answer, asked)
            return self._routes.answer(asked)
        except Exception as error:
            self._log(error_line(f"{asked.method} {asked.target}: {type(error).__name__}: {error}"))
            return error_answer("This request caused apiserver to panic. Look in the logs for details.", 500)


def _line(request: web.Request, asked: HttpRequest, answer: HttpAnswer, seconds: float) -> LogLine:
    """What is logged of a request. Upstream: httplog."""
    said = structured(
        "HTTP",
        verb=asked.method,
        URI=asked.target,
        latency=f"{seconds * 1000:.3f}ms",
        userAgent=request.headers.get("User-Agent", ""),
        srcIP=str(request.remote),
        resp=answer.code,
    )
    return LogLine(Severity.INFO, said, LOGGED_FROM)


async def _read(request: web.Request) -> HttpRequest:
    query: dict[str, list[str]] = {}
    for key, value in request.query.items():
        query.setdefault(key, []).append(value)
    body = await request.read() if request.method == "PUT" else b""
    return HttpRequest(request.method, request.path, query, request.headers, body, request.raw_path)


async def _without_server(_: web.Request, response: Any) -> None:
    """Nobody needs to know what serves."""
    response.headers.pop("Server", None)
