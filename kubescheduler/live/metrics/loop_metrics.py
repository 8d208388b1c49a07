"""LoopMetrics: what a scheduler's loop does, counted, and gauges of its queue. Upstream: pkg/scheduler/metrics.

``LoopMetrics116`` is that of 1.16: in seconds, and once more in microseconds.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Sized
from contextlib import AbstractContextManager
from typing import Any

import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.objects import Node, Pod
from kubescheduler.core.decision import Decision
from kubescheduler.framework.contract.runs import Observer
from kubescheduler.live.metrics.metrics_registry import Instrument, MetricsRegistry
from kubescheduler.queue.entry import Place
from kubescheduler.queue.queueing_hints import (
    ASSIGNED_POD,
    NODE,
    UNSCHEDULABLE_POD,
    Action,
    ClusterEvent,
    Event,
    node_actions,
    object_event,
    pod_actions,
)
from kubescheduler.queue.scheduling_queue import SchedulingQueue
from predicates.types import failing

PENDING_POD_GONE, BOUND_POD_CAME = "UnschedulablePodDelete", "AssignedPodAdd"


def event_labels(old: Any, new: Any) -> Sequence[str]:
    """Of an object that came (``old`` is None), changed or went (``new`` is None); none for what is of no interest."""
    kind = type(old if new is None else new)
    if kind is Pod:
        return _pod_labels(old, new)
    if kind is not Node:
        event = object_event(old, new)
        return () if event is None else (event.label,)
    if old is None or new is None:
        return (_label(NODE, Action.ADD if old is None else Action.DELETE),)
    return [_label(NODE, action) for action in node_actions(old, new)]


def _pod_labels(old: Pod | None, new: Pod | None) -> Sequence[str]:
    """A pod that is bound leaves the pending ones and joins the others."""
    if old is not None and new is not None:
        if not old.node_name and new.node_name:
            return PENDING_POD_GONE, BOUND_POD_CAME
        resource = ASSIGNED_POD if new.node_name else UNSCHEDULABLE_POD
        return [_label(resource, action) for action in pod_actions(old, new)]
    pod, action = (new, Action.ADD) if old is None else (old, Action.DELETE)
    return (_label(ASSIGNED_POD if pod is not None and pod.node_name else UNSCHEDULABLE_POD, action),)


def _label(resource: str, action: Action) -> str:
    return ClusterEvent(resource, action).label


class LoopNames(msgspec.Struct, frozen=True):
    """The names of metrics, without the prefix ``scheduler_``; empty for what a release does not measure."""

    attempts: str = "schedule_attempts_total"
    attempt_seconds: str = "scheduling_attempt_duration_seconds"
    algorithm_seconds: str = "scheduling_algorithm_duration_seconds"
    preemption_seconds: str = ""
    """Of the PostFilter plugins."""
    binding_seconds: str = ""
    victims: str = "preemption_victims"
    preemptions: str = "preemption_attempts_total"
    pending: str = "pending_pods"
    goroutines: str = "goroutines"
    pod_seconds: str = "pod_scheduling_sli_duration_seconds"
    pod_attempts: str = "pod_scheduling_attempts"
    cache_size: str = "cache_size"
    every_decision: bool = True
    """Whether decisions that found no node count in ``algorithm_seconds``."""
    gates: bool = True
    """Whether pods that are held back count on their own."""
    since_first_try: bool = True
    """Whether ``pod_seconds`` begins with the first attempt; else when the pod came into the queue."""


NAMES_1_36 = LoopNames()
NAMES_1_20 = LoopNames(
    attempt_seconds="e2e_scheduling_duration_seconds",
    preemption_seconds="scheduling_algorithm_preemption_evaluation_seconds",
    binding_seconds="binding_duration_seconds",
    goroutines="scheduler_goroutines",
    pod_seconds="pod_scheduling_duration_seconds",
    cache_size="scheduler_cache_size",
    every_decision=False,
    gates=False,
    since_first_try=False,
)


QUEUES = {
    Place.ACTIVE: "active",
    Place.BACKOFF: "backoff",
    Place.UNSCHEDULABLE: "unschedulable",
    Place.GATED: "unschedulable",
}
"""What metrics call the parts of a queue that pods come into."""
MOST_ATTEMPTS = 15
"""Pods that were tried so often, or more often, share a series."""


class CountedPlugins(msgspec.Struct, frozen=True):
    """The plugins of a profile that are counted for each attempt."""

    filters: tuple[str, ...] = ()
    """Those that look at nodes, in order."""
    pre_filter: frozenset[str] = frozenset()
    """Those that are asked before them whether they have anything to look for."""
    pre_score: frozenset[str] = frozenset()
    """Likewise, of those that score nodes."""


NOBODY = CountedPlugins()


class LoopMetrics(Observer):
    """An observer of the loop and a listener to its queue, in one. Any thread may call it."""

    measures = True

    def __init__(self, registry: MetricsRegistry, says: Callable[[str], None], names: LoopNames) -> None:
        """says: writes a line of the log."""

        def of(name: str) -> Instrument:
            return registry.instrument(f"scheduler_{name}" if name else "")

        self._names = names
        self._says = says
        self._attempts, self._attempt_seconds = of(names.attempts), of(names.attempt_seconds)
        self._algorithm = of(names.algorithm_seconds)
        self._preemption, self._binding = of(names.preemption_seconds), of(names.binding_seconds)
        self._victims, self._preemptions = of(names.victims), of(names.preemptions)
        self._pod_seconds, self._pod_attempts = of(names.pod_seconds), of(names.pod_attempts)
        self._after_flush = of("pod_scheduled_after_flush_total")
        self._points = of("framework_extension_point_duration_seconds")
        self._plugins = of("plugin_execution_duration_seconds")
        self._evaluations = of("plugin_evaluation_total")
        self._batches, self._flushes = of("batch_attempts_total"), of("batch_cache_flushed_total")
        self._hint_seconds = of("get_node_hint_duration_seconds")
        self._store_seconds = of("store_schedule_results_duration_seconds")
        self._volume_errors = of("volume_scheduling_stage_error_total")
        self._permits = of("permit_wait_duration_seconds")
        self._claims = of("resourceclaim_creates_total")
        self._incoming = of("queue_incoming_pods_total")
        self._hints = of("queueing_hint_execution_duration_seconds")
        self._evictions = of("preemption_goroutines_execution_total")
        self._eviction_seconds = of("preemption_goroutines_duration_seconds")
        self._events = of("event_handling_duration_seconds")
        self._lock = threading.Lock()
        self._evaluated: Counter[tuple[str, str, str]] = Counter()
        self.counted: Mapping[str, CountedPlugins] = {}
        """Profile → its plugins; those of other profiles are not counted."""
        registry.refresh_with(self._count_evaluations)

    # --- plugins ---------------------------------------------------------------------------------

    def point(self, point: str, profile: str, status: str, seconds: float) -> None:
        self._points.observe(seconds, (point, status, profile))
        if point == "PostFilter":
            self._preemption.observe(seconds)

    def plugin(self, point: str, plugin: str, status: str, seconds: float) -> None:
        self._plugins.observe(seconds, (plugin, point, status))

    def evaluated(self, point: str, plugin: str, profile: str) -> None:
        with self._lock:
            self._evaluated[plugin, point, profile] += 1

    def permit_waited(self, status: str, seconds: float) -> None:
        self._permits.observe(seconds, (status,))

    def claim_created(self, status: str) -> None:
        self._claims.inc((status,))

    # --- attempts --------------------------------------------------------------------------------

    def decided(self, decision: Decision, profile: str, seconds: float) -> None:
        if self._names.every_decision or decision.host is not None:
            self._algorithm.observe(seconds)
        if self._evaluations.exported:
            with self._lock:
                self._evaluate(decision, profile)

    def _evaluate(self, decision: Decision, profile: str) -> None:
        """Filter plugins count for each node that they looked at, Score plugins for each that they scored.

        The plugins of a decision work over all nodes at once, so nobody called them one by one; those that have
        nothing to say of the pod have no verdict.
        """
        counts, plugins = self._evaluated, self.counted.get(profile, NOBODY)
        alive = decision.looked_at
        nodes = int(np.count_nonzero(alive))
        verdicts = dict(decision.verdicts)
        for name in plugins.filters:
            verdict = verdicts.get(name)
            if name in plugins.pre_filter:
                if verdict is None:
                    continue
                counts[name, "PreFilter", profile] += 1
            counts[name, "Filter", profile] += nodes
            refused = None if verdict is None else failing(verdict)
            if refused is not None and not decision.every_reason:
                alive = alive & ~refused
                nodes = int(np.count_nonzero(alive))
        scored = len(decision.totals)
        for name in decision.scores:
            counts[name, "Score", profile] += scored
            if name in plugins.pre_score:
                counts[name, "PreScore", profile] += 1

    def _count_evaluations(self) -> None:
        """Plugins are counted many at a time: a decision runs dozens of them."""
        with self._lock:
            evaluated, self._evaluated = self._evaluated, Counter()
        for labels, times in evaluated.items():
            self._evaluations.inc(labels, times)

    def step(self, operation: str, seconds: float) -> None:
        """There are no such parts where there are plugins."""

    def preempted(self, victims: int) -> None:
        self._preemptions.inc()
        if victims:
            self._victims.observe(victims)

    def evicted(self, result: str, seconds: float) -> None:
        self._evictions.inc((result,))
        self._eviction_seconds.observe(seconds, (result,))

    def asked_to_bind(self, seconds: float) -> None:
        self._binding.observe(seconds)

    def attempt(self, result: str, profile: str, seconds: float) -> None:
        self._attempts.inc((result, profile))
        self._attempt_seconds.observe(seconds, (result, profile))

    def batch_attempt(self, result: str, profile: str) -> None:
        self._batches.inc((profile, result))

    def batch_flushed(self, reason: str, profile: str) -> None:
        self._flushes.inc((profile, reason))

    def hint_asked(self, result: str, profile: str, seconds: float) -> None:
        self._hint_seconds.observe(seconds, (result, profile))

    def results_stored(self, profile: str, seconds: float) -> None:
        self._store_seconds.observe(seconds, (profile,))

    def volumes_failed(self, operation: str) -> None:
        self._volume_errors.inc((operation,))

    def scheduled(self, entry: Any, now: float) -> None:
        attempts = entry.attempts
        since = entry.first_tried if self._names.since_first_try else entry.added
        self._pod_attempts.observe(attempts)
        self._pod_seconds.observe(now - since, (str(attempts) if attempts < MOST_ATTEMPTS else "15+",))
        if entry.flushed:
            self._after_flush.inc()

    # --- the queue, and what moves it ------------------------------------------------------------

    def came(self, place: Place, event: Event) -> None:
        """A pod came into a part of the queue."""
        label = event if isinstance(event, str) else event.label
        if label:
            self._incoming.inc((QUEUES[place], label))

    def now(self) -> float:
        """Seconds by which hints and events are timed."""
        return time.perf_counter()

    def hinted(self, plugin: str, event: ClusterEvent, queues: bool, seconds: float) -> None:
        """A plugin was asked whether an event may help a pod."""
        self._hints.observe(seconds, (plugin, event.label, "Queue" if queues else "QueueSkip"))

    @property
    def times_events(self) -> bool:
        """Whether ``handled`` counts anything."""
        return self._events.exported

    def handled(self, old: Any, new: Any, seconds: float) -> None:
        """An object that came (``old`` is None), changed or went (``new`` is None) was taken in."""
        labels = event_labels(old, new)
        for label in labels:
            self._events.observe(seconds / len(labels), (label,))

    def trouble(self, text: str) -> None:
        self._says(text)


class LoopState(msgspec.Struct, frozen=True, eq=False):
    """What gauges are read from."""

    queue: SchedulingQueue
    cache: ClusterCache
    assumed: Sized
    """The pods of the cache that are assumed."""
    lock: AbstractContextManager[Any]
    """Held while the queue or the cache is read."""
    bindings: Sized
    """The binding cycles under way."""


class QueueGauges:
    """Brings a registry's gauges up to date; ``read_cache`` is for the loop's own thread, once a second."""

    def __init__(self, registry: MetricsRegistry, names: LoopNames, state: LoopState) -> None:
        self._state = state
        self._pending = registry.instrument(f"scheduler_{names.pending}")
        self._goroutines = registry.instrument(f"scheduler_{names.goroutines}")
        self._cache_size = registry.instrument(f"scheduler_{names.cache_size}")
        self._unschedulable = registry.instrument("scheduler_unschedulable_pods")
        self._in_flight = registry.instrument("scheduler_inflight_events")
        self._gates = names.gates
        registry.refresh_with(self.read_queue)

    def read_queue(self) -> None:
        """From any thread."""
        queue = self._state.queue
        with self._state.lock:
            active, backoff, rest = queue.sizes
            gated = queue.gated
            popped, events = queue.in_flight()
            labels = Counter(event.label for event in events)
            rejecting = self._rejecting() if self._unschedulable.exported else Counter[tuple[str, str]]()
        self._pending.set(active, ("active",))
        self._pending.set(backoff, ("backoff",))
        self._pending.set(rest - gated, ("unschedulable",))
        if self._gates:
            self._pending.set(gated, ("gated",))
        self._goroutines.set(len(self._state.bindings), ("binding",))
        self._unschedulable.set_all(rejecting.items())
        self._in_flight.set_all([*(((label,), count) for label, count in labels.items()), (("PodPopped",), popped)])

    def _rejecting(self) -> Counter[tuple[str, str]]:
        """(plugin, profile) → how many pods of the queue the plugin rejected."""
        counts = Counter[tuple[str, str]]()
        for entry in self._state.queue.entries():
            for plugin in entry.rejectors | entry.pending:
                counts[plugin, entry.pod.spec.scheduler_name] += 1
        return counts

    def read_cache(self) -> None:
        """The sizes of the cache, from the thread that changes it."""
        cache = self._state.cache
        self._cache_size.set(cache.columns.node_count, ("nodes",))
        self._cache_size.set(cache.pod_count, ("pods",))
        self._cache_size.set(len(self._state.assumed), ("assumed_pods",))


SUMMARIES = ("scheduler_scheduling_duration_seconds", "scheduler_scheduling_latency_seconds")
"""Both in seconds. ``DELETE /metrics`` resets these alone."""


class LoopMetrics116(Observer):
    """An observer of the loop. Any thread may call it. Upstream: 1.16 pkg/scheduler/metrics."""

    measures = True

    def __init__(self, registry: MetricsRegistry, says: Callable[[str], None]) -> None:
        """says: writes a line of the log."""

        def twins(seconds: str, microseconds: str) -> Callable[[float], None]:
            whole, fine = (registry.instrument(f"scheduler_{name}") for name in (seconds, microseconds))

            def observe(value: float) -> None:
                whole.observe(value)
                fine.observe(float(int(value * 1e6)))

            return observe

        self._says = says
        self._whole = twins("e2e_scheduling_duration_seconds", "e2e_scheduling_latency_microseconds")
        self._algorithm = twins("scheduling_algorithm_duration_seconds", "scheduling_algorithm_latency_microseconds")
        self._binding = twins("binding_duration_seconds", "binding_latency_microseconds")
        self._steps = {
            f"{step}_evaluation": twins(
                f"scheduling_algorithm_{step}_evaluation_seconds", f"scheduling_algorithm_{step}_evaluation"
            )
            for step in ("predicate", "priority", "preemption")
        }
        self._summaries = tuple(map(registry.instrument, SUMMARIES))
        self._victims = registry.instrument("scheduler_pod_preemption_victims")
        self._preemptions = registry.instrument("scheduler_total_preemption_attempts")

    def decided(self, decision: Decision, profile: str, seconds: float) -> None:  # noqa: ARG002
        """Only decisions that found a node count."""
        if decision.host is not None:
            self._algorithm(seconds)

    def step(self, operation: str, seconds: float) -> None:
        self._steps[operation](seconds)
        self._summarize(operation, seconds)

    def preempted(self, victims: int) -> None:
        """The gauge keeps the last number of victims."""
        self._preemptions.inc()
        self._victims.set(victims)

    def asked_to_bind(self, seconds: float) -> None:
        self._binding(seconds)
        self._summarize("binding", seconds)

    def attempt(self, result: str, profile: str, seconds: float) -> None:  # noqa: ARG002
        """Only pods that were bound count."""
        if result == "scheduled":
            self._whole(seconds)

    def scheduled(self, entry: Any, now: float) -> None:
        """1.16 does not count attempts of pods."""

    times_events = False

    def handled(self, old: Any, new: Any, seconds: float) -> None:
        """1.16 does not time events."""

    def trouble(self, text: str) -> None:
        self._says(text)

    def _summarize(self, operation: str, seconds: float) -> None:
        for summary in self._summaries:
            summary.observe(seconds, (operation,))
