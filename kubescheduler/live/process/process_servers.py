"""The servers of a process: what its health checks look at, who writes and reads for them, whom they trust."""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from clusterstate.manifests.decode import Decoder
from clusterstate.objects import Pod
from kubescheduler.live.informers.informer_rules import InformerKind, InformerRules
from kubescheduler.live.informers.informers import Reflector, ServerOutage, ServerOutages
from kubescheduler.live.informers.stored_objects import (
    Key,
    Known,
    ObjectChange,
    RawObjects,
    Stored,
    StoredObjects,
    nothing_known,
    parse_name,
)
from kubescheduler.live.klog import LogLine, Verbosity
from kubescheduler.live.observers import AccessObserver
from kubescheduler.live.process.process_options import LiveSettings
from kubescheduler.live.process.scheduler_setup import ProcessContext, SchedulerParts
from kubescheduler.live.serving.client_trust import COLLECTION, NAME, Data, data_of
from kubescheduler.live.serving.pages import HealthCheck, MetricsSources, Observed
from kubescheduler.live.serving.scheduler_servers import ProcessChecks, SchedulerServers, ServedParts, ServingSettings
from kubescheduler.live.transport.api_client import ApiClient, ClientOptions, Limits
from kubescheduler.live.transport.io_thread import WallClock
from kubescheduler.live.transport.server_access import ServerAccess

KIND = InformerKind("ConfigMap", (COLLECTION,), f"metadata.name={NAME}")


async def watch_trust(
    client: ApiClient,
    changed: Callable[[Data], None],
    rules: InformerRules,
    outage: ServerOutage,
    clock: WallClock,
    rng: random.Random,
) -> None:
    """Reads the ConfigMap as the release's informers read, and reports each version of its data, until cancelled.

    When the ConfigMap goes, what it said last goes on to count.
    """

    def deliver(changes: list[ObjectChange]) -> None:
        for change in changes:
            if change.new is not None:
                changed(change.new)

    objects = ConfigMapData("ConfigMap", Decoder(), outage.trouble)
    store = StoredObjects("ConfigMap")
    await Reflector(client, KIND, objects, store, rules, clock, rng, deliver, outage).run()


class ConfigMapData(RawObjects):
    """Reads a ConfigMap as its data."""

    def read(self, raw: msgspec.Raw, known: Known = nothing_known) -> tuple[Key, Stored] | None:  # noqa: ARG002
        """(its key, its data at its version)."""
        named = parse_name(raw)
        data: Any = data_of(msgspec.json.decode(raw))
        return named.key, Stored(named.metadata.resource_version, data, named.metadata.uid)


TOLERANCE = 20.0
"""Seconds after its end for which a lease that is not renewed is no fault yet."""
REVIEW_LIMITS = Limits(200.0, 400)
"""Of the clients that ask for reviews."""


class ServedProcess(msgspec.Struct, frozen=True, eq=False):
    """A process, as its servers see it. Everything is called on the I/O thread."""

    is_overdue: Callable[[float], bool]
    """Whether it leads, but has not renewed the lease for so many seconds longer than that lasts."""
    is_stopping: Callable[[], bool]
    has_read: Callable[[], bool]
    """Whether everything that was there at the start is taken in."""
    log: Callable[[LogLine], None]
    """Writes a line."""
    outages: ServerOutages
    """What is logged when a server does not answer."""
    keep: Callable[[ApiClient], None]
    """Gets each client that is made, to close it in the end."""
    clock: WallClock
    rng: random.Random
    metrics: MetricsSources = msgspec.field(default_factory=MetricsSources)
    verbosity: Verbosity = msgspec.field(default_factory=Verbosity)
    observed: Observed = lambda _name, _path, _passed: None
    """Told of every health check."""
    access: AccessObserver = msgspec.field(default_factory=AccessObserver)
    """Told of who asks."""


def checks_of(settings: LiveSettings, process: ServedProcess) -> ProcessChecks:
    """The health checks of a process, with upstream's names and texts."""
    lease = f"failed election to renew leadership on lease {settings.election.resource_name}"
    election = HealthCheck("leaderElection", lambda: lease if process.is_overdue(TOLERANCE) else "")
    return ProcessChecks(
        election if settings.election.leader_elect else None,
        HealthCheck("shutdown", lambda: "process is shutting down" if process.is_stopping() else ""),
        HealthCheck("sched-handler-sync", lambda: "" if process.has_read() else "handlers are not fully synchronized"),
        process.observed,
    )


def process_servers(settings: LiveSettings, serving: ServingSettings, process: ServedProcess) -> SchedulerServers:
    """The servers that settings ask for."""
    release = settings.release
    agent = f"kube-scheduler/{release.version} (linux/amd64) kubernetes/0000000"

    def client(access: ServerAccess) -> ApiClient:
        made = ApiClient(access, ClientOptions(REVIEW_LIMITS, agent), clock=process.clock)
        process.keep(made)
        return made

    def watch(source: ApiClient, changed: Callable[[Data], None]) -> Coroutine[Any, Any, None]:
        outage = process.outages.of(source.access.base_url)
        return watch_trust(source, changed, release.informers, outage, process.clock, process.rng)

    parts = ServedParts(
        release.name,
        checks_of(settings, process),
        process.metrics,
        client,
        watch,
        process.log,
        process.clock,
        process.rng,
        process.verbosity,
        process.access,
    )
    return SchedulerServers(serving, release.serving, parts)


def scheduler_endpoints(context: ProcessContext, parts: SchedulerParts, serving: ServingSettings) -> SchedulerServers:
    """What answers requests for health, metrics and configuration, as settings ask for; not started."""
    metrics, candidacy, state = context.metrics, parts.candidacy, context.state
    served = ServedProcess(
        is_overdue=lambda seconds: candidacy is not None and candidacy.elector.is_overdue(seconds),
        is_stopping=state.stopping.is_set,
        has_read=state.caught_up.is_set,
        log=context.log.put,
        outages=context.outages,
        keep=context.clients.all.append,
        clock=context.clock,
        rng=context.rng,
        metrics=_sources(context, parts),
        verbosity=context.log.verbosity,
        observed=lambda name, path, passed: metrics.health.checked(name, path, passed=passed),
        access=metrics.access,
    )
    return process_servers(context.settings, serving, served)


def _sources(context: ProcessContext, parts: SchedulerParts) -> MetricsSources:
    metrics, pods = context.metrics, parts.informers.stores["Pod"]
    resources = metrics.resources(lambda: known_pods(pods), lambda: parts.scheduler.is_leading)
    return MetricsSources(metrics.text, resources, metrics.health.text, metrics.reset)


def known_pods(pods: StoredObjects) -> list[Pod]:
    """All pods that an informer knows."""
    return [stored.obj for stored in pods if isinstance(stored.obj, Pod)]
