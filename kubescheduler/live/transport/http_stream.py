"""One HTTP/1.1 connection whose answer is read while it arrives, for as long as the server goes on; httptools reads it.

A server sends each event of a watch as a piece of its own, so that reading a large cluster is one small piece after the
other: they are decrypted side by side into one buffer, and taken out of it together.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from typing import cast

import httptools

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


ROOM = 1 << 17
"""Bytes that are taken from the connection at once."""
MOST = 1 << 20
"""Bytes that wait to be taken, above which the server has to wait."""


class HttpStream(asyncio.BufferedProtocol):
    """Sends one request. Everything is for the event loop that the connection was made on."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._reads: GatheredReads | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._room = memoryview(bytearray(ROOM))
        self._pieces: list[bytes] = []
        self._waiting = 0
        self._arrived = asyncio.Event()
        self._status = 0
        self._by_end = self._ended = False
        self._error: Exception | None = None

    async def send(self, request: bytes) -> int:
        """Sends a whole request; the HTTP status of its answer, of which the rest follows.

        Raises OSError or IncompleteReadError when the connection breaks before.
        """
        assert self._transport is not None
        self._transport.write(request)
        while not self._status:
            await self._more()
        return self._status

    async def read(self) -> bytes:
        """What is left of the answer. Raises OSError or IncompleteReadError when the connection breaks."""
        return b"".join([piece async for piece in self._batches()])

    async def lines(self) -> AsyncIterator[list[bytes]]:
        """The whole lines of what arrives, without their ends, those together that arrive together; empty ones are
        passed over. Raises OSError or IncompleteReadError when the connection breaks.
        """
        rest = b""
        async for piece in self._batches():
            *lines, rest = (rest + piece).split(b"\n") if rest else piece.split(b"\n")
            whole = [line for line in lines if line]
            if whole:
                yield whole

    def end(self) -> None:
        """Ends the connection, saying good-bye."""
        if self._transport is not None:
            self._transport.close()

    async def _batches(self) -> AsyncIterator[bytes]:
        """What has arrived, joined, until the answer ends. A break is raised after what came before it."""
        assert self._transport is not None
        while True:
            while not self._pieces:
                if self._ended:
                    return
                await self._more()
            pieces, self._pieces = self._pieces, []
            if self._waiting > MOST:
                self._transport.resume_reading()
            self._waiting = 0
            yield b"".join(pieces)

    async def _more(self) -> None:
        """Waits until something happens. Raises what broke the connection, once."""
        if self._error is not None:
            try:
                raise self._error
            finally:
                self._error, self._ended = None, True  # what is raised has this connection
        self._arrived.clear()
        await self._arrived.wait()

    # --- called by the event loop --------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is there."""
        self._transport = cast("asyncio.Transport", transport)
        self._reads = GatheredReads(self._transport)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002
        """Where the next bytes go."""
        return self._room

    def buffer_updated(self, nbytes: int) -> None:
        """So many bytes arrived. What is no HTTP ends the connection."""
        assert self._transport is not None
        assert self._reads is not None
        self._reads.arrived(nbytes)
        try:
            self._parser.feed_data(self._room[:nbytes])
        except httptools.HttpParserError as error:
            self._error = self._error or ConnectionError(f"malformed HTTP response: {error}")
            self._transport.abort()
        if self._waiting > MOST:
            self._transport.pause_reading()
        self._arrived.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone: the end of an answer that does not say how long it is, else its failure."""
        if self._by_end and exc is None:
            self._ended = True
        elif not self._ended:
            self._error = self._error or exc or asyncio.IncompleteReadError(b"", None)
        self._arrived.set()
        del self._parser  # it has this connection: neither would be freed before a full garbage collection

    # --- called by the parser ------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """An answer begins; its end is that of the connection unless a header says otherwise."""
        self._by_end = True

    def on_header(self, name: bytes, value: bytes) -> None:  # noqa: ARG002
        """A header of the answer."""
        if name.lower() in (b"content-length", b"transfer-encoding"):
            self._by_end = False

    def on_headers_complete(self) -> None:
        """The body comes next; an answer that only says that another will follow (1xx) is passed over."""
        code = self._parser.get_status_code()
        if code >= 200:
            self._status = code

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        self._pieces.append(body)
        self._waiting += len(body)

    def on_message_complete(self) -> None:
        """The answer is whole."""
        if self._status:
            self._ended = True
