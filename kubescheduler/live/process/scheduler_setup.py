"""The parts of a scheduler process, made and connected, none of them started, and what they share.

Read ``set_up``, at the end, first. Upstream: cmd/kube-scheduler Setup.
"""

from __future__ import annotations

import random
import socket
import threading
import traceback
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import attrs
import msgspec

from clusterstate.cache import ClusterCache
from clusterstate.errors import ConfigError, KubeSchedulerError
from clusterstate.objects import Pod
from kubecel.api_names import SECOND
from kubescheduler.cycle.event_handlers import resource_version
from kubescheduler.engine.framework_engine import ProfiledScheduler
from kubescheduler.framework.contract.cycle_state import Timekeeper
from kubescheduler.framework.contract.handle import EventRecorder
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME, LeaderElection
from kubescheduler.live.events import EventBroadcaster, Surface
from kubescheduler.live.informers import Informers, ServerOutages
from kubescheduler.live.klog import LogWriter
from kubescheduler.live.leadership import ElectionListener, ElectionTiming, LeaderElector, ResourceLock, resource_lock
from kubescheduler.live.live_scheduler import Dependencies, LiveScheduler
from kubescheduler.live.metrics.process_metrics import ProcessMetrics
from kubescheduler.live.metrics.unschedulable_workloads import Hints, RestingLoop, WorkloadHints, no_hints
from kubescheduler.live.observers import RestObserver
from kubescheduler.live.process.process_options import LiveSettings
from kubescheduler.live.process.release_live import LiveRelease
from kubescheduler.live.serving.pages import MetricsSources
from kubescheduler.live.serving.scheduler_servers import SchedulerServers, ServedProcess, ServingSettings
from kubescheduler.live.stored_objects import Inbox, StoredObjects
from kubescheduler.live.transport.api_client import ApiClient, ClientOptions, Limits
from kubescheduler.live.transport.http_connections import HttpConnections
from kubescheduler.live.transport.io_thread import IoThread, WallClock
from kubescheduler.live.transport.server_access import NO_CONFIGURATION, ServerAccess
from kubescheduler.live.writes import LiveClient


class ServerClients:
    """Makes the clients of a process, and knows them all; a client can be made once the server has been found."""

    def __init__(self, settings: LiveSettings, log: LogWriter, clock: WallClock) -> None:
        self._server = settings.server
        self._release = settings.release
        self._log = log
        self._clock = clock
        self.observer: RestObserver = RestObserver()
        """Who is told of the requests of clients that are made from now on."""
        self._connections: HttpConnections | None = None
        self.all: list[ApiClient] = []
        """Every client, to be closed in the end."""

    async def find_server(self) -> ServerAccess:
        """Finds address and credentials. Raises ConfigError with upstream's text where nobody says where it is."""
        if not self._server.kubeconfig and not self._server.master:
            self._log.warning(self._release.process.no_server)
        try:
            self.access = await self._server.access()
        except ConfigError as error:
            if error.problems == (NO_CONFIGURATION,):
                raise ConfigError(self._release.process.no_configuration) from None
            raise
        return self.access

    def client(self, suffix: str, timeout: float | None = None) -> ApiClient:
        """One more, which shares the connections of all. suffix: ends its user agent. timeout: seconds that a request
        lasts at most.
        """
        agent = f"kube-scheduler/{self._release.version} (linux/amd64) kubernetes/0000000{suffix}"
        options = ClientOptions(Limits(self._server.qps, self._server.burst), agent, timeout)
        if self._connections is None:
            self._connections = HttpConnections(self.access, self.observer, self._clock)
        client = ApiClient(
            self.access, options, connections=self._connections, observer=self.observer, clock=self._clock
        )
        self.all.append(client)
        return client


@attrs.define(eq=False)
class ProcessState:
    """How far a process has come, and why it ends; for any thread."""

    stopping: threading.Event = attrs.field(factory=threading.Event)
    """Whether it was asked to end, or ends by itself."""
    caught_up: threading.Event = attrs.field(factory=threading.Event)
    """Whether everything that was there at the start is in the cache; set at the end too, so that nobody waits."""
    leading: threading.Event = attrs.field(factory=threading.Event)
    """Whether the lock was acquired; set at the end too, so that nobody waits."""
    lost: threading.Event = attrs.field(factory=threading.Event)
    """Whether the lock was lost: another process may lead."""
    broken: bool = False
    """Whether something was raised that ends the process."""


class ProcessContext(msgspec.Struct, frozen=True, eq=False):
    """The settings of a process, and what its parts share."""

    settings: LiveSettings
    log: LogWriter
    clock: WallClock
    rng: random.Random
    io: IoThread
    clients: ServerClients
    outages: ServerOutages
    """What is logged when a server does not answer."""
    metrics: ProcessMetrics
    inbox: Inbox = msgspec.field(default_factory=Inbox)
    """What informers have read."""
    state: ProcessState = msgspec.field(default_factory=ProcessState)

    def raised(self, doing: str, error: BaseException) -> None:
        """Logs an unforeseen exception, with its traceback where its text is no message to a user."""
        known = isinstance(error, KubeSchedulerError)
        text = str(error) if known else "".join(traceback.format_exception(error))
        self.log.error(self.settings.release.process.raised(doing, text))


class ProcessTime(Timekeeper):
    """Seconds since 1970 that never go back: whole ones fall together with those of the wall clock at the start.

    Upstream: 1.36 flushes its queues on the whole second.
    """

    def __init__(self, clock: WallClock) -> None:
        self._clock = clock
        self._offset = clock.now().timestamp() - clock.monotonic()

    def now(self) -> float:
        """Seconds since 1970 by the wall clock at the start and the monotonic one since."""
        return self._clock.monotonic() + self._offset


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
        self.elector = LeaderElector(
            lock,
            f"{socket.gethostname()}_{uuid.uuid4()}",
            checked_timing(settings.election),
            settings.release.election,
            context.clock,
            ElectionListener(
                leads=self._changed,
                log=context.log.put,
                event=lambda text: events.about_lock(component, lock.reference, "LeaderElection", text),
                slowed=lambda: context.metrics.slow_path(self._name),
            ),
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
        if not leads:  # asked for or not, it is the end
            if not self._context.state.stopping.is_set():
                self._context.state.lost.set()
            self._scheduler.stop()
            return
        self._context.state.leading.set()
        if self._takes_over:  # else the cache is read first
            self._succession = self._context.io.submit(self._succeed())
            self._succession.add_done_callback(self._succeeded)

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


TIMED = 0.1
"""Share of the attempts whose plugins are timed one by one. Upstream: pluginMetricsSamplePercent."""
PREEMPTIONS = 16
"""Preemptions that are carried out at the same time."""


class PreemptionPool:
    """Carries preemptions out beside the loop (1.36)."""

    def __init__(self, raised: Callable[[str, BaseException], None]) -> None:
        """raised: is called with what nobody foresaw."""
        self._raised = raised
        self._threads = ThreadPoolExecutor(PREEMPTIONS, "preemption")

    def submit(self, work: Callable[[], None]) -> None:
        """Does the work soon."""
        self._threads.submit(self._guarded, work)

    def close(self) -> None:
        """Begins no more; what is under way is not waited for."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            self._raised("preempting", error)


class SchedulerParts(msgspec.Struct, frozen=True, eq=False):
    """What a scheduler process consists of beside its servers."""

    client: ApiClient
    informers: Informers
    events: EventBroadcaster
    preemptions: PreemptionPool
    scheduler: LiveScheduler
    candidacy: Candidacy | None
    """None: without leader election."""


def set_up(context: ProcessContext, stop: Callable[[], None]) -> SchedulerParts:
    """Makes the parts, once the server was found. stop: ends the process.

    Raises ConfigError for a lock that the release does not have.
    """
    settings = context.settings
    main = context.clients.client("/scheduler")
    informers = _informers(context, main)
    events = _events(context, informers.stores["Pod"])
    preemptions = PreemptionPool(context.raised)
    engine = settings.engine
    decides = engine.scheduler(ClusterCache(engine.view), engine.upstream_tie(context.rng))
    profiles = decides.profiles if isinstance(decides, ProfiledScheduler) else None
    names = [decides.algorithm.scheduler_name or DEFAULT_SCHEDULER_NAME] if profiles is None else list(profiles)
    scheduler = LiveScheduler(
        decides,
        context.inbox,
        informers.stores["Pod"],
        _dependencies(context, main, events.recorder(names), preemptions),
        preempt=settings.preempts,
        lies_for=settings.unschedulable_seconds,
    )
    hints: Hints = no_hints
    if settings.hints is not None:
        beside = RestingLoop(scheduler.parts.services.cache, scheduler.ask, lambda: scheduler.is_idle)
        hints = WorkloadHints(settings.hints, beside, context.clock, context.raised).of
    scheduler.each_second = context.metrics.watch(scheduler.loop, scheduler.parts, profiles, hints)
    candidacy = None
    if settings.election.leader_elect:
        candidacy = Candidacy(context, scheduler, informers, events, names[0], stop)
    return SchedulerParts(main, informers, events, preemptions, scheduler, candidacy)


def _informers(context: ProcessContext, main: ApiClient) -> Informers:
    return Informers(
        main,
        context.io,
        context.settings.release.informers,
        context.inbox.put,
        outage=context.outages.of(main.access.base_url),
        clock=context.clock,
        rng=context.rng,
    )


def _events(context: ProcessContext, pods: StoredObjects) -> EventBroadcaster:
    def version_of(pod: Pod) -> str:
        """The resourceVersion of a pod as it was seen, or as it is known by now."""
        stored = pods.get(pod.metadata.namespace, pod.metadata.name)
        return resource_version(pod) or ("" if stored is None else stored.version)

    return EventBroadcaster(
        context.clients.client("/scheduler"),
        context.io,
        context.settings.release.events,
        Surface(socket.gethostname(), version_of),
        trouble=context.log.error,
        clock=context.clock,
        rng=context.rng,
    )


def _dependencies(
    context: ProcessContext, main: ApiClient, events: EventRecorder, preemptions: PreemptionPool
) -> Dependencies:
    watched, rng = context.metrics.loop, context.rng
    rules = context.settings.release.writes
    client = LiveClient(main, context.io, rules, trouble=context.log.error, clock=context.clock)
    return Dependencies(
        client=client,
        report_status=client.write_status_later,
        events=events,
        observer=watched,
        time=ProcessTime(context.clock),
        in_background=preemptions.submit,
        raised=context.raised,
        handled=watched.handled if watched.times_events else None,
        times_plugins=lambda: rng.random() < TIMED,
        send_binding=client.send_binding,
    )


def scheduler_endpoints(context: ProcessContext, parts: SchedulerParts, serving: ServingSettings) -> SchedulerServers:
    """What answers requests for health, metrics and configuration, as settings ask for; not started."""
    metrics, candidacy, state, settings = context.metrics, parts.candidacy, context.state, context.settings
    release, pods = settings.release, parts.informers.stores["Pod"]
    resources = metrics.resources(lambda: known_pods(pods), lambda: parts.scheduler.is_leading)
    process = ServedProcess(
        release.name,
        release.version,
        release.informers,
        is_stopping=state.stopping.is_set,
        has_read=state.caught_up.is_set,
        log=context.log.put,
        outages=context.outages,
        keep=context.clients.all.append,
        clock=context.clock,
        rng=context.rng,
        metrics=MetricsSources(metrics.text, resources, metrics.health.text, metrics.reset),
        lease=settings.election.resource_name if settings.election.leader_elect else None,
        is_overdue=lambda seconds: candidacy is not None and candidacy.elector.is_overdue(seconds),
        verbosity=context.log.verbosity,
        observed=metrics.health.checked,
        access=metrics.access,
    )
    return SchedulerServers(serving, release.serving, process)


def known_pods(pods: StoredObjects) -> list[Pod]:
    """All pods that an informer knows."""
    return [stored.obj for stored in pods if isinstance(stored.obj, Pod)]
