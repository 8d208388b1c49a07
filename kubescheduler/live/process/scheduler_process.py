"""SchedulerProcess: the parts put together, started and ended in upstream's order. Upstream: cmd/kube-scheduler Run."""

from __future__ import annotations

import random
import socket
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from clusterstate.cache import ClusterCache
from clusterstate.errors import ConfigError
from clusterstate.objects import Pod
from kubescheduler.cycle.bindings import ThreadedBindings
from kubescheduler.framework.contract.go_durations import SECOND
from kubescheduler.framework.contract.observer import NoObserver
from kubescheduler.framework.contract.profile import LeaderElection
from kubescheduler.live.contract.rest_observer import NoRestObserver, RestObserver
from kubescheduler.live.contract.wall_clock import SystemClock, WallClock
from kubescheduler.live.driving.live_scheduler import LiveScheduler, Surroundings
from kubescheduler.live.driving.process_time import ProcessTime
from kubescheduler.live.informers.inbox import Inbox
from kubescheduler.live.informers.informers import Informers
from kubescheduler.live.leadership.election_rules import ElectionTiming
from kubescheduler.live.leadership.elector import ElectionListener, LeaderElector
from kubescheduler.live.leadership.resource_locks import ResourceLock, resource_lock
from kubescheduler.live.process.live_settings import LiveSettings
from kubescheduler.live.process.process_servers import ServedProcess, process_servers
from kubescheduler.live.recording.broadcaster import EventBroadcaster, Surface
from kubescheduler.live.serving.scheduler_servers import SchedulerServers
from kubescheduler.live.serving.serving_settings import ServingSettings
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import ApiClient, ClientOptions
from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.live.transport.server_access import ServerAccess
from kubescheduler.live.transport.token_bucket import Limits
from kubescheduler.live.writes.live_client import LiveClient

PREEMPTIONS = 16
"""Preemptions that are carried out at the same time."""

Says = Callable[[str], None]


class LogObserver(NoObserver):
    """Writes troubles to the log."""

    def __init__(self, says: Says) -> None:
        self._says = says

    def trouble(self, text: str) -> None:
        """A line of the log."""
        self._says(text)


class SchedulerProcess:
    """One scheduler beside one API server.

    ``run`` is for the main thread; ``stop`` for signals. says: writes a line of the log.
    """

    def __init__(
        self, settings: LiveSettings, says: Says, *, clock: WallClock | None = None, rng: random.Random | None = None
    ) -> None:
        self._settings = settings
        self._says = says
        self._clock = SystemClock() if clock is None else clock
        self._rng = random.Random() if rng is None else rng
        self._rest: RestObserver = NoRestObserver()
        self._io = IoThread()
        self._background = ThreadPoolExecutor(PREEMPTIONS, "preemption")
        self._clients: list[ApiClient] = []
        self._stopping = threading.Event()
        self._lost = threading.Event()
        self._elector: LeaderElector | None = None
        self._election: Any = None
        self.servers: SchedulerServers | None = None
        """None: nothing is served, or ``run`` was not called."""
        self.identity = f"{socket.gethostname()}_{uuid.uuid4()}"
        """Of the candidate."""
        self.inbox = Inbox()
        """What informers have read."""

    # --- the whole -------------------------------------------------------------------------------

    def run(self) -> int:
        """Starts, goes on until ``stop`` or until leadership is lost, and ends cleanly. The exit status."""
        try:
            self._start()
            self._watch_over()
            self.scheduler.run()
        finally:
            self._end()
        return 1 if self._lost.is_set() else 0

    def stop(self) -> None:
        """Ends ``run`` soon; bindings under way are finished first."""
        self._stopping.set()
        self.inbox.wake()
        if hasattr(self, "scheduler"):
            self.scheduler.stop()

    def _start(self) -> None:
        """Everything up to the informers."""
        settings = self._settings
        self.access: ServerAccess = self._io.wait(self._found_server())
        if settings.serving is not None:
            self.servers = self._servers(settings.serving)
            self._io.wait(self.servers.prepare())
        main, events = self._client("/scheduler"), self._client("/scheduler")
        release = settings.release
        self.events = EventBroadcaster(
            events,
            self._io,
            release.events,
            Surface(socket.gethostname(), self._version_of),
            trouble=self._says,
            clock=self._clock,
            rng=self._rng,
        )
        self.events.start(core=not self._io.wait(self._has_events(main)))
        if self.servers is not None:
            self._io.wait(self.servers.start())
        self.informers = Informers(
            main,
            self._io,
            release.informers,
            self.inbox.put,
            trouble=self._says,
            clock=self._clock,
            rng=self._rng,
        )
        self.scheduler = self._loop(main)
        self.informers.start()

    def _watch_over(self) -> None:
        """What waits for something else: in a thread, so that the main one keeps up with the cluster."""
        threading.Thread(target=self._follow, name="start-up", daemon=True).start()

    def _follow(self) -> None:
        """Leads, or seeks to, once everything has been read and taken in."""
        self.informers.synced.wait()
        self.scheduler.catch_up()
        self.scheduler.caught_up.wait()
        if self._settings.election.leader_elect:
            self._election = self._io.submit(self._elect(self._settings.election))
        else:
            self.scheduler.lead()

    def _end(self) -> None:
        """The lease is given back last but for the connections."""
        if hasattr(self, "events"):
            self.events.stop()
        if hasattr(self, "informers"):
            self.informers.stop()
        if self._elector is not None:
            self._io.call(self._elector.stop)
            self._election.result()
        if self.servers is not None:
            self._io.wait(self.servers.stop())
        for client in self._clients:
            self._io.wait(client.close())
        self._io.close()

    # --- the parts -------------------------------------------------------------------------------

    async def _found_server(self) -> ServerAccess:
        """Raises ConfigError with upstream's text where nobody says where the server is."""
        server = self._settings.server
        if server.kubeconfig:
            return await ServerAccess.from_kubeconfig(server.kubeconfig, server.context, server.master)
        if server.master:
            return ServerAccess(server.master)
        return await ServerAccess.in_cluster()

    def _client(self, suffix: str, timeout: float | None = None) -> ApiClient:
        agent = f"kube-scheduler/{self._settings.release.version} (linux/amd64) kubernetes/0000000{suffix}"
        server = self._settings.server
        options = ClientOptions(Limits(server.qps, server.burst), agent, timeout)
        client = ApiClient(self.access, options, observer=self._rest, clock=self._clock)
        self._clients.append(client)
        return client

    def _servers(self, serving: ServingSettings) -> SchedulerServers:
        process = ServedProcess(
            is_overdue=lambda seconds: self._elector is not None and self._elector.is_overdue(seconds),
            is_stopping=self._stopping.is_set,
            has_read=lambda: hasattr(self, "scheduler") and self.scheduler.caught_up.is_set(),
            says=self._says,
            keep=self._clients.append,
            clock=self._clock,
            rng=self._rng,
        )
        return process_servers(self._settings, serving, process)

    async def _has_events(self, client: ApiClient) -> bool:
        """Whether the server has the release's own API of events; one that does not answer has not."""
        rules = self._settings.release.events
        query = [("timeout", rules.discovery_timeout)] if rules.discovery_timeout else []
        try:
            await client.request("GET", f"/apis/{rules.group_version}", query)
        except ApiError:
            return False
        return True

    def _loop(self, main: ApiClient) -> LiveScheduler:
        settings, engine = self._settings, self._settings.engine
        client = LiveClient(main, self._io, settings.release.writes, trouble=self._says, clock=self._clock)
        scheduler = engine.scheduler(ClusterCache(engine.view), engine.upstream_tie(self._rng))
        around = Surroundings(
            client=client,
            report_status=client.write_status_later,
            events=self.events.recorder(list(getattr(scheduler, "schedulers", ())) or ["default-scheduler"]),
            observer=LogObserver(self._says),
            time=ProcessTime(self._clock),
            bindings=ThreadedBindings(),
            in_background=self._in_background,
        )
        return LiveScheduler(scheduler, self.inbox, self.informers.stores["Pod"], around, preempt=settings.preempts)

    def _in_background(self, work: Callable[[], None]) -> None:
        self._background.submit(work)

    def _version_of(self, pod: Pod) -> str:
        """The resourceVersion of a pod as it was seen, or as it is known by now."""
        version = ((pod.manifest or {}).get("metadata") or {}).get("resourceVersion")
        if version:
            return str(version)
        stored = self.informers.stores["Pod"].get(pod.metadata.namespace, pod.metadata.name)
        return "" if stored is None else stored.version

    # --- leadership ------------------------------------------------------------------------------

    async def _elect(self, election: LeaderElection) -> None:
        """Ends the process when leadership is lost."""
        lock = self._lock(election)
        listener = ElectionListener(
            leads=self._led,
            says=self._says,
            tells=lambda text: self.events.about_lock("default-scheduler", lock.reference, "LeaderElection", text),
        )
        rules = self._settings.release.election
        timing = timing_of(election)
        self._elector = LeaderElector(lock, self.identity, timing, rules, self._clock, listener, self._rng)
        await self._elector.run()

    def _lock(self, election: LeaderElection) -> ResourceLock:
        release = self._settings.release
        seconds = max(1.0, timing_of(election).renew * release.lock_timeout)
        client = self._client("/leader-election", timeout=seconds)
        kinds = release.locks.get(election.resource_lock)
        if kinds is None:
            raise ConfigError(f"{election.resource_lock} lock is removed, migrate to leases")
        metadata = release.events.metadata
        return resource_lock(
            client, kinds, election.resource_namespace, election.resource_name, metadata, f"{seconds:g}s"
        )

    def _led(self, leads: bool) -> None:
        """Leadership began, or ended: asked for or not, it is the end."""
        if leads:
            self.scheduler.lead()
            return
        if not self._stopping.is_set():
            self._lost.set()
        self.scheduler.stop()


def timing_of(election: LeaderElection) -> ElectionTiming:
    """The configuration's durations in seconds."""
    return ElectionTiming(
        election.lease_duration_ns / SECOND, election.renew_deadline_ns / SECOND, election.retry_period_ns / SECOND
    )
