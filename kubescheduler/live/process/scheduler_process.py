"""SchedulerProcess: the parts put together, started and ended in upstream's order. Upstream: cmd/kube-scheduler Run."""

from __future__ import annotations

import random
import socket
import threading
import traceback
import uuid
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import Any, TypeVar

import attrs

from clusterstate.cache import ClusterCache
from clusterstate.errors import KubeSchedulerError
from clusterstate.objects import Pod
from kubescheduler.cycle.event_handlers import resource_version
from kubescheduler.live.contract.wall_clock import SystemClock, WallClock
from kubescheduler.live.driving.live_scheduler import LiveScheduler, Surroundings
from kubescheduler.live.driving.process_time import ProcessTime
from kubescheduler.live.informers.inbox import Inbox
from kubescheduler.live.informers.informers import Informers
from kubescheduler.live.informers.server_outage import ServerOutages
from kubescheduler.live.leadership.elector import LeaderElector
from kubescheduler.live.logs.log_writer import LogWriter
from kubescheduler.live.metrics.process_metrics import ProcessMetrics
from kubescheduler.live.process.attempt_lines import AttemptLog
from kubescheduler.live.process.cache_dump import dump_lines
from kubescheduler.live.process.candidacy import Candidacy, checked_timing, listener, lock_of
from kubescheduler.live.process.ending import Ending
from kubescheduler.live.process.events_lookup import look_up_events
from kubescheduler.live.process.live_settings import LiveSettings
from kubescheduler.live.process.process_servers import ServedProcess, process_servers
from kubescheduler.live.process.server_clients import ServerClients
from kubescheduler.live.recording.broadcaster import WRITES, EventBroadcaster, Surface
from kubescheduler.live.serving.routes import MetricsSources
from kubescheduler.live.serving.scheduler_servers import SchedulerServers
from kubescheduler.live.serving.serving_settings import ServingSettings
from kubescheduler.live.transport.api_client import ApiClient
from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.live.writes.live_client import LiveClient

TIMED = 0.1
"""Attempts whose plugins are timed one by one. Upstream: pluginMetricsSamplePercent."""
PREEMPTIONS = 16
"""Preemptions that are carried out at the same time."""

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
        self._settings = settings
        self._rules = settings.release.process
        self._log = log
        self._clock = SystemClock() if clock is None else clock
        self._rng = random.Random() if rng is None else rng
        self._outages = ServerOutages(self._clock, log.error, log.info)
        self.metrics = ProcessMetrics(settings.release.metrics, settings.metrics, log.error)
        self._io = IoThread()
        self._background = ThreadPoolExecutor(PREEMPTIONS, "preemption")
        self._clients = ServerClients(settings, log, self._clock)
        self._starting: Future[Any] | None = None
        self._stopping = threading.Event()
        self._leading = threading.Event()
        self._lost = threading.Event()
        self._broken = False
        self._synced = False
        self._candidacy: Candidacy | None = None
        self._succession: Future[None] | None = None
        self._caught_up = threading.Event()
        self._start_up: threading.Thread | None = None
        self.servers: SchedulerServers | None = None
        """None: nothing is served, or ``run`` was not called."""
        self.identity = f"{socket.gethostname()}_{uuid.uuid4()}"
        """Of the candidate."""
        self.hangs = False
        """Whether a thread goes on after the end, because a plugin or an extender does not answer."""
        self.inbox = Inbox()
        """What informers have read."""

    # --- the whole -------------------------------------------------------------------------------

    def run(self) -> int:
        """Starts, goes on until ``stop`` or until leadership is lost, and ends cleanly. The exit status.

        Raises ConfigError for what cannot be started; nothing is left running then.
        """
        try:
            self._start()
            self._start_up = threading.Thread(target=self._follow, name="start-up", daemon=True)
            self._start_up.start()
            self.scheduler.run(AttemptLog(self._settings.release.attempts, self._log).listener())
        except CancelledError:
            if not self._stopping.is_set():
                raise
        except KubeSchedulerError:
            raise
        except Exception as error:
            self._broken = True
            self._raised("scheduling", error)
        finally:
            self._end()
        return self._status()

    def stop(self) -> None:
        """Ends ``run`` soon; bindings under way are finished first."""
        self._stopping.set()
        starting = self._starting
        if starting is not None:
            starting.cancel()
        self.inbox.wake()
        if hasattr(self, "scheduler"):
            self.scheduler.stop()

    def dump(self) -> None:
        """Compares the cache with what informers know, and writes cache and queue to the log."""
        if hasattr(self, "scheduler"):
            self.scheduler.ask(self._dump)

    def _dump(self) -> None:
        for line in dump_lines(self._settings.release.dumps, self.scheduler, self.informers.stores):
            self._log.put(line)

    def _status(self) -> int:
        if self._lost.is_set():
            self._log.put(self._rules.lost)
            return self._rules.lost_status
        if self._broken:
            return 1
        self._log.put(self._rules.ended)
        return 0

    # --- starting --------------------------------------------------------------------------------

    def _start(self) -> None:
        """Everything up to the informers, which are started last."""
        settings, release = self._settings, self._settings.release
        if settings.election.leader_elect:
            checked_timing(settings.election)
        access = self._wait(self._clients.find_server())
        self._clients.observer = self.metrics.rest(access.base_url)
        self.metrics.credentials(lambda: access.certificate_seconds(self._clock.now()))
        if settings.serving is not None:
            self.servers = self._servers(settings.serving)
            self._wait(self.servers.prepare())
        self._log.put(self._rules.started(release.version))
        main = self._clients.client("/scheduler")
        events = self._clients.client("/scheduler", connections=WRITES)
        self.events = EventBroadcaster(
            events,
            self._io,
            release.events,
            Surface(socket.gethostname(), self._version_of),
            trouble=self._log.error,
            clock=self._clock,
            rng=self._rng,
        )
        self.events.start(core=False)
        self._wait(look_up_events(main, release.events, self.events, self._log, self._clock))
        if self.servers is not None:
            self._wait(self.servers.start())
        self.informers = Informers(
            main,
            self._io,
            release.informers,
            self.inbox.put,
            outage=self._outages.of(access.base_url),
            clock=self._clock,
            rng=self._rng,
        )
        self.scheduler = self._loop(main)
        if settings.election.leader_elect:
            self._candidacy = self._candidate()
        if not self._waits_for_leadership:
            self.informers.start()
        if self._stopping.is_set():
            self.scheduler.stop()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Waits for a part of the start. Raises CancelledError when ``stop`` is called meanwhile."""
        future = self._io.submit(work)
        self._starting = future
        try:
            if self._stopping.is_set():
                future.cancel()
            return future.result()
        finally:
            self._starting = None

    @property
    def _waits_for_leadership(self) -> bool:
        """Whether informers are started only by a leader (1.36: delayCacheUntilActive)."""
        return self._settings.delays_cache and self._settings.election.leader_elect

    def _follow(self) -> None:
        """Leads, or seeks to, once everything has been read and taken in; beside the main thread, which keeps up."""
        try:
            if self._waits_for_leadership:
                self._seek()
                self._leading.wait()
                if self._stopping.is_set():
                    return
                self.informers.start()
            self.informers.synced.wait()
            self.scheduler.catch_up(self._caught_up.set)
            self._caught_up.wait()
            if self._stopping.is_set():
                return
            self._synced = True
            if self._waits_for_leadership or not self._settings.election.leader_elect:
                self.scheduler.lead()
            else:
                self._seek()
        except Exception as error:
            self._broken = True
            self._raised("starting", error)
            self.stop()

    def _end(self) -> None:
        """Bindings are finished first, and the lease is given back last but for the connections."""
        self._stopping.set()
        ending = Ending(self._io, self._clients.all, self._log, lost=self._lost.is_set())
        if hasattr(self, "scheduler"):
            self.hangs = not ending.finish(self.scheduler.close)
            self._caught_up.set()
        if hasattr(self, "informers"):
            self.informers.synced.set()
        self._leading.set()
        if self._start_up is not None:
            ending.join(self._start_up)
        self._background.shutdown(wait=False, cancel_futures=True)
        if self._succession is not None:
            self._succession.cancel()
        for part in ("events", "informers"):
            if hasattr(self, part):
                getattr(self, part).stop()
        if self._candidacy is not None:
            self._candidacy.end(ending.wait)
        if self.servers is not None:
            self._io.wait(self.servers.stop())
        for client in self._clients.all:
            self._io.wait(client.close())
        self._io.close()

    # --- the parts -------------------------------------------------------------------------------

    def _servers(self, serving: ServingSettings) -> SchedulerServers:
        process = ServedProcess(
            is_overdue=lambda seconds: self._candidacy is not None and self._candidacy.elector.is_overdue(seconds),
            is_stopping=self._stopping.is_set,
            has_read=self._caught_up.is_set,
            log=self._log.put,
            outages=self._outages,
            keep=self._clients.all.append,
            clock=self._clock,
            rng=self._rng,
            metrics=self._sources(),
            verbosity=self._log.verbosity,
            observed=lambda name, path, passed: self.metrics.health.checked(name, path, passed=passed),
            access=self.metrics.access,
        )
        return process_servers(self._settings, serving, process)

    def _sources(self) -> MetricsSources:
        metrics = self.metrics
        resources = metrics.resources(self._pods, lambda: hasattr(self, "scheduler") and self.scheduler.is_leading)
        return MetricsSources(metrics.text, resources, metrics.health.text, metrics.reset)

    def _pods(self) -> list[Pod]:
        return [stored.obj for stored in self.informers.stores["Pod"] if isinstance(stored.obj, Pod)]

    def _loop(self, main: ApiClient) -> LiveScheduler:
        settings, engine = self._settings, self._settings.engine
        client = LiveClient(main, self._io, settings.release.writes, trouble=self._log.error, clock=self._clock)
        scheduler = engine.scheduler(ClusterCache(engine.view), engine.upstream_tie(self._rng))
        self._profiles = list(getattr(scheduler, "schedulers", ())) or [scheduler.algorithm.scheduler_name]
        watched = self.metrics.loop
        around = Surroundings(
            client=client,
            report_status=client.write_status_later,
            events=self.events.recorder(self._profiles),
            observer=watched,
            time=ProcessTime(self._clock),
            in_background=self._in_background,
            raised=self._raised,
            handled=watched.handled if watched.times_events else None,
            times_plugins=lambda: self._rng.random() < TIMED,
            send_binding=client.send_binding,
        )
        live = LiveScheduler(
            scheduler,
            self.inbox,
            self.informers.stores["Pod"],
            around,
            preempt=settings.preempts,
            lies_for=settings.unschedulable_seconds,
        )
        live.each_second = self.metrics.watch(live.loop, live.parts, getattr(scheduler, "profiles", None))
        return live

    def _in_background(self, work: Callable[[], None]) -> None:
        def guarded() -> None:
            try:
                work()
            except Exception as error:
                self._raised("preempting", error)

        self._background.submit(guarded)

    def _raised(self, doing: str, error: BaseException) -> None:
        """Writes what nobody foresaw to the log, with its traceback where that is no message to a user."""
        text = "".join(traceback.format_exception(error))
        self._log.error(self._rules.raised(doing, str(error) if isinstance(error, KubeSchedulerError) else text))

    def _version_of(self, pod: Pod) -> str:
        """The resourceVersion of a pod as it was seen, or as it is known by now."""
        stored = self.informers.stores["Pod"].get(pod.metadata.namespace, pod.metadata.name)
        return resource_version(pod) or ("" if stored is None else stored.version)

    # --- leadership ------------------------------------------------------------------------------

    def _candidate(self) -> Candidacy:
        """Raises ConfigError for a lock that the release does not have."""
        settings = self._settings
        lock = lock_of(
            settings.release, settings.election, lambda seconds: self._clients.client("/leader-election", seconds)
        )
        name = settings.election.resource_name
        self.metrics.leads(name, leading=False)
        heard = listener(self._log, self.events, lock, self._profiles[0], self._led)
        elector = LeaderElector(
            lock,
            self.identity,
            checked_timing(settings.election),
            settings.release.election,
            self._clock,
            attrs.evolve(heard, slowed=lambda: self.metrics.slow_path(name)),
            self._rng,
        )
        return Candidacy(elector, self._io, self._election_ended)

    def _seek(self) -> None:
        assert self._candidacy is not None
        self._candidacy.seek()

    def _election_ended(self, error: BaseException | None) -> None:
        """An election that nobody asked to end is lost."""
        if error is not None:
            self._raised("electing a leader", error)
        if not self._stopping.is_set():
            self._led(leads=False)

    def _led(self, leads: bool) -> None:
        """Leadership began, or ended: asked for or not, it is the end."""
        self.metrics.leads(self._settings.election.resource_name, leading=leads)
        if leads:
            self._leading.set()
            if self._synced:
                self._succession = self._io.submit(self._succeed())
                self._succession.add_done_callback(self._succeeded)
            return
        if not self._stopping.is_set():
            self._lost.set()
        self.scheduler.stop()

    async def _succeed(self) -> None:
        """Tries pods once everything is known that a leader before has bound."""
        assert self._candidacy is not None
        if self._candidacy.elector.succeeds:
            await self.informers.reach_newest("Pod", "Node")
        self.scheduler.catch_up(self.scheduler.lead)

    def _succeeded(self, succession: Future[None]) -> None:
        error = None if succession.cancelled() else succession.exception()
        if error is not None:
            self._broken = True
            self._raised("taking over", error)
            self.stop()
