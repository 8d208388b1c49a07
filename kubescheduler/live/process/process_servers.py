"""The servers of a process: what its health checks look at, and who writes and reads for them."""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from kubescheduler.live.contract.access_observer import AccessObserver, NoAccessObserver
from kubescheduler.live.contract.wall_clock import WallClock
from kubescheduler.live.informers.server_outage import ServerOutages
from kubescheduler.live.logs.log_lines import LogLine
from kubescheduler.live.logs.verbosity import Verbosity
from kubescheduler.live.process.live_settings import LiveSettings
from kubescheduler.live.process.trust_watch import watch_trust
from kubescheduler.live.serving.authentication_config import Data
from kubescheduler.live.serving.health_checks import HealthCheck, Observed
from kubescheduler.live.serving.routes import MetricsSources
from kubescheduler.live.serving.scheduler_servers import SchedulerServers, ServedParts
from kubescheduler.live.serving.serving_rules import ProcessChecks
from kubescheduler.live.serving.serving_settings import ServingSettings
from kubescheduler.live.transport.api_client import ApiClient, ClientOptions
from kubescheduler.live.transport.server_access import ServerAccess
from kubescheduler.live.transport.token_bucket import Limits

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
    access: AccessObserver = msgspec.field(default_factory=NoAccessObserver)
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
