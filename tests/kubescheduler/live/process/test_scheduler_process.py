"""The whole process against an API server."""

from __future__ import annotations

from typing import Any

import pytest

from kubescheduler.releases.lookup import live_releases
from tests.support.apiserver import FrontServer
from tests.support.live.live_cluster import LEASES, NODES, PODS, a_node, a_pod, running

RELEASES = pytest.mark.parametrize("release", list(live_releases()))


@RELEASES
def test_pods_are_bound(api_server: FrontServer, release: str) -> None:
    """Pods that were there before and pods that come are bound, and an event says so."""
    api_server.storage.create(NODES, "", a_node("n1"))
    api_server.storage.create(PODS, "default", a_pod("before"))
    with running(api_server, release) as cluster:
        cluster.until(lambda: cluster.is_bound("before"))
        cluster.make(PODS, a_pod("after"), a_pod("foreign", schedulerName="another"))
        cluster.until(lambda: cluster.is_bound("after") and len(cluster.events("Scheduled")) == 2)
        assert not cluster.is_bound("foreign")
    bindings = [one.body for one in api_server.asked if one.path.endswith("/binding")]
    assert [body["target"] for body in bindings] == [{"kind": "Node", "name": "n1"}] * 2
    assert cluster.faults() == []


@RELEASES
def test_a_pod_that_fits_nowhere(api_server: FrontServer, release: str) -> None:
    """Its condition and its event say why; a node that has room for it brings it there."""
    api_server.storage.create(NODES, "", a_node("n1"))
    with running(api_server, release) as cluster:
        cluster.make(PODS, a_pod("big", cpu="8"))
        cluster.until(lambda: cluster.condition("big").get("reason") == "Unschedulable")
        assert cluster.condition("big")["message"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
        cluster.until(lambda: len(cluster.events("FailedScheduling")) >= 1)
        cluster.make(NODES, a_node("n2", cpu="16"))
        cluster.until(lambda: cluster.is_bound("big"))
    assert cluster.pod("big")["spec"]["nodeName"] == "n2"


@RELEASES
def test_preemption(api_server: FrontServer, release: str) -> None:
    """A pod of high priority nominates itself and evicts a lower one; once that is gone it takes its place."""
    api_server.storage.create(NODES, "", a_node("n1"))
    with running(api_server, release) as cluster:
        cluster.make(PODS, a_pod("low", cpu="3"))
        cluster.until(lambda: cluster.is_bound("low"))
        cluster.make(PODS, a_pod("high", cpu="3", priority=1000))
        cluster.until(lambda: cluster.pod("low")["metadata"].get("deletionTimestamp") is not None)
        cluster.until(lambda: cluster.pod("high")["status"].get("nominatedNodeName") == "n1")
        cluster.until(lambda: len(cluster.events("Preempted")) == 1)
        cluster.server.storage.delete(PODS, "default", "low")
        cluster.until(lambda: cluster.is_bound("high"))


@pytest.mark.parametrize(
    ("release", "lock", "path"),
    [
        pytest.param("1.16", "endpoints", "/api/v1/endpoints", id="1.16 endpoints"),
        pytest.param("1.20", "leases", LEASES, id="1.20 leases"),
        pytest.param("1.36", "leases", LEASES, id="1.36 leases"),
    ],
)
def test_leadership(api_server: FrontServer, release: str, lock: str, path: str) -> None:
    """It leads before it binds, and gives the lock back when it is stopped."""
    api_server.storage.create(NODES, "", a_node("n1"))
    api_server.storage.create(PODS, "default", a_pod("p"))
    with running(api_server, release, leader_elect=True, resource_lock=lock) as cluster:
        cluster.until(lambda: cluster.is_bound("p"))
        assert api_server.storage.get(path, "kube-system", "kube-scheduler")
    record = api_server.storage.get(path, "kube-system", "kube-scheduler")
    holder = record["spec"]["holderIdentity"] if lock == "leases" else record["metadata"]["annotations"].popitem()[1]
    assert holder == "" if lock == "leases" else '"holderIdentity":""' in holder


@RELEASES
def test_a_lost_answer(api_server: FrontServer, release: str) -> None:
    """A binding that the server did but did not confirm is believed when the pod shows it."""
    api_server.storage.create(NODES, "", a_node("n1"))
    lost: list[str] = []

    async def lose(request: Any) -> None:
        if request.path.endswith("/binding") and not lost:
            lost.append(request.path)
            name = request.path.split("/")[-2]
            api_server.storage.change(PODS, "default", name, lambda pod: pod["spec"].update(nodeName="n1"))
            request.transport.abort()

    api_server.faults.append(lose)
    with running(api_server, release) as cluster:
        cluster.make(PODS, a_pod("p"))
        cluster.until(lambda: len(cluster.events("Scheduled")) == 1)
        cluster.make(PODS, a_pod("q"))
        cluster.until(lambda: cluster.is_bound("q"))
    assert cluster.events("FailedScheduling") == []
    assert len([one for one in api_server.asked if one.path.endswith("/p/binding")]) == 1
