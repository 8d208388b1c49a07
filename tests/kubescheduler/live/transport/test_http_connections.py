"""Requests by kept connections, and answers read as they arrive, against servers that say exactly what a test wants."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import trustme

from kubescheduler.live.observers import RestObserver
from kubescheduler.live.transport.api_answers import DialError
from kubescheduler.live.transport.api_client import ApiClient, ClientOptions, Limits
from kubescheduler.live.transport.http_connections import (
    MOST,
    MUCH,
    PORTION,
    GatheredReads,
    HttpConnection,
    HttpConnections,
    HttpStream,
)
from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.live.transport.server_access import ServerAccess
from kubescheduler.live.transport.tls_connection import TlsConnection
from tests.support.apiserver import ApiServer
from tests.support.live import live_cluster
from tests.support.live.live_cluster import uncollected
from tests.support.processes import SECONDS

REQUEST = b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
LAST_OK = OK.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n")
SILENCE = b""
"""The server closes the connection instead of an answer."""


class ScriptedServer:
    """Answers each request with the next of its texts; ``connections`` has the number of requests on each."""

    def __init__(self, answers: list[bytes], *, closes: bool = False) -> None:
        self.answers = answers
        self.closes = closes
        self.connections: list[int] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.append(0)
        at = len(self.connections) - 1
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                await reader.readuntil(b"\r\n\r\n")
                self.connections[at] += 1
                answer = self.answers.pop(0)
                writer.write(answer)
                if self.closes or answer == SILENCE:
                    break
                await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def connected(
    server: ScriptedServer, tls: ssl.SSLContext | None = None, trust: ssl.SSLContext | None = None
) -> AsyncIterator[HttpConnections]:
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
    port = listening.sockets[0].getsockname()[1]
    scheme = "http" if tls is None else "https"
    connections = HttpConnections(ServerAccess(f"{scheme}://127.0.0.1:{port}", ssl_context=trust))
    try:
        yield connections
    finally:
        connections.close()
        listening.close()
        await asyncio.sleep(0.01)


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    live_cluster.run(test())


@pytest.mark.parametrize(
    ("answer", "closes", "code", "body"),
    [
        pytest.param(OK, False, 200, b"ok", id="of a length"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n3\r\n...\r\n0\r\n\r\n",
            False,
            200,
            b"ok...",
            id="in chunks",
        ),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\nuntil it ends", True, 200, b"until it ends", id="until the end"),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", False, 204, b"", id="nothing"),
        pytest.param(b"HTTP/1.1 100 Continue\r\nX: y\r\n\r\n" + OK, False, 200, b"ok", id="after another"),
        pytest.param(OK + LAST_OK.replace(b"200", b"500"), False, 200, b"ok", id="before another"),
    ],
)
def test_answers(answer: bytes, closes: bool, code: int, body: bytes) -> None:
    """However a server says where its answer ends, it is read whole."""

    async def test() -> None:
        async with connected(ScriptedServer([answer], closes=closes)) as connections:
            got = await connections.send(REQUEST, repeatable=False)
            assert (got.code, got.body) == (code, body)

    run(test)


def test_a_connection_is_kept() -> None:
    """One request after the other goes by the same connection; headers are found by their usual names."""
    server = ScriptedServer([b"HTTP/1.1 429 Slow\r\nretry-after: 3\r\nContent-Length: 0\r\n\r\n", OK, OK])

    async def test() -> None:
        async with connected(server) as connections:
            assert (await connections.send(REQUEST, repeatable=False)).headers["Retry-After"] == "3"
            for _ in range(2):
                assert (await connections.send(REQUEST, repeatable=False)).headers.get("Retry-After") is None

    run(test)
    assert server.connections == [3]


def test_a_connection_that_the_server_ends_is_not_kept() -> None:
    """After ``Connection: close`` the next request goes by another one."""
    server = ScriptedServer([LAST_OK, OK])

    async def test() -> None:
        async with connected(server) as connections:
            for _ in range(2):
                assert (await connections.send(REQUEST, repeatable=False)).code == 200

    run(test)
    assert server.connections == [1, 1]


@pytest.mark.parametrize("repeatable", [pytest.param(True, id="read"), pytest.param(False, id="write")])
def test_a_kept_connection_that_breaks(repeatable: bool) -> None:
    """What may be sent twice is sent again by a new connection; a write that may have been done fails."""
    server = ScriptedServer([OK, SILENCE, OK])

    async def test() -> None:
        async with connected(server) as connections:
            await connections.send(REQUEST, repeatable=repeatable)
            if repeatable:
                assert (await connections.send(REQUEST, repeatable=True)).body == b"ok"
            else:
                with pytest.raises(asyncio.IncompleteReadError):
                    await connections.send(REQUEST, repeatable=False)

    run(test)
    assert server.connections == ([2, 1] if repeatable else [2])


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        pytest.param(SILENCE, asyncio.IncompleteReadError, id="nothing"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nha", asyncio.IncompleteReadError, id="a half"),
        pytest.param(b"SSH-2.0-OpenSSH\r\n\r\n", ConnectionError, id="no HTTP"),
    ],
)
def test_answers_that_are_none(answer: bytes, error: type[Exception]) -> None:
    """A new connection that breaks is not tried again, whatever was sent."""

    async def test() -> None:
        async with connected(ScriptedServer([answer], closes=True)) as connections:
            with pytest.raises(error):
                await connections.send(REQUEST, repeatable=True)

    run(test)


def test_a_request_that_is_given_up() -> None:
    """Its connection is not used again: the answer may still come."""
    server = ScriptedServer([b"HTTP/1.1 100 Continue\r\n\r\n", OK])

    async def test() -> None:
        async with connected(server) as connections:
            given_up = asyncio.create_task(connections.send(REQUEST, repeatable=True))
            while len(server.answers) > 1:
                await asyncio.sleep(0)
            given_up.cancel()
            with pytest.raises(asyncio.CancelledError):
                await given_up
            assert (await connections.send(REQUEST, repeatable=True)).body == b"ok"

    run(test)
    assert server.connections == [1, 1]


@pytest.mark.parametrize("trusted", [pytest.param(True, id="trusted"), pytest.param(False, id="unknown authority")])
def test_a_secured_connection(trusted: bool) -> None:
    """The server's certificate has to be one of the authority that is trusted; the error is Go's."""
    authority = trustme.CA()
    serving, trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(serving)
    if trusted:
        authority.configure_trust(trusting)

    async def test() -> None:
        async with connected(ScriptedServer([OK]), tls=serving, trust=trusting) as connections:
            if trusted:
                assert (await connections.send(REQUEST, repeatable=True)).body == b"ok"
            else:
                with pytest.raises(DialError, match=r"^tls: failed to verify certificate: [a-z -]+$"):
                    await connections.send(REQUEST, repeatable=True)

    run(test)


class LookedUp(RestObserver):
    """The names that were looked up."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def resolved(self, name: str, seconds: float) -> None:
        self.names.append(name)


@pytest.mark.parametrize(
    ("host", "text", "looked_up"),
    [
        pytest.param("nobody.invalid", "dial tcp: lookup nobody.invalid: no such host", ["nobody.invalid"], id="name"),
        pytest.param("127.0.0.1", "dial tcp 127.0.0.1:1: connect: connection refused", [], id="address"),
    ],
)
def test_where_nobody_listens(host: str, text: str, looked_up: list[str]) -> None:
    """The error says what was tried; names are looked up, addresses are not."""
    observer = LookedUp()

    async def test() -> None:
        connections = HttpConnections(ServerAccess(f"http://{host}:1"), observer)
        with pytest.raises(DialError) as caught:
            await connections.send(REQUEST, repeatable=True)
        assert str(caught.value) == text

    run(test)
    assert observer.names == looked_up


@pytest.mark.parametrize(
    ("answer", "secured", "trusted"),
    [
        pytest.param(LAST_OK, False, True, id="plain"),
        pytest.param(LAST_OK, True, True, id="secured"),
        pytest.param(SILENCE, True, True, id="broken"),
        pytest.param(LAST_OK, True, False, id="unknown authority"),
    ],
)
def test_connections_that_ended_are_freed(answer: bytes, secured: bool, trusted: bool) -> None:
    """Nothing is left of them for the garbage collector: it may not look through what is old for hours."""
    authority = trustme.CA()
    serving, trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(serving)
    if trusted:
        authority.configure_trust(trusting)
    count = 5
    server = ScriptedServer([answer] * count, closes=True)

    async def test() -> None:
        tls = serving if secured else None
        async with connected(server, tls=tls, trust=trusting) as connections:
            with uncollected(HttpConnection, TlsConnection) as left:
                for _ in range(count):
                    with contextlib.suppress(DialError, asyncio.IncompleteReadError):
                        await connections.send(REQUEST, repeatable=False)
                async with asyncio.timeout(20):
                    while left():
                        await asyncio.sleep(0.01)

    run(test)


TCP = Path("/proc/net/tcp")
KEEP_ALIVE, HERTZ = "02", 100
"""The timer of questions whether somebody is there; its ticks a second."""

pytestmark = pytest.mark.skipif(sys.platform != "linux" or not TCP.exists(), reason="reads the system's timers")


def timers(url: str) -> Mapping[str, tuple[str, float]]:
    """Port of each client of a server → (its timer, seconds until that)."""
    port = f":{int(url.rpartition(':')[2]):04X}"
    found = {}
    for line in TCP.read_text().splitlines()[1:]:
        _, local, remote, state, _, timer, *_ = line.split()
        if remote.endswith(port) and state == "01":
            kind, _, ticks = timer.partition(":")
            found[local] = kind, int(ticks, 16) / HERTZ
    return found


def test_the_system_asks_whether_the_server_is_there(io: IoThread, server: ApiServer) -> None:
    """On the connections of requests, and on those of streams, soon after the server was last heard."""
    client = ApiClient(ServerAccess(server.url), ClientOptions(Limits(0, 0)))

    async def under_way() -> Mapping[str, tuple[str, float]]:
        await client.request("GET", "/api/v1/pods")
        async with client.watch("/api/v1/pods", [("watch", "true")]):
            return timers(server.url)

    found = io.wait(under_way())
    io.wait(client.close())
    assert len(found) == 2
    assert [(kind, seconds <= 30.0) for kind, seconds in found.values()] == [(KEEP_ALIVE, True)] * 2


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


@contextlib.asynccontextmanager
async def serving(
    parts: Iterable[bytes], tls: ssl.SSLContext | None = None, trust: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[HttpConnections, asyncio.Event]]:
    """Connections to a server that sends the parts one after the other and closes; whether it has sent them all."""
    sent = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            for part in parts:
                writer.write(part)
                await writer.drain()
            sent.set()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    port = listening.sockets[0].getsockname()[1]
    scheme = "http" if tls is None else "https"
    connections = HttpConnections(ServerAccess(f"{scheme}://127.0.0.1:{port}", ssl_context=trust))
    try:
        yield connections, sent
    finally:
        connections.close()
        listening.close()
        await asyncio.sleep(0.01)


async def all_lines(connections: HttpConnections) -> tuple[int, list[bytes], str]:
    """(status, the lines that came, the name of the error in the end)."""
    stream = await connections.open()
    found: list[bytes] = []
    code = 0
    try:
        code = await stream.begin(REQUEST)
        async for lines in stream.lines():
            found += lines
    except (OSError, asyncio.IncompleteReadError) as error:
        return code, found, type(error).__name__
    finally:
        connections.hand_back(stream)
    return code, found, ""


@pytest.mark.parametrize(
    ("parts", "code", "lines", "error"),
    [
        pytest.param([CHUNKED, chunk(b"a\nb"), chunk(b"c\n\n"), LAST], 200, [b"a", b"bc"], "", id="in chunks"),
        pytest.param([CHUNKED, chunk(b"a\n")], 200, [b"a"], "IncompleteReadError", id="broken off"),
        pytest.param([CHUNKED, chunk(b"a\n"), b"zz\r\n"], 200, [b"a"], "ConnectionError", id="no chunk"),
        pytest.param([b"HTTP/1.1 200 OK\r\n\r\na\n", b"b\n"], 200, [b"a", b"b"], "", id="until the end"),
        pytest.param([b"HTTP/1.1 410 Gone\r\nContent-Length: 3\r\n\r\nno\n"], 410, [b"no"], "", id="of a length"),
        pytest.param([b"HTTP/1.1 100 Continue\r\n\r\n", CHUNKED, chunk(b"a\n"), LAST], 200, [b"a"], "", id="after 1xx"),
        pytest.param([], 0, [], "IncompleteReadError", id="nothing"),
        pytest.param([b"SSH-2.0-OpenSSH\r\n\r\n"], 0, [], "ConnectionError", id="no HTTP"),
    ],
)
def test_streams(parts: list[bytes], code: int, lines: list[bytes], error: str) -> None:
    """Whole lines come however they are sent; a break is told after what came before it."""

    async def test() -> tuple[int, list[bytes], str]:
        async with serving(parts) as (connections, _):
            return await all_lines(connections)

    assert live_cluster.run(test()) == (code, lines, error)


def test_a_secured_stream() -> None:
    """Many small pieces, each encrypted for itself, arrive in order."""
    authority = trustme.CA()
    tls, trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    authority.configure_trust(trust)
    sent = [b"%d" % number * 300 for number in range(2000)]

    async def test() -> tuple[int, list[bytes], str]:
        async with serving([CHUNKED, *(chunk(line + b"\n") for line in sent), LAST], tls, trust) as (connections, _):
            return await all_lines(connections)

    assert live_cluster.run(test()) == (200, sent, "")


def test_a_reader_that_is_slower() -> None:
    """The server has to wait: what nobody takes does not fill the memory."""
    line = b"x" * 65535 + b"\n"
    count = 64 * MOST // len(line)
    taken = 0

    def parts() -> Iterator[bytes]:
        nonlocal taken
        yield CHUNKED
        for _ in range(count):
            taken += 1
            yield chunk(line)
        yield LAST

    async def test() -> tuple[bool, int]:
        async with serving(parts()) as (connections, sent):
            stream = await connections.open()
            await stream.begin(REQUEST)
            before = -1
            while not taken or taken != before:  # both sides are of this loop: what does not move in many turns waits
                before = taken
                for _ in range(100):
                    await asyncio.sleep(0)
            early = sent.is_set()
            got = [len(lines) async for lines in stream.lines()]
            connections.hand_back(stream)
            return early, sum(got)

    assert live_cluster.run(test()) == (False, count)


@pytest.mark.parametrize("secured", [pytest.param(False, id="plain"), pytest.param(True, id="secured")])
@pytest.mark.parametrize("parts", [pytest.param([CHUNKED, LAST], id="whole"), pytest.param([CHUNKED], id="broken off")])
def test_streams_that_ended_are_freed(parts: list[bytes], secured: bool) -> None:
    """Nothing is left of them for the garbage collector: every watch ends after minutes."""
    authority = trustme.CA()
    tls, trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    authority.configure_trust(trust)

    async def test() -> None:
        async with serving(parts, tls if secured else None, trust) as (connections, _):
            with uncollected(HttpStream, TlsConnection) as left:
                for _ in range(5):
                    await all_lines(connections)
                for _ in range(100):
                    if not left():
                        break
                    await asyncio.sleep(0.01)
                assert not left()

    live_cluster.run(test())


class Receiver(asyncio.Protocol):
    """Counts what arrives."""

    def __init__(self) -> None:
        self.bytes = 0
        self.arrived = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.reads = GatheredReads(transport)

    def data_received(self, data: bytes) -> None:
        self.bytes += len(data)
        self.reads.arrived(len(data))
        self.arrived.set()

    async def until(self, count: int) -> None:
        while self.bytes < count:
            self.arrived.clear()
            await self.arrived.wait()


def waits_for(connection: socket.socket) -> int:
    """Bytes that the system gathers on a connection before it wakes who waits."""
    return connection.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT)


@pytest.mark.skipif(not hasattr(socket, "SO_RCVLOWAT"), reason="the system does not gather")
def test_portions() -> None:
    """After much has arrived the system gathers; what is less than a portion comes soon all the same."""

    async def test() -> tuple[int, int, int]:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        _, receiver = await asyncio.get_running_loop().connect_accepted_socket(Receiver, ours)
        before = waits_for(ours)
        theirs.sendall(b"x" * MUCH)
        await receiver.until(MUCH)
        receiver.reads.arrived(MUCH)
        meanwhile = waits_for(ours)
        theirs.sendall(b"y")
        await receiver.until(MUCH + 1)
        while waits_for(ours) != before:
            await asyncio.sleep(0)
        theirs.close()
        return before, meanwhile, receiver.bytes

    assert live_cluster.run(asyncio.wait_for(test(), SECONDS)) == (1, PORTION, MUCH + 1)


def test_little_is_not_gathered() -> None:
    """Single events come at once."""

    async def test() -> int:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        _, receiver = await asyncio.get_running_loop().connect_accepted_socket(Receiver, ours)
        theirs.sendall(b"x" * 100)
        await receiver.until(100)
        theirs.close()
        return waits_for(ours)

    assert live_cluster.run(asyncio.wait_for(test(), SECONDS)) == 1
