"""One kept-alive HTTP/1.1 connection that carries one request after the other; httptools reads the answers.

A general client does for every request what requests to one server need once: that is three quarters of what a binding
costs.
"""

from __future__ import annotations

import asyncio
from typing import cast

import httptools

from kubescheduler.live.transport.api_answers import ApiAnswer


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
        self._transport = cast(asyncio.Transport, transport)

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
