"""The servers of a scheduler process: what its health checks and metrics pages show of it."""

from __future__ import annotations

from clusterstate.objects import Pod
from kubescheduler.live.informers.stored_objects import StoredObjects
from kubescheduler.live.process.process_context import ProcessContext
from kubescheduler.live.process.process_servers import ServedProcess, process_servers
from kubescheduler.live.process.scheduler_setup import SchedulerParts
from kubescheduler.live.serving.routes import MetricsSources
from kubescheduler.live.serving.scheduler_servers import SchedulerServers
from kubescheduler.live.serving.serving_settings import ServingSettings


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
