"""Gauges that stay as they are: what was built, which features are on, which metrics there are."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Mapping

from kubescheduler.config.gate_records import Gate
from kubescheduler.live.metrics.metrics_registry import MetricsRegistry

STAGES = {"alpha": "ALPHA", "beta": "BETA", "GA": ""}
"""What the gauge of features calls how far they have come."""


def set_build(registry: MetricsRegistry, version: str) -> None:
    """version: the release that this one stands for, as ``v1.36.2``; what would be Go's is Python's."""
    major, minor, _ = version.removeprefix("v").split(".")
    python = f"{platform.python_implementation().lower()}{platform.python_version()}"
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    where = f"{platform.system().lower()}/{machine}"
    values = (major, minor, version, "", "clean", "1970-01-01T00:00:00Z", python, "python", where)
    registry.instrument("kubernetes_build_info").set(1, values)
    before = f"{major}.{int(minor) - 1}"
    registry.instrument("version_info").set(1, (version.removeprefix("v"), f"{major}.{minor}", before, "kube"))


def set_features(registry: MetricsRegistry, gates: Mapping[str, Gate], values: Mapping[str, bool]) -> None:
    """gates: the release's; values: which are on."""
    gauge = registry.instrument("kubernetes_feature_enabled")
    for name, gate in gates.items():
        gauge.set(float(values.get(name, gate.default)), (name, STAGES[gate.stage]))


def set_metrics(registry: MetricsRegistry) -> None:
    """How many families there are; counted from 0."""
    names = ("registered_metrics_total", "hidden_metrics_total", "disabled_metrics_total")
    registry.reset(*names)
    shown = Counter((family.stability, family.deprecated) for family in registry.shown if family.stability)
    for labels, count in shown.items():
        registry.instrument(names[0]).inc(labels, count)
    registry.instrument(names[1]).inc(by=len(registry.hidden))
    registry.instrument(names[2]).inc(by=len(registry.disabled))
