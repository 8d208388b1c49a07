"""One client of the API server: limited, retried when the server asks for it, measured. Upstream: client-go's rest."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote_plus, urlsplit

import msgspec

from clusterstate.errors import ConfigError
from kubecel.api_names import go_quote
from kubescheduler.live.observers import RestObserver
from kubescheduler.live.transport.api_answers import ApiAnswer, ApiError, error_of, transport_error
from kubescheduler.live.transport.http_connections import HttpConnections, HttpStream
from kubescheduler.live.transport.io_thread import WallClock
from kubescheduler.live.transport.server_access import ServerAccess

BROKEN_LINE = re.compile(r"[\r\n\0]")
"""What may not stand in a header."""


class RequestHeads:
    """Writes requests to one server."""

    def __init__(self, user_agent: str) -> None:
        self._agent = user_agent
        self._known: tuple[str, Mapping[str, str]] = "", {}
        self._shared = ""

    def request(
        self, method: str, url: str, headers: Mapping[str, str], data: bytes | None, content_type: str
    ) -> bytes:
        """A whole HTTP/1.1 request. url: absolute, escaped. headers: those that say who we are.

        Raises ConfigError for a header that would be more than one.
        """
        scheme, _, rest = url.partition("://")
        host, slash, target = rest.partition("/")
        if self._known != (host, headers):
            self._known, self._shared = (host, headers), self._lines(f"{scheme}://{host}", headers)
        head = f"{method} {slash or '/'}{target} HTTP/1.1\r\n{self._shared}"
        if data is None:
            ending = "Content-Length: 0\r\n" if method in ("POST", "PUT", "PATCH") else ""
            return f"{head}{ending}\r\n".encode()
        return f"{head}Content-Type: {content_type}\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data

    def _lines(self, origin: str, headers: Mapping[str, str]) -> str:
        """The headers that stay the same."""
        parts = urlsplit(origin)
        host = parts.netloc.rpartition("@")[2]
        lines = {"Host": host, "User-Agent": self._agent, "Accept-Encoding": "identity", **headers}
        if any(BROKEN_LINE.search(value) for value in lines.values()):
            raise ConfigError("credentials and server names have to be single lines")
        return "".join(f"{name}: {value}\r\n" for name, value in lines.items())


class Limits(msgspec.Struct, frozen=True):
    """How often a client may ask."""

    qps: float = 50.0
    """Requests a second in the long run; 0 or less: no limit."""
    burst: int = 100
    """Requests at once after a pause."""


class TokenBucket:
    """Every request takes a token; tokens come back at ``qps`` a second, up to ``burst``.

    Used from one thread. Tokens are given out in the order in which they were asked for.
    """

    def __init__(self, limits: Limits, clock: WallClock | None = None) -> None:
        self._limits = limits
        self._clock = clock or WallClock()
        self._tokens = float(limits.burst)
        self._last = self._clock.monotonic()

    def reserve(self) -> float:
        """Takes a token; the seconds to wait before it may be used."""
        if self._limits.qps <= 0:
            return 0.0
        now = self._clock.monotonic()
        self._tokens = min(float(self._limits.burst), self._tokens + (now - self._last) * self._limits.qps) - 1.0
        self._last = now
        return max(0.0, -self._tokens / self._limits.qps)

    def lift(self) -> None:
        """From now on there is no limit."""
        self._limits = Limits(0.0, 0)

    async def take(self) -> float:
        """Waits for a token; the seconds that it took."""
        delay = self.reserve()
        if delay > 0:
            await self._clock.sleep(delay)
        return delay


Query = Sequence[tuple[str, str]]
"""Keys and values, in the order in which they are sent."""

JSON = "application/json"
STRATEGIC_MERGE = "application/strategic-merge-patch+json"

RETRIES = 10
"""How often a request is repeated because the server asked for it."""
CLOSING = 0.05
"""Seconds that closed connections have to go: TLS says good-bye first."""
CONNECTIONS = 64
"""Requests of a client at the same time. Each connection costs both sides a handshake when it is made, as much CPU as a
binding or two, and a server on two cores is busy with far fewer.
"""
NOT_REPEATABLE = frozenset({"POST", "PATCH"})
"""Methods whose requests may have been carried out, although no answer came."""

GIVEN_UP = "context canceled"
"""Why requests fail that were given up; upstream's text."""
NOT_ADMITTED = f"client rate limiter Wait returned an error: {GIVEN_UP}"
"""The same of those that waited for the client's limit."""

FAILURES = (TimeoutError, OSError, asyncio.IncompleteReadError)


class _Request(msgspec.Struct, frozen=True):
    """One request, as often as it is sent."""

    method: str
    path: str
    query: Query
    data: bytes | None
    content_type: str
    timeout: float | None
    """Seconds in place of the client's own; None: these."""


class ClientOptions(msgspec.Struct, frozen=True):
    """What the clients of one process differ in."""

    limits: Limits = msgspec.field(default_factory=Limits)
    user_agent: str = "kube-scheduler"
    timeout: float | None = None
    """Seconds for one request with everything in it, None: no limit. Watches have none."""
    connections: int = CONNECTIONS
    """Requests at the same time; those above that wait. Watches come on top."""


class ApiClient:
    """Sends requests to one API server. Everything but the constructor is for the I/O thread.

    Limits and retries are the client's, so that all who share one share its rate.
    """

    def __init__(
        self,
        access: ServerAccess,
        options: ClientOptions | None = None,
        *,
        connections: HttpConnections | None = None,
        observer: RestObserver | None = None,
        clock: WallClock | None = None,
    ) -> None:
        """connections: shared with other clients of the same access, so that one uses what another has left; its own
        without.
        """
        self.access = access
        self._options = ClientOptions() if options is None else options
        self._observer = observer or RestObserver()
        self._clock = clock or WallClock()
        self.bucket = TokenBucket(self._options.limits, self._clock)
        """The client's limit on requests."""
        self._heads = RequestHeads(self._options.user_agent)
        self._connections = connections or HttpConnections(access, self._observer, self._clock)
        self._turns = asyncio.Semaphore(self._options.connections)
        self._under_way: set[asyncio.Task[Any]] = set()
        self._in_turn: set[asyncio.Task[Any]] = set()
        self.is_ending = False
        """Whether it takes no more requests."""

    @property
    def is_shared(self) -> bool:
        """Whether it is for all kinds of requests: one with a time limit is for a lock alone."""
        return self._options.timeout is None

    def admit_no_more(self) -> None:
        """Gives up the requests that wait for the limit, and all that are still to come; those on the wire go on."""
        self.is_ending = True
        for task in list(self._in_turn):
            task.cancel()

    def abort(self) -> None:
        """Gives up every request that is under way."""
        self.admit_no_more()
        for task in list(self._under_way):
            task.cancel()

    async def close(self) -> None:
        """Ends all connections."""
        self._connections.close()
        await asyncio.sleep(CLOSING)

    async def request(
        self,
        method: str,
        path: str,
        query: Query = (),
        body: Any = None,
        content_type: str = JSON,
        *,
        timeout: float | None = None,
    ) -> ApiAnswer:
        """Sends a request and waits for its answer.

        body: bytes are sent as they are, anything else as JSON. timeout: seconds, instead of the client's.
        Raises ApiError when the server refuses, or cannot be reached.
        """
        data = body if isinstance(body, bytes) or body is None else msgspec.json.encode(body)
        task = asyncio.current_task()
        assert task is not None
        self._under_way.add(task)
        try:
            return await self._repeated(_Request(method, path, query, data, content_type, timeout))
        except asyncio.CancelledError:
            if self.is_ending:
                raise ApiError(f"{method.capitalize()} {go_quote(self.url(path, query))}: {GIVEN_UP}") from None
            raise
        finally:
            self._under_way.discard(task)

    async def _repeated(self, asked: _Request) -> ApiAnswer:
        """Sends a request again for as long as the server asks for that."""
        answer = await self._once(asked)
        for _ in range(RETRIES):
            pause = _retry_after(answer)
            if pause is None:
                break
            self._observer.retried(asked.method, self.access.host, str(answer.code))
            await self._clock.sleep(pause)
            answer = await self._once(asked)
        if answer.code > 299:
            raise error_of(answer.code, answer.body, self.url(asked.path, asked.query))
        return answer

    async def _once(self, asked: _Request) -> ApiAnswer:
        answer = await self._sent(asked)
        if answer.code == 401 and await self._renewed():
            answer = await self._sent(asked)
        return answer

    async def _sent(self, asked: _Request) -> ApiAnswer:
        await self._admitted(asked.method, asked.path)
        headers = await self._identified()
        url = self.url(asked.path, asked.query)
        request = self._heads.request(asked.method, url, headers, asked.data, asked.content_type)
        total = self._options.timeout if asked.timeout is None else asked.timeout
        started, code, received = self._clock.monotonic(), "<error>", 0
        try:
            sent_by = self._in_its_turn(request, repeatable=asked.method not in NOT_REPEATABLE)
            answer = await (sent_by if total is None else asyncio.wait_for(sent_by, total))
            code, received = str(answer.code), len(answer.body)
            return answer
        except FAILURES as error:
            raise transport_error(asked.method, url, error) from None
        finally:
            seconds = self._clock.monotonic() - started
            sent = len(asked.data or b"")
            self._observer.finished(asked.method, asked.path, self.access.host, code, seconds, sent, received)

    @asynccontextmanager
    async def watch(
        self, path: str, query: Query, longest: float | None = None
    ) -> AsyncIterator[AsyncIterator[list[bytes]]]:
        """Opens a stream of JSON documents, one a line; gives those that arrive together, until the server ends it.

        longest: seconds after which a stream is taken for dead. The client's limit is for requests: a stream that broke
        does not wait behind them. Raises ApiError when the server refuses, or the stream breaks.
        """
        headers = await self._identified()
        url = self.url(path, query)
        request = self._heads.request("GET", url, headers, None, JSON)
        opened = False
        try:
            async with asyncio.timeout(longest), self._stream() as stream:
                code = await stream.begin(request)
                opened = True
                self._observer.watched("GET", self.access.host, str(code))
                if code > 299:
                    if code == 401:
                        await self._renewed()
                    raise error_of(code, await stream.read(), url)
                yield stream.lines()
        except FAILURES as error:
            if not opened:
                self._observer.watched("GET", self.access.host, "<error>")
            raise transport_error("GET", url, error) from None

    @asynccontextmanager
    async def _stream(self) -> AsyncIterator[HttpStream]:
        """A connection for a stream, ended with it."""
        stream = await self._connections.open()
        try:
            yield stream
        finally:
            self._connections.hand_back(stream)

    def url(self, path: str, query: Query = ()) -> str:
        """The address of a path below the server's, with its query in the order given."""
        if not query:
            return self.access.base_url + path
        return f"{self.access.base_url}{path}?{'&'.join(f'{_escaped(key)}={_escaped(value)}' for key, value in query)}"

    async def _admitted(self, method: str, path: str) -> None:
        """Waits for the limit. Raises ApiError when that is given up."""
        task = asyncio.current_task()
        assert task is not None
        if self.is_ending:
            raise ApiError(NOT_ADMITTED)
        self._in_turn.add(task)
        try:
            self._observer.limited(method, path, self.access.host, await self.bucket.take())
        except asyncio.CancelledError:
            if self.is_ending:
                raise ApiError(NOT_ADMITTED) from None
            raise
        finally:
            self._in_turn.discard(task)

    async def _renewed(self) -> bool:
        """Whether there are new credentials, after the server did not take the old ones."""
        try:
            return await self.access.renew()
        except (ConfigError, OSError) as error:
            raise ApiError(f"getting credentials: {error}") from None

    async def _identified(self) -> dict[str, str]:
        """The headers that say who we are. Raises ApiError when no credentials are to be had."""
        try:
            return {**await self.access.headers(), "Accept": "application/json, */*"}
        except (ConfigError, OSError) as error:
            raise ApiError(f"getting credentials: {error}") from None

    async def _in_its_turn(self, request: bytes, *, repeatable: bool) -> ApiAnswer:
        async with self._turns:
            return await self._connections.send(request, repeatable=repeatable)


def _escaped(text: str) -> str:
    """As Go's url.QueryEscape writes it."""
    return quote_plus(text, safe="-_.~")


def _retry_after(answer: ApiAnswer) -> float | None:
    """Seconds after which the server wants the request again; None when it does not."""
    if answer.code != 429 and answer.code < 500:
        return None
    value: Mapping[str, str] = answer.headers
    try:
        return max(0, int(value["Retry-After"]))
    except (KeyError, ValueError):
        return None
