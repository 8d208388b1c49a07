"""kube-scheduler's own metrics in 1.20. Upstream: pkg/scheduler/metrics."""

from __future__ import annotations

import msgspec

from kubescheduler.live.metrics.families_1_36 import LONG, PLUGIN, SECONDS, SHORT, VOLUME_ERRORS
from kubescheduler.live.metrics.metric_family import Family, counter, exponential, gauge, histogram, linear

FAMILIES_1_20: tuple[Family, ...] = (
    VOLUME_ERRORS,
    counter(
        "scheduler_schedule_attempts_total",
        "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be scheduled, while "
        "'error' means an internal scheduler problem.",
        *("result", "profile"),
    ),
    msgspec.structs.replace(
        Family(
            "scheduler_scheduling_duration_seconds",
            "summary",
            "Scheduling latency in seconds split by sub-parts of the scheduling operation",
            ("operation",),
        ),
        deprecated="1.19.0",
    ),
    histogram(
        "scheduler_e2e_scheduling_duration_seconds",
        "E2e scheduling latency in seconds (scheduling algorithm + binding)",
        *("result", "profile"),
        buckets=SECONDS,
    ),
    histogram(
        "scheduler_scheduling_algorithm_duration_seconds", "Scheduling algorithm latency in seconds", buckets=SECONDS
    ),
    msgspec.structs.replace(
        histogram(
            "scheduler_scheduling_algorithm_preemption_evaluation_seconds",
            "Scheduling algorithm preemption evaluation duration in seconds",
            buckets=SECONDS,
        ),
        deprecated="1.20.0",
    ),
    msgspec.structs.replace(
        histogram("scheduler_binding_duration_seconds", "Binding latency in seconds", buckets=SECONDS),
        deprecated="1.20.0",
    ),
    histogram("scheduler_preemption_victims", "Number of selected preemption victims", buckets=linear(5, 5, 10)),
    counter("scheduler_preemption_attempts_total", "Total preemption attempts in the cluster till now"),
    gauge(
        "scheduler_pending_pods",
        "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means number "
        "of pods in backoffQ; 'unschedulable' means number of pods in unschedulableQ.",
        "queue",
    ),
    gauge(
        "scheduler_scheduler_goroutines",
        "Number of running goroutines split by the work they do such as binding.",
        "work",
    ),
    histogram(
        "scheduler_pod_scheduling_duration_seconds",
        "E2e latency for a pod being scheduled which may include multiple scheduling attempts.",
        "attempts",
        buckets=LONG,
    ),
    histogram(
        "scheduler_pod_scheduling_attempts",
        "Number of attempts to successfully schedule a pod.",
        buckets=exponential(1, 2, 5),
    ),
    histogram(
        "scheduler_framework_extension_point_duration_seconds",
        "Latency for running all plugins of a specific extension point.",
        *("extension_point", "status", "profile"),
        buckets=SHORT,
    ),
    histogram(
        "scheduler_plugin_execution_duration_seconds",
        "Duration for running a plugin at a specific extension point.",
        *("plugin", "extension_point", "status"),
        buckets=PLUGIN,
    ),
    counter(
        "scheduler_queue_incoming_pods_total",
        "Number of pods added to scheduling queues by event and queue type.",
        *("queue", "event"),
    ),
    histogram("scheduler_permit_wait_duration_seconds", "Duration of waiting on permit.", "result", buckets=SECONDS),
    gauge(
        "scheduler_scheduler_cache_size",
        "Number of nodes, pods, and assumed (bound) pods in the scheduler cache.",
        "type",
    ),
)
