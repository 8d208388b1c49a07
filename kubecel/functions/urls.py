"""URLs. Upstream: k8s.io/apiserver pkg/cel/library/urls.go."""

from __future__ import annotations

import re
from typing import ClassVar
from urllib.parse import quote, unquote_to_bytes

import msgspec

from kubecel import types
from kubecel.api_names import go_quote
from kubecel.faults import ValueFault
from kubecel.functions.overloads import Function
from kubecel.types import CelType
from kubecel.values import CelMap

# --- URLs as Go's net/url reads them --------------------------------------------------------------

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*", re.ASCII)
_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})(.{0,2})", re.DOTALL)
_HOST_ESCAPE = re.compile(r"%(?!25)[0-7][0-9a-fA-F]")
"""Of a character that a host writes as it is, if it may have it."""
_PORT = re.compile(r":[0-9]*", re.ASCII)
_IN_HOST = "!$&'()*+,;=:[]<>\"-_.~"
_IN_PATH = "$&+,/:;=@-_.~"
_LONGEST = 10_000


class UrlFault(ValueError):
    """A text that is no URL: Go's message."""


class URL(msgspec.Struct, frozen=True, eq=False):
    """A URL, in its parts."""

    cel_type: ClassVar[CelType] = types.URL
    scheme: str
    host: str
    """With a port, if it has one."""
    path: str
    """As it was written."""
    query: str
    """As it was written."""
    whole: str

    def same(self, other: URL) -> bool:
        """Whether they are equal."""
        return self.whole == other.whole

    def host_and_port(self) -> tuple[str, str]:
        """Both without what is between them."""
        host, port = self.host, ""
        colon = host.rfind(":")
        if colon >= 0 and _PORT.fullmatch(host[colon:]):
            host, port = host[:colon], host[colon + 1 :]
        return (host[1:-1] if host.startswith("[") and host.endswith("]") else host), port

    def escaped_path(self) -> str:
        """The path with escapes where it needs them."""
        if all(sign.isascii() and (sign.isalnum() or sign in "!$&'()*+,;=:@[]/-_.~%") for sign in self.path):
            return self.path
        return quote(unquote_to_bytes(self.path), safe=_IN_PATH)

    def queries(self) -> dict[str, tuple[str, ...]]:
        """Key → its values; what cannot be read is left out."""
        found: dict[str, tuple[str, ...]] = {}
        for part in self.query.split("&"):
            if not part or ";" in part or _BAD_ESCAPE.search(part):
                continue
            key, _, value = (_plain(text) for text in part.partition("="))
            found[key] = (*found.get(key, ()), value)
        return found


def _plain(text: str) -> str:
    return unquote_to_bytes(text.replace("+", " ")).decode("utf-8", "replace")


def parse_request_url(text: str) -> URL:
    """A URL that is absolute or a path. Raises UrlFault."""
    try:
        if any(ord(sign) < 0x20 or sign == "\x7f" for sign in text) or len(text) > _LONGEST:
            raise UrlFault("net/url: invalid control character in URL")
        if not text:
            raise UrlFault("empty url")
        _parse(text)
        bare, _, fragment = text.partition("#")
        _check_escapes(fragment)
        return _parse(bare, fragment)
    except UrlFault as fault:
        raise UrlFault(f"parse {go_quote(text[:200])}: {fault}") from None


def _parse(text: str, fragment: str = "") -> URL:
    scheme, rest = _split_scheme(text)
    lower = scheme.lower()
    whole = (f"{lower}:{rest}" if scheme else rest) + (f"#{fragment}" if fragment else "")
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return URL(lower, "", "", query, whole)
        raise UrlFault("invalid URI for request")
    host = ""
    if scheme and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        rest, host = slash + path, _host(authority)
    _check_escapes(rest)
    return URL(lower, host, rest, query, whole)


def _split_scheme(text: str) -> tuple[str, str]:
    """What stands before the first colon, if it is a scheme, and the rest."""
    if text.startswith(":"):
        raise UrlFault("missing protocol scheme")
    scheme, colon, rest = text.partition(":")
    return (scheme, rest) if colon and _SCHEME.fullmatch(scheme) else ("", text)


def _host(authority: str) -> str:
    user, at, host = authority.rpartition("@")
    if at and not re.fullmatch(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*", user, re.ASCII):
        raise UrlFault("net/url: invalid userinfo")
    if host.startswith("["):
        close = host.rfind("]")
        if close < 0:
            raise UrlFault("missing ']' in host")
        _check_port(host[close + 1 :])
    elif ":" in host:
        _check_port(host[host.rindex(":") :])
    _check_escapes(host)
    hidden = _HOST_ESCAPE.search(host)
    if hidden is not None:
        raise UrlFault(f"invalid URL escape {go_quote(hidden[0])}")
    for sign in host:
        if sign.isascii() and not sign.isalnum() and sign not in _IN_HOST + "%":
            raise UrlFault(f"invalid character {go_quote(sign)} in host name")
    return host


def _check_port(text: str) -> None:
    if text and not _PORT.fullmatch(text):
        raise UrlFault(f"invalid port {go_quote(text)} after host")


def _check_escapes(text: str) -> None:
    match = _BAD_ESCAPE.search(text)
    if match is not None:
        raise UrlFault(f"invalid URL escape {go_quote('%' + match[1])}")


# --- URLs. Upstream: k8s.io/apiserver pkg/cel/library/urls.go -------------------------------------


def _url(text: str) -> URL:
    try:
        return parse_request_url(text)
    except UrlFault as fault:
        raise ValueFault(f"URL parse error during conversion from string: {fault}") from None


def _is_url(text: str) -> bool:
    try:
        parse_request_url(text)
    except UrlFault:
        return False
    return True


def _query(url: URL) -> CelMap:
    return CelMap.of_texts(url.queries())


def urls() -> tuple[Function, ...]:
    """The functions of this file."""
    text = "kubernetes.URL.() -> string"
    return (
        Function.of("url", ("string_to_url", "(string) -> kubernetes.URL", _url)),
        Function.of("isURL", ("is_url_string", "(string) -> bool", _is_url)),
        Function.of("getScheme", ("url_get_scheme", text, lambda url: url.scheme)),
        Function.of("getHost", ("url_get_host", text, lambda url: url.host)),
        Function.of("getHostname", ("url_get_hostname", text, lambda url: url.host_and_port()[0])),
        Function.of("getPort", ("url_get_port", text, lambda url: url.host_and_port()[1])),
        Function.of("getEscapedPath", ("url_get_escaped_path", text, URL.escaped_path)),
        Function.of("getQuery", ("url_get_query", "kubernetes.URL.() -> map(string, list(string))", _query)),
    )
