"""Ports that are listened on, on the I/O thread, and connections that somebody made to us.

httptools reads the requests. Whoever can reach the port can connect, so that nothing is waited for without end, and
little is kept. Upstream: the time limits of apiserver's secure serving.
"""

from __future__ import annotations

import asyncio
import gzip
import ipaddress
import os
import socket
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from email.utils import formatdate
from http import HTTPStatus
from typing import cast
from urllib.parse import parse_qs, unquote

import attrs
import httptools
import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.live.klog import LogLine, Severity, error_line, structured
from kubescheduler.live.serving.guard import Guard
from kubescheduler.live.serving.http_answers import HttpAnswer, HttpRequest, error_answer, text_answer
from kubescheduler.live.serving.pages import Routes
from kubescheduler.live.serving.tls import TlsContexts, client_chain
from kubescheduler.live.transport.tls_connection import TlsConnection

LONGEST = 1 << 17
"""Bytes of a request, with everything in it."""
AHEAD = 16
"""Requests that may be sent before the first of them is answered."""


class ServingLimits(msgspec.Struct, frozen=True):
    """What those who connect may cost."""

    request_seconds: float = 32.0
    """From the first byte of a request, or the connection's begin, to the last one. Upstream: ReadHeaderTimeout."""
    idle_seconds: float = 90.0
    """Between two requests. Upstream: IdleTimeout."""
    connections: int = 512
    """At the same time; for another one the connection ends that has waited longest."""


class Sent(msgspec.Struct, frozen=True, eq=False):
    """One request as it was sent."""

    asked: HttpRequest
    headers: list[tuple[str, str]]
    """In order, repeated where they are."""
    keeps_alive: bool
    """Whether another one may follow."""


class ServedConnection(asyncio.Protocol):
    """For one event loop."""

    def __init__(self, owner: HttpServer) -> None:
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpRequestParser(self)
        self._waiting: deque[Sent] = deque()
        self.answering: asyncio.Task[None] | None = None
        """The answer under way; None: there is none."""
        self._timer: asyncio.TimerHandle | None = None
        self._over = self._lost = False
        self._begin_request()
        self.abort: Callable[[], None] = self._abort
        """Of the connection below, also in the TLS handshake."""
        self._limit(owner.limits.request_seconds)

    def end(self) -> None:
        """Ends it at once, whatever it does."""
        self._over = True
        self.abort()

    def _abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _limit(self, seconds: float | None) -> None:
        """Ends the connection after so many seconds in place of those before."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self._loop.call_later(seconds, self.end)

    # --- called by the event loop --------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody is there."""
        self._transport = cast("asyncio.Transport", transport)
        if self._over:
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Nobody is there any more."""
        self._over = self._lost = True
        self._limit(None)
        self._waiting.clear()
        if self.answering is not None:
            self.answering.cancel()
        self._owner.gone(self)
        self.abort = lambda: None
        del self._parser  # it has this connection: neither would be freed before a full garbage collection

    def data_received(self, data: bytes) -> None:
        """Something was sent."""
        if self._over:
            return
        self._size += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._over = True  # nothing is spoken here but HTTP/1.1: the request is answered as any other
        except httptools.HttpParserError as error:
            self._refuse(400, str(error))
        except httptools.HttpParserCallbackError:
            self._refuse(400, "Invalid URL")
        else:
            if self._size > LONGEST:
                self._refuse(431, "too long")
            elif len(self._waiting) > AHEAD:
                self._refuse(400, "too many requests at once")

    def _refuse(self, code: int, why: str) -> None:
        """What cannot be read ends the connection, after an answer as Go's."""
        assert self._transport is not None
        self._over = True
        self._waiting.clear()
        self._owner.malformed(why, self._transport)
        if self.answering is None:
            text = f"{code} {HTTPStatus(code).phrase}"
            self._write(text_answer(text, code), body=True, keeps_alive=False)
        self._transport.close()

    # --- called by the parser ------------------------------------------------------------------

    def _begin_request(self) -> None:
        self._url, self._headers, self._body, self._size = b"", list[tuple[str, str]](), b"", 0
        self._begun = False

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self._begun = True
        if self.answering is None:
            self._limit(self._owner.limits.request_seconds)

    def on_url(self, url: bytes) -> None:
        """A part of the target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header."""
        self._headers.append((name.decode("latin-1").title(), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        """Who asks whether a body may come is told so."""
        if any(name == "Expect" and value.lower() == "100-continue" for name, value in self._headers):
            assert self._transport is not None
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        """A part of the body, of which there is a limit."""
        self._body += body[: LONGEST - len(self._body)]

    def on_message_complete(self) -> None:
        """A whole request."""
        if self._over:
            return
        if self._parser.get_http_version() not in ("1.0", "1.1"):
            self._refuse(400, "Invalid HTTP version")
            return
        url = httptools.parse_url(self._url)
        headers = dict(reversed(self._headers))
        asked = HttpRequest(
            self._parser.get_method().decode(),
            unquote((url.path or b"/").decode("latin-1")),
            parse_qs((url.query or b"").decode("latin-1"), keep_blank_values=True),
            headers,
            self._body,
            self._url.decode("latin-1"),
        )
        self._waiting.append(Sent(asked, self._headers, self._parser.should_keep_alive()))
        self._begin_request()
        self._next()

    # --- answers -------------------------------------------------------------------------------

    def _next(self) -> None:
        """Answers the next request; meanwhile no more are read."""
        assert self._transport is not None
        if self.answering is not None or self._lost:
            return
        if self._waiting:
            self._limit(None)
            self._transport.pause_reading()
            self.answering = self._loop.create_task(self._answer(self._waiting.popleft()))
            self.answering.add_done_callback(self._answered)
        elif self._over:
            self._transport.close()
        else:
            # Of a request that has begun meanwhile the time counts from now on.
            limits = self._owner.limits
            self._limit(limits.request_seconds if self._begun else limits.idle_seconds)
            self._transport.resume_reading()
            self._owner.rested(self)

    async def _answer(self, sent: Sent) -> None:
        assert self._transport is not None
        answer = await self._owner.answer(sent, self._transport)
        if answer.compressible and "gzip" in sent.asked.headers.get("Accept-Encoding", ""):
            packed = await asyncio.to_thread(gzip.compress, answer.body, 6)
            headers = {**answer.headers, "Content-Encoding": "gzip"}
            answer = msgspec.structs.replace(answer, body=packed, headers=headers)
        self._over = self._over or not sent.keeps_alive
        self._write(answer, body=sent.asked.method != "HEAD", keeps_alive=not self._over)

    def _answered(self, task: asyncio.Task[None]) -> None:
        self.answering = None
        if not task.cancelled() and task.exception() is None:
            self._next()
        else:
            self.end()

    def _write(self, answer: HttpAnswer, *, body: bool, keeps_alive: bool) -> None:
        assert self._transport is not None
        headers = {
            **answer.headers,
            "Content-Type": answer.content_type,
            "Cache-Control": "no-cache, private",
            "Content-Length": str(len(answer.body)),
            "Date": formatdate(usegmt=True),
            **({} if keeps_alive else {"Connection": "close"}),
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = f"HTTP/1.1 {answer.code} {HTTPStatus(answer.code).phrase}\r\n{lines}\r\n"
        self._transport.write(head.encode("latin-1") + (answer.body if body else b""))


LOGGED_FROM = 3
"""The verbosity from which every request is logged."""
BACKLOG = 128
"""Connections that the system keeps until they are accepted."""
PATIENCE = 1.0
"""Seconds that requests under way have when a server ends."""


def listening_socket(address: str, port: int, *, shares_port: bool = False) -> socket.socket:
    """A socket that listens; any IPv4 address means any address, as in Go. Raises ConfigError with Go's text."""
    ip = ipaddress.ip_address(address)
    dual = ip.is_unspecified and socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if dual or ip.version == 6 else socket.AF_INET
    host = "::" if dual else str(ip)
    try:
        return socket.create_server(
            (host, port), family=family, dualstack_ipv6=dual, reuse_port=shares_port, backlog=BACKLOG
        )
    except OSError as error:
        place = f"[{ip}]:{port}" if ip.version == 6 else f"{ip}:{port}"
        text = (os.strerror(error.errno) if error.errno else str(error)).lower()
        raise ConfigError(
            f"failed to create listener: failed to listen on {place}: listen tcp {place}: bind: {text}"
        ) from None


def shown_address(listener: socket.socket) -> str:
    """Where a socket listens, as Go prints it."""
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@attrs.define(eq=False)
class HttpServer:
    """Serves pages to whom a guard lets pass. Everything but the constructor is for the I/O thread."""

    listener: socket.socket
    """Closed by ``stop``."""
    _routes: Routes
    _guard: Guard
    _tls: TlsContexts | None = None
    """None for plain HTTP."""
    _log: Callable[[LogLine], None] = lambda _: None
    limits: ServingLimits = attrs.field(factory=ServingLimits)
    connections: dict[ServedConnection, None] = attrs.field(factory=dict, init=False)
    """Those there are; who has waited longest comes first."""
    _server: asyncio.Server | None = attrs.field(default=None, init=False)

    async def start(self) -> None:
        """Answers from now on."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._accepted, sock=self.listener, backlog=BACKLOG)

    async def stop(self) -> None:
        """Ends all connections, those that answer after a moment."""
        if self._server is not None:
            self._server.close()
        self.listener.close()
        under_way = [one.answering for one in self.connections if one.answering is not None]
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await asyncio.gather(*under_way, return_exceptions=True)
        for connection in list(self.connections):
            connection.end()
        await asyncio.sleep(0)

    # --- connections -------------------------------------------------------------------------------

    def _accepted(self) -> asyncio.Protocol:
        """The protocol of one more connection, for which another has to go where there are too many."""
        if len(self.connections) >= self.limits.connections:
            waits = next((one for one in self.connections if one.answering is None), None)
            if waits is not None:
                del self.connections[waits]
                waits.end()
        connection = ServedConnection(self)
        self.connections[connection] = None
        if self._tls is None:
            return connection
        tls = TlsConnection(connection, self._tls.listening, server_side=True)
        connection.abort = tls.abort
        return tls

    def rested(self, connection: ServedConnection) -> None:
        """A connection waits for its next request."""
        if self.connections.pop(connection, connection) is None:
            self.connections[connection] = None

    def gone(self, connection: ServedConnection) -> None:
        """A connection is no more."""
        self.connections.pop(connection, None)

    def malformed(self, why: str, transport: asyncio.Transport) -> None:
        """One line, with nothing of what was sent: it may be anybody's token."""
        self._log(error_line(structured("Malformed HTTP request", srcIP=_address(transport), err=why)))

    # --- requests ----------------------------------------------------------------------------------

    async def answer(self, sent: Sent, transport: asyncio.Transport) -> HttpAnswer:
        """What is answered to a request."""
        started = time.monotonic()
        answer = await self._guarded(sent, transport)
        said = structured(
            "HTTP",
            verb=sent.asked.method,
            URI=sent.asked.target,
            latency=f"{(time.monotonic() - started) * 1000:.3f}ms",
            userAgent=sent.asked.headers.get("User-Agent", ""),
            srcIP=_address(transport),
            resp=answer.code,
        )
        self._log(LogLine(Severity.INFO, said, LOGGED_FROM))  # Upstream: httplog
        return answer

    async def _guarded(self, sent: Sent, transport: asyncio.Transport) -> HttpAnswer:
        """A page that fails is no reason to end: it is answered with 500. Upstream: WithPanicRecovery."""
        asked = sent.asked
        try:
            chain = client_chain(transport.get_extra_info("ssl_object"))
            refusal = await self._guard.refusal(asked, chain, sent.headers)
            if refusal is not None:
                return refusal
            if self._routes.waits(asked):
                return await asyncio.to_thread(self._routes.answer, asked)
            return self._routes.answer(asked)
        except Exception as error:
            self._log(error_line(f"{asked.method} {asked.target}: {type(error).__name__}: {error}"))
            return error_answer("This request caused apiserver to panic. Look in the logs for details.", 500)


def _address(transport: asyncio.Transport) -> str:
    return str((transport.get_extra_info("peername") or ("",))[0])
