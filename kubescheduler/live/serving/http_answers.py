"""What the servers answer, in the words of Go's net/http and of Kubernetes' apiserver library."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from kubecel.api_names import go_quote

PLAIN = "text/plain"
TEXT = "text/plain; charset=utf-8"
JSON = "application/json"
HTML = "text/html; charset=utf-8"
NOSNIFF: Mapping[str, str] = {"X-Content-Type-Options": "nosniff"}
PRETTY_AGENTS = ("curl", "Wget", "Mozilla/5.0")
"""User agents that begin so are a person's: they get JSON on several lines."""


class HttpAnswer(msgspec.Struct, frozen=True, eq=False):
    """One answer of a server, before it is sent."""

    code: int
    """The HTTP status."""
    body: bytes
    content_type: str = TEXT
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Besides the content type and those that every answer has."""
    compressible: bool = False
    """Whether it is sent compressed to those who accept that."""


class HttpRequest(msgspec.Struct, frozen=True, eq=False):
    """What of a request an answer depends on."""

    method: str
    path: str
    """Decoded, without the query."""
    query: Mapping[str, list[str]] = msgspec.field(default_factory=dict)
    """Key → its values, in order."""
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    body: bytes = b""
    target: str = ""
    """The path with its query, as it was sent."""

    @property
    def pretty(self) -> bool:
        """Whether JSON is laid out for a person. Upstream: isPrettyPrint."""
        said = self.query.get("pretty")
        if said:
            return said[0] not in ("false", "0")
        return self.headers.get("User-Agent", "").startswith(PRETTY_AGENTS)


def text_answer(text: str, code: int = 200, content_type: str = TEXT) -> HttpAnswer:
    """A text that browsers take for nothing else."""
    return HttpAnswer(code, text.encode(), content_type, NOSNIFF)


def error_answer(text: str, code: int) -> HttpAnswer:
    """Upstream: http.Error."""
    return text_answer(text + "\n", code)


def not_found() -> HttpAnswer:
    """A path that nothing is at. Upstream: http.NotFound."""
    return error_answer("404 page not found", 404)


def json_answer(document: Any, code: int = 200, *, pretty: bool = False, content_type: str = JSON) -> HttpAnswer:
    """A document with a line's end behind it, on several lines when it is pretty."""
    layout: dict[str, Any] = {"indent": 2} if pretty else {"separators": (",", ":")}
    text = json.dumps(document, ensure_ascii=False, **layout)
    return HttpAnswer(code, (text + ("" if pretty else "\n")).encode(), content_type)


def status_answer(code: int, message: str, reason: str, *, pretty: bool, details: bool = False) -> HttpAnswer:
    """A failure as an object of kind Status. Upstream: responsewriters.ErrorNegotiated."""
    document = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        **({"details": {}} if details else {}),
        "code": code,
    }
    return json_answer(document, code, pretty=pretty)


# --- refusals, by release ------------------------------------------------------------------------------

NO_STATUS = (
    ': no kind is registered for the type v1.Status in scheme "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"'
)
"""What 1.16 answers instead of a Status, which its scheduler cannot encode."""


def refused_1_16(code: int, message: str, reason: str, request: HttpRequest) -> HttpAnswer:  # noqa: ARG001
    """The status of a refusal with a text that says nothing of it."""
    nosniff = NOSNIFF if code == 403 else {}
    return HttpAnswer(code, NO_STATUS.encode(), PLAIN, nosniff)


def refused_1_36(code: int, message: str, reason: str, request: HttpRequest) -> HttpAnswer:
    """A refusal as a Status."""
    answer = status_answer(code, message, reason, pretty=request.pretty, details=code == 403)
    return msgspec.structs.replace(answer, headers=NOSNIFF) if code == 403 else answer


def forbidden_text(user: str, verb: str, path: str) -> str:
    """Upstream: forbiddenMessage, for a path that is no resource."""
    return f"forbidden: User {go_quote(user)} cannot {verb} path {go_quote(path)}"


def internal_error(target: str, error: str) -> HttpAnswer:
    """Upstream: responsewriters.InternalError, with its protection against markup."""
    shown = target.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return error_answer(f"Internal Server Error: {go_quote(shown)}: {error}", 500)
