"""Gauges of the queue, the cache and the bindings, as they stand when somebody asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sized
from contextlib import AbstractContextManager
from typing import Any

import msgspec

from clusterstate.cache import ClusterCache
from kubescheduler.live.metrics.loop_names import LoopNames
from kubescheduler.live.metrics.metrics_registry import MetricsRegistry
from kubescheduler.queue.scheduling_queue import SchedulingQueue


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
        found = Counter[tuple[str, str]]()
        for entry in self._state.queue.entries():
            for plugin in entry.rejectors | entry.pending:
                found[plugin, entry.pod.spec.scheduler_name] += 1
        return found

    def read_cache(self) -> None:
        """The sizes of the cache, from the thread that changes it."""
        cache = self._state.cache
        self._cache_size.set(cache.columns.node_count, ("nodes",))
        self._cache_size.set(cache.pod_count, ("pods",))
        self._cache_size.set(len(self._state.assumed), ("assumed_pods",))
