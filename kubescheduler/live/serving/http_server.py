"""Ports that are listened on, on the I/O thread."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress

from clusterstate.errors import ConfigError
from kubescheduler.live.logs.log_lines import LogLine, Severity, error_line, structured
from kubescheduler.live.serving.guard import Guard
from kubescheduler.live.serving.http_answers import HttpAnswer, error_answer
from kubescheduler.live.serving.http_connection import Sent, ServedConnection, ServingLimits
from kubescheduler.live.serving.routes import Routes
from kubescheduler.live.serving.tls_contexts import TlsContexts, client_chain
from kubescheduler.live.transport.tls_connection import TlsConnection

LOGGED_FROM = 3
"""The verbosity from which every request is logged."""
BACKLOG = 128
"""Connections that the system keeps until they are accepted."""
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
            (host, port), family=family, dualstack_ipv6=dual, reuse_port=shares_port, backlog=BACKLOG
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
    """Serves pages to whom a guard lets pass. Everything but the constructor is for the I/O thread."""

    def __init__(
        self,
        listener: socket.socket,
        routes: Routes,
        guard: Guard,
        *,
        tls: TlsContexts | None = None,
        log: Callable[[LogLine], None] = lambda _: None,
        limits: ServingLimits | None = None,
    ) -> None:
        """tls: None for plain HTTP."""
        self.listener = listener
        """Closed by ``stop``."""
        self.limits = ServingLimits() if limits is None else limits
        self.connections: dict[ServedConnection, None] = {}
        """Those there are; who has waited longest comes first."""
        self._routes = routes
        self._guard = guard
        self._tls = tls
        self._log = log
        self._server: asyncio.Server | None = None

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
