"""Strangers at the port: what they send, what they leave out, and how many they are."""

from __future__ import annotations

import gzip
import socket
import ssl
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from kubescheduler.live.klog import LogLine
from kubescheduler.live.serving.guard import Guard
from kubescheduler.live.serving.http_answers import HttpAnswer, HttpRequest, text_answer
from kubescheduler.live.serving.http_server import (
    LONGEST,
    HttpServer,
    ServedConnection,
    ServingLimits,
    listening_socket,
)
from kubescheduler.live.serving.pages import Routes
from kubescheduler.live.serving.tls import TlsContexts, TlsSettings, self_signed
from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.live.transport.tls_connection import TlsConnection
from tests.support.live.live_cluster import EPOCH, uncollected
from tests.support.live.serving import trusting
from tests.support.processes import SECONDS, until

BRIEF, LONG = 0.05, 1000.0
HOST = b"Host: here\r\n"
GET = b"GET /page HTTP/1.1\r\n" + HOST
SECRET = "very-secret"


def page(request: HttpRequest) -> HttpAnswer:
    text = f"{request.method} {request.path} {dict(request.query)} {request.body.decode()}"
    return HttpAnswer(200, text.encode(), compressible=True)


class Served:
    """A server with one page, and its log."""

    def __init__(self, io: IoThread, limits: ServingLimits, *, secure: bool = False) -> None:
        self.log: list[LogLine] = []
        routes = Routes({"/page": page, "/broken": lambda _: text_answer("", 999)})
        tls = TlsContexts(TlsSettings(), self_signed("127.0.0.1", EPOCH)) if secure else None
        listener = listening_socket("127.0.0.1", 0)
        self.address = listener.getsockname()
        self.server = HttpServer(listener, routes, Guard(), tls=tls, log=self.log.append, limits=limits)
        self.io = io

    def connected(self, *, secure: bool = False) -> socket.socket:
        plain = socket.create_connection(self.address, SECONDS)
        return trusting().wrap_socket(plain) if secure else plain

    def answers(self, sent: bytes) -> bytes:
        """Everything that is answered until the server ends the connection."""
        with self.connected() as connection:
            connection.sendall(sent)
            return whole(connection)

    def errors(self) -> list[str]:
        return [line.text for line in self.log if not line.level]


def whole(connection: socket.socket) -> bytes:
    found = b""
    while piece := connection.recv(1 << 16):
        found += piece
    return found


@contextmanager
def served(io: IoThread, limits: ServingLimits | None = None, *, secure: bool = False) -> Iterator[Served]:
    found = Served(io, limits or ServingLimits(), secure=secure)
    io.wait(found.server.start())
    try:
        yield found
    finally:
        io.wait(found.server.stop())
    assert found.server.connections == {}


CLOSE = b"Connection: close\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "code", "why"),
    [
        pytest.param(GET + b"Authorization: very-secret\r\nBroken header\x01\r\n\r\n", 400, "header", id="no colon"),
        pytest.param(b"GET /page\r\n" + HOST + b"Authorization: very-secret\r\n\r\n", 400, "", id="no version"),
        pytest.param(b"very-secret\r\n\r\n", 400, "method", id="no request"),
        pytest.param(b"\x16\x03\x01 very-secret", 400, "method", id="TLS to a plain port"),
        pytest.param(GET + b"Content-Length: very-secret\r\n\r\n", 400, "Content-Length", id="no length"),
        pytest.param(GET + b"X: " + b"very-secret" * LONGEST + b"\r\n\r\n", 431, "too long", id="a long header"),
        pytest.param(b"GET /" + b"very-secret" * LONGEST + b" HTTP/1.1\r\n\r\n", 431, "too long", id="a long target"),
        pytest.param(b"GET http://very-secret:port/ HTTP/1.1\r\n" + HOST + b"\r\n", 400, "", id="no address"),
    ],
)  # fmt: skip
def test_what_is_no_request(io: IoThread, sent: bytes, code: int, why: str) -> None:
    """It is refused as by Go, and is one line of the log that names the fault, and nothing of what was sent."""
    with served(io) as found:
        try:
            answer = found.answers(sent)
        except ConnectionError:  # the rest of it was still on its way when it was refused
            answer = b""
        assert not answer or answer.startswith(b"HTTP/1.1 %d " % code)
        until(lambda: len(found.errors()) == 1)
        (line,) = found.errors()
        assert line.startswith('"Malformed HTTP request" srcIP="127.0.0.1" err=')
        assert why in line
        assert SECRET not in line
        assert "\n" not in line


@pytest.mark.parametrize(
    ("limits", "sent", "after"),
    [
        pytest.param(ServingLimits(BRIEF, LONG), b"", False, id="nothing"),
        pytest.param(ServingLimits(BRIEF, LONG), GET, False, id="half of the headers"),
        pytest.param(
            ServingLimits(BRIEF, LONG),
            b"PUT /page HTTP/1.1\r\nContent-Length: 9\r\n\r\nhalf",
            False,
            id="half of a body",
        ),
        pytest.param(ServingLimits(LONG, BRIEF), b"", True, id="nothing after a request"),
        pytest.param(ServingLimits(BRIEF, LONG), GET, True, id="half of a second request"),
    ],
)
def test_who_does_not_go_on(io: IoThread, limits: ServingLimits, sent: bytes, after: bool) -> None:
    """The connection is ended when its time is over. after: a whole request, for which there is time enough."""
    first = ServingLimits(LONG, limits.idle_seconds) if after else limits
    with served(io, first) as found, found.connected() as connection:
        if after:
            connection.sendall(GET + b"\r\n")
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200 OK")
            found.server.limits = limits
        with suppress(ConnectionError):  # its time may be over before the rest is sent
            connection.sendall(sent)
            assert whole(connection) == b""
        until(lambda: not found.server.connections)
        assert found.errors() == []


def test_who_does_not_go_on_with_the_handshake(io: IoThread) -> None:
    """TLS that is not begun, or not finished, has the time of a request."""
    with served(io, ServingLimits(BRIEF, LONG), secure=True) as found, found.connected() as silent:
        assert whole(silent) == b""
        until(lambda: not found.server.connections)


def test_a_handshake_that_fails(io: IoThread) -> None:
    """It leaves no connection behind, and no line."""
    with served(io, ServingLimits(LONG, LONG), secure=True) as found:
        with found.connected() as plain:
            plain.sendall(GET + b"\r\n")
            whole(plain)
        until(lambda: not found.server.connections)
        assert found.errors() == []


@pytest.mark.parametrize("secure", [pytest.param(False, id="plain"), pytest.param(True, id="TLS")])
def test_a_bound_on_connections(io: IoThread, secure: bool) -> None:
    """For one more the one has to go that has waited longest: strangers do not keep out who asks for our health."""
    with served(io, ServingLimits(LONG, LONG, 3), secure=secure) as found:
        first, *others = [found.connected(secure=secure) for _ in range(3)]
        until(lambda: len(found.server.connections) == 3)
        first.sendall(GET + b"\r\n")
        assert first.recv(1 << 16).startswith(b"HTTP/1.1 200")
        newest = [found.connected(secure=secure) for _ in range(2)]
        for gone in others:
            with pytest.raises((ConnectionError, ssl.SSLError)) if secure else _nothing():
                assert gone.recv(1) == b""
                raise ConnectionResetError
        for there in (first, *newest):
            there.sendall(GET + b"\r\n")
            assert there.recv(1 << 16).startswith(b"HTTP/1.1 200")
        for one in (first, *others, *newest):
            one.close()


@contextmanager
def _nothing() -> Iterator[None]:
    with pytest.raises(ConnectionError):
        yield


def test_an_idle_connection_costs_little(io: IoThread) -> None:
    """asyncio's own TLS has buffers of 256 KiB for each."""
    count = 50
    with served(io, ServingLimits(LONG, LONG), secure=True) as found:
        found.connected(secure=True).close()
        until(lambda: not found.server.connections)
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            connections = [found.connected(secure=True) for _ in range(count)]
            until(lambda: len(found.server.connections) == count)
            used = tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()
        assert used < count * 20_000
        for connection in connections:
            connection.close()


@pytest.mark.parametrize(
    ("sent", "check"),
    [
        pytest.param(
            GET + b"\r\n" + b"GET /page?a=1&a=%C3%A4 HTTP/1.1\r\n" + HOST + CLOSE,
            lambda got: b"GET /page {} " in got and "{'a': ['1', 'ä']}".encode() in got and got.count(b"200 OK") == 2,
            id="one after the other",
        ),
        pytest.param(b"HEAD /page HTTP/1.1\r\n" + HOST + CLOSE,
                     lambda got: b"Content-Length: 14\r\n" in got and got.endswith(b"\r\n\r\n"), id="HEAD"),
        pytest.param(GET.replace(b"1.1", b"1.0") + b"\r\n", lambda got: b"Connection: close" in got, id="HTTP/1.0"),
        pytest.param(b"PUT /page HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n" + CLOSE + b"ab",
                     lambda got: got.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 ") and got[-2:] == b"ab",
                     id="who asks before a body"),
        pytest.param(GET + b"Accept-Encoding: gzip\r\n" + CLOSE,
                     lambda got: gzip.decompress(got.partition(b"\r\n\r\n")[2]) == b"GET /page {} ", id="packed"),
        pytest.param(GET + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n",
                     lambda got: got.startswith(b"HTTP/1.1 200 OK"), id="another protocol"),
        pytest.param(b"GET /no HTTP/1.1\r\n" + HOST + CLOSE, lambda got: got.startswith(b"HTTP/1.1 404 Not Found"),
                     id="no page"),
    ],
)  # fmt: skip
def test_requests(io: IoThread, sent: bytes, check: Callable[[bytes], bool]) -> None:
    """What HTTP/1.1 has, as far as it is used."""
    with served(io) as found:
        got = found.answers(sent)
        assert check(got), got


@pytest.mark.parametrize(
    ("sent", "secure", "shakes"),
    [
        pytest.param(GET + b"\r\n", False, False, id="plain"),
        pytest.param(GET + b"\r\n", True, True, id="TLS"),
        pytest.param(GET + CLOSE, True, True, id="ended by the server"),
        pytest.param(b"very-secret\r\n\r\n", True, True, id="no request"),
        pytest.param(GET + b"\r\n", True, False, id="a handshake that fails"),
    ],
)
def test_connections_that_ended_are_freed(io: IoThread, sent: bytes, secure: bool, shakes: bool) -> None:
    """Nothing is left of them for the garbage collector: probes and scrapes come every few seconds, for ever."""
    with served(io, secure=secure) as found, uncollected(ServedConnection, TlsConnection) as left:
        for _ in range(5):
            with found.connected(secure=shakes) as connection:
                connection.sendall(sent)
                connection.recv(1 << 16)
        until(lambda: not left())
