"""Reading in large portions while much arrives.

A thread that waits for a connection has to be woken for whatever arrives, and to get the interpreter from the thread
that decides. Where a server sends a large cluster in small pieces, that takes longer than all the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket

MUCH = 1 << 15
"""Bytes that arrive together, from which on more of them are waited for."""
PORTION = 1 << 18
"""Bytes that the system keeps until it wakes the thread; asyncio reads as many at once."""
PATIENCE = 0.02
"""Seconds after which it has to be content with fewer."""


class GatheredReads:
    """Has the system gather what arrives on a connection, as long as much does. For one event loop.

    On systems that cannot do so nothing happens.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._socket = transport.get_extra_info("socket")
        self._gathers = self._came = False

    def arrived(self, count: int) -> None:
        """So many bytes arrived together."""
        self._came = True
        if count >= MUCH and not self._gathers:
            self._gathers = self._wait_for(PORTION)
            if self._gathers:
                asyncio.get_running_loop().call_later(PATIENCE, self._look)

    def _look(self) -> None:
        """Goes on while something came within the last ``PATIENCE``."""
        came, self._came = self._came, False
        if came:
            asyncio.get_running_loop().call_later(PATIENCE, self._look)
        else:
            self._gathers = False
            self._wait_for(1)

    def _wait_for(self, count: int) -> bool:
        """Has the thread woken for no fewer bytes; whether the system does that for a connection that is open."""
        with contextlib.suppress(OSError, AttributeError):
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, count)
            return True
        return False
