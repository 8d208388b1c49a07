"""LoopMetrics: what a scheduler's loop with plugins does, counted. Upstream: 1.20 and 1.36 pkg/scheduler/metrics."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import numpy as np

from kubescheduler.core.decision import Decision
from kubescheduler.framework.contract.observer import Observer
from kubescheduler.live.metrics.event_labels import event_labels
from kubescheduler.live.metrics.instruments import Instrument
from kubescheduler.live.metrics.loop_names import LoopNames
from kubescheduler.live.metrics.metrics_registry import MetricsRegistry
from kubescheduler.queue.entry import Place
from kubescheduler.queue.queueing_hints import ClusterEvent, Event
from predicates.verdict_masks import failing

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
        """All plugins of a point ran."""
        self._points.observe(seconds, (point, status, profile))
        if point == "PostFilter":
            self._preemption.observe(seconds)

    def plugin(self, point: str, plugin: str, status: str, seconds: float) -> None:
        """One plugin ran, in an attempt whose plugins are timed."""
        self._plugins.observe(seconds, (plugin, point, status))

    def evaluated(self, point: str, plugin: str, profile: str) -> None:
        """One plugin was called and did not skip."""
        with self._lock:
            self._evaluated[plugin, point, profile] += 1

    def permit_waited(self, status: str, seconds: float) -> None:
        """A pod waited for Permit plugins."""
        self._permits.observe(seconds, (status,))

    def claim_created(self, status: str) -> None:
        """A claim for extended resources was created, or not."""
        self._claims.inc((status,))

    # --- attempts --------------------------------------------------------------------------------

    def decided(self, decision: Decision, profile: str, seconds: float) -> None:
        """The algorithm found a node, or did not."""
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
            found, self._evaluated = self._evaluated, Counter()
        for labels, times in found.items():
            self._evaluations.inc(labels, times)

    def step(self, operation: str, seconds: float) -> None:
        """There are no such parts where there are plugins."""

    def preempted(self, victims: int) -> None:
        """Preemption was tried for a pod."""
        self._preemptions.inc()
        if victims:
            self._victims.observe(victims)

    def evicted(self, result: str, seconds: float) -> None:
        """The victims of a pod were taken away in the background."""
        self._evictions.inc((result,))
        self._eviction_seconds.observe(seconds, (result,))

    def asked_to_bind(self, seconds: float) -> None:
        """A request to bind was answered."""
        self._binding.observe(seconds)

    def attempt(self, result: str, profile: str, seconds: float) -> None:
        """An attempt is over."""
        self._attempts.inc((result, profile))
        self._attempt_seconds.observe(seconds, (result, profile))

    def batch_attempt(self, result: str, profile: str) -> None:
        """A kept ranking had a hint, or none."""
        self._batches.inc((profile, result))

    def batch_flushed(self, reason: str, profile: str) -> None:
        """A kept ranking was of no use."""
        self._flushes.inc((profile, reason))

    def hint_asked(self, result: str, profile: str, seconds: float) -> None:
        """A pod was signed, and a kept ranking asked."""
        self._hint_seconds.observe(seconds, (result, profile))

    def results_stored(self, profile: str, seconds: float) -> None:
        """The ranking of an attempt was kept, or dropped."""
        self._store_seconds.observe(seconds, (profile,))

    def volumes_failed(self, operation: str) -> None:
        """Volumes of a pod could not be kept for it, or bound."""
        self._volume_errors.inc((operation,))

    def scheduled(self, entry: Any, now: float) -> None:
        """A pod was bound."""
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
        """A line of the log."""
        self._says(text)
