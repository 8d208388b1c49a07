"""Metrics of the library that serves: who asks, and what the API server is asked about them. Upstream: apiserver."""

from __future__ import annotations

from kubescheduler.live.metrics.metric_family import Family, counter, exponential, gauge, histogram

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
    counter("apiserver_delegated_authn_request_total", BY_CODE, "code"),
    histogram("apiserver_delegated_authn_request_duration_seconds", SECONDS_BY_CODE, "code", buckets=REVIEW_SECONDS),
    counter("apiserver_delegated_authz_request_total", BY_CODE, "code"),
    histogram("apiserver_delegated_authz_request_duration_seconds", SECONDS_BY_CODE, "code", buckets=REVIEW_SECONDS),
)
