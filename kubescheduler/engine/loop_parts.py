"""What the engines bring to a scheduler's loop: the release's queue, cycles and way to decide."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, cast

from kubescheduler.cycle.schedule_one import LoopParts
from kubescheduler.framework.contract.handle import Services
from kubescheduler.queue.entry import Backoff
from kubescheduler.queue.scheduling_queue import SchedulingQueue
from kubescheduler.releases.lookup import release_named

if TYPE_CHECKING:
    from clusterstate.objects import Pod
    from kubescheduler.core.decision import Decision
    from kubescheduler.engine.framework_engine import ProfiledScheduler
    from kubescheduler.engine.spec import PodScheduler
    from kubescheduler.framework.contract.cycle_state import CycleState
    from kubescheduler.framework.contract.frame import CyclePlugins
    from kubescheduler.framework.framework_runtime import Framework

Adapt = Callable[[Services], Services]
"""The services of a decision turned into those of a loop: with a client, a clock, and so on."""


class TimedSteps:
    """Reports how long each part of an algorithm without plugins took."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._started = 0.0

    def __call__(self, operation: str) -> None:
        """A part is over, or (an empty name) begins."""
        now = self._services.time.now()
        if operation:
            self._services.observer.step(operation, now - self._started)
        self._started = now


def loop_parts(scheduler: PodScheduler, adapt: Adapt = lambda services: services, *, preempt: bool = True) -> LoopParts:
    """The parts of a loop that decides as a scheduler does, over its cluster.

    adapt: what the loop writes to, and the clock it runs on. preempt: whether preemption is carried out.
    """
    record = release_named(scheduler.algorithm.release)
    if record.framework is not None:
        profiled = cast("ProfiledScheduler", scheduler)
        return _of_profiles(profiled, adapt(profiled.engine.services(profiled.cache)), preempt)
    from kubescheduler.core.attempt import GenericScheduler

    algorithm = scheduler.algorithm
    made_of = Services(
        algorithm.release, scheduler.cache, extenders=algorithm.extenders, feature_gates=algorithm.feature_gates
    )
    services = adapt(made_of)
    if services.observer.measures and isinstance(scheduler, GenericScheduler):
        scheduler.steps = TimedSteps(services)

    def decide(plugins: CyclePlugins, pod: Pod, state: CycleState) -> Decision:  # noqa: ARG001
        return scheduler.decide(pod, preempt=preempt)

    loop = record.legacy_rules.loop()
    queue = loop.queue(services.time.now, services.cache, loop.policy)
    steps = loop.steps(services)
    return LoopParts(lambda _: steps, services, queue, loop.cycle, decide)


def _of_profiles(scheduler: ProfiledScheduler, services: Services, preempt: bool) -> LoopParts:
    """Plugins are made anew, with the services of the loop."""
    from kubescheduler.framework.plugins.plugin_record import events_by_plugin
    from kubescheduler.framework.profile_map import order_of
    from kubescheduler.queue.queueing_hints import QueueingHints

    made = scheduler.engine.over(services, scheduler.tie_break)

    def decide(plugins: Framework, pod: Pod, state: CycleState) -> Decision:
        return made.decide_in(plugins, pod, state, preempt=preempt, now=services.time.now())

    config = made.config
    backoff = Backoff(config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds)
    policy = made.rules.queue()
    queue = SchedulingQueue(
        services.time.now,
        services.cache,
        policy,
        order=order_of(made.profiles),
        backoff=backoff,
        pre_enqueue=made.profiles.pre_enqueue,
        hints=QueueingHints(events_by_plugin(made.rules.plugins) if policy.events is None else policy.events),
    )
    turns = partial(_turns, made)
    return LoopParts(made.profiles.of, services, queue, made.rules.cycle(), decide, turns)


def _turns(scheduler: ProfiledScheduler, pod: Pod) -> float | None:
    """When time alone will have changed what the Filter plugins of a pod's profile say; None: it will not."""
    frame = scheduler.profiles.of(pod)
    if frame is None:
        return None
    rules = scheduler.schedulers[frame.profile_name].algorithm.predicates
    info, snapshot = scheduler.cache.info(pod), scheduler.cache.snapshot()
    ends = (rule.footprint.turns(info, snapshot) for rule in rules if rule.footprint.turns is not None)
    return min((end for end in ends if end is not None), default=None)
