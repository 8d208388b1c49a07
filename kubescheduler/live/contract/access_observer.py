"""What can be measured of who asks the process's own servers, and of what the API server is asked about them."""

from __future__ import annotations

from typing import Protocol


class AccessObserver(Protocol):
    """Told of every request that a guard looks at. seconds: durations; all methods are called on the I/O thread."""

    def authenticated(self, result: str, user: str, seconds: float) -> None:
        """Credentials were looked at. result: ``success``, with the name of the user, or ``error``."""
        ...

    def authorized(self, result: str, seconds: float) -> None:
        """Rights were looked up: ``allowed``, ``no-opinion`` or ``error``."""
        ...

    def certificate_shown(self, seconds: float) -> None:
        """A client certificate was believed that expires in so many seconds."""
        ...

    def token_asked(self, status: str, seconds: float) -> None:
        """A token was a ``hit`` or a ``miss`` of the remembered ones."""
        ...

    def tokens_waiting(self, status: str, change: int) -> None:
        """One request more (1) or fewer (-1) waits for a review (``blocked``), or one review is ``in_flight``."""
        ...

    def token_fetched(self, status: str) -> None:
        """A token was reviewed: ``ok`` or ``error``."""
        ...

    def reviewed(self, kind: str, code: str, seconds: float) -> None:
        """The API server answered a review. kind: ``TokenReview``…; code: the status, ``<error>`` without an answer."""
        ...


class NoAccessObserver:
    """Looks away."""

    def authenticated(self, result: str, user: str, seconds: float) -> None:
        """Nothing is counted."""

    def authorized(self, result: str, seconds: float) -> None:
        """Nothing is counted."""

    def certificate_shown(self, seconds: float) -> None:
        """Nothing is measured."""

    def token_asked(self, status: str, seconds: float) -> None:
        """Nothing is counted."""

    def tokens_waiting(self, status: str, change: int) -> None:
        """Nothing is counted."""

    def token_fetched(self, status: str) -> None:
        """Nothing is counted."""

    def reviewed(self, kind: str, code: str, seconds: float) -> None:
        """Nothing is counted."""
