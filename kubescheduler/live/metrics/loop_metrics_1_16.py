"""LoopMetrics116: what 1.16's loop does, counted: in seconds, and once more in microseconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubescheduler.core.decision import Decision
from kubescheduler.framework.contract.observer import Observer
from kubescheduler.live.metrics.metrics_registry import MetricsRegistry

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
        """A part of the algorithm is over."""
        self._steps[operation](seconds)
        self._summarize(operation, seconds)

    def preempted(self, victims: int) -> None:
        """The gauge keeps the last number of victims."""
        self._preemptions.inc()
        self._victims.set(victims)

    def asked_to_bind(self, seconds: float) -> None:
        """A request to bind was answered."""
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
        """A line of the log."""
        self._says(text)

    def _summarize(self, operation: str, seconds: float) -> None:
        for summary in self._summaries:
            summary.observe(seconds, (operation,))
