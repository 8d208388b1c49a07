"""Changes in the cluster, and where the scheduler's thread finds those that the I/O thread has read."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

import msgspec


class ObjectChange(msgspec.Struct, frozen=True, eq=False):
    """An object came, changed or went."""

    kind: str
    """Of the object: Pod, Node, PersistentVolumeClaim …"""
    old: Any
    """As it was known last; None when it is new."""
    new: Any
    """As it is now; None when it is gone."""


class Inbox:
    """Changes in order, put by the I/O thread, taken by the scheduler's."""

    def __init__(self) -> None:
        self._changes: deque[ObjectChange] = deque()
        self._arrived = threading.Condition()
        self._woken = False

    def put(self, changes: Sequence[ObjectChange]) -> None:
        """Changes arrived."""
        with self._arrived:
            self._changes.extend(changes)
            self._arrived.notify_all()

    def wake(self) -> None:
        """Ends a wait, now or the next one: there is something to do that is no change."""
        if self._woken:
            return
        with self._arrived:
            self._woken = True
            self._arrived.notify_all()

    def take(self, most: int | None = None) -> list[ObjectChange]:
        """What has arrived, the oldest first; at most so many."""
        with self._arrived:
            count = len(self._changes) if most is None else min(most, len(self._changes))
            return [self._changes.popleft() for _ in range(count)]

    def wait(self, seconds: float | None) -> None:
        """Waits until something arrives or ``wake`` is called, at most so many seconds."""
        with self._arrived:
            if not self._changes and not self._woken:
                self._arrived.wait(seconds)
            self._woken = False

    def __len__(self) -> int:
        return len(self._changes)
