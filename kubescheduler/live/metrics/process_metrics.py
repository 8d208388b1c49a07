"""ProcessMetrics: everything that one process exports, and what feeds it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from prometheus_client import GCCollector, PlatformCollector, ProcessCollector

from clusterstate.objects import Pod
from kubescheduler.cycle.schedule_one import LoopParts, SchedulerLoop
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.profiles.profile_map import Profiles
from kubescheduler.framework.running.framework_runtime import Framework
from kubescheduler.live.contract.rest_observer import RestObserver
from kubescheduler.live.metrics.access_metrics import AccessMetrics
from kubescheduler.live.metrics.build_metrics import set_build, set_features, set_metrics
from kubescheduler.live.metrics.health_metrics import HealthMetrics
from kubescheduler.live.metrics.loop_metrics import CountedPlugins, LoopMetrics
from kubescheduler.live.metrics.metric_family import Visibility
from kubescheduler.live.metrics.metrics_registry import MetricsRegistry
from kubescheduler.live.metrics.metrics_settings import MetricsSettings
from kubescheduler.live.metrics.pod_resources import PodResources
from kubescheduler.live.metrics.queue_gauges import LoopState, QueueGauges
from kubescheduler.live.metrics.release_metrics import ReleaseMetrics, Says
from kubescheduler.releases.lookup import release_named


class ProcessMetrics:
    """The metrics of one process. ``text`` and the other answers of the HTTP server are for any thread."""

    def __init__(self, rules: ReleaseMetrics, settings: MetricsSettings, says: Says) -> None:
        """says: writes a line of the log."""
        self.rules = rules
        self._visibility = Visibility(rules.version, settings.shows_hidden, frozenset(settings.disabled))
        self.registry = MetricsRegistry(rules.families, self._visibility)
        self.loop = rules.loop(self.registry, says)
        """What observes the loop."""
        self.health = HealthMetrics(rules.health, self._visibility)
        """What health checks report to."""
        self.access = AccessMetrics(self.registry)
        """What is told of who asks."""
        self._leader = self.registry.instrument("leader_election_master_status")
        self._slow = self.registry.instrument("leader_election_slowpath_total")
        ProcessCollector(registry=self.registry.collectors)
        PlatformCollector(registry=self.registry.collectors)
        GCCollector(registry=self.registry.collectors)
        for collector in rules.collectors:
            self.registry.collectors.register(collector)
        self.registry.instrument("rest_client_exec_plugin_ttl_seconds").set(math.inf)
        set_build(self.registry, rules.version)
        set_metrics(self.registry)

    # --- what feeds it ---------------------------------------------------------------------------

    def rest(self, base_url: str) -> RestObserver:
        """What observes the requests to a server."""
        return self.rules.rest(self.registry, base_url)

    def credentials(self, seconds: Callable[[], float]) -> None:
        """seconds: for which the certificate of an exec plugin is valid; asked for each scrape."""
        gauge = self.registry.instrument("rest_client_exec_plugin_ttl_seconds")
        self.registry.refresh_with(lambda: gauge.set(seconds()))

    def certificate_rotated(self, seconds: float) -> None:
        """Another certificate of an exec plugin took the place of one; seconds: for which that had been valid."""
        self.registry.instrument("rest_client_exec_plugin_certificate_rotation_age").observe(seconds)

    def watch(self, loop: SchedulerLoop, parts: LoopParts, profiles: Profiles | None = None) -> Callable[[], None]:
        """Listens to a loop's queue, and reads gauges from it; what its own thread is to call once a second.

        profiles: whose plugins are counted.
        """
        names, queue, services = self.rules.names, parts.queue, parts.services
        set_features(self.registry, release_named(services.release).gates.gates, services.feature_gates)
        if names is None or not isinstance(self.loop, LoopMetrics):
            return nothing_to_read
        queue.listener = self.loop
        queue.hints.listener = self.loop
        if profiles is not None:
            self.loop.counted = {name: _counted_plugins(framework) for name, framework in profiles.items()}
        state = LoopState(queue, services.cache, loop.cycles.assumed, services.lock, loop.under_way)
        return QueueGauges(self.registry, names, state).read_cache

    def leads(self, name: str, *, leading: bool) -> None:
        """Leadership by the lease of this name began, or is not held."""
        self._leader.set(float(leading), (name,))

    def slow_path(self, name: str) -> None:
        """A lease could not be renewed without reading it (1.36)."""
        self._slow.inc((name,))

    # --- what is asked for -------------------------------------------------------------------------

    def text(self) -> bytes:
        """``GET /metrics``."""
        return self.registry.text()

    def reset(self) -> None:
        """``DELETE /metrics``: what can be counted anew is."""
        self.registry.reset(*self.rules.resets)
        set_metrics(self.registry)

    def resources(self, pods: Callable[[], Iterable[Pod]], leads: Callable[[], bool]) -> Callable[[], bytes]:
        """``GET /metrics/resources``. pods: all that are known; leads: whether this process does."""
        return PodResources(self.rules.resources, pods, leads).text


def _counted_plugins(framework: Framework) -> CountedPlugins:
    asked, prepared = (
        frozenset(plugin.name for plugin in framework.at(point)) for point in (Point.PRE_FILTER, Point.PRE_SCORE)
    )
    return CountedPlugins(tuple(plugin.name for plugin in framework.at(Point.FILTER)), asked, prepared)


def nothing_to_read() -> None:
    """The release has no gauges of the cache."""
