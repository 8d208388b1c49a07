"""Addresses of hosts, and how long it took to look them up. Upstream: client-go's ResolverLatency."""

from __future__ import annotations

import socket

from aiohttp.abc import ResolveResult
from aiohttp.resolver import ThreadedResolver

from kubescheduler.live.contract.rest_observer import RestObserver
from kubescheduler.live.contract.wall_clock import WallClock


class TimedResolver(ThreadedResolver):
    """Looks names up as the machine does; it is not asked about what is an address already."""

    def __init__(self, observer: RestObserver, clock: WallClock) -> None:
        super().__init__()
        self._observer = observer
        self._clock = clock

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses of a host. Raises OSError for one that is not known."""
        started = self._clock.monotonic()
        try:
            return await super().resolve(host, port, family)
        finally:
            self._observer.resolved(host, self._clock.monotonic() - started)
