"""The metrics of each release's kube-scheduler and of the libraries that it is built with.

Upstream: pkg/scheduler/metrics, apiserver, client-go.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kubescheduler.live.metrics.metrics_registry import Family, counter, exponential, gauge, histogram, linear

SECONDS = exponential(0.001, 2, 15)
DEFAULT = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upstream: DefBuckets."""
REVIEW_SECONDS = (0.25, 0.5, 0.7, 1.0, 1.5, 3.0, 5.0, 10.0)
HOUR, DAY = 3600.0, 86400.0
REMAINING = (
    *(0.0, HOUR / 2, HOUR, 2 * HOUR, 6 * HOUR, 12 * HOUR),
    *(days * DAY for days in (1, 2, 4, 7, 30, 90, 180, 360)),
)
BY_CODE = "Number of HTTP requests partitioned by status code."
SECONDS_BY_CODE = "Request latency in seconds. Broken down by status code."

ACCESS_1_16: tuple[Family, ...] = (
    counter("authenticated_user_requests", "Counter of authenticated requests broken out by username.", "username"),
    counter("authentication_attempts", "Counter of authenticated attempts.", "result"),
    histogram(
        "apiserver_client_certificate_expiration_seconds",
        "Distribution of the remaining lifetime on the certificate used to authenticate a request.",
        buckets=REMAINING,
    ),
)
ACCESS_1_20: tuple[Family, ...] = (
    *ACCESS_1_16,
    histogram(
        "authentication_duration_seconds",
        "Authentication duration in seconds broken out by result.",
        "result",
        buckets=SECONDS,
    ),
    gauge("authentication_token_cache_active_fetch_count", "", "status"),
    counter("authentication_token_cache_fetch_total", "", "status"),
    histogram("authentication_token_cache_request_duration_seconds", "", "status", buckets=DEFAULT),
    counter("authentication_token_cache_request_total", "", "status"),
)
ACCESS_1_36: tuple[Family, ...] = (
    *ACCESS_1_20,
    counter(
        "authorization_attempts_total",
        "Counter of authorization attempts broken down by result. It can be either 'allowed', 'denied', 'no-opinion' "
        "or 'error'.",
        "result",
    ),
    histogram(
        "authorization_duration_seconds",
        "Authorization duration in seconds broken out by result.",
        "result",
        buckets=SECONDS,
    ),
    *(counter(f"apiserver_delegated_{of}_request_total", BY_CODE, "code") for of in ("authn", "authz")),
    *(
        histogram(f"apiserver_delegated_{of}_request_duration_seconds", SECONDS_BY_CODE, "code", buckets=REVIEW_SECONDS)
        for of in ("authn", "authz")
    ),
)


# --- client-go: requests to the API server -----------------------------------------------------

REQUESTS = counter(
    "rest_client_requests_total",
    "Number of HTTP requests, partitioned by status code, method, and host.",
    *("code", "method", "host"),
)
BY_URL = "Broken down by verb and URL."
OLD_SECONDS = exponential(0.001, 2, 10)
NEW_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
BYTES = (64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216)

REQUEST_SECONDS_BY_URL = histogram(
    "rest_client_request_duration_seconds",
    f"Request latency in seconds. {BY_URL}",
    *("verb", "url"),
    buckets=OLD_SECONDS,
)
EXEC_CERTIFICATE = gauge(
    "rest_client_exec_plugin_ttl_seconds",
    "Gauge of the shortest TTL (time-to-live) of the client certificate(s) managed by the auth exec plugin. The value "
    "is in seconds until certificate expiry (negative if already expired). If auth exec plugins are unused or manage "
    "no TLS certificates, the value will be +INF.",
)
EXEC_ROTATION = histogram(
    "rest_client_exec_plugin_certificate_rotation_age",
    "Histogram of the number of seconds the last auth exec plugin client certificate lived before being rotated. If "
    "auth exec plugin client certificates are unused, histogram will contain no data.",
    buckets=(600, 1800, 3600, 14400, 86400, 604800, 2592000, 7776000, 15552000, 31104000, 124416000),
)
REST_1_16 = (
    REQUESTS,
    REQUEST_SECONDS_BY_URL,
    Family(
        "rest_client_request_latency_seconds",
        "histogram",
        f"Request latency in seconds. {BY_URL}",
        ("verb", "url"),
        OLD_SECONDS,
        deprecated="1.14.0",
    ),
)
REST_1_20 = (
    REQUESTS,
    EXEC_CERTIFICATE,
    EXEC_ROTATION,
    REQUEST_SECONDS_BY_URL,
    histogram(
        "rest_client_rate_limiter_duration_seconds",
        f"Client side rate limiter latency in seconds. {BY_URL}",
        *("verb", "url"),
        buckets=OLD_SECONDS,
    ),
)
REST_1_36 = (
    REQUESTS,
    EXEC_CERTIFICATE,
    EXEC_ROTATION,
    histogram(
        "rest_client_request_duration_seconds",
        "Request latency in seconds. Broken down by verb, and host.",
        *("verb", "host"),
        buckets=NEW_SECONDS,
    ),
    histogram(
        "rest_client_dns_resolution_duration_seconds",
        "DNS resolver latency in seconds. Broken down by host.",
        "host",
        buckets=NEW_SECONDS[:-1],
    ),
    histogram(
        "rest_client_rate_limiter_duration_seconds",
        "Client side rate limiter latency in seconds. Broken down by verb, and host.",
        *("verb", "host"),
        buckets=NEW_SECONDS,
    ),
    *(
        histogram(
            f"rest_client_{what}_size_bytes",
            f"{what.capitalize()} size in bytes. Broken down by verb and host.",
            *("verb", "host"),
            buckets=BYTES,
        )
        for what in ("request", "response")
    ),
    counter(
        "rest_client_request_retries_total",
        "Number of request retries, partitioned by status code, verb, and host.",
        *("code", "verb", "host"),
    ),
)

# --- leader election, the build, and the metrics themselves --------------------------------------

LEADS = "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. "
NAMED = "'name' is the string used to identify the lease. Please make sure to group by name."
MASTER = gauge("leader_election_master_status", LEADS + NAMED, "name")
SLOW_PATH = counter(
    "leader_election_slowpath_total",
    f"Total number of slow path exercised in renewing leader leases. {NAMED}",
    "name",
)
BUILT = (
    "A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, build date, "
    "Go version, and compiler from which Kubernetes was built, and platform on which it is running."
)
BUILD_LABELS = (
    *("major", "minor", "git_version", "git_commit", "git_tree_state"),
    *("build_date", "go_version", "compiler", "platform"),
)
BUILD_1_20 = gauge("kubernetes_build_info", BUILT, *BUILD_LABELS)
BUILD_1_36 = gauge("kubernetes_build_info", BUILT, *BUILD_LABELS, stability="BETA")
FEATURES = gauge(
    "kubernetes_feature_enabled",
    "This metric records the data about the stage and enablement of a k8s feature.",
    *("name", "stage"),
    stability="BETA",
)
VERSION_INFO = gauge(
    "version_info",
    "Provides the compatibility version info of the component. The component label is the name of the component, "
    "usually kube, but is relevant for aggregated-apiservers.",
    *("binary", "emulation", "min_compat", "component"),
)
REGISTERED = counter(
    "registered_metrics_total",
    "The count of registered metrics broken by stability level and deprecation version.",
    *("stability_level", "deprecated_version"),
    stability="BETA",
)
HIDDEN = counter("hidden_metrics_total", "The count of hidden metrics.", stability="BETA")
DISABLED = counter("disabled_metrics_total", "The count of disabled metrics.", stability="BETA")

LIBRARIES_1_16 = (*REST_1_16, MASTER)
LIBRARIES_1_20 = (*REST_1_20, MASTER, BUILD_1_20)
LIBRARIES_1_36 = (
    *(*REST_1_36, MASTER, SLOW_PATH, BUILD_1_36),
    *(FEATURES, VERSION_INFO, REGISTERED, HIDDEN, DISABLED),
)

# --- health checks, on /metrics/slis -------------------------------------------------------------

HEALTH_1_36 = (
    gauge(
        "kubernetes_healthcheck",
        "This metric records the result of a single healthcheck.",
        *("name", "type"),
        stability="STABLE",
    ),
    counter(
        "kubernetes_healthchecks_total",
        "This metric records the results of all healthcheck.",
        *("name", "type", "status"),
        stability="STABLE",
    ),
    gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds."),
)


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


ATTEMPTS_HELP = (
    "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be scheduled, while "
    "'error' means an internal scheduler problem."
)
PENDING_HELP = (
    "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means number of "
    "pods in backoffQ; 'unschedulable' means number of pods in "
)
WORK_HELP = "Number of running goroutines split by the work they do such as binding."
CACHE_HELP = "Number of nodes, pods, and assumed (bound) pods in the scheduler cache."


FAMILIES_1_16: tuple[Family, ...] = (
    *_twins(),
    Family("scheduler_scheduling_duration_seconds", "summary", SUMMED, ("operation",)),
    Family("scheduler_scheduling_latency_seconds", "summary", f"(Deprecated) {SUMMED}", ("operation",)),
    gauge("scheduler_pod_preemption_victims", "Number of selected preemption victims"),
    counter("scheduler_total_preemption_attempts", "Total preemption attempts in the cluster till now"),
    replace(counter("scheduler_schedule_attempts_total", ATTEMPTS_HELP, "result"), registered=False),
    replace(gauge("scheduler_pending_pods", f"{PENDING_HELP}unschedulableQ.", "queue"), registered=False),
)
"""The last two are never exported by 1.16: their series are made before they are registered."""


LONG = exponential(0.01, 2, 20)
SHORT = exponential(0.0001, 2, 12)
SHORTER = exponential(0.00001, 2, 12)
PLUGIN = exponential(0.00001, 1.5, 20)


def _of_frameworks(stable: str, beta: str) -> Iterator[Family]:
    """What 1.20 and 1.36 both count; how far 1.36 stands by it."""
    yield counter("scheduler_volume_scheduling_stage_error_total", "Volume scheduling stage error count", "operation")
    yield counter("scheduler_schedule_attempts_total", ATTEMPTS_HELP, *("result", "profile"), stability=stable)
    yield histogram(
        "scheduler_scheduling_algorithm_duration_seconds", "Scheduling algorithm latency in seconds", buckets=SECONDS
    )
    yield counter(
        "scheduler_preemption_attempts_total", "Total preemption attempts in the cluster till now", stability=stable
    )
    yield histogram(
        "scheduler_pod_scheduling_attempts",
        "Number of attempts to successfully schedule a pod.",
        buckets=exponential(1, 2, 5),
        stability=stable,
    )
    yield histogram(
        "scheduler_framework_extension_point_duration_seconds",
        "Latency for running all plugins of a specific extension point.",
        *("extension_point", "status", "profile"),
        buckets=SHORT,
        stability=stable,
    )
    yield histogram(
        "scheduler_plugin_execution_duration_seconds",
        "Duration for running a plugin at a specific extension point.",
        *("plugin", "extension_point", "status"),
        buckets=PLUGIN,
    )
    yield counter(
        "scheduler_queue_incoming_pods_total",
        "Number of pods added to scheduling queues by event and queue type.",
        *("queue", "event"),
        stability=stable,
    )
    yield histogram(
        "scheduler_permit_wait_duration_seconds",
        "Duration of waiting on permit.",
        "result",
        buckets=SECONDS,
        stability=beta,
    )


FAMILIES_1_20: tuple[Family, ...] = (
    *_of_frameworks("ALPHA", "ALPHA"),
    Family("scheduler_scheduling_duration_seconds", "summary", SUMMED, ("operation",), deprecated="1.19.0"),
    histogram(
        "scheduler_e2e_scheduling_duration_seconds",
        "E2e scheduling latency in seconds (scheduling algorithm + binding)",
        *("result", "profile"),
        buckets=SECONDS,
    ),
    replace(
        histogram(
            "scheduler_scheduling_algorithm_preemption_evaluation_seconds",
            "Scheduling algorithm preemption evaluation duration in seconds",
            buckets=SECONDS,
        ),
        deprecated="1.20.0",
    ),
    replace(
        histogram("scheduler_binding_duration_seconds", "Binding latency in seconds", buckets=SECONDS),
        deprecated="1.20.0",
    ),
    histogram("scheduler_preemption_victims", "Number of selected preemption victims", buckets=linear(5, 5, 10)),
    gauge("scheduler_pending_pods", f"{PENDING_HELP}unschedulableQ.", "queue"),
    gauge("scheduler_scheduler_goroutines", WORK_HELP, "work"),
    histogram(
        "scheduler_pod_scheduling_duration_seconds",
        "E2e latency for a pod being scheduled which may include multiple scheduling attempts.",
        "attempts",
        buckets=LONG,
    ),
    gauge("scheduler_scheduler_cache_size", CACHE_HELP, "type"),
)


FAMILIES_1_36: tuple[Family, ...] = (
    *_of_frameworks("STABLE", "BETA"),
    histogram(
        "scheduler_scheduling_attempt_duration_seconds",
        "Scheduling attempt latency in seconds (scheduling algorithm + binding)",
        *("result", "profile"),
        buckets=SECONDS,
        stability="STABLE",
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
    gauge(
        "scheduler_pending_pods",
        f"{PENDING_HELP}unschedulablePods that the scheduler attempted to schedule and failed; 'gated' is the number "
        "of unschedulable pods that the scheduler never attempted to schedule because they are gated.",
        "queue",
        stability="STABLE",
    ),
    gauge("scheduler_inflight_events", "Number of events currently tracked in the scheduling queue.", "event"),
    gauge("scheduler_goroutines", WORK_HELP, "operation", stability="BETA"),
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
    counter(
        "scheduler_pod_scheduled_after_flush_total",
        "Number of pods that were successfully scheduled after being flushed from unschedulablePods due to timeout. "
        "This metric helps detect potential queueing hint misconfigurations or event handling issues.",
    ),
    histogram(
        "scheduler_queueing_hint_execution_duration_seconds",
        "Duration for running a queueing hint function of a plugin.",
        *("plugin", "event", "hint"),
        buckets=PLUGIN,
    ),
    gauge("scheduler_cache_size", CACHE_HELP, "type"),
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
