"""One POST to an extender, within its time. Imports urllib3 and ssl, and is imported at the first call only."""

from __future__ import annotations

import base64
import http.client
import io
import queue
import re
import socket
import ssl
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote_to_bytes, urljoin

import attrs
import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import ConnectionPool, HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HTTPError
from urllib3.exceptions import TimeoutError as PoolTimeoutError

from clusterstate.errors import ConfigError
from kubescheduler.extender.answers import CutShortError, ExtenderError
from kubescheduler.extender.config import ExtenderConfig, TLSConfig, masked
from kubescheduler.extender.wire import quote


def tls_context(config: ExtenderConfig) -> ssl.SSLContext:
    """The context for ``https`` addresses.

    enableHttps without a certificate authority turns verification off, and so does insecure; otherwise the named
    authority, or the system's when none is named, has to vouch for the extender.

    Raises:
        ConfigError: a file or certificate that cannot be used.
    """
    tls = config.tls
    if tls.insecure and tls.has_ca:
        raise ConfigError("tlsConfig: caFile and caData cannot be used together with insecure; remove one of them")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if tls.insecure or (config.enable_https and not tls.has_ca):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif tls.has_ca:
        _load_authority(context, tls)
    else:
        context.load_default_certs()
    _load_client(context, tls)
    return context


def _load_authority(context: ssl.SSLContext, tls: TLSConfig) -> None:
    where = "caData" if tls.ca_data else f"caFile {tls.ca_file}"
    try:
        if tls.ca_data:
            context.load_verify_locations(cadata=tls.ca_data.decode("ascii"))
        else:
            context.load_verify_locations(cafile=tls.ca_file)
    except (OSError, ValueError) as e:
        raise ConfigError(f"tlsConfig: {where}: {_reason(e)}; a PEM certificate is needed") from e


def _load_client(context: ssl.SSLContext, tls: TLSConfig) -> None:
    """The client's certificate, if both it and its key are given."""
    if not ((tls.cert_data or tls.cert_file) and (tls.key_data or tls.key_file)):
        return
    try:
        # OpenSSL reads these from files only; the directory is for this user alone and lives for this call.
        with tempfile.TemporaryDirectory() as private:
            cert = _as_file(tls.cert_data, tls.cert_file, Path(private, "cert.pem"))
            key = _as_file(tls.key_data, tls.key_file, Path(private, "key.pem"))
            context.load_cert_chain(cert, key, password=_no_password)
    except (OSError, ValueError) as e:
        problem = f"tlsConfig: certFile/certData with keyFile/keyData: {_reason(e)}"
        raise ConfigError(f"{problem}; a PEM certificate and its unencrypted PEM key are needed") from e


def _as_file(data: bytes, path: str, scratch: Path) -> str:
    if not data:
        return path
    scratch.write_bytes(data)
    return str(scratch)


def _no_password() -> str:
    """OpenSSL would otherwise ask for one at the terminal."""
    raise ValueError("the key is encrypted")


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


MAX_HEAD = 10 * 2**20
"""Bytes of the lines before a body. Upstream: Go's Transport.MaxResponseHeaderBytes."""
MOST_REDIRECTS = 10
"""Upstream: Go's defaultCheckRedirect."""
MAX_BODY = 256 * 2**20
"""Bytes of the longest answer that is read."""
CHUNK = 2**18
LONGEST_WAIT = 864_000.0
"""Seconds; the operating system's own limit for one wait is a little above."""
HEADERS = {"Content-Type": "application/json", "User-Agent": "kubescheduler", "Accept-Encoding": "gzip"}


_LENGTH = re.compile(r"[0-9]{1,18}")
_HEADER = re.compile(rb"[\w!#$%&'*+.^`|~ -]+:[^\x00-\x08\x0a-\x1f\x7f]*")
_OF_THE_BODY = re.compile(
    rb"(?:content-(?:length|encoding)|transfer-encoding|connection|location)[ \t]*:", re.IGNORECASE
)
"""The headers that are kept."""
_AUTHORITY = re.compile(r"(https?://)([^/?#]*)", re.IGNORECASE)
_USERINFO = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
"""What net/url lets stand before the @ of a host."""
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}")


# --- sockets with a deadline -----------------------------------------------------------------


@attrs.define
class Budget:
    """The seconds that all coming operations may take together."""

    clock: Callable[[], float] = time.monotonic
    _end: float = 0.0

    def grant(self, seconds: float | None) -> None:
        """Starts anew."""
        self._end = self.clock() + min(LONGEST_WAIT if seconds is None else seconds, LONGEST_WAIT)

    def left(self) -> float:
        """Seconds left; TimeoutError when there are none."""
        left = self._end - self.clock()
        if left <= 0:
            raise TimeoutError("timed out")
        return left


class BudgetSocket:
    """A connected socket whose timeout bounds all operations until the next ``settimeout``, not each of them.

    A peer that sends a byte now and then would otherwise be waited for without end.
    """

    def __init__(self, sock: socket.socket, budget: Budget) -> None:
        self._sock = sock
        self._budget = budget

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)

    def settimeout(self, seconds: float | None) -> None:
        """Starts the budget anew with so many seconds; None: without an end."""
        self._budget.grant(seconds)

    def sendall(self, data: bytes) -> None:
        """Sends all bytes within what is left of the budget."""
        view = memoryview(data)
        while view:
            self._sock.settimeout(self._budget.left())
            view = view[self._sock.send(view[:CHUNK]) :]

    def makefile(self, mode: str) -> io.BufferedReader:  # noqa: ARG002
        """For reading only, the one way http.client uses it."""
        return io.BufferedReader(BudgetReader(self._sock, self._budget), CHUNK)


class BudgetReader(io.RawIOBase):
    """Reads from a socket while there is time left."""

    def __init__(self, sock: socket.socket, budget: Budget) -> None:
        super().__init__()
        self._sock = sock
        self._budget = budget
        self._raw = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        """Always true; see io.RawIOBase."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Reads into a buffer within what is left of the budget."""
        self._sock.settimeout(self._budget.left())
        return self._raw.readinto(buffer)

    def close(self) -> None:
        """Closes the reader and what it reads from."""
        self._raw.close()
        super().close()


class GoResponse(http.client.HTTPResponse):
    """An answer whose head is read as Go's net/http reads it: any number of headers, of any length up to MAX_HEAD."""

    def begin(self) -> None:
        """Reads the lines before the body, and keeps those that say how it is to be read."""
        if self.headers is not None:
            return
        stream, left = self.fp, MAX_HEAD
        while True:
            lines = _head_lines(stream, left)
            left -= sum(map(len, lines))
            if not re.match(rb"HTTP/1\.\d 1(?!01)\d\d\b", lines[0]):
                break
        self.fp = io.BytesIO(lines[0] + b"".join(filter(_OF_THE_BODY.match, lines[1:])) + b"\r\n" * bool(lines[0]))
        try:
            super().begin()
        finally:
            self.fp = stream


def _head_lines(stream: io.BufferedIOBase, left: int) -> list[bytes]:
    """A status line and its headers. Raises HTTPException for what Go's textproto refuses. left: bytes at most."""
    lines: list[bytes] = []
    while True:
        line = stream.readline(left + 1)
        left -= len(line)
        if left < 0:
            raise http.client.HTTPException(f"net/http: server response headers exceeded {MAX_HEAD} bytes; aborted")
        text = line.rstrip(b"\r\n")
        if not lines or not text:
            if lines and not line:
                raise http.client.HTTPException("unexpected EOF")
            if lines or not line:
                return lines or [b""]
            lines.append(line)
        elif text[:1] in b" \t":
            if len(lines) == 1:
                raise http.client.HTTPException(f"malformed MIME header initial line: {text!r}")
            lines[-1] = lines[-1].rstrip(b"\r\n") + b" " + text.strip() + b"\r\n"
        elif not _HEADER.fullmatch(text):
            raise http.client.HTTPException(f"malformed MIME header line: {text[:200].decode('latin-1')}")
        else:
            lines.append(line)


class BudgetHTTPConnection(HTTPConnection):
    """Connects, and from then on talks, within the connection's timeout."""

    response_class = GoResponse

    def _new_conn(self) -> socket.socket:
        self._budget = Budget()
        self._budget.grant(self.timeout)
        return _connect(self._dns_host, self.port, self._budget)

    def connect(self) -> None:
        """Connects; from then on every read and write counts against the budget."""
        super().connect()
        self.sock = cast(socket.socket, BudgetSocket(self.sock, self._budget))


class BudgetHTTPSConnection(BudgetHTTPConnection, HTTPSConnection):
    """The same over TLS."""


def _connect(host: str, port: int, budget: Budget) -> socket.socket:
    """A socket to the first address of the host that takes the connection, its timeout the time left."""
    failure: OSError = OSError(f"{host} has no address")
    for family, kind, protocol, address in _addresses(host.strip("[]"), port, budget):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(budget.left())
            sock.connect(address)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.settimeout(budget.left())
        except OSError as e:
            sock.close()
            failure = e
        else:
            return sock
    raise failure


Address = tuple[socket.AddressFamily, socket.SocketKind, int, Any]


def _addresses(host: str, port: int, budget: Budget) -> list[Address]:
    """The addresses of a host; TimeoutError when the name is not resolved in what is left of the budget.

    The resolver cannot be interrupted, so it runs in a thread that nobody waits for.
    """
    answers: queue.SimpleQueue[list[Address] | OSError] = queue.SimpleQueue()

    def resolve() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            answers.put([(family, kind, protocol, address) for family, kind, protocol, _, address in found])
        except UnicodeError:
            answers.put(OSError(f"{host} is no name of a host"))
        except OSError as e:
            answers.put(e)

    threading.Thread(target=resolve, daemon=True).start()
    try:
        answer = answers.get(timeout=budget.left())
    except queue.Empty:
        raise TimeoutError("timed out") from None
    if isinstance(answer, OSError):
        raise answer
    return answer


class _HTTPPool(HTTPConnectionPool):
    ConnectionCls = BudgetHTTPConnection


class _HTTPSPool(HTTPSConnectionPool):
    ConnectionCls = BudgetHTTPSConnection

    def _validate_conn(self, conn: Any) -> None:
        """Connects, without a warning when the configuration turns verification off."""
        if conn.is_closed:
            conn.connect()


# --- exchanges -------------------------------------------------------------------------------


class Transport:
    """Connections to one extender, kept open between calls; for any number of threads."""

    def __init__(self, config: ExtenderConfig) -> None:
        """Reads the TLS files when the address is an ``https`` one; opens no connection.

        Raises:
            ExtenderError: the TLS settings cannot be used.
        """
        self._timeout = config.timeout
        self._pools = urllib3.PoolManager(maxsize=8, headers=HEADERS, **_tls_settings(config))
        self._pools.pool_classes_by_scheme = cast(
            "dict[str, type[ConnectionPool]]", {"http": _HTTPPool, "https": _HTTPSPool}
        )

    def post(self, url: str, body: bytes, status_fault: Callable[[int], str | None]) -> bytes:
        """The body of the answer, unpacked. Redirects are followed as Go's client does; no retries, no proxies.

        Raises:
            CutShortError: the body broke off.
            ExtenderError: no answer in time, a broken one, one longer than MAX_BODY, or a status with a fault.
        """
        if not url.lower().startswith(("http://", "https://")):
            raise ExtenderError(
                f"Post {quote(masked(url))}: unsupported protocol scheme; urlPrefix has to begin with http://"
            )
        try:
            return self._exchange(url, body, status_fault)
        except (HTTPError, http.client.HTTPException, OSError, ValueError) as e:
            raise ExtenderError(f"Post {quote(masked(url))}: {self._reason(e)}") from e

    def close(self) -> None:
        """Closes the idle connections."""
        self._pools.clear()

    def _exchange(self, url: str, body: bytes, status_fault: Callable[[int], str | None]) -> bytes:
        budget, method, place, sent = Budget(), "POST", url, body
        budget.grant(self._timeout)
        for _ in range(MOST_REDIRECTS):
            address, authorization = credentials(place)
            headers = HEADERS | authorization
            response = self._pools.urlopen(
                method,
                address,
                redirect=False,
                body=sent or None,
                headers=headers if sent else {key: value for key, value in headers.items() if key != "Content-Type"},
                retries=False,
                timeout=urllib3.Timeout(total=budget.left()),
                preload_content=False,
            )
            try:
                _check_length(response, place)
                target = redirected(response.status, response.headers.get("Location", ""), place)
                if target is None:
                    fault = status_fault(response.status)
                    if fault is not None:
                        raise ExtenderError(fault)
                    return _whole(response, place)
            finally:
                response.close()
            place = target
            if response.status in (301, 302, 303):
                method, sent = "GET", b""
        raise ValueError(f"stopped after {MOST_REDIRECTS} redirects")

    def _reason(self, error: BaseException) -> str:
        """What lies at the bottom of an exception."""
        while True:
            if isinstance(error, (TimeoutError, PoolTimeoutError)):
                return f"no complete answer within {self._timeout:g} s (httpTimeout)"
            inner = error.__cause__ or next((arg for arg in error.args if isinstance(arg, BaseException)), None)
            if inner is None:
                break
            error = inner
        if isinstance(error, ssl.SSLCertVerificationError):
            return f"certificate not accepted: {error.verify_message}"
        return getattr(error, "strerror", None) or str(error) or type(error).__name__


def credentials(url: str) -> tuple[str, dict[str, str]]:
    """An address without user and password, and the header that has them.

    Upstream: Go's net/http sends them as basic authentication. Raises ExtenderError where net/url refuses them.
    """
    found = _AUTHORITY.match(url)
    userinfo, at, host = found[2].rpartition("@") if found else ("", "", "")
    if found is None or not at:
        return url, {}
    if not _USERINFO.fullmatch(userinfo):
        raise ExtenderError(f"parse {quote(masked(url))}: net/url: invalid userinfo")
    if broken := _BROKEN_ESCAPE.search(userinfo):
        raise ExtenderError(f"parse {quote(masked(url))}: invalid URL escape {quote(broken[0])}")
    user, _, password = userinfo.partition(":")
    both = b":".join(map(unquote_to_bytes, (user, password)))
    basic = base64.b64encode(both).decode()
    return f"{found[1]}{host}{url[found.end() :]}", {"Authorization": f"Basic {basic}"}


def _check_length(response: urllib3.BaseHTTPResponse, url: str) -> None:
    """Raises ExtenderError for headers that do not say where the body ends. Upstream: Go's net/http, fixLength."""
    broken = f"Post {quote(masked(url))}: net/http: HTTP/1.x transport connection broken"
    coding = response.headers.get("Transfer-Encoding", "chunked")
    if coding.lower() != "chunked":
        raise ExtenderError(f"{broken}: unsupported transfer encoding: {quote(coding)}")
    if response.status in (204, 304) or response.headers.get("Transfer-Encoding", "").lower() == "chunked":
        return
    for value in response.headers.getlist("Content-Length"):
        if value.strip() and not _LENGTH.fullmatch(value.strip()):
            raise ExtenderError(f"{broken}: bad Content-Length {quote(value)}")


def redirected(status: int, location: str, url: str) -> str | None:
    """Where an answer sends the request; None: it is the answer. Raises ValueError for an address that is none.

    Upstream: Go's redirectBehavior.
    """
    if status not in (301, 302, 303, 307, 308) or not location:
        return None
    target = urljoin(url, location)
    if not target.lower().startswith(("http://", "https://")):
        raise ValueError(f"unsupported protocol scheme in Location {quote(masked(location))}")
    before, after = _AUTHORITY.match(url), _AUTHORITY.match(target)
    if before is not None and after is not None and "@" not in after[2]:
        user, at, host = before[2].rpartition("@")
        if at and host == after[2]:  # who we are is told to the same host only
            return f"{after[1]}{user}@{host}{target[after.end() :]}"
    return target


def _whole(response: urllib3.BaseHTTPResponse, url: str) -> bytes:
    """The body, unpacked if it is gzip. Raises ExtenderError, CutShortError with what came before it broke off."""
    parts: Iterator[bytes] = iter(lambda: response.read(CHUNK, decode_content=False), b"")
    if response.headers.get("Content-Encoding", "").strip().lower() == "gzip":
        parts = _unpacked(parts)
    out = bytearray()
    try:
        for part in parts:
            out += part
            if len(out) > MAX_BODY:
                raise ExtenderError(f"Post {quote(masked(url))}: the answer is longer than {MAX_BODY} bytes")
    except PoolTimeoutError:
        raise
    except (HTTPError, http.client.HTTPException, ConnectionError, EOFError) as error:
        raise CutShortError(f"Post {quote(masked(url))}: unexpected EOF", bytes(out)) from error
    except zlib.error as error:
        raise CutShortError(f"Post {quote(masked(url))}: gzip: {error}", bytes(out)) from error
    return bytes(out)


def _unpacked(parts: Iterable[bytes]) -> Iterator[bytes]:
    """What gzip packed, one member after another. Raises zlib.error, EOFError where it breaks off."""
    member = None
    for part in parts:
        left = part
        while left:
            member = member or zlib.decompressobj(31)
            yield member.decompress(left, CHUNK)
            left = member.unused_data or member.unconsumed_tail
            if member.eof:
                member = None
    if member is not None:
        yield member.flush()
        if not member.eof:
            raise EOFError


def _tls_settings(config: ExtenderConfig) -> dict[str, Any]:
    if not config.url_prefix.lower().startswith("https://"):
        return {}
    try:
        settings: dict[str, Any] = {"ssl_context": tls_context(config)}
    except ConfigError as e:
        raise ExtenderError(f"extender {quote(config.name)}: {e}") from e
    if config.tls.server_name:
        settings["server_hostname"] = config.tls.server_name
    return settings
