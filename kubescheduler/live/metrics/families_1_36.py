"""kube-scheduler's own metrics in 1.36. Upstream: pkg/scheduler/metrics."""

from __future__ import annotations

from kubescheduler.live.metrics.metric_family import Family, counter, exponential, gauge, histogram

SECONDS = exponential(0.001, 2, 15)
LONG = exponential(0.01, 2, 20)
SHORT = exponential(0.0001, 2, 12)
SHORTER = exponential(0.00001, 2, 12)
PLUGIN = exponential(0.00001, 1.5, 20)

VOLUME_ERRORS = counter(
    "scheduler_volume_scheduling_stage_error_total", "Volume scheduling stage error count", "operation"
)
FAMILIES_1_36: tuple[Family, ...] = (
    VOLUME_ERRORS,
    counter(
        "scheduler_schedule_attempts_total",
        "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be scheduled, while "
        "'error' means an internal scheduler problem.",
        *("result", "profile"),
        stability="STABLE",
    ),
    histogram(
        "scheduler_scheduling_attempt_duration_seconds",
        "Scheduling attempt latency in seconds (scheduling algorithm + binding)",
        *("result", "profile"),
        buckets=SECONDS,
        stability="STABLE",
    ),
    histogram(
        "scheduler_scheduling_algorithm_duration_seconds", "Scheduling algorithm latency in seconds", buckets=SECONDS
    ),
    histogram(
        "scheduler_event_handling_duration_seconds", "Event handling latency in seconds.", "event", buckets=SHORT
    ),
    histogram(
        "scheduler_preemption_victims",
        "Number of selected preemption victims",
        buckets=exponential(1, 2, 7),
        stability="STABLE",
    ),
    counter(
        "scheduler_preemption_attempts_total",
        "Total preemption attempts in the cluster till now",
        stability="STABLE",
    ),
    gauge(
        "scheduler_pending_pods",
        "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means number "
        "of pods in backoffQ; 'unschedulable' means number of pods in unschedulablePods that the scheduler attempted "
        "to schedule and failed; 'gated' is the number of unschedulable pods that the scheduler never attempted to "
        "schedule because they are gated.",
        "queue",
        stability="STABLE",
    ),
    gauge("scheduler_inflight_events", "Number of events currently tracked in the scheduling queue.", "event"),
    gauge(
        "scheduler_goroutines",
        "Number of running goroutines split by the work they do such as binding.",
        "operation",
        stability="BETA",
    ),
    counter(
        "scheduler_batch_attempts_total", "Counts of results when we attempt to use batching.", "profile", "result"
    ),
    counter("scheduler_batch_cache_flushed_total", "Counts of cache flushes by reason.", "profile", "reason"),
    histogram(
        "scheduler_get_node_hint_duration_seconds",
        "Latency for getting a node hint.",
        *("hinted", "profile"),
        buckets=SHORTER,
    ),
    histogram(
        "scheduler_store_schedule_results_duration_seconds", "Latency for getting a no.", "profile", buckets=SHORTER
    ),
    histogram(
        "scheduler_pod_scheduling_sli_duration_seconds",
        "E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue and might involve "
        "multiple scheduling attempts.",
        "attempts",
        buckets=LONG,
        stability="BETA",
    ),
    histogram(
        "scheduler_pod_scheduling_attempts",
        "Number of attempts to successfully schedule a pod.",
        buckets=exponential(1, 2, 5),
        stability="STABLE",
    ),
    counter(
        "scheduler_pod_scheduled_after_flush_total",
        "Number of pods that were successfully scheduled after being flushed from unschedulablePods due to timeout. "
        "This metric helps detect potential queueing hint misconfigurations or event handling issues.",
    ),
    histogram(
        "scheduler_framework_extension_point_duration_seconds",
        "Latency for running all plugins of a specific extension point.",
        *("extension_point", "status", "profile"),
        buckets=SHORT,
        stability="STABLE",
    ),
    histogram(
        "scheduler_plugin_execution_duration_seconds",
        "Duration for running a plugin at a specific extension point.",
        *("plugin", "extension_point", "status"),
        buckets=PLUGIN,
    ),
    histogram(
        "scheduler_queueing_hint_execution_duration_seconds",
        "Duration for running a queueing hint function of a plugin.",
        *("plugin", "event", "hint"),
        buckets=PLUGIN,
    ),
    counter(
        "scheduler_queue_incoming_pods_total",
        "Number of pods added to scheduling queues by event and queue type.",
        *("queue", "event"),
        stability="STABLE",
    ),
    histogram(
        "scheduler_permit_wait_duration_seconds",
        "Duration of waiting on permit.",
        "result",
        buckets=SECONDS,
        stability="BETA",
    ),
    gauge("scheduler_cache_size", "Number of nodes, pods, and assumed (bound) pods in the scheduler cache.", "type"),
    gauge(
        "scheduler_unschedulable_pods",
        "The number of unschedulable pods broken down by plugin name. A pod will increment the gauge for all plugins "
        "that caused it to not schedule and so this metric have meaning only when broken down by plugin.",
        *("plugin", "profile"),
        stability="BETA",
    ),
    counter(
        "scheduler_plugin_evaluation_total",
        "Number of attempts to schedule pods by each plugin and the extension point (available only in PreFilter, "
        "Filter, PreScore, and Score).",
        *("plugin", "extension_point", "profile"),
        stability="BETA",
    ),
    histogram(
        "scheduler_preemption_goroutines_duration_seconds",
        "Duration in seconds for running goroutines for the preemption.",
        "result",
        buckets=LONG,
    ),
    counter(
        "scheduler_resourceclaim_creates_total", "Number of ResourceClaims creation requests within scheduler", "status"
    ),
    counter("scheduler_preemption_goroutines_execution_total", "Number of preemption goroutines executed.", "result"),
)
