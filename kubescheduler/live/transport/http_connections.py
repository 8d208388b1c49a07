"""The connections of one process to one API server: those for requests, kept alive for the next request of any of its
clients, and those whose answers are read while they arrive. Read ``HttpConnections``, at the end, first.

httptools reads the answers. A general client does for every request what requests to one server need once: that is
three quarters of what a binding costs. A server sends each event of a watch as a piece of its own, so that reading a
large cluster is one small piece after the other: those that arrive together are taken together.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TypeVar, cast
from urllib.parse import urlsplit

import aiohappyeyeballs
import httptools
from aiohappyeyeballs import AddrInfoType

from kubescheduler.live.observers import RestObserver
from kubescheduler.live.transport.api_answers import ApiAnswer, dial_error
from kubescheduler.live.transport.io_thread import WallClock
from kubescheduler.live.transport.server_access import ServerAccess
from kubescheduler.live.transport.tls_connection import TlsConnection

MUCH = 1 << 15
"""Bytes that arrive together, from which on more of them are waited for."""
PORTION = 1 << 18
"""Bytes that the system keeps until it wakes the thread; asyncio reads as many at once."""
PATIENCE = 0.02
"""Seconds after which it has to be content with fewer."""


class GatheredReads:
    """Has the system gather what arrives on a connection, as long as much does. For one event loop.

    On systems that cannot do so nothing happens.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._socket = transport.get_extra_info("socket")
        self._gathers = self._came = False

    def arrived(self, count: int) -> None:
        """So many bytes arrived together."""
        self._came = True
        if count >= MUCH and not self._gathers:
            self._gathers = self._wait_for(PORTION)
            if self._gathers:
                asyncio.get_running_loop().call_later(PATIENCE, self._look)

    def _look(self) -> None:
        """Goes on while something came within the last ``PATIENCE``."""
        came, self._came = self._came, False
        if came:
            asyncio.get_running_loop().call_later(PATIENCE, self._look)
        else:
            self._gathers = False
            self._wait_for(1)

    def _wait_for(self, count: int) -> bool:
        """Has the thread woken for no fewer bytes; whether the system does that for a connection that is open."""
        with contextlib.suppress(OSError, AttributeError):
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, count)
            return True
        return False


MOST = 1 << 20
"""Bytes that wait to be taken, above which the server has to wait."""


class HttpConnection(asyncio.Protocol):
    """Sends one request at a time. Everything is for the event loop that the connection was made on."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._happens: asyncio.Future[None] | None = None
        self._reusable = self._ended = True
        self._error: Exception | None = None
        self._headers: dict[str, str] = {}
        self._pieces: list[bytes] = []
        self._waiting = self._status = 0
        self._by_end = False
        self.heard = False
        """Whether anything of the answer to the last request has arrived."""

    @property
    def is_open(self) -> bool:
        """Whether another request may be sent."""
        return self._reusable and self._transport is not None and not self._transport.is_closing()

    async def send(self, request: bytes) -> ApiAnswer:
        """Sends a whole request; its answer, whatever its status.

        Raises OSError or IncompleteReadError when the connection breaks. A request that is given up ends it too.
        """
        try:
            return ApiAnswer(await self.begin(request), await self.read(), self._headers)
        except asyncio.CancelledError:
            self.close()
            raise

    async def begin(self, request: bytes) -> int:
        """Sends a whole request; the HTTP status of its answer, of which the rest follows.

        Raises OSError or IncompleteReadError when the connection breaks before.
        """
        assert self._transport is not None
        self._headers, self._status = {}, 0
        self.heard = self._by_end = self._ended = False
        self._transport.write(request)
        while not self._status:
            await self._more()
        return self._status

    async def read(self) -> bytes:
        """What is left of the answer. Raises OSError or IncompleteReadError when the connection breaks."""
        parts = []
        while part := await self._arriving():
            parts.append(part)
        return b"".join(parts)

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

    async def _arriving(self) -> bytes:
        """What has arrived; empty once the answer has ended. A break is raised after what came before it."""
        assert self._transport is not None
        while not self._pieces:
            if self._ended:
                return b""
            await self._more()
        pieces, self._pieces = self._pieces, []
        if self._waiting > MOST:
            self._transport.resume_reading()
        self._waiting = 0
        return b"".join(pieces)

    async def _more(self) -> None:
        """Waits until something happens. Raises what broke the connection, once."""
        if self._error is not None:
            try:
                raise self._error
            finally:
                self._error, self._ended = None, True  # what is raised has this connection
        self._happens = asyncio.get_running_loop().create_future()
        await self._happens

    def _wake(self) -> None:
        if self._happens is not None and not self._happens.done():
            self._happens.set_result(None)

    # --- called by the event loop --------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is there."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Something arrived. What nobody asked for, or is no HTTP, ends the connection."""
        assert self._transport is not None
        if self._ended:
            self.close()
            return
        self.heard = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._error = self._error or ConnectionError(f"malformed HTTP response: {error}")
            self.close()
        if self._waiting > MOST:
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone: the end of an answer that does not say how long it is, else its failure."""
        self._reusable = False
        if self._by_end and exc is None:
            self._ended = True
        elif not self._ended:
            self._error = self._error or exc or asyncio.IncompleteReadError(b"", None)
        self._wake()
        del self._parser  # it has this connection: neither would be freed before a full garbage collection

    # --- called by the parser ------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """An answer begins. One that nobody asked for ends the connection."""
        if self._ended:
            raise ConnectionError("an answer to nothing")

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header of the answer."""
        self._headers[name.decode("latin-1").title()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """The body comes next; it ends with the connection unless a header says otherwise."""
        if self._parser.get_status_code() >= 200:
            self._status = self._parser.get_status_code()
            self._by_end = not {"Content-Length", "Transfer-Encoding"} & self._headers.keys()

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        self._pieces.append(body)
        self._waiting += len(body)

    def on_message_complete(self) -> None:
        """An answer is whole; one that only says that another will follow (1xx) is passed over."""
        if not self._status:
            self._headers = {}
            return
        self._reusable = self._parser.should_keep_alive()
        self._ended = True


class HttpStream(HttpConnection):
    """A connection for one request whose answer is read while it arrives."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is there."""
        super().connection_made(transport)
        self._reads = GatheredReads(cast("asyncio.Transport", transport))

    def data_received(self, data: bytes) -> None:
        """Something arrived, and more may be waited for."""
        self._reads.arrived(len(data))
        super().data_received(data)

    async def lines(self) -> AsyncIterator[list[bytes]]:
        """The whole lines of what arrives, without their ends, those together that arrive together; empty ones are
        passed over. Raises OSError or IncompleteReadError when the connection breaks.
        """
        rest = b""
        while piece := await self._arriving():
            *lines, rest = (rest + piece).split(b"\n") if rest else piece.split(b"\n")
            whole = [line for line in lines if line]
            if whole:
                yield whole


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

Carrier = TypeVar("Carrier", bound=HttpConnection)
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
        self._all: set[HttpConnection] = set()
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

    def hand_back(self, connection: HttpConnection) -> None:
        """Ends the connection of a stream, or one that is not used again."""
        self._all.discard(connection)
        connection.end()

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
            self.hand_back(self._idle.pop(0)[0])
        while self._idle:
            connection, _ = self._idle.pop()
            if connection.is_open:
                return connection
            self.hand_back(connection)
        return None

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
