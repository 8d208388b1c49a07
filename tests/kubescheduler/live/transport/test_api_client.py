"""Requests to an API server over real connections."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from unittest.mock import MagicMock

import msgspec
import pytest
from aiohttp import web

from kubescheduler.live.observers import RestObserver
from kubescheduler.live.process.scheduler_setup import ServerClients
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import ApiClient, ClientOptions, Limits, TokenBucket
from kubescheduler.live.transport.http_connections import HttpConnections
from kubescheduler.live.transport.io_thread import IoThread, WallClock
from kubescheduler.live.transport.server_access import ServerAccess
from tests.support.live.live_cluster import StoodClock

Seen = list[tuple[str, str, str]]


def a_status(code: int, message: str, reason: str) -> web.Response:
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "reason": reason}
    return web.json_response({**body, "code": code}, status=code)


class Recorder(RestObserver):
    """A server that answers by path, and what was counted of the requests to it."""

    def __init__(self) -> None:
        self.seen: Seen = []
        self.finishes: list[tuple[str, str, str, int, int]] = []
        self.retries: list[str] = []
        self.names: list[str] = []
        self.peers: list[object] = []
        """Of each request, by which connection it came."""

    def finished(self, verb: str, path: str, host: str, code: str, seconds: float, sent: int, received: int) -> None:
        self.finishes.append((verb, path, code, sent, received))

    def limited(self, verb: str, path: str, host: str, seconds: float) -> None:
        """Nothing is kept of it."""

    def watched(self, verb: str, host: str, code: str) -> None:
        """Nothing is kept of it."""

    def retried(self, verb: str, host: str, code: str) -> None:
        self.retries.append(code)

    def resolved(self, name: str, seconds: float) -> None:
        assert seconds >= 0
        self.names.append(name)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        text = await request.text()
        self.seen.append((request.method, request.raw_path, text))
        self.peers.append(request.transport.get_extra_info("peername"))
        times = sum(path == request.raw_path for _, path, _ in self.seen)
        match request.path:
            case "/slow" if times < 3:
                return web.Response(status=429, headers={"Retry-After": "1"}, text="slow down")
            case "/taken":
                return a_status(409, "it is taken", "Conflict")
            case "/broken":
                return web.Response(status=500, text="no\n")
            case "/lost":
                request.transport.close()
            case "/watch":
                stream = web.StreamResponse()
                await stream.prepare(request)
                for part in (b'{"a":', b'1}\n{"a":2}\n', b"\n", b'{"a":3}\n'):
                    await stream.write(part)
                await stream.write_eof()
                return stream
        return web.json_response({"agent": request.headers["User-Agent"], "kind": request.content_type})


@pytest.fixture
def io() -> Iterator[IoThread]:
    with IoThread() as thread:
        yield thread


@pytest.fixture
def server() -> Recorder:
    return Recorder()


@pytest.fixture
def url(io: IoThread, server: Recorder) -> Iterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", server.answer)
    runner = web.AppRunner(app)

    async def start() -> str:
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        return "http://{}:{}".format(*runner.addresses[0])

    yield io.wait(start())
    io.wait(runner.cleanup())


@pytest.fixture
def clock() -> StoodClock:
    return StoodClock()


@pytest.fixture
def client(io: IoThread, url: str, server: Recorder, clock: StoodClock) -> Iterator[ApiClient]:
    options = ClientOptions(Limits(0, 0), "kube-scheduler/v1.36.2 (linux/amd64) kubernetes/0000000/scheduler")
    client = ApiClient(ServerAccess(url, token="Bearer secret"), options, observer=server, clock=clock)
    yield client
    io.wait(client.close())


def test_an_answer(io: IoThread, client: ApiClient, server: Recorder) -> None:
    """The body is JSON, the query in the order given and escaped as Go does, and all is measured."""
    query = [("fieldSelector", "status.phase!=Succeeded,status.phase!=Failed"), ("a", "x y")]
    answer = io.wait(client.request("POST", "/ok", query, {"b": [1]}))
    assert answer.document() == {
        "agent": "kube-scheduler/v1.36.2 (linux/amd64) kubernetes/0000000/scheduler",
        "kind": "application/json",
    }
    path = "/ok?fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed&a=x+y"
    assert server.seen == [("POST", path, '{"b":[1]}')]
    assert server.finishes == [("POST", "/ok", "200", 9, len(answer.body))]


async def asked_often(*clients: ApiClient) -> None:
    """Nine requests of each, at the same time."""
    await asyncio.gather(*(client.request("GET", "/ok") for client in clients for _ in range(9)))


def test_at_most_so_many_at_a_time(io: IoThread, url: str, server: Recorder) -> None:
    """Requests above the client's number wait for one that has its answer, and go by its connection."""
    client = ApiClient(ServerAccess(url), ClientOptions(Limits(0, 0), connections=2))
    io.wait(asked_often(client))
    io.wait(client.close())
    assert (len(server.peers), len(set(server.peers))) == (9, 2)


def test_clients_that_share_connections(io: IoThread, url: str, server: Recorder) -> None:
    """What one of them has left, the other uses; neither waits for the other's requests."""
    access = ServerAccess(url)
    connections = HttpConnections(access)
    options = ClientOptions(Limits(0, 0), connections=2)
    first, second = (ApiClient(access, options, connections=connections) for _ in range(2))
    io.wait(asked_often(first, second))
    assert len(set(server.peers)) == 4
    io.wait(asked_often(second))
    assert (len(server.peers), len(set(server.peers))) == (27, 4)
    io.wait(first.close())


def test_clients_of_one_process_share_connections(io: IoThread, url: str, server: Recorder) -> None:
    """Events go by the connections that bindings have left."""
    settings = MagicMock()
    settings.server.qps = 0
    clients = ServerClients(settings, MagicMock(), WallClock())
    clients.access = ServerAccess(url)
    bindings, events = clients.client("/scheduler"), clients.client("/scheduler")
    for client in (bindings, events):
        io.wait(client.request("GET", "/ok"))
    assert (len(server.peers), len(set(server.peers))) == (2, 1)
    io.wait(bindings.close())


def test_repeated_when_the_server_asks(io: IoThread, client: ApiClient, server: Recorder, clock: StoodClock) -> None:
    """A Retry-After is waited for inside the one call."""
    assert io.wait(client.request("POST", "/slow")).code == 200
    assert (len(server.seen), server.retries, clock.slept) == (3, ["429", "429"], [1, 1])


@pytest.mark.parametrize(
    ("path", "code", "reason", "text"),
    [
        pytest.param("/taken", 409, "Conflict", "it is taken", id="a Status"),
        pytest.param(
            "/broken",
            500,
            "InternalError",
            'an error on the server ("no") has prevented the request from succeeding',
            id="plain text",
        ),
        pytest.param("/lost", 0, "", 'Post "{url}/lost": EOF', id="no answer"),
    ],
)
def test_errors(io: IoThread, client: ApiClient, url: str, path: str, code: int, reason: str, text: str) -> None:
    """Errors are the Status' message, or client-go's words."""
    with pytest.raises(ApiError) as caught:
        io.wait(client.request("POST", path))
    assert (caught.value.code, caught.value.reason, str(caught.value)) == (code, reason, text.format(url=url))


def test_nobody_there(io: IoThread) -> None:
    """A refused connection is told in Go's words."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        client = ApiClient(ServerAccess(f"http://127.0.0.1:{port}"))
        with pytest.raises(ApiError) as caught:
            io.wait(client.request("GET", "/x"))
        assert str(caught.value) == (
            f'Get "http://127.0.0.1:{port}/x": dial tcp 127.0.0.1:{port}: connect: connection refused'
        )
        assert caught.value.refused
        io.wait(client.close())


def test_a_stream(io: IoThread, client: ApiClient) -> None:
    """A watch gives whole lines, however they arrive."""

    async def read() -> list[int]:
        async with client.watch("/watch", [("watch", "true")]) as batches:
            return [msgspec.json.decode(line)["a"] async for lines in batches for line in lines]

    assert io.wait(read()) == [1, 2, 3]


def test_streams_are_not_limited(io: IoThread, url: str, clock: StoodClock) -> None:
    """One that broke goes on at once, however many requests wait for the limit."""
    client = ApiClient(ServerAccess(url), ClientOptions(Limits(1, 1)), clock=clock)

    async def streams() -> None:
        for _ in range(3):
            async with client.watch("/watch", []):
                pass
        await client.close()

    io.wait(streams())
    assert clock.slept == []


def test_a_refused_stream(io: IoThread, client: ApiClient) -> None:
    """A watch that is refused raises what a request would."""

    async def read() -> None:
        async with client.watch("/taken", []):
            pass

    with pytest.raises(ApiError, match="it is taken"):
        io.wait(read())


def test_names_that_are_looked_up(io: IoThread, server: Recorder, url: str) -> None:
    """A host's name is looked up once for its connections, which is measured; an address is none."""
    named = ApiClient(ServerAccess(url.replace("127.0.0.1", "localhost")), observer=server)
    try:
        for _ in range(2):
            assert io.wait(named.request("GET", "/ok")).code == 200
        assert server.names == ["localhost"]
    finally:
        io.wait(named.close())


def test_addresses_are_not_looked_up(io: IoThread, client: ApiClient, server: Recorder) -> None:
    """Nothing is measured of what is an address already."""
    io.wait(client.request("GET", "/ok"))
    assert server.names == []


@pytest.mark.parametrize(
    ("qps", "burst", "asked_at", "delays"),
    [
        pytest.param(10.0, 2, [0, 0, 0, 0], [0, 0, 0.1, 0.2], id="beyond the burst one every tenth of a second"),
        pytest.param(10.0, 1, [0, 0, 1, 1], [0, 0.1, 0, 0.1], id="a pause gives the burst back"),
        pytest.param(10.0, 2, [0, 0, 100, 100, 100], [0, 0, 0, 0, 0.1], id="a long pause gives no more than the burst"),
        pytest.param(0.0, 0, [0, 0, 0], [0, 0, 0], id="no limit"),
        pytest.param(50.0, 100, [0] * 102, [0] * 100 + [0.02, 0.04], id="upstream's defaults"),
    ],
)
def test_delays(qps: float, burst: int, asked_at: list[float], delays: list[float]) -> None:
    """Requests wait until the bucket has a token for them."""
    clock = StoodClock()
    bucket = TokenBucket(Limits(qps, burst), clock)
    found = []
    for moment in asked_at:
        clock.moment = moment
        found.append(bucket.reserve())
    assert found == pytest.approx(delays)
