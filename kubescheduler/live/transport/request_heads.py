"""The bytes of requests; what all requests of a client share is written once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from clusterstate.errors import ConfigError

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
