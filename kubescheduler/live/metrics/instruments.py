"""Instruments: what code counts with. One that stands for a metric that is not exported does nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from kubescheduler.live.metrics.metric_family import Family
from kubescheduler.live.metrics.windowed_summary import WindowedSummary

LabelValues = tuple[str, ...]

KINDS: Mapping[str, Any] = {"counter": Counter, "gauge": Gauge, "histogram": Histogram, "summary": WindowedSummary}


class Instrument:
    """One metric, by the values of its labels. Any thread may count."""

    __slots__ = ("_metric", "_registry", "_series", "family")

    def __init__(self, family: Family | None, registry: CollectorRegistry) -> None:
        """family: None where the release has no such metric, or does not show it."""
        self.family = family
        self._registry = registry
        self._series: dict[LabelValues, Any] = {}
        self._metric: Any = None if family is None else self._made(family)

    def _made(self, family: Family) -> Any:
        options = {"buckets": family.buckets} if family.kind == "histogram" else {}
        return KINDS[family.kind](family.name, family.text, family.labels, registry=self._registry, **options)

    @property
    def exported(self) -> bool:
        """Whether anybody sees what is counted."""
        return self._metric is not None

    def inc(self, labels: LabelValues = (), by: float = 1) -> None:
        """Adds to a counter."""
        if self._metric is not None:
            (self._series.get(labels) or self._new(labels)).inc(by)

    def observe(self, value: float, labels: LabelValues = ()) -> None:
        """Counts a value in a histogram or a summary."""
        if self._metric is not None:
            (self._series.get(labels) or self._new(labels)).observe(value)

    def set(self, value: float, labels: LabelValues = ()) -> None:
        """Sets a gauge."""
        if self._metric is not None:
            (self._series.get(labels) or self._new(labels)).set(value)

    def set_all(self, values: Iterable[tuple[LabelValues, float]]) -> None:
        """Sets a gauge's series; those that are not named fall to 0."""
        if self._metric is None:
            return
        given = dict(values)
        for labels in self._series.keys() - given.keys():
            self.set(0, labels)
        for labels, value in given.items():
            self.set(value, labels)

    def reset(self) -> None:
        """Begins anew: series of labels go, and what has no labels is 0. Gauges stay as they are."""
        if self.family is None or self.family.kind == "gauge":
            return
        self._registry.unregister(self._metric)
        self._metric, self._series = self._made(self.family), {}

    def _new(self, labels: LabelValues) -> Any:
        series = self._metric.labels(*labels) if labels else self._metric
        self._series[labels] = series
        return series
