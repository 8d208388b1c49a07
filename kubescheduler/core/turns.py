"""One thread at a time: what a scheduler and its decisions read together changes while one decides."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

Turn = AbstractContextManager[object]
"""What is held while one thread works; the same thread may hold it again."""

AT_ONCE: Turn = nullcontext()
"""For what only one thread has."""


class OneAtATime:
    """A lock that copies and pickles as a new one: what is copied has its own turns."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> object:
        return self._lock.__enter__()

    def __exit__(self, *ended: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[OneAtATime], tuple[()]]:
        return OneAtATime, ()


class TakesTurns(Protocol):
    """What is used by one thread at a time."""

    @property
    def _turn(self) -> Turn:
        """What is held meanwhile."""


Self = TypeVar("Self", bound=TakesTurns)
P = ParamSpec("P")
R = TypeVar("R")


def in_turn(method: Callable[Concatenate[Self, P], R]) -> Callable[Concatenate[Self, P], R]:
    """The method, while no other thread is in one of the same turn."""

    @wraps(method)
    def waiting(self: Self, /, *args: P.args, **named: P.kwargs) -> R:
        with self._turn:
            return method(self, *args, **named)

    return waiting
