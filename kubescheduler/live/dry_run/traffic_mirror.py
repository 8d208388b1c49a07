"""The traffic of a cluster as JSON lines, for a replay.

The first line says what it is. Each further one is ``{"time": …, "type": …, "object": …}`` with the seconds since the
start, ADDED, MODIFIED or DELETED, and what scheduling reads of an object; ``{"time": …, "type": "SYNCED"}`` stands
where everything had been read once. Changes of what scheduling does not read, as heartbeats, are left out.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, Protocol

import msgspec

from clusterstate.manifests.kinds import encode_object
from kubescheduler.live.contract.object_change import ObjectChange
from kubescheduler.live.contract.wall_clock import WallClock

HEADER = {"apiVersion": "kubescheduler/v1", "kind": "Mirror"}
"""What the first line says, besides when it began."""


class Sink(Protocol):
    """A file that is written to."""

    def write(self, data: bytes, /) -> int:
        """Writes everything."""
        ...

    def flush(self) -> None:
        """Leaves nothing in memory."""
        ...


class TrafficMirror:
    """Writes changes as they come; for any thread."""

    def __init__(self, file: Sink, clock: WallClock, *, flushes: bool = False) -> None:
        """flushes: whether every change is on the disk at once; packed files get larger by that."""
        self._file = file
        self._flushes = flushes
        self._clock = clock
        self._began = clock.monotonic()
        self._lock = threading.Lock()
        self._put({**HEADER, "started": clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")})

    def record(self, changes: Iterable[ObjectChange]) -> None:
        """Writes what has changed."""
        with self._lock:
            for change in changes:
                if change.old is None or change.old != change.new:
                    self._put(self._event(change))
            if self._flushes:
                self._file.flush()

    def synced(self) -> None:
        """Everything that was there before is recorded."""
        with self._lock:
            self._put({"time": self._time(), "type": "SYNCED"})

    def _event(self, change: ObjectChange) -> dict[str, Any]:
        kind = "DELETED" if change.new is None else "ADDED" if change.old is None else "MODIFIED"
        obj = encode_object(change.old if change.new is None else change.new)
        return {"time": self._time(), "type": kind, "object": obj}

    def _time(self) -> float:
        return round(self._clock.monotonic() - self._began, 3)

    def _put(self, line: dict[str, Any]) -> None:
        self._file.write(msgspec.json.encode(line) + b"\n")
