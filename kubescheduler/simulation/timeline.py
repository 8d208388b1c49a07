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


class Events:
    """Events by time, then by kind, then in the order in which they were noted."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, int, Action]] = []
        self.noted = 0
        self.done = 0

    def at(self, time: float, kind: int, action: Action) -> None:
        """Has an action happen at a time, in seconds; at the same time by kind, then in the order they were noted."""
        self.noted += 1
        heapq.heappush(self._heap, (time, kind, self.noted, action))

    @property
    def next(self) -> float | None:
        """The time of the first event; None when nothing is to happen."""
        return self._heap[0][0] if self._heap else None

    def run(self, moment: float) -> None:
        """Everything that is due by now. What it causes for the same moment is left for the next call."""
        due = []
        while self._heap and self._heap[0][0] <= moment:
            due.append(heapq.heappop(self._heap)[3])
        for action in due:
            action()
        self.done += len(due)
