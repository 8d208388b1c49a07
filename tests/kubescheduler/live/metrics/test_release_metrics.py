"""The families of each release beside what the real ones export.

``exported_RELEASE.json`` holds name, type, help, labels and buckets, read from the answer of a real process.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubescheduler.live.metrics.metrics_registry import Family, exponential, linear
from kubescheduler.live.metrics.process_metrics import ReleaseMetrics
from kubescheduler.releases.lookup import live_release

METRICS_1_16 = live_release("1.16").metrics
METRICS_1_20 = live_release("1.20").metrics
METRICS_1_36 = live_release("1.36").metrics

RELEASES = {"1.16": METRICS_1_16, "1.20": METRICS_1_20, "1.36": METRICS_1_36}
ELSEWHERE = ("process_",)
"""Collected, not counted."""
LINKED = "of a part of the library that serves which no scheduler uses: it is always 0 there"
CACHED = "there is no cache of transports: each client has its own connections"
ABSENT = {
    "aggregator_discovery_": LINKED,
    "apiserver_audit_": LINKED,
    "apiserver_envelope_encryption_": LINKED,
    "apiserver_storage_": LINKED,
    "apiserver_validation_": LINKED,
    "apiserver_webhooks_": LINKED,
    "cardinality_enforcement_": "there are no lists of allowed labels",
    "rest_client_transport_": CACHED,
    "workqueue_": "what the ConfigMap of clients' authorities says counts as it arrives: there are no work queues",
}
"""How names begin of what a process in Python has not, and why. ``go_*`` is not recorded: it is of Go's runtime."""


def exported(release: str) -> dict[str, dict[str, Any]]:
    """What a real process exported."""
    found: dict[str, dict[str, Any]] = json.loads(_recorded(release.replace(".", "_")))
    return {name: family for name, family in found.items() if not name.startswith(tuple(ABSENT))}


def _recorded(release: str) -> str:
    return Path(__file__).with_name(f"exported_{release}.json").read_text()


def described(family: Family) -> dict[str, Any]:
    """In the form of the recorded ones."""
    out: dict[str, Any] = {"type": family.kind, "help": family.text.rstrip(), "labels": sorted(family.labels)}
    if family.buckets:
        out["buckets"] = list(family.buckets)
    if family.kind == "summary":
        out["quantiles"] = ["0.5", "0.9", "0.99"]
    return out


CASES = [
    pytest.param(RELEASES[release], name, family, id=f"{release}-{name}")
    for release in ("1.16", "1.36")
    for name, family in exported(release).items()
    if not name.startswith(ELSEWHERE)
]


@pytest.mark.parametrize(("rules", "name", "recorded"), CASES)
def test_families_are_those_of_the_real_process(rules: ReleaseMetrics, name: str, recorded: dict[str, Any]) -> None:
    """Type, help with its prefix, labels and buckets."""
    families = {family.name: family for family in rules.families}
    assert described(families[name]) == recorded


def test_nothing_is_left_out_without_need() -> None:
    """Every beginning of what is absent is that of something recorded, and of nothing that is exported here."""
    recorded = {name for release in ("1_16", "1_36") for name in json.loads(_recorded(release))}
    families = {family.name for rules in RELEASES.values() for family in rules.families}
    for head in ABSENT:
        assert any(name.startswith(head) for name in recorded), head
        assert not any(name.startswith(head) for name in families), head


@pytest.mark.parametrize("release", list(RELEASES))
def test_names_are_unique(release: str) -> None:
    """No family is defined twice."""
    names = [family.name for family in RELEASES[release].families]
    assert len(names) == len(set(names))


def test_names_of_the_loop_are_those_of_families() -> None:
    """Everything that the loop counts goes to a metric that the release has."""
    for rules in (METRICS_1_20, METRICS_1_36):
        known = {family.name for family in rules.families}
        values = (getattr(rules.names, name) for name in rules.names.__struct_fields__)
        names = [value for value in values if isinstance(value, str) and value]
        assert {f"scheduler_{name}" for name in names} <= known


def test_1_16_never_exports_two_of_its_metrics() -> None:
    """They are defined, and registered too late."""
    unregistered = {family.name for family in METRICS_1_16.families if not family.registered}
    assert unregistered == {"scheduler_schedule_attempts_total", "scheduler_pending_pods"}
    assert not unregistered & exported("1.16").keys()


def test_bounds() -> None:
    """Exponential ones are multiplied step by step, as upstream's are."""
    assert exponential(0.00001, 10, 3) == (1e-05, 1e-05 * 10, 1e-05 * 10 * 10)
    assert linear(5, 5, 10) == (5, 10, 15, 20, 25, 30, 35, 40, 45, 50)
