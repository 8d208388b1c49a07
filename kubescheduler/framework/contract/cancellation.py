"""Work that can be cancelled, with the reason why."""

from __future__ import annotations

import threading

from clusterstate.errors import SchedulingError


class CancelledError(SchedulingError):
    """Work that was cancelled; the text is the reason why."""


class Cancellation:
    """Whether some work is to stop. What is cancelled stays so; ``child`` work stops with its parent.

    Safe to use from any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._event: threading.Event | None = None
        self._closed = False
        self._children: list[Cancellation] = []
        self.cause: str | None = None
        """Why the work is to stop, None while it may go on."""

    def cancel(self, cause: str) -> bool:
        """Cancels the work; False when it is done or was cancelled before."""
        with self._lock:
            if self._closed or self.cause is not None:
                return False
            self.cause = cause
            children, event = list(self._children), self._event
        if event is not None:
            event.set()
        for child in children:
            child.cancel(cause)
        return True

    def close(self) -> bool:
        """The work is done and cannot be cancelled from now on; False when it was cancelled before."""
        with self._lock:
            self._closed = True
            return self.cause is None

    def child(self) -> Cancellation:
        """A part of the work that can be cancelled alone."""
        part = Cancellation()
        with self._lock:
            self._children.append(part)
            cause = self.cause
        if cause is not None:
            part.cancel(cause)
        return part

    def check(self) -> None:
        """Raises CancelledError when the work is to stop."""
        if self.cause is not None:
            raise CancelledError(self.cause)

    def wait(self, seconds: float | None = None) -> bool:
        """Waits until the work is to stop, but no longer than ``seconds``; whether it is."""
        with self._lock:
            if self._event is None:
                self._event = threading.Event()
                if self.cause is not None:
                    self._event.set()
            event = self._event
        return event.wait(seconds)
