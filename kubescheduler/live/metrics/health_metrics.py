"""Results of health checks: ``/metrics/slis``. Upstream: component-base/metrics/prometheus/slis."""

from __future__ import annotations

from collections.abc import Iterable

from kubescheduler.live.metrics.metric_family import Family, Visibility
from kubescheduler.live.metrics.metrics_registry import MetricsRegistry


class HealthMetrics:
    """Counts what health checks come to. Any thread may call it."""

    def __init__(self, families: Iterable[Family], visibility: Visibility) -> None:
        self._registry = MetricsRegistry(families, visibility)
        self._last = self._registry.instrument("kubernetes_healthcheck")
        self._total = self._registry.instrument("kubernetes_healthchecks_total")

    def checked(self, name: str, kind: str, *, passed: bool) -> None:
        """A check was made. kind: the endpoint that asked: ``healthz``, ``livez`` or ``readyz``."""
        self._last.set(float(passed), (name, kind))
        self._total.inc((name, kind, "success" if passed else "error"))

    def text(self) -> bytes:
        """As Prometheus reads it."""
        return self._registry.text()
