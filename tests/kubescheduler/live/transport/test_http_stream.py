"""Answers that are read while they arrive, from servers that send exactly what a test wants."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Iterable, Iterator

import pytest
import trustme

from kubescheduler.live.transport.http_connections import HttpConnections
from kubescheduler.live.transport.http_stream import MOST, MUCH, PORTION, GatheredReads, HttpStream
from kubescheduler.live.transport.server_access import ServerAccess
from kubescheduler.live.transport.tls_connection import TlsConnection
from tests.support.live import live_cluster
from tests.support.live.live_cluster import uncollected
from tests.support.processes import SECONDS

REQUEST = b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n"
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
        code = await stream.send(REQUEST)
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
def test_answers(parts: list[bytes], code: int, lines: list[bytes], error: str) -> None:
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
            await stream.send(REQUEST)
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
    """Nothing is left of them for the garbage collector: each has a buffer, and every watch ends after minutes."""
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
