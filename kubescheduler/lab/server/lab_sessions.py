"""A scene for each tab, in bounded number: who comes late takes the place of who was idle longest."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from kubescheduler.lab.server.process_memory import resident_bytes
from kubescheduler.lab.server.scene_process import SceneProcess
from kubescheduler.lab.server.server_limits import ServerLimits
from kubescheduler.lab.server.verb_worker import VerbWorker

Event = Mapping[str, Any]
"""What an event stream tells; its keys are those of the message."""

GONE: Event = {"what": "gone"}
"""The last event of a session that was dropped."""


class LabSession:
    """One tab: the process of its scene, the thread that waits for that, and who listens."""

    def __init__(self, limits: ServerLimits, process: SceneProcess) -> None:
        self.tab = secrets.token_urlsafe(12)
        """Its name, which nobody can guess."""
        self.process = process
        """Where the scene is."""
        self.worker = VerbWorker(process.stop, most=limits.waiting, impatient=limits.impatient)
        """Does what the page asks, in order."""
        self.used: float = 0
        """When it was last asked something, in seconds of the monotonic clock."""
        self.listeners: list[asyncio.Queue[Event | None]] = []
        """Open event streams."""
        self.gone = False
        """Whether it was dropped."""
        self.seen: Mapping[Path, object] = {}
        """The watched files as they were last seen."""

    def tell(self, event: Event | None) -> None:
        """Puts an event on each stream, None to end it; in the thread of the event loop."""
        for listener in self.listeners:
            if listener.full():  # a stream that nobody reads: the next hello says the version anyway
                continue
            listener.put_nowait(event)

    def close(self) -> None:
        """Ends thread and process."""
        self.worker.close()
        self.process.close()


class Sessions:
    """The sessions of a server; for the thread of the event loop only."""

    def __init__(
        self,
        limits: ServerLimits,
        clock: Callable[[], float] = time.monotonic,
        memory: Callable[[Iterable[int]], int] = resident_bytes,
    ) -> None:
        self._limits, self._clock, self._memory = limits, clock, memory
        self._by_tab: dict[str, LabSession] = {}

    def __len__(self) -> int:
        return len(self._by_tab)

    def all(self) -> list[LabSession]:
        """Those that are open."""
        return list(self._by_tab.values())

    def keep(self, session: LabSession) -> None:
        """Counts it from now on; others go where there are too many, or their processes are too large."""
        self.drop_idle()
        while len(self._by_tab) >= self._limits.sessions:
            self._drop_oldest()
        if self._by_tab and self._memory(one.process.process for one in self.all()) > self._limits.memory:
            self._drop_oldest()
        session.used = self._clock()
        self._by_tab[session.tab] = session

    def find(self, tab: str) -> LabSession | None:
        """The session, from now on the one used last; None for one that is unknown or was dropped."""
        session = self._by_tab.get(tab)
        if session is not None:
            session.used = self._clock()
        return session

    def drop_idle(self) -> None:
        """Drops those that nobody has asked for long."""
        since = self._clock() - self._limits.idle
        for session in [one for one in self._by_tab.values() if one.used < since and not one.listeners]:
            self.drop(session)

    def drop(self, session: LabSession) -> None:
        """Ends it: its streams say that it is gone."""
        self._by_tab.pop(session.tab, None)
        session.close()
        session.gone = True
        session.tell(GONE)
        session.tell(None)

    def close(self) -> None:
        """Ends all; streams just end, so that pages try again."""
        for session in self.all():
            session.close()
            session.tell(None)
        self._by_tab.clear()

    def _drop_oldest(self) -> None:
        def order(session: LabSession) -> tuple[bool, float]:
            return (not session.worker.idle, session.used)

        self.drop(min(self._by_tab.values(), key=order))
