"""The connections of one process to one API server, kept alive for the next request of any of its clients.

httptools reads the answers. A general client does for every request what requests to one server need once: that is
three quarters of what a binding costs.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Callable, Sequence
from typing import TypeVar, cast
from urllib.parse import urlsplit

import aiohappyeyeballs
import httptools
from aiohappyeyeballs import AddrInfoType

from kubescheduler.live.observers import RestObserver
from kubescheduler.live.transport.api_answers import ApiAnswer, dial_error
from kubescheduler.live.transport.http_stream import HttpStream
from kubescheduler.live.transport.server_access import ServerAccess
from kubescheduler.live.transport.tls_connection import TlsConnection
from kubescheduler.live.wall_clock import WallClock


class HttpConnection(asyncio.Protocol):
    """Sends one request at a time. Everything is for the event loop that the connection was made on."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._answer: asyncio.Future[ApiAnswer] | None = None
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._begun = self._by_end = False
        self._reusable = True

    @property
    def is_open(self) -> bool:
        """Whether another request may be sent."""
        return self._reusable and self._transport is not None and not self._transport.is_closing()

    @property
    def heard(self) -> bool:
        """Whether anything of the answer to the last request has arrived."""
        return self._begun

    async def send(self, request: bytes) -> ApiAnswer:
        """Sends a whole request; its answer, whatever its status.

        Raises OSError or IncompleteReadError when the connection breaks. A request that is given up ends it too.
        """
        assert self._transport is not None
        self._headers, self._body = {}, []
        self._begun = self._by_end = False
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        try:
            return await self._answer
        except asyncio.CancelledError:
            self.close()
            raise
        finally:
            self._answer = None  # its error has this connection

    def close(self) -> None:
        """Ends the connection at once."""
        self._reusable = False
        if self._transport is not None:
            self._transport.abort()

    def end(self) -> None:
        """Ends the connection, saying good-bye."""
        self._reusable = False
        if self._transport is not None:
            self._transport.close()

    # --- called by the event loop --------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is there."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Something arrived. What nobody asked for, or is no HTTP, ends the connection."""
        if self._answer is None or self._answer.done():
            self.close()
            return
        self._begun = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(ConnectionError(f"malformed HTTP response: {error}"))
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone: the end of an answer that does not say how long it is, else its failure."""
        self._reusable = False
        if self._by_end and exc is None:
            self._settle()
        else:
            self._fail(asyncio.IncompleteReadError(b"", None) if exc is None else exc)
        del self._parser  # it has this connection: neither would be freed before a full garbage collection

    # --- called by the parser ------------------------------------------------------------------

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header of the answer."""
        self._headers[name.decode("latin-1").title()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """The body comes next."""
        self._by_end = not {"Content-Length", "Transfer-Encoding"} & self._headers.keys()

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._body.append(body)

    def on_message_complete(self) -> None:
        """An answer is whole; one that only says that another will follow (1xx) is passed over."""
        if self._parser.get_status_code() < 200:
            self._headers, self._body = {}, []
            return
        self._reusable = self._parser.should_keep_alive()
        self._settle()

    def _settle(self) -> None:
        self._by_end = False
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(ApiAnswer(self._parser.get_status_code(), b"".join(self._body), self._headers))

    def _fail(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)


QUIET, BETWEEN, TIMES = 30, 5, 3
"""Seconds of silence after which the other side is asked whether it is there, seconds between questions, and how many
of them go without an answer. Upstream: client-go's HTTP/2 pings, after 30 s, for 15 s."""
OPTIONS = (
    ("TCP_KEEPIDLE", QUIET),
    ("TCP_KEEPALIVE", QUIET),
    ("TCP_KEEPINTVL", BETWEEN),
    ("TCP_KEEPCNT", TIMES),
    ("TCP_USER_TIMEOUT", (QUIET + BETWEEN * TIMES) * 1000),
)
"""Those that a system has, of which some call the first by the second name; the last one is for what was sent."""


def set_tcp_keepalive(connection: socket.socket) -> None:
    """Has a connection break 45 s after the other side was last heard."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in OPTIONS:
        option = getattr(socket, name, None)
        if option is not None:
            connection.setsockopt(socket.IPPROTO_TCP, option, value)


IDLE = 60.0
"""Seconds after which a connection that was not used is not used again."""
DIALLING = 30.0
"""Seconds that a connection may take. Upstream: client-go's dialer."""
RACE = 0.25
"""Seconds after which a server's next address is tried beside the one that does not answer."""

Carrier = TypeVar("Carrier", HttpConnection, HttpStream)
"""What reads the answers of a connection."""

BROKEN = (OSError, asyncio.IncompleteReadError)
"""How a connection breaks."""


class HttpConnections:
    """Sends requests, each by a connection that is free, or a new one. For one event loop."""

    def __init__(
        self, access: ServerAccess, observer: RestObserver | None = None, clock: WallClock | None = None
    ) -> None:
        """observer: told how long it took to look names up."""
        self._access = access
        self._observer = observer or RestObserver()
        self._clock = clock or WallClock()
        self._idle: list[tuple[HttpConnection, float]] = []
        self._all: set[HttpConnection | HttpStream] = set()
        self._way: tuple[str, ssl.SSLContext | bool] | None = None
        self._trusted: ssl.SSLContext | None = None

    async def send(self, request: bytes, *, repeatable: bool) -> ApiAnswer:
        """Sends a whole request; its answer, whatever its status.

        repeatable: whether one that a kept connection lost without any answer is sent once more by a new one.
        Raises DialError when there is no connection, OSError or IncompleteReadError when it breaks.
        """
        kept = self._kept()
        if kept is not None:
            try:
                return await self._by(kept, request)
            except BROKEN:
                if kept.heard or not repeatable:
                    raise
        return await self._by(await self._dialled(HttpConnection), request)

    async def open(self) -> HttpStream:
        """A connection for an answer that is read as it arrives, beside those for requests. Its user hands it back.

        Raises DialError when there is no connection.
        """
        stream = await self._dialled(HttpStream)
        self._all.add(stream)
        return stream

    def hand_back(self, stream: HttpStream) -> None:
        """Ends the connection of a stream."""
        self._drop(stream)

    def close(self) -> None:
        """Ends all connections."""
        for connection in self._all:
            connection.end()

    async def _by(self, connection: HttpConnection, request: bytes) -> ApiAnswer:
        self._all.add(connection)
        try:
            return await connection.send(request)
        finally:
            if connection.is_open:
                self._idle.append((connection, asyncio.get_running_loop().time()))
            else:
                self._all.discard(connection)
                connection.end()

    def _kept(self) -> HttpConnection | None:
        """The connection that was used last, if it may be used again; those that may not are ended."""
        way = (self._access.base_url, self._access.ssl)
        oldest = asyncio.get_running_loop().time() - IDLE
        if self._way != way:
            self._way, oldest = way, float("inf")
        while self._idle and self._idle[0][1] < oldest:
            self._drop(self._idle.pop(0)[0])
        while self._idle:
            connection, _ = self._idle.pop()
            if connection.is_open:
                return connection
            self._drop(connection)
        return None

    def _drop(self, connection: HttpConnection | HttpStream) -> None:
        self._all.discard(connection)
        connection.end()

    async def _dialled(self, make: Callable[[], Carrier]) -> Carrier:
        """A new connection. Raises DialError."""
        parts = urlsplit(self._access.base_url)
        host, port = parts.hostname or "", parts.port or (443 if self._access.secure else 80)
        try:
            async with asyncio.timeout(DIALLING):
                return await self._connected(host, port, make)
        except BROKEN as error:
            raise dial_error(host, port, error) from None

    async def _connected(self, host: str, port: int, make: Callable[[], Carrier]) -> Carrier:
        taken = await aiohappyeyeballs.start_connection(await self._addresses(host, port), happy_eyeballs_delay=RACE)
        try:
            set_tcp_keepalive(taken)
            return await self._secured(taken, host, make)
        except BaseException:
            taken.close()
            raise

    async def _secured(self, taken: socket.socket, host: str, make: Callable[[], Carrier]) -> Carrier:
        """What reads the answers, by plain HTTP or once both sides know one another."""
        loop, context = asyncio.get_running_loop(), self._tls()
        if context is None:
            return (await loop.create_connection(make, sock=taken))[1]
        inner, name = make(), self._access.server_name or host
        transport, tls = await loop.create_connection(lambda: TlsConnection(inner, context, hostname=name), sock=taken)
        try:
            await tls.shaken
        except BaseException:
            transport.abort()
            del tls  # it has the error, which has what is known here
            raise
        return inner

    async def _addresses(self, host: str, port: int) -> Sequence[AddrInfoType]:
        """Where the server may be reached. Upstream: client-go's ResolverLatency."""
        loop, started = asyncio.get_running_loop(), self._clock.monotonic()
        try:
            return await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        finally:
            if not _is_address(host):
                self._observer.resolved(host, self._clock.monotonic() - started)

    def _tls(self) -> ssl.SSLContext | None:
        """What connections are secured by; None for plain HTTP."""
        if not self._access.secure:
            return None
        given = self._access.ssl
        if isinstance(given, ssl.SSLContext):
            return given
        if self._trusted is None:
            self._trusted = ssl.create_default_context()
        return self._trusted


def _is_address(host: str) -> bool:
    """Whether nothing has to be looked up."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
