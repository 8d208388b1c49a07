"""All informers of a scheduler. Upstream: SharedInformerFactory."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable
from functools import partial

from clusterstate.manifests.decode import Decoder
from kubescheduler.live.informers.inbox import ObjectChange
from kubescheduler.live.informers.informer_rules import InformerRules
from kubescheduler.live.informers.reflector import Reflector, ServerOutage
from kubescheduler.live.informers.stored_objects import RawObjects, StoredObjects
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import ApiClient
from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.live.wall_clock import WallClock

PATIENCE = 1.0
"""Seconds within which a watch has everything that the server knows, or is begun anew."""


class Informers:
    """Reads and watches every kind that a release reads.

    deliver: gets the changes of each kind in order, on the I/O thread. outage: logs what goes wrong.
    """

    def __init__(
        self,
        client: ApiClient,
        io: IoThread,
        rules: InformerRules,
        deliver: Callable[[list[ObjectChange]], None],
        *,
        outage: ServerOutage,
        clock: WallClock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self._io = io
        self._deliver = deliver
        self._waiting = {kind.kind for kind in rules.kinds}
        self.synced = threading.Event()
        """Whether every kind was read whole, and delivered."""
        self.stores = {kind.kind: StoredObjects(kind.kind) for kind in rules.kinds}
        """Kind → what is known of it."""
        decoder = Decoder(prepare=rules.prepare)
        self._clock = clock or WallClock()
        self._rng = random.Random() if rng is None else rng
        self._rules = rules
        self.reflectors = [
            Reflector(
                client,
                kind,
                RawObjects(kind.kind, decoder, outage.trouble),
                self.stores[kind.kind],
                rules,
                self._clock,
                self._rng,
                partial(self._take, kind.kind),
                outage,
            )
            for kind in rules.kinds
        ]
        """One a kind."""
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Starts them all; ``synced`` is set when all have read everything once."""
        self._io.wait(self._start())

    def stop(self) -> None:
        """Ends them all."""
        self._io.wait(self._stop())

    async def reach_newest(self, *kinds: str) -> None:
        """Returns once these kinds have been delivered as they are now; on the I/O thread.

        A watch that does not get there soon is taken for one that hangs, and everything is read anew.
        """
        numbers = [number for number, reflector in enumerate(self.reflectors) if reflector.kind.kind in kinds]
        await asyncio.gather(*map(self._reach_newest, numbers))

    async def _reach_newest(self, number: int) -> None:
        reflector = self.reflectors[number]
        version = await self._newest_version(reflector)
        reached = asyncio.create_task(reflector.reached(version))
        patience = asyncio.create_task(self._clock.sleep(PATIENCE))
        try:
            await asyncio.wait((reached, patience), return_when=asyncio.FIRST_COMPLETED)
            if not reached.done():
                self._tasks[number].cancel()
                await asyncio.gather(self._tasks[number], return_exceptions=True)
                self._tasks[number] = asyncio.create_task(reflector.run(latest=True))
            await reached
        finally:
            reached.cancel()
            patience.cancel()

    async def _newest_version(self, reflector: Reflector) -> str:
        """Asks until the server answers."""
        pauses = self._rules.pauses(self._clock, self._rng)
        while True:
            try:
                return await reflector.newest_version()
            except ApiError:
                await self._clock.sleep(pauses.next())

    async def _start(self) -> None:
        self._tasks = [asyncio.create_task(reflector.run()) for reflector in self.reflectors]

    async def _stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _take(self, kind: str, changes: list[ObjectChange]) -> None:
        self._deliver(changes)
        self._waiting.discard(kind)
        if not self._waiting:
            self.synced.set()
