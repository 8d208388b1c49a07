"""TLS between a connection and who uses it, with no memory but for what is under way.

asyncio's own keeps 256 KiB for each connection, however little comes by it: a hundred connections to an API server are
25 MB, and a thousand strangers who connect to us and say nothing more than a container has.
"""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from typing import Any, cast

RECORD = 1 << 14
"""Bytes that TLS puts together at most."""


class TlsConnection(asyncio.Protocol, asyncio.Transport):
    """To the connection it is the protocol, to the inner protocol the transport. For one event loop."""

    def __init__(
        self,
        inner: asyncio.Protocol,
        context: ssl.SSLContext,
        *,
        server_side: bool = False,
        hostname: str | None = None,
    ) -> None:
        """hostname: for which the server's certificate has to be, where the context looks at it."""
        super().__init__()
        self.inner = inner
        self.shaken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done once both sides know one another, and ``inner`` is connected; failed if that does not come about."""
        self.shaken.add_done_callback(_heed)  # of a server's side nobody waits for it
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=server_side, server_hostname=hostname)
        self._server_side = server_side
        self._under: asyncio.Transport | None = None
        self._error: Exception | None = None

    # --- the protocol of the connection --------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Who connected speaks first."""
        self._under = cast(asyncio.Transport, transport)
        if not self._server_side:
            self._arrived()

    def data_received(self, data: bytes) -> None:
        """Something arrived, as it was sent."""
        self._incoming.write(data)
        self._arrived()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone, and the inner protocol hears of it, also where the handshake did not get that far.

        Each has the other: until that is taken apart neither is freed, nor what OpenSSL keeps for them, unless the
        garbage collector goes through all that there is.
        """
        error, inner = self._error or exc, self.inner
        self._error, self.inner = None, asyncio.Protocol()
        if not self.shaken.done():
            self.shaken.set_exception(error or ConnectionResetError("the connection ended in the TLS handshake"))
        inner.connection_lost(error)

    def pause_writing(self) -> None:
        """The other side does not read."""
        if self._is_shaken():
            self.inner.pause_writing()

    def resume_writing(self) -> None:
        """It reads again."""
        if self._is_shaken():
            self.inner.resume_writing()

    def _is_shaken(self) -> bool:
        return self.shaken.done() and not self.shaken.cancelled() and self.shaken.exception() is None

    def _arrived(self) -> None:
        assert self._under is not None
        try:
            if self.shaken.done() or self._shake():
                self._hand_on()
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            self._error = error.with_traceback(None)  # it would have this connection
            self._flush()
            self._under.close()
        else:
            self._flush()

    def _shake(self) -> bool:
        """Whether both sides know one another now. Raises SSLError."""
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
            return False
        self._flush()
        self.shaken.set_result(None)
        self.inner.connection_made(self)
        return True

    def _hand_on(self) -> None:
        """What has arrived goes to the inner protocol, as much as there is at once. Raises SSLError."""
        pieces: list[bytes] = []
        over = False
        try:
            while not over:
                pieces.append(self._tls.read(RECORD))
                over = not pieces[-1]
        except ssl.SSLWantReadError:
            pass
        finally:
            if any(pieces):
                self.inner.data_received(b"".join(pieces))
        if over:
            self.close()

    def _flush(self) -> None:
        if self._outgoing.pending:
            assert self._under is not None
            self._under.write(self._outgoing.read())

    # --- the transport of the inner protocol ---------------------------------------------------

    def write(self, data: Any) -> None:
        """Sends something."""
        if data and not self.is_closing():
            self._tls.write(data)
            self._flush()

    def is_closing(self) -> bool:
        """Whether nothing more can be sent."""
        return self._under is None or self._under.is_closing()

    def close(self) -> None:
        """Says good-bye, and ends the connection once what was written is sent."""
        assert self._under is not None
        if not self._under.is_closing():
            with suppress(ssl.SSLError):  # the other side has not said good-bye yet; nobody waits for that
                self._tls.unwrap()
            self._flush()
            self._under.close()

    def abort(self) -> None:
        """Ends the connection at once, if it has begun."""
        if self._under is not None:
            self._under.abort()

    def pause_reading(self) -> None:
        """Lets the other side wait."""
        assert self._under is not None
        self._under.pause_reading()

    def resume_reading(self) -> None:
        """Goes on."""
        assert self._under is not None
        self._under.resume_reading()

    def get_write_buffer_size(self) -> int:
        """Bytes that the system has not taken yet."""
        assert self._under is not None
        return self._under.get_write_buffer_size()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """As of the connection, with ``ssl_object``."""
        if name == "ssl_object":
            return self._tls
        return default if self._under is None else self._under.get_extra_info(name, default)


def _heed(shaken: asyncio.Future[None]) -> None:
    """A failure that nobody waits for is not reported as forgotten."""
    if not shaken.cancelled():
        shaken.exception()
