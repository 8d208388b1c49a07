"""The lab's server: where it listens, who may ask, and an ASGI application of the page's files, its questions, and its
event streams.

Every request passes ``RequestGuard`` before anything else looks at it, and every answer afterwards.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import hmac
import ipaddress
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from clusterstate.errors import InputError
from kubescheduler.lab import PAGE
from kubescheduler.lab.lab_sessions import (
    AskedVerbs,
    ServerLimits,
    Sessions,
    event_stream,
    gone_stream,
    problems_answer,
)
from kubescheduler.lab.scene_process import SceneCode, SceneProcesses

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

API = "/api/"

POLICY = "; ".join(
    (
        "default-src 'self'",
        "img-src 'self' data:",
        "object-src 'none'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    )
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-embedder-policy", b"require-corp"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
"""On every answer, errors too."""


class AllowedHosts(msgspec.Struct, frozen=True):
    """What a request may name as its host: a foreign name that resolves to this machine is refused (DNS rebinding)."""

    names: frozenset[str]
    """Names, in lower case."""
    anywhere: bool
    """Whether it listens beyond the loopback interface: any address as digits is right then, which cannot rebind."""

    @classmethod
    def of(cls, names: Iterable[str], *, anywhere: bool) -> AllowedHosts:
        """The names, and localhost."""
        return cls(frozenset({"localhost", *(name.lower() for name in names)}), anywhere)

    def allows(self, host: str, port: int) -> bool:
        """Whether a Host header names this server."""
        name, given_port = _split(host)
        if given_port != port:
            return False
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return name.rstrip(".") in self.names
        return self.anywhere or address.is_loopback


def _split(host: str) -> tuple[str, int]:
    """(name or address in lower case, port); port 80 where none is named, -1 where it is none."""
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        name, port = host, "80"
    return name.strip("[]").lower(), int(port) if port.isascii() and port.isdecimal() and len(port) < 6 else -1


class RequestGuard(msgspec.Struct, frozen=True):
    """Lets through what comes from the page itself; everything else has 403, without a word on what was wrong."""

    application: Application
    """What answers."""
    hosts: AllowedHosts
    """What the page's address can be."""
    token: bytes
    """What every question has to show."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
        if scope["type"] != "http":
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        if self._allows(scope):
            await self.application(scope, receive, guarded)
        else:
            await _refuse(guarded)

    def _allows(self, scope: Scope) -> bool:
        headers = _single(scope["headers"])
        if headers is None or not self.hosts.allows(headers.get(b"host", b"").decode("latin-1"), scope["server"][1]):
            return False
        if not scope["path"].startswith(API):
            return True
        return _same_origin(headers) and hmac.compare_digest(self.token, _token(scope, headers))


def _single(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes] | None:
    """The headers that decide; None where one is there twice."""
    out: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in (b"host", b"origin", b"sec-fetch-site", b"x-lab-token"):
            if name in out:
                return None
            out[name] = value
    return out


def _same_origin(headers: dict[bytes, bytes]) -> bool:
    """Whether a browser says that it is the page that asks; a program that is no browser says nothing."""
    origin = headers.get(b"origin")
    if origin is not None and origin not in (scheme + headers[b"host"] for scheme in (b"http://", b"https://")):
        return False
    return headers.get(b"sec-fetch-site", b"same-origin") in (b"same-origin", b"none")


def _token(scope: Scope, headers: dict[bytes, bytes]) -> bytes:
    """The header; an event stream, which cannot have one, has it in its address."""
    if b"x-lab-token" in headers or scope["method"] != "GET":
        return headers.get(b"x-lab-token", b"")
    try:
        found = parse_qs(scope.get("query_string", b"").decode("latin-1"), max_num_fields=10).get("token", [""])
    except ValueError:  # more fields
        return b""
    return found[0].encode() if len(found) == 1 else b""


async def _refuse(send: Send) -> None:
    body = b'{"problems":["refused"]}'
    head = [(b"content-type", b"application/json"), (b"cache-control", b"no-store"), (b"connection", b"close")]
    head.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": 403, "headers": head})
    await send({"type": "http.response.body", "body": body})


LOOPBACK = "127.0.0.1"


class Listening(msgspec.Struct, frozen=True):
    """An address and port of this machine."""

    host: str = LOOPBACK
    """A name or an address as digits."""
    port: int = 0
    """0: one that is free."""

    @classmethod
    def parse(cls, text: str) -> Listening:
        """From ``ADDR:PORT``, an IPv6 address in brackets. Raises InputError."""
        host, colon, port = text.rpartition(":")
        if not colon or not host or not (port.isascii() and port.isdecimal() and int(port) < 65536):
            raise InputError(f"--listen {text}: write it as ADDR:PORT, say 0.0.0.0:8080 or [::]:8080")
        return cls(host.removeprefix("[").removesuffix("]"), int(port))

    @property
    def anywhere(self) -> bool:
        """Whether other machines can reach it."""
        try:
            return not ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host.lower() != "localhost"

    def bind(self) -> socket.socket:
        """A socket that listens there. Raises InputError where the port is in use, or the address is not here."""
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(
                self.host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
        except (OSError, UnicodeError) as error:
            raise InputError(f"--listen {self.host}: there is no such address: {_reason(error)}") from None
        bound = socket.socket(family, kind, protocol)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            bound.listen(128)
        except OSError as error:
            bound.close()
            raise InputError(f"cannot listen on {self.host}:{self.port}: {_reason(error)}") from None
        return bound

    def shown_host(self) -> str:
        """What an address of a page names: for all interfaces the one that others reach this machine by."""
        try:
            address = ipaddress.ip_address(self.host)
        except ValueError:
            return self.host
        if address.is_unspecified:
            return _outward() or socket.gethostname()
        return f"[{self.host}]" if address.version == 6 else self.host

    def names(self) -> list[str]:
        """Names by which this machine may be asked, besides localhost."""
        if not self.anywhere:
            return []
        return [self.host, socket.gethostname(), socket.getfqdn()]


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or "it is no name"


def _outward() -> str | None:
    """The address that this machine has towards others; nothing is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        found: str = probe.getsockname()[0]
        return found


MEDIA_TYPES: Mapping[str, str] = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
    ".map": "application/json",
    ".toml": "text/plain; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
    "": "text/plain; charset=utf-8",
}
"""By a file's suffix; nothing else is served. Files without one are licences."""

START = "index.html"
SMALL = 500
"""Bytes below which packing gains nothing."""


class PageFile(msgspec.Struct, frozen=True):
    """A file as it is served."""

    content: bytes
    packed: bytes | None
    """The same by gzip; None where that is no smaller."""
    media_type: str
    """Its Content-Type."""
    digest: str
    """SHA-256 of the bytes, in hexadecimal."""
    stamp: tuple[int, int]
    """(time of its last change in ns, size in bytes) when it was read."""


class PageFiles:
    """The files below a folder, by their paths in addresses."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._paths: dict[str, Path] = {}
        self._read: dict[str, PageFile] = {}

    def find(self, path: str) -> PageFile | None:
        """The file of an address's path without its first slash; empty is the page itself. None: there is none.

        The path is only looked up among those of the files that are there, never joined to the folder.
        """
        name = path or START
        if name not in self._paths:
            self._paths = dict(self._listed())
        found = self._paths.get(name)
        if found is None:
            return None
        try:
            about = found.stat()
            stamp = (about.st_mtime_ns, about.st_size)
            if name not in self._read or self._read[name].stamp != stamp:
                self._read[name] = _page_file(found.read_bytes(), found.suffix, stamp)
        except OSError:
            self._read.pop(name, None)
            return None
        return self._read[name]

    def _listed(self) -> list[tuple[str, Path]]:
        """(path in an address, file); links that lead out of the folder are left out."""
        root = self._folder.resolve()
        return [
            (one.relative_to(root).as_posix(), one)
            for one in root.rglob("*")
            if one.suffix in MEDIA_TYPES
            and one.is_file()
            and one.resolve().is_relative_to(root)
            and not any(part.startswith((".", "__")) for part in one.relative_to(root).parts)
        ]


def _page_file(content: bytes, suffix: str, stamp: tuple[int, int]) -> PageFile:
    packed = gzip.compress(content, 9, mtime=0) if len(content) > SMALL else None
    smaller = packed if packed is not None and len(packed) < len(content) else None
    return PageFile(content, smaller, MEDIA_TYPES[suffix], hashlib.sha256(content).hexdigest(), stamp)


FOR_GOOD = "public, max-age=31536000, immutable"
ASK_AGAIN = "no-cache"
NOT_KEPT = "no-store"
HASH_DIGITS = 12
"""Hexadecimal digits of a file's hash that an address needs for its answer to be kept for good."""


class LabParts(msgspec.Struct, frozen=True):
    """What a server is made of."""

    code: SceneCode
    """What the processes of scenes run."""
    token: str
    """What every question has to show."""
    hosts: AllowedHosts
    """What the page's address can be."""
    shared: Mapping[str, Callable[[], Mapping[str, Any]]] = msgspec.field(default_factory=dict)
    """Verb → what is answered alike to every tab."""
    limits: ServerLimits = msgspec.field(default_factory=ServerLimits)
    """How much it takes on."""
    page: Path = PAGE


class LabApplication:
    """Answers the page; see ``asgi``. To be made before there are threads, and before it listens: processes are forked
    from what there is then."""

    def __init__(self, parts: LabParts) -> None:
        self._parts = parts
        self.sessions = Sessions(parts.limits)
        self._processes = SceneProcesses(parts.code)
        verbs, unexpected = frozenset(parts.code.verbs), parts.code.unexpected
        self._asked = AskedVerbs(verbs, parts.shared, self._processes, self.sessions, parts.limits, unexpected)
        self._files = PageFiles(parts.page)

    def asgi(self) -> RequestGuard:
        """The application, behind what keeps strangers out."""
        routes = [
            Route("/api/events", self._events, methods=["GET"]),
            Route("/api/{verb}", self._asked.answer, methods=["POST"]),
            Route("/{path:path}", self._file, methods=["GET", "HEAD"]),
        ]
        handlers: dict[Any, Any] = {HTTPException: _plain_error, Exception: _hidden_error}
        starlette = Starlette(routes=routes, exception_handlers=handlers)
        starlette.router.redirect_slashes = False
        return RequestGuard(starlette, self._parts.hosts, self._parts.token.encode())

    async def watch(self) -> None:
        """Looks at the files that scenes watch, and drops idle sessions, until it is cancelled."""
        while True:
            await asyncio.sleep(self._parts.limits.watching)
            self.sessions.drop_idle()
            await asyncio.gather(*map(self._asked.look_at_files, self.sessions.all()))

    def close(self) -> None:
        """Ends all tabs and their processes."""
        self.sessions.close()
        self._processes.close()

    async def _file(self, request: Request) -> Response:
        found = await asyncio.to_thread(self._files.find, request.path_params["path"])
        if found is None:
            return problems_answer(404, "there is no such file")
        return _file_answer(request, found)

    async def _events(self, request: Request) -> Response:
        session = self.sessions.find(request.query_params.get("tab", ""))
        if session is None:  # not a status of an error, after which the page could not tell why it hears nothing
            return _stream(gone_stream())
        if len(session.listeners) >= self._parts.limits.streams:
            return problems_answer(429, "too many event streams of one tab")
        return _stream(event_stream(session, self._parts.limits.heartbeat))


def _stream(events: AsyncIterator[bytes]) -> StreamingResponse:
    return StreamingResponse(events, media_type="text/event-stream", headers={"cache-control": NOT_KEPT})


def _file_answer(request: Request, found: PageFile) -> Response:
    packed = found.packed is not None and "gzip" in request.headers.get("accept-encoding", "").lower()
    tag = f'"{found.digest[:32]}{"-gzip" if packed else ""}"'
    version = request.query_params.get("v", "")
    known = len(version) >= HASH_DIGITS and found.digest.startswith(version)
    headers = {"etag": tag, "vary": "accept-encoding", "cache-control": FOR_GOOD if known else ASK_AGAIN}
    if tag in [one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")]:
        return Response(status_code=304, headers=headers)
    if packed:
        headers["content-encoding"] = "gzip"
    content = found.packed if packed and found.packed is not None else found.content
    return Response(content, media_type=found.media_type, headers=headers)


async def _plain_error(_: Request, error: Exception) -> Response:
    """What the router refuses, without a word on what is there."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = error.headers if isinstance(error, HTTPException) else None
    return problems_answer(status, "not found" if status == 404 else "refused", headers=headers)


async def _hidden_error(_: Request, __: Exception) -> Response:
    """A fault in the server itself: nothing of it is shown."""
    return problems_answer(500, "a fault in the server")


GRACE = 2
"""Seconds that answers have to go out once the server ends."""


class _Server(uvicorn.Server):
    """Leaves signals to ``serve``."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def serve(lab: LabApplication, bound: socket.socket, ready: Callable[[], None]) -> None:
    """Answers on a listening socket until SIGINT or SIGTERM; a second signal ends the process at once.

    ready: is called once it answers. For the main thread.
    """

    async def until_signal() -> None:
        ending, loop = asyncio.Event(), asyncio.get_running_loop()
        with _signals(lambda: loop.call_soon_threadsafe(ending.set)):
            await serve_until(ending, lab, bound, ready)

    asyncio.run(until_signal())


async def serve_until(
    ending: asyncio.Event, lab: LabApplication, bound: socket.socket, ready: Callable[[], None]
) -> None:
    """Answers on a listening socket until the event is set; then event streams end, and what runs is stopped."""
    config = uvicorn.Config(
        lab.asgi(),
        http="h11",
        loop="asyncio",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE,
    )
    server = _Server(config)
    watching = asyncio.ensure_future(lab.watch())
    with bound:
        bound.setblocking(False)
        serving = asyncio.ensure_future(server.serve([bound]))
        while not server.started and not serving.done():
            await asyncio.sleep(0.005)
        if server.started:
            ready()
            await ending.wait()
        server.should_exit = True
        watching.cancel()
        lab.close()
        await serving


@contextmanager
def _signals(end: Callable[[], Any]) -> Iterator[None]:
    """The first signal asks to end, the second is as it was before: it interrupts."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in numbers}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def first(*_: object) -> None:
        restore()
        end()

    for number in numbers:
        signal.signal(number, first)
    try:
        yield
    finally:
        restore()
