"""CycleState: what plugins keep for one attempt, how it is cancelled, and the clock that its work waits by."""

from __future__ import annotations

import threading
import time
from typing import Any

import msgspec

from clusterstate.errors import ClusterStateError, SchedulingError


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


class StateNotFoundError(SchedulingError):
    """A key that nobody wrote in this attempt."""

    def __init__(self) -> None:
        super().__init__("not found")


class CycleState(msgspec.Struct, eq=False, dict=True):
    """Key → value during one attempt. Upstream: CycleState.

    Values with a ``clone`` method are cloned with the state; others are shared.
    """

    skip_filter: set[str] = msgspec.field(default_factory=set)
    skip_score: set[str] = msgspec.field(default_factory=set)
    skip_pre_bind: set[str] = msgspec.field(default_factory=set)
    parallel_pre_bind: set[str] = msgspec.field(default_factory=set)
    timed: bool = False
    """Whether plugins are measured one by one."""
    number: int = 0
    """Of the scheduling cycle, one more with every pod that leaves the queue; 0 outside of a loop."""
    binding_sent: float | None = None
    """When the binding went to the API, if before the Bind plugins were asked."""
    announced: str = ""
    """The node that the pod's status names as nominated since before PreBind; empty: none was written (1.36)."""
    skip_all_post_filter: bool = False
    _data: dict[str, Any] = msgspec.field(default_factory=dict)
    _cancellation: Cancellation | None = None

    @property
    def cancellation(self) -> Cancellation:
        """By which the attempt is given up; PreBind plugins look at it while they work. Made when it is asked for."""
        if self._cancellation is None:
            self._cancellation = Cancellation()
        return self._cancellation

    @cancellation.setter
    def cancellation(self, cancellation: Cancellation) -> None:
        """Sets by which the attempt is given up."""
        self._cancellation = cancellation

    def read(self, key: str) -> Any:
        """Raises StateNotFoundError, whose text is ``not found``."""
        if key not in self._data:
            raise StateNotFoundError
        return self._data[key]

    def get(self, key: str | None) -> Any:
        """The value, None when nobody wrote it."""
        return None if key is None else self._data.get(key)

    def write(self, key: str, value: Any) -> None:
        """Keeps a value under a key."""
        self._data[key] = value

    def delete(self, key: str) -> None:
        """Drops a key; nothing happens if it is not there."""
        self._data.pop(key, None)

    def clone(self) -> CycleState:
        """A copy; values that can be cloned are cloned."""
        cloned = {key: value.clone() if hasattr(value, "clone") else value for key, value in self._data.items()}
        return msgspec.structs.replace(
            self,
            skip_filter=set(self.skip_filter),
            skip_score=set(self.skip_score),
            skip_pre_bind=set(self.skip_pre_bind),
            parallel_pre_bind=set(self.parallel_pre_bind),
            _data=cloned,
            _cancellation=self.cancellation,
        )


class Timekeeper:
    """A clock that one can wait by: the machine's monotonic one."""

    def now(self) -> float:
        """Seconds since any fixed moment."""
        return time.monotonic()

    def wait(self, condition: threading.Condition, until: float | None) -> None:
        """Waits with ``condition`` held until it is notified, at most until a moment of this clock."""
        condition.wait(None if until is None else max(0.0, until - self.now()))

    def sleep(self, cancellation: Cancellation, seconds: float) -> object:
        """Waits so many seconds, or until it is cancelled."""
        return cancellation.wait(seconds)


class VirtualTime(Timekeeper):
    """The clock of a simulation: one thread moves it from moment to moment, and nobody waits by it.

    What sleeps does not keep the others waiting: the clock runs ahead for it alone, until ``back``.
    """

    def __init__(self) -> None:
        self.moment = 0.0
        """Seconds after the start, whoever sleeps."""
        self._ahead = 0.0

    def now(self) -> float:
        """Seconds since the start, with what was slept at this moment."""
        return self.moment + self._ahead

    def move_to(self, moment: float) -> None:
        """It is ``moment`` seconds after the start."""
        self.moment = moment

    def wait(self, condition: threading.Condition, until: float | None) -> None:
        """Raises ClusterStateError."""
        raise ClusterStateError(f"nobody can wait until {until} in a simulation: {condition}")

    def sleep(self, cancellation: Cancellation, seconds: float) -> None:  # noqa: ARG002
        """Nobody waits: the clock is ahead by so many seconds until ``back``."""
        self._ahead += seconds

    def back(self) -> None:
        """Whoever slept is done."""
        self._ahead = 0.0
