"""The parts of a scheduler process, made and connected, none of them started. Upstream: cmd/kube-scheduler Setup."""

from __future__ import annotations

import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import msgspec

from clusterstate.cache import ClusterCache
from clusterstate.objects import Pod
from kubescheduler.cycle.event_handlers import resource_version
from kubescheduler.engine.framework_engine import ProfiledScheduler
from kubescheduler.framework.contract.handle import EventRecorder
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME
from kubescheduler.live.driving.live_scheduler import LiveScheduler, Surroundings
from kubescheduler.live.driving.process_time import ProcessTime
from kubescheduler.live.informers.informers import Informers
from kubescheduler.live.informers.stored_objects import StoredObjects
from kubescheduler.live.process.candidacy import Candidacy
from kubescheduler.live.process.process_context import ProcessContext
from kubescheduler.live.recording.broadcaster import WRITES, EventBroadcaster, Surface
from kubescheduler.live.transport.api_client import ApiClient
from kubescheduler.live.writes.live_client import LiveClient

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
    """The main client."""
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
        _surroundings(context, main, events.recorder(names), preemptions),
        preempt=settings.preempts,
        lies_for=settings.unschedulable_seconds,
    )
    scheduler.each_second = context.metrics.watch(scheduler.loop, scheduler.parts, profiles)
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
        context.clients.client("/scheduler", connections=WRITES),
        context.io,
        context.settings.release.events,
        Surface(socket.gethostname(), version_of),
        trouble=context.log.error,
        clock=context.clock,
        rng=context.rng,
    )


def _surroundings(
    context: ProcessContext, main: ApiClient, events: EventRecorder, preemptions: PreemptionPool
) -> Surroundings:
    watched, rng = context.metrics.loop, context.rng
    rules = context.settings.release.writes
    client = LiveClient(main, context.io, rules, trouble=context.log.error, clock=context.clock)
    return Surroundings(
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
