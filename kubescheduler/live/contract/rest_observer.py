"""What can be measured of the requests to the API server."""

from __future__ import annotations

from typing import Protocol


class RestObserver(Protocol):
    """Told of every request. verb: the HTTP method; host: ``name:port``; seconds by the monotonic clock.

    All methods are called on the I/O thread.
    """

    def finished(self, verb: str, path: str, host: str, code: str, seconds: float, sent: int, received: int) -> None:
        """A request ended. code: the status as text, ``<error>`` without an answer; sent, received: bytes of bodies."""
        ...

    def limited(self, verb: str, path: str, host: str, seconds: float) -> None:
        """A request waited so long for the client's own limit on requests."""
        ...

    def retried(self, verb: str, host: str, code: str) -> None:
        """A request is sent once more, because the server asked for that."""
        ...

    def watched(self, verb: str, host: str, code: str) -> None:
        """A stream was opened, or refused: streams are neither timed nor weighed."""
        ...

    def resolved(self, name: str, seconds: float) -> None:
        """The address of a host was looked up. name: without the port."""
        ...


class NoRestObserver:
    """Looks away."""

    def finished(self, verb: str, path: str, host: str, code: str, seconds: float, sent: int, received: int) -> None:
        """Nothing is measured."""

    def limited(self, verb: str, path: str, host: str, seconds: float) -> None:
        """Nothing is measured."""

    def retried(self, verb: str, host: str, code: str) -> None:
        """Nothing is counted."""

    def watched(self, verb: str, host: str, code: str) -> None:
        """Nothing is counted."""

    def resolved(self, name: str, seconds: float) -> None:
        """Nothing is measured."""
