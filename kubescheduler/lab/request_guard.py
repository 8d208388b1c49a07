"""Where the lab listens, and who may ask.

Every request passes ``RequestGuard`` before anything else looks at it, and every answer afterwards.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

import msgspec

from clusterstate.errors import InputError

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
