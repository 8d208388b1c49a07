"""Who is told of requests (of strangers to the process, and of the process to the API server); what metrics tell."""

from __future__ import annotations

import msgspec

from clusterstate.objects import Pod


class AccessObserver:
    """Told of every request that a guard looks at. seconds: durations; all methods are called on the I/O thread."""

    def authenticated(self, result: str, user: str, seconds: float) -> None:
        """Credentials were looked at. result: ``success``, with the name of the user, or ``error``."""

    def authorized(self, result: str, seconds: float) -> None:
        """Rights were looked up: ``allowed``, ``no-opinion`` or ``error``."""

    def certificate_shown(self, seconds: float) -> None:
        """A client certificate was believed that expires in so many seconds."""

    def token_asked(self, status: str, seconds: float) -> None:
        """A token was a ``hit`` or a ``miss`` of the remembered ones."""

    def tokens_waiting(self, status: str, change: int) -> None:
        """One request more (1) or fewer (-1) waits for a review (``blocked``), or one review is ``in_flight``."""

    def token_fetched(self, status: str) -> None:
        """A token was reviewed: ``ok`` or ``error``."""

    def reviewed(self, kind: str, code: str, seconds: float) -> None:
        """The API server answered a review. kind: ``TokenReview``…; code: the status, ``<error>`` without an answer."""


class RestObserver:
    """Told of every request. verb: the HTTP method; host: ``name:port``; seconds by the monotonic clock.

    All methods are called on the I/O thread.
    """

    def finished(self, verb: str, path: str, host: str, code: str, seconds: float, sent: int, received: int) -> None:
        """A request ended. code: the status as text, ``<error>`` without an answer; sent, received: bytes of bodies."""

    def limited(self, verb: str, path: str, host: str, seconds: float) -> None:
        """A request waited so long for the client's own limit on requests."""

    def retried(self, verb: str, host: str, code: str) -> None:
        """A request is sent once more, because the server asked for that."""

    def watched(self, verb: str, host: str, code: str) -> None:
        """A stream was opened, or refused: streams are neither timed nor weighed."""

    def resolved(self, name: str, seconds: float) -> None:
        """The address of a host was looked up. name: without the port."""


class UnschedulablePod(msgspec.Struct, frozen=True, eq=False):
    """A pod that fits nowhere."""

    pod: Pod
    plugins: frozenset[str]
    """Those that rejected it; empty: the release does not say, or an error ended the attempt."""
    since: float
    """When it came, in seconds since 1970."""


class ShortHint(msgspec.Struct, frozen=True):
    """What would make a pod fit, as a metric's labels say it."""

    kind: str
    """The sort of change: ``request``, ``toleration``, ``taint`` and so on."""
    text: str
    """The change in plain words, without names of nodes."""
