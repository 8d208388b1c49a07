"""A process as a candidate for leadership: the elector that its settings ask for, and what becomes of it."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Callable
from concurrent.futures import Future

import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.framework.contract.go_durations import SECOND
from kubescheduler.framework.contract.profile import LeaderElection
from kubescheduler.live.driving.live_scheduler import LiveScheduler
from kubescheduler.live.informers.informers import Informers
from kubescheduler.live.leadership.election_rules import ElectionTiming
from kubescheduler.live.leadership.elector import ElectionListener, LeaderElector
from kubescheduler.live.leadership.resource_locks import ResourceLock, resource_lock
from kubescheduler.live.logs.log_writer import LogWriter
from kubescheduler.live.process.process_context import ProcessContext
from kubescheduler.live.process.release_live import LiveRelease
from kubescheduler.live.recording.broadcaster import EventBroadcaster
from kubescheduler.live.transport.api_client import ApiClient

SHORTEST = 1.0
"""Seconds that a request for the lock has at least."""

NOT_MADE = "couldn't create leader elector: "


def checked_timing(election: LeaderElection) -> ElectionTiming:
    """The configuration's durations in seconds. Raises ConfigError with upstream's text for ones that cannot work."""
    timing = ElectionTiming(
        election.lease_duration_ns / SECOND, election.renew_deadline_ns / SECOND, election.retry_period_ns / SECOND
    )
    fault = timing.fault()
    if fault:
        raise ConfigError(NOT_MADE + fault)
    return timing


def lock_of(release: LiveRelease, election: LeaderElection, client: Callable[[float], ApiClient]) -> ResourceLock:
    """The lock that the configuration names.

    client: makes one whose requests last at most so many seconds. Raises ConfigError for a type of lock that the
    release does not have.
    """
    kinds = release.locks.get(election.resource_lock)
    if kinds is None:
        raise ConfigError(release.no_lock(election.resource_lock))
    seconds = max(SHORTEST, election.renew_deadline_ns / SECOND * release.lock_timeout)
    return resource_lock(
        client(seconds),
        kinds,
        election.resource_namespace,
        election.resource_name,
        release.events.metadata,
        f"{seconds:g}s",
    )


def listener(
    log: LogWriter, events: EventBroadcaster, lock: ResourceLock, component: str, leads: Callable[[bool], None]
) -> ElectionListener:
    """Writes lines and events about an election. component: the scheduler's name in events."""
    return ElectionListener(
        leads=leads,
        log=log.put,
        event=lambda text: events.about_lock(component, lock.reference, "LeaderElection", text),
    )


class Candidacy:
    """One election, from when the process seeks leadership until it has given it back.

    Upstream: the LeaderCallbacks of cmd/kube-scheduler Run.
    """

    def __init__(
        self,
        context: ProcessContext,
        scheduler: LiveScheduler,
        informers: Informers,
        events: EventBroadcaster,
        component: str,
        stop: Callable[[], None],
    ) -> None:
        """component: the scheduler's name in events. stop: ends the process.

        Raises ConfigError for durations that cannot work, and for a lock that the release does not have.
        """
        settings = context.settings
        self._context = context
        self._scheduler = scheduler
        self._informers = informers
        self._stop = stop
        self._name = settings.election.resource_name
        self._takes_over = not settings.waits_for_leadership
        self._election: Future[None] | None = None
        self._succession: Future[None] | None = None
        lock = lock_of(
            settings.release, settings.election, lambda seconds: context.clients.client("/leader-election", seconds)
        )
        context.metrics.leads(self._name, leading=False)
        heard = listener(context.log, events, lock, component, self._changed)
        self.elector = LeaderElector(
            lock,
            f"{socket.gethostname()}_{uuid.uuid4()}",
            checked_timing(settings.election),
            settings.release.election,
            context.clock,
            msgspec.structs.replace(heard, slowed=lambda: context.metrics.slow_path(self._name)),
            context.rng,
        )

    # --- for the process ---------------------------------------------------------------------------

    def seek(self) -> None:
        """Seeks leadership from now on."""
        self._election = self._context.io.submit(self.elector.run())
        self._election.add_done_callback(self._ended)

    def cancel_succession(self) -> None:
        """Does not begin to try pods any more."""
        if self._succession is not None:
            self._succession.cancel()

    def end(self, wait: Callable[[Future[None]], None]) -> None:
        """Gives leadership back. wait: waits for the election to end."""
        if self._election is not None:
            self._context.io.call(self.elector.stop)
            wait(self._election)

    # --- on the I/O thread -------------------------------------------------------------------------

    def _changed(self, leads: bool) -> None:
        self._context.metrics.leads(self._name, leading=leads)
        if leads:
            self._started_leading()
        else:
            self._stopped_leading()

    def _started_leading(self) -> None:
        """Tries pods, once what the leader before has done is known; a cache that is not read yet is read now."""
        self._context.state.leading.set()
        if self._takes_over:
            self._succession = self._context.io.submit(self._succeed())
            self._succession.add_done_callback(self._succeeded)

    def _stopped_leading(self) -> None:
        """Asked for or not, it is the end."""
        state = self._context.state
        if not state.stopping.is_set():
            state.lost.set()
        self._scheduler.stop()

    def _ended(self, election: Future[None]) -> None:
        """An election that nobody asked to end is lost."""
        error = None if election.cancelled() else election.exception()
        if error is not None:
            self._context.raised("electing a leader", error)
        if not self._context.state.stopping.is_set():
            self._changed(leads=False)

    async def _succeed(self) -> None:
        """Tries pods once everything is known that a leader before has bound."""
        if self.elector.succeeds:
            await self._informers.reach_newest("Pod", "Node")
        self._scheduler.catch_up(self._scheduler.lead)

    def _succeeded(self, succession: Future[None]) -> None:
        error = None if succession.cancelled() else succession.exception()
        if error is not None:
            self._context.state.broken = True
            self._context.raised("taking over", error)
            self._stop()
