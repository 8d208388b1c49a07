"""A dry run as a process: informers and a ShadowScheduler, and nothing that could write.

Its servers are those of the process for which it stands, without an election.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from clusterstate.errors import ConfigError
from clusterstate.manifests.kinds import encode_object
from clusterstate.objects import ClusterObject
from kubescheduler.live.informer_rules import InformerRules
from kubescheduler.live.informers import Informers, ServerOutages
from kubescheduler.live.klog import LogLine
from kubescheduler.live.metrics.metrics_registry import Family, counter, gauge
from kubescheduler.live.metrics.process_metrics import MetricsSettings, ProcessMetrics, ReleaseMetrics
from kubescheduler.live.metrics.unschedulable_workloads import Hints, RestingLoop, WorkloadHints, no_hints
from kubescheduler.live.process.process_options import LiveSettings
from kubescheduler.live.serving.pages import MetricsSources, nothing
from kubescheduler.live.serving.scheduler_servers import SchedulerServers, ServedProcess
from kubescheduler.live.shadow_scheduler import Agreement, ShadowScheduler
from kubescheduler.live.stored_objects import Inbox, ObjectChange
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import ApiClient, ClientOptions, Limits
from kubescheduler.live.transport.io_thread import IoThread, WallClock
from kubescheduler.live.transport.server_access import ServerAccess

PODS, CAUSES = "kubescheduler_dry_run_pods_total", "kubescheduler_dry_run_causes_total"
WAITING = "kubescheduler_dry_run_waiting_pods"
AGREES, DIFFERS, DELETED = "agrees", "differs", "deleted"
DRY_RUN_FAMILIES: tuple[Family, ...] = (
    counter(
        PODS,
        "Attempts of the real scheduler: whether this configuration agrees or differs, or the pod was deleted before.",
        "result",
        stability="",
    ),
    counter(CAUSES, "Attempts of the real scheduler by the cause of the difference.", "cause", stability=""),
    gauge(WAITING, "Pods of which the real scheduler has said nothing yet, or that fit nowhere.", stability=""),
)
SCHEDULES = "scheduler_"
"""How the metrics begin of what a dry run does not do."""


class DryRunMetrics:
    """Any thread may call it."""

    def __init__(self, rules: ReleaseMetrics, settings: MetricsSettings, says: Callable[[str], None]) -> None:
        """rules: of the release whose process it stands for; its metrics of a scheduler's loop are left out."""
        kept = (family for family in rules.families if not family.name.startswith(SCHEDULES))
        self.process = ProcessMetrics(
            msgspec.structs.replace(rules, families=(*DRY_RUN_FAMILIES, *kept)), settings, says
        )
        """What is not of the dry run alone."""
        registry = self.process.registry
        self._pods, self._causes = registry.instrument(PODS), registry.instrument(CAUSES)
        for result in (AGREES, DIFFERS, DELETED):
            self._pods.inc((result,), 0)

    def waiting(self, count: Callable[[], int]) -> None:
        """count: how many pods wait; asked for each scrape."""
        registry = self.process.registry
        registry.refresh_with(lambda: registry.instrument(WAITING).set(count()))

    def count(self, agreement: Agreement | None) -> None:
        """Counts an attempt of the real scheduler; None: a pod was deleted before that had said anything of it."""
        if agreement is None:
            self._pods.inc((DELETED,))
        else:
            self._pods.inc((AGREES if agreement.agrees else DIFFERS,))
            self._causes.inc((agreement.cause,))


HEADER = {"apiVersion": "kubescheduler/v1", "kind": "Mirror"}
"""What the first line says, besides when it began."""


class TrafficMirror:
    """Writes changes as they come; for any thread."""

    def __init__(
        self, write: Callable[[bytes], object], clock: WallClock, *, flush: Callable[[], object] | None = None
    ) -> None:
        """flush: has every change on the disk at once; None for packed files, which get larger by that."""
        self._write = write
        self._flush = flush
        self._clock = clock
        self._began = clock.monotonic()
        self._lock = threading.Lock()
        self._put({**HEADER, "started": clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")})

    def record(self, changes: Iterable[ObjectChange]) -> None:
        """Writes what has changed."""
        with self._lock:
            for change in changes:
                if change.old is None or change.old != change.new:
                    self._put(self._event(change))
            if self._flush is not None:
                self._flush()

    def synced(self) -> None:
        """Everything that was there before is recorded."""
        with self._lock:
            self._put({"time": self._time(), "type": "SYNCED"})

    def _event(self, change: ObjectChange) -> dict[str, Any]:
        kind = "DELETED" if change.new is None else "ADDED" if change.old is None else "MODIFIED"
        obj = encode_object(change.old if change.new is None else change.new)
        return {"time": self._time(), "type": kind, "object": obj}

    def _time(self) -> float:
        return round(self._clock.monotonic() - self._began, 3)

    def _put(self, line: dict[str, Any]) -> None:
        self._write(msgspec.json.encode(line) + b"\n")


CONNECTING = 30.0
"""Seconds until a server that does not answer at the start counts as unreachable."""


class DryRunSettings(msgspec.Struct, frozen=True, eq=False):
    """What a dry run watches, and how."""

    access: Callable[[IoThread], ServerAccess]
    """Finds the server; raises ConfigError."""
    rules: InformerRules
    """Which kinds are watched, as a release watches them."""
    limits: Limits = msgspec.field(default_factory=Limits)
    user_agent: str = "kubescheduler"
    records: TrafficMirror | None = None
    """Gets every change in order; None: nothing is recorded."""
    metrics: DryRunMetrics | None = None
    """Counts requests; None: nobody does."""
    serves: Callable[[DryRunProcess], SchedulerServers] | None = None
    """Makes what answers requests for health and metrics; None: nothing is served."""
    must_serve: bool = False
    """Whether a port that is taken ends the run; else it goes on without being asked anything."""


class DryRunProcess:
    """``run`` is for the main thread; ``stop`` for signals. says: writes a line of the log."""

    def __init__(
        self,
        settings: DryRunSettings,
        shadow: Callable[[Inbox, WallClock], ShadowScheduler],
        says: Callable[[str], None],
        *,
        clock: WallClock | None = None,
    ) -> None:
        """shadow: makes what decides."""
        self._settings = settings
        self._says = says
        self._clock = clock or WallClock()
        self.outages = ServerOutages(self._clock, says, says)
        """What is logged when a server does not answer."""
        self.inbox = Inbox()
        """What informers have read."""
        self.shadow = shadow(self.inbox, self._clock)
        self.objects: list[ClusterObject] = []
        """The cluster as it was in the end."""
        self.clients: list[ApiClient] = []
        """Closed in the end."""
        self._records = settings.records
        self._unrecorded: Exception | None = None

    def stop(self) -> None:
        """Ends ``run`` soon."""
        self.shadow.stop()

    def run(self) -> None:
        """Watches until ``stop``. Raises ConfigError, ApiError for a server that cannot be reached at the start, and at
        once what the recording of changes raises."""
        settings, servers = self._settings, None
        with IoThread() as io:
            access = settings.access(io)
            observer = None if settings.metrics is None else settings.metrics.process.rest(access.base_url)
            options = ClientOptions(settings.limits, settings.user_agent)
            client = ApiClient(access, options, observer=observer, clock=self._clock)
            self.clients.append(client)
            try:
                io.wait(_reach(client))
                servers = self._served(io)
                self._watch(client, io)
            finally:
                if servers is not None:
                    io.wait(servers.stop())
                for one in self.clients:
                    io.wait(one.close())

    def _served(self, io: IoThread) -> SchedulerServers | None:
        """Servers that answer; None where there are none. Raises ConfigError where there have to be."""
        if self._settings.serves is None:
            return None
        servers = self._settings.serves(self)
        try:
            io.wait(servers.prepare())
            io.wait(servers.start())
        except ConfigError as error:
            io.wait(servers.stop())
            if self._settings.must_serve:
                raise
            self._says(f"nothing is served: {error}")
            return None
        return servers

    def _watch(self, client: ApiClient, io: IoThread) -> None:
        rules, clock, rng = self._settings.rules, self._clock, random.Random()
        outage = self.outages.of(client.access.base_url)
        informers = Informers(client, io, rules, self._deliver, outage=outage, clock=clock, rng=rng)
        informers.start()
        threading.Thread(target=self._begin, args=(informers,), name="start-up", daemon=True).start()
        try:
            self.shadow.run()
        finally:
            informers.stop()
            self.objects = [stored.obj for store in informers.stores.values() for stored in store]
        if self._unrecorded is not None:
            raise self._unrecorded

    def _deliver(self, changes: list[ObjectChange]) -> None:
        self._record(lambda records: records.record(changes))
        self.inbox.put(changes)

    def _begin(self, informers: Informers) -> None:
        informers.synced.wait()
        self._record(TrafficMirror.synced)
        self.shadow.begin()

    def _record(self, write: Callable[[TrafficMirror], None]) -> None:
        """What goes wrong ends the run: the informers and the thread that call this would wait for ever."""
        if self._records is None:
            return
        try:
            write(self._records)
        except Exception as error:
            self._records, self._unrecorded = None, error
            self.stop()


async def _reach(client: ApiClient) -> None:
    """Raises ApiError when nodes cannot be listed."""
    try:
        await client.request("GET", "/api/v1/nodes", [("limit", "1")], timeout=CONNECTING)
    except ApiError as error:
        raise ApiError(f"the cluster cannot be watched: {error.message}", error.code) from None


def dry_run_servers(
    settings: LiveSettings, metrics: DryRunMetrics, says: Callable[[str], None], process: DryRunProcess
) -> SchedulerServers:
    """The servers that settings ask for. says: writes a line of the log; those for details are left out."""
    assert settings.serving is not None
    metrics.waiting(lambda: process.shadow.undecided)
    metrics.process.unschedulable(process.shadow.unschedulable, _hints(settings, says, process))
    watched = metrics.process

    def log(line: LogLine) -> None:
        if not line.level:
            says(line.text)

    release = settings.release
    served = ServedProcess(
        release.name,
        release.version,
        release.informers,
        is_stopping=lambda: process.shadow.is_stopping,
        has_read=lambda: process.shadow.has_begun,
        log=log,
        outages=process.outages,
        keep=process.clients.append,
        clock=WallClock(),
        rng=random.Random(),
        metrics=MetricsSources(watched.text, nothing, watched.health.text, watched.reset),
        observed=watched.health.checked,
        access=watched.access,
    )
    return SchedulerServers(settings.serving, release.serving, served)


def _hints(settings: LiveSettings, says: Callable[[str], None], process: DryRunProcess) -> Hints:
    """What would help pods that fit nowhere, searched while the dry run rests."""
    if settings.hints is None:
        return no_hints
    shadow = process.shadow
    beside = RestingLoop(shadow.cache, shadow.ask, lambda: shadow.is_idle)

    def raised(doing: str, error: BaseException) -> None:
        says(f"{doing}: {error}")

    return WorkloadHints(settings.hints, beside, WallClock(), raised).of
