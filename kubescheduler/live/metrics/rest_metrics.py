"""What requests to the API server are counted as, in each release. Upstream: client-go's metrics."""

from __future__ import annotations

from kubescheduler.live.contract.rest_observer import NoRestObserver
from kubescheduler.live.metrics.metrics_registry import MetricsRegistry

TEMPLATE = "/%7Bprefix%7D"
"""What stands for the path of a URL: one series for each of them would be too many."""


class RestMetricsByUrl(NoRestObserver):
    """By verb and URL. Upstream: 1.16, 1.20."""

    def __init__(self, registry: MetricsRegistry, base_url: str) -> None:
        """base_url: of the server."""
        self._url = base_url + TEMPLATE
        self._requests = registry.instrument("rest_client_requests_total")
        self._seconds = registry.instrument("rest_client_request_duration_seconds")
        self._older = registry.instrument("rest_client_request_latency_seconds")
        self._waits = registry.instrument("rest_client_rate_limiter_duration_seconds")

    def finished(self, verb: str, path: str, host: str, code: str, seconds: float, sent: int, received: int) -> None:  # noqa: ARG002
        """A request ended."""
        self._requests.inc((code, verb, host))
        self._seconds.observe(seconds, (verb, self._url))
        self._older.observe(seconds, (verb, self._url))

    def limited(self, verb: str, path: str, host: str, seconds: float) -> None:  # noqa: ARG002
        """A request waited for the client's own limit."""
        self._waits.observe(seconds, (verb, self._url))

    def watched(self, verb: str, host: str, code: str) -> None:
        """A stream was opened, or refused."""
        self._requests.inc((code, verb, host))


class RestMetricsByHost(NoRestObserver):
    """By verb and host, with sizes. Upstream: 1.36."""

    def __init__(self, registry: MetricsRegistry, base_url: str) -> None:  # noqa: ARG002
        self._requests = registry.instrument("rest_client_requests_total")
        self._seconds = registry.instrument("rest_client_request_duration_seconds")
        self._waits = registry.instrument("rest_client_rate_limiter_duration_seconds")
        self._sent = registry.instrument("rest_client_request_size_bytes")
        self._received = registry.instrument("rest_client_response_size_bytes")
        self._resolved = registry.instrument("rest_client_dns_resolution_duration_seconds")
        self._retries = registry.instrument("rest_client_request_retries_total")

    def finished(self, verb: str, path: str, host: str, code: str, seconds: float, sent: int, received: int) -> None:  # noqa: ARG002
        """A request ended."""
        self._requests.inc((code, verb, host))
        self._seconds.observe(seconds, (verb, host))
        self._sent.observe(sent, (verb, host))
        self._received.observe(received, (verb, host))

    def limited(self, verb: str, path: str, host: str, seconds: float) -> None:  # noqa: ARG002
        """A request waited for the client's own limit."""
        self._waits.observe(seconds, (verb, host))

    def retried(self, verb: str, host: str, code: str) -> None:
        """A request is sent once more."""
        self._retries.inc((code, verb, host))

    def watched(self, verb: str, host: str, code: str) -> None:
        """A stream was opened, or refused."""
        self._requests.inc((code, verb, host))

    def resolved(self, name: str, seconds: float) -> None:
        """The address of a host was looked up."""
        self._resolved.observe(seconds, (name,))
