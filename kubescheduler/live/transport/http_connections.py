"""The connections of one client to one API server: kept alive, as many at a time as the client may have."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Callable, Sequence
from typing import TypeVar
from urllib.parse import urlsplit

import aiohappyeyeballs
from aiohappyeyeballs import AddrInfoType

from kubescheduler.live.contract.rest_observer import NoRestObserver, RestObserver
from kubescheduler.live.contract.wall_clock import SystemClock, WallClock
from kubescheduler.live.transport.api_answers import ApiAnswer, dial_error
from kubescheduler.live.transport.dead_peers import notice_dead_peer
from kubescheduler.live.transport.http_connection import HttpConnection
from kubescheduler.live.transport.http_stream import HttpStream
from kubescheduler.live.transport.server_access import ServerAccess
from kubescheduler.live.transport.tls_connection import TlsConnection

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
        self,
        access: ServerAccess,
        most: int,
        observer: RestObserver | None = None,
        clock: WallClock | None = None,
    ) -> None:
        """most: connections at the same time; requests above that wait for one to be free. observer: told how long it
        took to look names up.
        """
        self._access = access
        self._observer = NoRestObserver() if observer is None else observer
        self._clock = SystemClock() if clock is None else clock
        self._turns = asyncio.Semaphore(most)
        self._idle: list[tuple[HttpConnection, float]] = []
        self._all: set[HttpConnection | HttpStream] = set()
        self._way: tuple[str, ssl.SSLContext | bool] | None = None
        self._trusted: ssl.SSLContext | None = None

    async def send(self, request: bytes, *, repeatable: bool) -> ApiAnswer:
        """Sends a whole request; its answer, whatever its status.

        repeatable: whether one that a kept connection lost without any answer is sent once more by a new one.
        Raises DialError when there is no connection, OSError or IncompleteReadError when it breaks.
        """
        async with self._turns:
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
            notice_dead_peer(taken)
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
