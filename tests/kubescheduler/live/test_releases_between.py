"""Releases whose process was not recorded run as the nearest one that was, on servers of their own time."""

from __future__ import annotations

import pytest

from kubescheduler.live.metrics.process_metrics import STAGES, MetricsSettings, ProcessMetrics
from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.releases.lookup import RELEASES, live_release
from tests.support.apiserver import ApiServer
from tests.support.live.live_cluster import NODES, PODS, a_node, a_pod, running

OLD = ("v1", "apps/v1", "storage.k8s.io/v1", "policy/v1beta1", "events.k8s.io/v1beta1", "coordination.k8s.io/v1")
NEW = ("v1", "apps/v1", "storage.k8s.io/v1", "policy/v1", "events.k8s.io/v1", "coordination.k8s.io/v1")


@pytest.mark.parametrize(
    ("release", "groups", "text"),
    [
        ("1.13", OLD, "0/1 nodes are available: 1 Insufficient cpu."),
        ("1.19", OLD, "0/1 nodes are available: 1 Insufficient cpu."),
        ("1.24", NEW, "0/1 nodes are available: 1 Insufficient cpu. "
         "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."),
        ("1.28", NEW, "0/1 nodes are available: 1 Insufficient cpu. "
         "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."),
    ],
)  # fmt: skip
def test_a_run(io: IoThread, release: str, groups: tuple[str, ...], text: str) -> None:
    """It binds one pod, and says in the release's words why another one fits nowhere."""
    with ApiServer(io, groups=groups) as server, running(server, release) as cluster:
        cluster.make(NODES, a_node("n"))
        cluster.make(PODS, a_pod("small"), a_pod("large", cpu="64"))
        cluster.until(lambda: cluster.is_bound("small") and bool(cluster.condition("large")))
        assert cluster.condition("large")["message"] == text


def test_what_metrics_say_of_a_release() -> None:
    """Every version can be said by its parts, and every stage of a gate has its name."""
    for record in RELEASES.values():
        assert {gate.stage for gate in record.gates.gates.values()} <= STAGES.keys()
        if record.live is not None:
            ProcessMetrics(live_release(record.name).metrics, MetricsSettings(), print)
