"""What is to happen, in order of time."""

from __future__ import annotations

import heapq
from collections.abc import Callable

LEAVING, NODES, ARRIVING = 0, 1, 2
"""The order of events of one moment: room is made before it is filled."""

PATIENCE = 30 * 60.0
"""Seconds after the last thing that lasted: a gang that never gets complete is tried no longer, and the run ends."""
SPINS = 10
"""Attempts of one moment beside three a pending pod: if nothing comes of further ones, they wait for a while."""
SPIN_PAUSE = 10.0
"""How long they wait, in seconds."""

Action = Callable[[], None]

Event = tuple[float, int, int, Action]
"""(time in seconds, kind, number, what happens)."""


class Events:
    """Events by time, then by kind, then in the order in which they were noted."""

    def __init__(self) -> None:
        self._known: list[Event] = []
        self._heap: list[Event] = []
        self._begun = False
        self.noted = 0
        self.done = 0

    def at(self, time: float, kind: int, action: Action) -> None:
        """Has an action happen at a time, in seconds; at the same time by kind, then in the order they were noted."""
        self.noted += 1
        event = (time, kind, self.noted, action)
        if self._begun:
            heapq.heappush(self._heap, event)
        else:
            self._known.append(event)

    @property
    def next(self) -> float | None:
        """The time of the first event; None when nothing is to happen."""
        known, heap = self._begin(), self._heap
        if known and not (heap and heap[0] < known[-1]):
            return known[-1][0]
        return heap[0][0] if heap else None

    def run(self, moment: float) -> None:
        """Everything that is due by now. What it causes for the same moment is left for the next call."""
        due, known, heap = [], self._begin(), self._heap
        while known and known[-1][0] <= moment:
            due.append(known.pop())
        while heap and heap[0][0] <= moment:
            due.append(heapq.heappop(heap))
        due.sort()
        for _, _, _, action in due:
            action()
        self.done += len(due)

    def _begin(self) -> list[Event]:
        """What was noted before anything was asked for, the first event last."""
        if not self._begun:
            self._begun = True
            self._known.sort(reverse=True)
        return self._known
