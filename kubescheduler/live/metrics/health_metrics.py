"""Results of health checks: ``/metrics/slis``. Upstream: component-base/metrics/prometheus/slis."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, ProcessCollector

from kubescheduler.live.metrics.metric_family import Family, Visibility
from kubescheduler.live.metrics.metrics_registry import MetricsRegistry

START = "process_start_time_seconds"


class HealthMetrics:
    """Counts what health checks come to. Any thread may call it."""

    def __init__(self, families: Iterable[Family], visibility: Visibility) -> None:
        self._registry = MetricsRegistry(families, visibility)
        self._last = self._registry.instrument("kubernetes_healthcheck")
        self._total = self._registry.instrument("kubernetes_healthchecks_total")
        for started in _process_start():
            self._registry.instrument(START).set(started)

    def checked(self, name: str, kind: str, *, passed: bool) -> None:
        """A check was made. kind: the endpoint that asked: ``healthz``, ``livez`` or ``readyz``."""
        self._last.set(float(passed), (name, kind))
        self._total.inc((name, kind, "success" if passed else "error"))

    def text(self) -> bytes:
        """As Prometheus reads it."""
        return self._registry.text()


def _process_start() -> list[float]:
    """When the process began, in seconds since 1970; nothing where the machine does not say it."""
    families = ProcessCollector(registry=CollectorRegistry()).collect()
    return [sample.value for family in families for sample in family.samples if sample.name == START]
