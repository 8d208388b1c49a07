"""How much the lab's server takes on, so that no page, script or forgotten tab uses up the machine."""

from __future__ import annotations

import msgspec


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
