"""Server-sent events: what changed without the page having asked for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec

from kubescheduler.lab.server.lab_sessions import GONE, Event, LabSession

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
