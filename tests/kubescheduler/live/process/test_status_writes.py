"""What a status that the scheduler writes sets off, and what becomes of one that comes too late."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web

from tests.support.apiserver import FrontServer
from tests.support.apiserver.storage import StatusError
from tests.support.live.live_cluster import NODES, PODS, Cluster, a_node, a_pod, running


def statuses(api_server: FrontServer, name: str) -> list[tuple[str, int]]:
    """(method, resourceVersion that it says) of each status written of a pod; 0: it says none."""
    asked = [one for one in api_server.asked if one.path == f"/api/v1/namespaces/default/pods/{name}/status"]
    return [(one.method, int(one.body.get("metadata", {}).get("resourceVersion", 0))) for one in asked]


def reads(api_server: FrontServer, name: str) -> int:
    """How often a pod was read by itself."""
    path = f"/api/v1/namespaces/default/pods/{name}"
    return sum((one.method, one.path) == ("GET", path) for one in api_server.asked)


def pass_by(cluster: Cluster) -> None:
    """Has everything that was reported until now taken in, and what is active tried."""
    cluster.make(PODS, a_pod("later"))
    cluster.until(lambda: len(cluster.events("Scheduled")) == 1)


@pytest.mark.parametrize(("release", "attempts"), [("1.16", 2), ("1.20", 2), ("1.36", 1)])
def test_an_own_status_has_the_pod_tried_again(api_server: FrontServer, release: str, attempts: int) -> None:
    """In 1.16 and 1.20, since it changes managedFields. The second attempt changes nothing, and is the last."""
    api_server.storage.create(NODES, "", a_node("n1"))
    with running(api_server, release) as cluster:
        cluster.make(PODS, a_pod("big", cpu="8"))
        cluster.until(lambda: len(cluster.events("FailedScheduling")) == attempts)
        pass_by(cluster)
    assert len(cluster.events("FailedScheduling")) == attempts
    assert len(statuses(api_server, "big")) == 1


@pytest.mark.parametrize(("release", "bindings"), [("1.16", 2), ("1.20", 2), ("1.36", 1)])
def test_a_refused_binding(api_server: FrontServer, release: str, bindings: int) -> None:
    """For the same reason the status that says so has the pod tried again; 1.36 waits for its back-off."""
    api_server.storage.create(NODES, "", a_node("n1"))
    refused: list[str] = []

    async def refuse(request: Any) -> Any:
        if request.path.endswith("/binding") and not refused:
            refused.append(request.path)
            return web.json_response(StatusError(409, "Conflict", "taken").document, status=409)
        return None

    api_server.faults.append(refuse)
    with running(api_server, release) as cluster:
        cluster.make(PODS, a_pod("p"))
        cluster.until(lambda: len(statuses(api_server, "p")) == 1)
        if bindings > 1:
            cluster.until(lambda: cluster.is_bound("p"))
    assert len([one for one in api_server.asked if one.path.endswith("/binding")]) == bindings


@pytest.mark.parametrize(("release", "status"), [("1.16", "True"), ("1.20", "False"), ("1.36", "False")])
def test_a_status_of_a_pod_that_was_bound_meanwhile(api_server: FrontServer, release: str, status: str) -> None:
    """Another one bound it. 1.16 writes the pod as it was tried and is refused; patches are not."""
    api_server.storage.create(NODES, "", a_node("n1"))
    lost: list[str] = []

    async def lose(request: Any) -> Any:
        if request.path.endswith("/binding") and not lost:
            lost.append(request.path)
            api_server.storage.change(PODS, "default", "p", bind)
            return web.json_response(StatusError(409, "Conflict", "taken").document, status=409)
        return None

    api_server.faults.append(lose)
    with running(api_server, release) as cluster:
        cluster.make(PODS, a_pod("p"))
        cluster.until(lambda: len(statuses(api_server, "p")) == 1 and len(cluster.events("FailedScheduling")) == 1)
        pass_by(cluster)
    assert cluster.condition("p")["status"] == status
    assert len(statuses(api_server, "p")) == 1
    assert len([one for one in api_server.asked if one.path.endswith("/p/binding")]) == 1
    assert not any("in the cache" in line for line in cluster.log)


def test_a_preemptor_of_1_16(api_server: FrontServer) -> None:
    """Its condition goes onto the pod as it was tried, its nominated node onto the pod as it is then.

    The nominated node is written once more where the pod, which these writes have tried again, is tried before anybody
    was told that its victim goes: the victim is chosen again then. Upstream does the same.
    """
    api_server.storage.create(NODES, "", a_node("n1"))
    with running(api_server, "1.16") as cluster:
        cluster.make(PODS, a_pod("low", cpu="3"))
        cluster.until(lambda: cluster.is_bound("low"))
        cluster.make(PODS, a_pod("high", cpu="3", priority=1000))
        cluster.until(lambda: cluster.pod("high")["status"].get("nominatedNodeName") == "n1")
        cluster.until(lambda: cluster.pod("low")["metadata"].get("deletionTimestamp") is not None)
    written = statuses(api_server, "high")
    assert len(written) >= 2
    assert {method for method, _ in written} == {"PUT"}
    assert reads(api_server, "high") == len(written) - 1
    assert [version for _, version in written] == sorted({version for _, version in written})


def bind(pod: dict[str, Any]) -> None:
    """As the server does."""
    pod["spec"]["nodeName"] = "n1"
    pod["status"]["conditions"] = [{"type": "PodScheduled", "status": "True"}]
