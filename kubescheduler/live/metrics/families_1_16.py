"""kube-scheduler's own metrics in 1.16. Upstream: pkg/scheduler/metrics."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from kubescheduler.live.metrics.metric_family import Family, counter, exponential, gauge, histogram

SECONDS = exponential(0.001, 2, 15)
MICROSECONDS = exponential(1000, 2, 15)
STEPS = ("predicate", "priority", "preemption")
"""The parts of the algorithm that are timed."""
SUMMED = "Scheduling latency in seconds split by sub-parts of the scheduling operation"


def _twins() -> Iterator[Family]:
    """Histograms in seconds, each beside a deprecated one in microseconds."""
    whole = "scheduling latency"
    named = [
        ("e2e_scheduling", f"E2e {whole} in %s (scheduling algorithm + binding)"),
        ("scheduling_algorithm", "Scheduling algorithm latency in %s"),
        ("binding", "Binding latency in %s"),
    ]
    for name, text in named:
        yield histogram(f"scheduler_{name}_duration_seconds", text % "seconds", buckets=SECONDS)
        yield histogram(
            f"scheduler_{name}_latency_microseconds", "(Deprecated) " + text % "microseconds", buckets=MICROSECONDS
        )
    for step in STEPS:
        name, text = f"scheduler_scheduling_algorithm_{step}_evaluation", f"Scheduling algorithm {step} evaluation"
        yield histogram(f"{name}_seconds", f"{text} duration in seconds", buckets=SECONDS)
        yield histogram(name, f"(Deprecated) {text} duration in microseconds", buckets=MICROSECONDS)


FAMILIES_1_16: tuple[Family, ...] = (
    *_twins(),
    Family("scheduler_scheduling_duration_seconds", "summary", SUMMED, ("operation",)),
    Family("scheduler_scheduling_latency_seconds", "summary", f"(Deprecated) {SUMMED}", ("operation",)),
    gauge("scheduler_pod_preemption_victims", "Number of selected preemption victims"),
    counter("scheduler_total_preemption_attempts", "Total preemption attempts in the cluster till now"),
    msgspec.structs.replace(
        counter(
            "scheduler_schedule_attempts_total",
            "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be scheduled, "
            "while 'error' means an internal scheduler problem.",
            "result",
        ),
        registered=False,
    ),
    msgspec.structs.replace(
        gauge(
            "scheduler_pending_pods",
            "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means "
            "number of pods in backoffQ; 'unschedulable' means number of pods in unschedulableQ.",
            "queue",
        ),
        registered=False,
    ),
)
"""The last two are never exported by 1.16: their series are made before they are registered."""
