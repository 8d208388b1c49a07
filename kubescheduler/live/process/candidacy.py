"""A process as a candidate for leadership: the elector that its settings ask for, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

from clusterstate.errors import ConfigError
from kubescheduler.framework.contract.go_durations import SECOND
from kubescheduler.framework.contract.profile import LeaderElection
from kubescheduler.live.leadership.election_rules import ElectionTiming
from kubescheduler.live.leadership.elector import ElectionListener, LeaderElector
from kubescheduler.live.leadership.resource_locks import ResourceLock, resource_lock
from kubescheduler.live.logs.log_writer import LogWriter
from kubescheduler.live.process.release_live import LiveRelease
from kubescheduler.live.recording.broadcaster import EventBroadcaster
from kubescheduler.live.transport.api_client import ApiClient
from kubescheduler.live.transport.io_thread import IoThread

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

    ended: called on the I/O thread when the election ends, with what was raised if anything was.
    """

    def __init__(self, elector: LeaderElector, io: IoThread, ended: Callable[[BaseException | None], None]) -> None:
        self.elector = elector
        self._io = io
        self._ended = ended
        self._election: Future[None] | None = None

    def seek(self) -> None:
        """Seeks leadership from now on."""
        self._election = self._io.submit(self.elector.run())
        self._election.add_done_callback(self._done)

    def end(self, wait: Callable[[Future[None]], None]) -> None:
        """Gives leadership back. wait: waits for the election to end."""
        if self._election is not None:
            self._io.call(self.elector.stop)
            wait(self._election)

    def _done(self, election: Future[None]) -> None:
        self._ended(None if election.cancelled() else election.exception())
