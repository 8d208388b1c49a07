"""What the API server answers, and the errors that callers see, in client-go's words."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Mapping
from typing import Any

import msgspec

from clusterstate.errors import SchedulingError
from kubecel.api_names import go_quote

UNKNOWN_REASONS = {
    400: ("BadRequest", "the server rejected our request for an unknown reason"),
    401: ("Unauthorized", "the server has asked for the client to provide credentials"),
    403: ("Forbidden", "the server does not allow access to the requested resource"),
    404: ("NotFound", "the server could not find the requested resource"),
    405: ("MethodNotAllowed", "the server does not allow this method on the requested resource"),
    406: ("NotAcceptable", "the server was unable to respond with a content type that the client supports"),
    409: ("Conflict", "the server reported a conflict"),
    415: ("UnsupportedMediaType", "the body of the request was in an unknown format"),
    422: ("Invalid", "the server rejected our request due to an error in our request"),
    429: ("TooManyRequests", "the server has received too many requests and has asked us to try again later"),
    500: ("InternalError", "an error on the server has prevented the request from succeeding"),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    504: ("Timeout", "the server was unable to return a response in the time allotted"),
}
"""HTTP status → (reason, message) of an answer that says nothing itself. Upstream: NewGenericServerResponse."""

REFUSED = "connect: connection refused"


class ApiError(SchedulingError):
    """The API server refused a request, or did not answer it; the text is client-go's."""

    def __init__(
        self,
        message: str,
        code: int = 0,
        reason: str = "",
        details: Mapping[str, Any] | None = None,
        *,
        unanswered: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        """The HTTP status; 0 when there was no answer, or one that cannot be read."""
        self.reason = reason
        """Of the Status, as NotFound or Conflict; empty when there was no answer."""
        self.details = details or {}
        """Of the Status."""
        self.unanswered = unanswered
        """Whether the server could not be reached, or did not answer in time."""
        self.url = ""
        """What was asked for, of an answer; client-go's text does not say it."""

    @property
    def refused(self) -> bool:
        """Whether nobody listens there."""
        return self.message.endswith(REFUSED)


class DialError(OSError):
    """There is no connection to the API server; the text is that of Go's net."""


class ApiAnswer(msgspec.Struct, frozen=True, eq=False):
    """An answer of the API server."""

    code: int
    """The HTTP status."""
    body: bytes
    headers: Mapping[str, str]

    def document(self) -> Any:
        """The body as JSON. Raises ApiError for anything else."""
        try:
            return msgspec.json.decode(self.body)
        except msgspec.DecodeError as error:
            raise ApiError(f"the server's answer is no JSON: {error}", self.code) from None


def error_of(code: int, body: bytes, url: str) -> ApiError:
    """The error that an answer above 299 means."""
    error = _error_of(code, body)
    error.url = url
    return error


def _error_of(code: int, body: bytes) -> ApiError:
    try:
        status = msgspec.json.decode(body)
    except msgspec.DecodeError:
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status" and isinstance(status.get("message"), str):
        details = status.get("details")
        return ApiError(
            status["message"], code, str(status.get("reason") or ""), details if isinstance(details, dict) else None
        )
    reason, text = UNKNOWN_REASONS.get(code, ("", f"the server responded with the status code {code}"))
    said = body[:2048].decode(errors="replace").strip()
    if code == 500 and said:
        text = f"an error on the server ({go_quote(said)}) has prevented the request from succeeding"
    return ApiError(text, code, reason)


def transport_error(method: str, url: str, error: BaseException) -> ApiError:
    """The error of a request that got no answer. Upstream: net/http's url.Error."""
    return ApiError(f"{method.capitalize()} {go_quote(url)}: {_cause(error)}", unanswered=True)


def _cause(error: BaseException) -> str:
    """What went wrong, as Go's net says it."""
    if isinstance(error, DialError):
        return str(error)
    if isinstance(error, asyncio.IncompleteReadError):
        return "EOF"
    if isinstance(error, TimeoutError):
        return "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
    if isinstance(error, OSError) and error.errno == errno.ECONNRESET:
        return "read: connection reset by peer"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def dial_error(host: str, port: int | None, error: BaseException) -> DialError:
    """The error of a connection that did not come about."""
    if isinstance(error, socket.gaierror):
        return DialError(f"dial tcp: lookup {host}: no such host")
    if isinstance(error, ssl.CertificateError):
        return DialError(f"tls: failed to verify certificate: {error.verify_message}")
    if isinstance(error, TimeoutError):
        return DialError(f"dial tcp {host}:{port}: i/o timeout")
    if isinstance(error, OSError) and error.errno == errno.ECONNREFUSED:
        return DialError(f"dial tcp {host}:{port}: {REFUSED}")
    text = (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
    return DialError(f"dial tcp {host}:{port}: connect: {text.lower()}")
