"""A process that takes over from another leader."""

from __future__ import annotations

from typing import Any

import pytest

from kubescheduler.framework.contract.go_durations import SECOND
from kubescheduler.live.informers.stored_objects import StoredObjects
from tests.support.apiserver import FrontServer
from tests.support.apiserver.front_server import hanging_watches
from tests.support.live.live_cluster import LEASES, NODES, PODS, a_node, a_pod, running

QUICK: dict[str, Any] = {"lease_duration_ns": 2 * SECOND, "renew_deadline_ns": SECOND, "retry_period_ns": SECOND // 4}


@pytest.mark.parametrize("release", ["1.20", "1.36"])
def test_what_the_leader_before_bound_is_known_first(api_server: FrontServer, release: str) -> None:
    """A pod that nobody told of holds the only place: the new leader, whose watch hangs, does not give it away."""
    held = {"holderIdentity": "other", "leaseDurationSeconds": 2, "leaseTransitions": 1}
    lease = {"metadata": {"name": "kube-scheduler", "namespace": "kube-system"}, "spec": held}
    api_server.storage.create(LEASES, "kube-system", lease)
    with running(api_server, release, leader_elect=True, **QUICK) as cluster:
        cluster.make(NODES, a_node("n", cpu="1"))
        cluster.make(PODS, a_pod("waits", cpu="800m"))
        cluster.until(lambda: bool(watches(api_server)))
        cluster.until(lambda: "waits" in known(cluster.informers.stores["Pod"]))
        api_server.faults.append(hanging_watches(PODS))
        asked = len(watches(api_server))
        api_server.cut()
        cluster.until(lambda: len(watches(api_server)) > asked)
        cluster.make(PODS, a_pod("there", cpu="800m", nodeName="n"))
        cluster.until(lambda: bool(cluster.condition("waits")))
        assert cluster.condition("waits").get("reason") == "Unschedulable"
        assert not cluster.pod("waits")["spec"].get("nodeName")
        api_server.faults.clear()


def known(pods: StoredObjects) -> set[str]:
    return {stored.obj.metadata.name for stored in pods}


def watches(server: FrontServer) -> list[str]:
    return [one.path for one in list(server.asked) if one.path.startswith(f"{PODS}?") and "watch=true" in one.path]
