"""A scene for each tab, in bounded number: who comes late takes the place of who was idle longest."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from kubescheduler.lab.server.scene_process import SceneProcess, VerbWorker


class ServerLimits(msgspec.Struct, frozen=True):
    """Bounds of one server; tests choose smaller ones."""

    sessions: int = 64
    """Tabs at once; one more takes the place of the one that was idle longest."""
    idle: float = 8 * 3600
    """Seconds without a request after which a session goes."""
    memory: int = 3 * 2**30
    """Bytes of all tabs above which a new tab takes the place of the one that was idle longest."""
    body: int = 2 * 2**20
    """Bytes of a request."""
    opening_body: int = 32 * 2**20
    """Bytes of a request that opens a scene, which may be a whole file."""
    receiving: float = 30
    """Seconds in which a request's body has to arrive."""
    answering: float = 60
    """Seconds after which a verb is stopped."""
    impatient: float = 1
    """Seconds after which a verb that only reads is stopped when its answer is no longer wanted."""
    waiting: int = 32
    """Requests of one tab that wait for their turn."""
    streams: int = 4
    """Event streams of one tab."""
    heartbeat: float = 15
    """Seconds between signs of life on a stream without events."""
    watching: float = 0.4
    """Seconds between looks at the files that scenes watch."""


_SHARE = re.compile(r"^Pss: +(\d+) kB", re.MULTILINE)


def resident_bytes(processes: Iterable[int]) -> int:
    """What they hold together, what is shared counted once; 0 where the system does not say it (it is not Linux)."""
    kilobytes = 0
    for process in processes:
        with suppress(OSError):
            found = _SHARE.search(Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii"))
            kilobytes += int(found[1]) if found else 0
    return kilobytes * 1024


def stamps(paths: Iterable[Path]) -> Mapping[Path, tuple[int, int] | None]:
    """Path → (time of its last change in ns, size in bytes); None for a file that is not there."""
    return {path: _stamp(path) for path in paths}


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size


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


MOST_UNREAD = 100
"""Events that wait for a reader; a browser that sleeps does not fill the memory."""

RETRY = b"retry: 1000\n\n"
"""Milliseconds after which a browser connects again."""


async def event_stream(session: LabSession, heartbeat: float) -> AsyncIterator[bytes]:
    """The events of a session from now on, after a first with its version; a comment after so many silent seconds."""
    queue: asyncio.Queue[Event | None] = asyncio.Queue(MOST_UNREAD)
    session.listeners.append(queue)
    try:
        if session.gone:  # dropped after the stream was asked for, and before it began
            yield _written(GONE)
            return
        yield RETRY
        yield _written({"version": session.process.version, "what": "hello"})
        while True:
            try:
                event = await asyncio.wait_for(queue.get(), heartbeat)
            except TimeoutError:
                yield b": still here\n\n"
                continue
            if event is None:
                return
            yield _written(event)
    finally:
        session.listeners.remove(queue)


async def gone_stream() -> AsyncIterator[bytes]:
    """What a tab hears whose session the server does not have: that it is gone."""
    yield _written(GONE)


def _written(event: Event) -> bytes:
    return b"data: " + msgspec.json.encode(event) + b"\n\n"
