"""A scheduler's process: its parts started and ended in upstream's order; and what it sets of its interpreter: signals,
how long a thread keeps it, and what is not collected. Upstream: cmd/kube-scheduler Run."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, TypeVar

import attrs

from clusterstate.errors import KubeSchedulerError
from kubescheduler.live.events import EventBroadcaster, EventRules
from kubescheduler.live.informers import ServerOutages
from kubescheduler.live.klog import LogWriter
from kubescheduler.live.metrics.process_metrics import ProcessMetrics
from kubescheduler.live.process.log_lines import AttemptLog, dump_lines
from kubescheduler.live.process.process_options import LiveSettings
from kubescheduler.live.process.scheduler_setup import (
    ProcessContext,
    SchedulerParts,
    ServerClients,
    checked_timing,
    scheduler_endpoints,
    set_up,
)
from kubescheduler.live.serving.scheduler_servers import SchedulerServers
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import ApiClient
from kubescheduler.live.transport.io_thread import IoThread, WallClock

ENDING = (signal.SIGTERM, signal.SIGINT)
HURRY = 1
"""Exit status after the second signal."""


@contextmanager
def signals(
    stop: Callable[[], None], dump: Callable[[], None], leave: Callable[[int], Any] = os._exit
) -> Iterator[None]:
    """Passes signals on while the block runs; for the main thread.

    stop, dump: called in a thread of their own, which may wait for locks as a signal handler must not. leave: ends the
    process at once.
    """
    arrived: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
    ended: list[int] = []

    def end(number: int, _: object) -> None:
        if ended:
            leave(HURRY)
        ended.append(number)
        arrived.put(stop)

    before = {number: signal.signal(number, end) for number in ENDING}
    before[signal.SIGUSR2] = signal.signal(signal.SIGUSR2, lambda *_: arrived.put(dump))
    thread = threading.Thread(target=_pass_on, args=(arrived,), name="signals", daemon=True)
    thread.start()
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        arrived.put(None)
        thread.join()


def _pass_on(arrived: SimpleQueue[Callable[[], None] | None]) -> None:
    while (act := arrived.get()) is not None:
        act()


TURN = 0.0005
"""Seconds. The I/O thread needs the interpreter for a moment after each packet; with Python's own 5 ms, reading a large
cluster anew while pods are decided on takes as long as there are packets.
"""


@contextmanager
def switch_interval() -> Iterator[None]:
    """Threads take turns of ``TURN`` seconds meanwhile, in the whole process."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


LONG_COLLECTION = 0.05
"""Seconds of a full collection from which on what it left is set aside. The interpreter stands still meanwhile: with
50,000 pods for 0.4 s of CPU time, several times as long where others want the CPU.
"""


@attrs.define(eq=False)
class GcFreeze:
    """Sets aside what a long full collection of the garbage collector left; one of ``gc.callbacks``.

    Objects set aside are freed by their reference counts as ever, but cycles among them are not found any more. The
    objects of a cluster have no cycles.
    """

    clock: Callable[[], float] = time.perf_counter
    set_aside: Callable[[], None] = gc.freeze
    """Takes everything that there is out of later collections."""
    _started: float = 0.0

    def __call__(self, phase: str, info: Mapping[str, Any]) -> None:
        """A collection starts or stops."""
        if info["generation"] < 2:
            return
        if phase == "start":
            self._started = self.clock()
        elif self.clock() - self._started > LONG_COLLECTION:
            self.set_aside()


@contextmanager
def gc_freeze() -> Iterator[None]:
    """Full collections stay short meanwhile, in the whole process, however many objects are known."""
    lasting = GcFreeze()
    gc.callbacks.append(lasting)
    try:
        yield
    finally:
        gc.callbacks.remove(lasting)
        gc.unfreeze()


WRITES, LOST, REST = 10.0, 0.5, 5.0
"""Seconds for the bindings under way and the events that wait, when the process was asked to end and when it lost the
lock, and for all else."""


class Ending:
    """Waits for parts of a process to end."""

    def __init__(
        self, io: IoThread, clients: Sequence[ApiClient], log: LogWriter, clock: WallClock, *, lost: bool
    ) -> None:
        """clients: all but that of events, which goes on. lost: another may lead, so nothing is to be written."""
        self._io = io
        self._clients = [client for client in clients if client.is_shared]
        self._log = log
        self._clock = clock
        self._until = clock.monotonic() + (LOST if lost else WRITES)

    @property
    def left(self) -> float:
        """Seconds that there still are for writing."""
        return max(0.0, self._until - self._clock.monotonic())

    def finish(self, close: Callable[[], None]) -> bool:
        """Waits for the bindings under way, then gives up those that the server does not answer; whether all ended."""
        for client in self._clients:
            self._io.call(client.admit_no_more)
        closing = threading.Thread(target=close, name="ending", daemon=True)
        closing.start()
        closing.join(self.left)
        for client in self._clients:
            self._io.call(client.abort)
        closing.join(REST)
        if closing.is_alive():
            self._log.warning("some bindings did not end: a plugin, or an extender, does not answer")
        return not closing.is_alive()

    def join(self, thread: threading.Thread) -> None:
        """Waits for a thread, if it is another one."""
        if thread is not threading.current_thread():
            thread.join(REST)

    def wait(self, future: Future[Any]) -> None:
        """Waits for work on the I/O thread."""
        try:
            future.result(REST)
        except (TimeoutError, CancelledError):
            future.cancel()
        except Exception as error:  # it was reported when it was raised
            self._log.info(f"ending: {error}", 4)


FIRST, LONGEST = 1.0, 30.0
"""Seconds between questions to a server that does not answer: doubled from the first on."""
ANSWER = 10.0
"""Seconds that a server has to answer."""
UNAUTHORIZED = 401


async def look_up_events(
    client: ApiClient, rules: EventRules, events: EventBroadcaster, log: LogWriter, clock: WallClock
) -> None:
    """Has events written by the API that the server has; one that does not answer now is asked again later.

    Upstream (1.36) writes core/v1 events for good when the server cannot be reached at the start, and says nothing.
    """
    if not await _asked(client, rules, events, log):
        task = asyncio.create_task(_ask_again(client, rules, events, log, clock))
        events.tasks.append(task)


async def _ask_again(
    client: ApiClient, rules: EventRules, events: EventBroadcaster, log: LogWriter, clock: WallClock
) -> None:
    pause = FIRST
    await clock.sleep(pause)
    while not await _asked(client, rules, events, log):
        pause = min(LONGEST, pause * 2)
        await clock.sleep(pause)


async def _asked(client: ApiClient, rules: EventRules, events: EventBroadcaster, log: LogWriter) -> bool:
    """Whether the server answered, and knows who we are."""
    query = [("timeout", rules.discovery_timeout)] if rules.discovery_timeout else []
    try:
        await client.request("GET", f"/apis/{rules.group_version}", query, timeout=ANSWER)
    except ApiError as error:
        events.use_core()
        if error.code == 0:
            log.error(f"the API server cannot be reached; asking it again: {error}")
            return False
        if error.code == UNAUTHORIZED:
            log.error(f"the API server does not accept our credentials; asking it again: {error}")
            return False
    else:
        events.use_own()
    return True


T = TypeVar("T")


class SchedulerProcess:
    """One scheduler beside one API server.

    ``run`` is for the main thread; ``stop`` and ``dump`` are for any, also while ``run`` starts.
    """

    def __init__(
        self,
        settings: LiveSettings,
        log: LogWriter,
        *,
        clock: WallClock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        clock = clock or WallClock()
        self._context = ProcessContext(
            settings,
            log,
            clock,
            random.Random() if rng is None else rng,
            IoThread(),
            ServerClients(settings, log, clock),
            ServerOutages(clock, log.error, log.info),
            ProcessMetrics(settings.release.metrics, settings.metrics, log.error),
        )
        self._state = self._context.state
        self._waits_for: Future[Any] | None = None
        self._start_up: threading.Thread | None = None
        self.parts: SchedulerParts | None = None
        """None: the server has not been found yet."""
        self.servers: SchedulerServers | None = None
        """None: nothing is served, or not yet."""
        self.hangs = False
        """Whether a thread goes on after the end, because a plugin or an extender does not answer."""

    @property
    def metrics(self) -> ProcessMetrics:
        """What the process exports."""
        return self._context.metrics

    # --- the whole -------------------------------------------------------------------------------

    def run(self) -> int:
        """Starts, goes on until ``stop`` or until leadership is lost, and ends cleanly. The exit status.

        Raises ConfigError for what cannot be started; nothing is left running then.
        """
        context = self._context
        try:
            parts = self._start()
            self._start_up = threading.Thread(target=self._follow, args=(parts,), name="start-up", daemon=True)
            self._start_up.start()
            parts.scheduler.run(AttemptLog(context.settings.release.attempts, context.log))
        except CancelledError:
            if not self._state.stopping.is_set():
                raise
        except KubeSchedulerError:
            raise
        except Exception as error:
            self._state.broken = True
            context.raised("scheduling", error)
        finally:
            self._end()
        return self._status()

    def stop(self) -> None:
        """Ends ``run`` soon; bindings under way are finished first."""
        self._state.stopping.set()
        future, parts = self._waits_for, self.parts
        if future is not None:
            future.cancel()
        self._context.inbox.wake()
        if parts is not None:
            parts.scheduler.stop()

    def dump(self) -> None:
        """Compares the cache with what informers know, and writes cache and queue to the log."""
        parts, context = self.parts, self._context
        if parts is None:
            return
        scheduler, stores = parts.scheduler, parts.informers.stores

        def write() -> None:
            for line in dump_lines(context.settings.release.dumps, scheduler, stores):
                context.log.put(line)

        scheduler.ask(write)

    def _status(self) -> int:
        rules, log = self._context.settings.release.process, self._context.log
        if self._state.lost.is_set():
            log.put(rules.lost)
            return rules.lost_status
        if self._state.broken:
            return 1
        log.put(rules.ended)
        return 0

    # --- starting --------------------------------------------------------------------------------

    def _start(self) -> SchedulerParts:
        """Finds the server, sets everything up, and starts it up to the informers, which are last."""
        context, settings = self._context, self._context.settings
        if settings.election.leader_elect:
            checked_timing(settings.election)
        access = self._wait(context.clients.find_server())
        context.clients.observer = context.metrics.rest(access.base_url)
        access.rotated = context.metrics.certificate_rotated
        context.metrics.credentials(lambda: access.certificate_seconds(context.clock.now()))
        self.parts = parts = set_up(context, self.stop)
        if settings.serving is not None:
            self.servers = scheduler_endpoints(context, parts, settings.serving)
            self._wait(self.servers.prepare())
        context.log.put(settings.release.process.started(settings.release.version))
        parts.events.start(core=False)
        self._wait(look_up_events(parts.client, settings.release.events, parts.events, context.log, context.clock))
        if self.servers is not None:
            self._wait(self.servers.start())
        if not settings.waits_for_leadership:
            parts.informers.start()
        if self._state.stopping.is_set():
            parts.scheduler.stop()
        return parts

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Waits for a part of the start. Raises CancelledError when ``stop`` is called meanwhile."""
        future = self._context.io.submit(work)
        self._waits_for = future
        try:
            if self._state.stopping.is_set():
                future.cancel()
            return future.result()
        finally:
            self._waits_for = None

    def _follow(self, parts: SchedulerParts) -> None:
        """Leads, or seeks to, once everything has been read and taken in; beside the main thread, which keeps up."""
        try:
            self._lead_when_read(parts)
        except Exception as error:
            self._state.broken = True
            self._context.raised("starting", error)
            self.stop()

    def _lead_when_read(self, parts: SchedulerParts) -> None:
        state, candidacy = self._state, parts.candidacy
        reads_first = not self._context.settings.waits_for_leadership
        if candidacy is not None and not reads_first:
            candidacy.seek()
            state.leading.wait()
            if state.stopping.is_set():
                return
            parts.informers.start()
        parts.informers.synced.wait()
        parts.scheduler.catch_up(state.caught_up.set)
        state.caught_up.wait()
        if state.stopping.is_set():
            return
        if candidacy is not None and reads_first:
            candidacy.seek()
        else:
            parts.scheduler.lead()

    # --- ending ----------------------------------------------------------------------------------

    def _end(self) -> None:
        """Bindings are finished first, then the lease is given back, then what waits of events is written."""
        context, state = self._context, self._state
        state.stopping.set()
        if self.parts is not None:
            self._end_parts(self.parts)
        if self.servers is not None:
            context.io.wait(self.servers.stop())
        for client in context.clients.all:
            context.io.wait(client.close())
        context.io.close()

    def _end_parts(self, parts: SchedulerParts) -> None:
        state, context = self._state, self._context
        clients = [client for client in context.clients.all if client is not parts.events.api]
        ending = Ending(context.io, clients, context.log, context.clock, lost=state.lost.is_set())
        self.hangs = not ending.finish(parts.scheduler.close)
        for awaited in (state.caught_up, parts.informers.synced, state.leading):
            awaited.set()
        if self._start_up is not None:
            ending.join(self._start_up)
        parts.preemptions.close()
        if parts.candidacy is not None:
            parts.candidacy.cancel_succession()
        parts.events.take_no_more()
        parts.informers.stop()
        if parts.candidacy is not None:
            parts.candidacy.end(ending.wait)
        parts.events.stop(ending.left)
