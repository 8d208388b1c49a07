"""The metrics of the libraries that kube-scheduler is built with, as far as they mean something here."""

from __future__ import annotations

from kubescheduler.live.metrics.metric_family import Family, counter, exponential, gauge, histogram

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
    histogram(
        "rest_client_request_size_bytes",
        "Request size in bytes. Broken down by verb and host.",
        *("verb", "host"),
        buckets=BYTES,
    ),
    histogram(
        "rest_client_response_size_bytes",
        "Response size in bytes. Broken down by verb and host.",
        *("verb", "host"),
        buckets=BYTES,
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
