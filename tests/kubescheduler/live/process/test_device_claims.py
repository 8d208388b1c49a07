"""Pods with devices, at an API server: what is written for their claims, and taken back when a pod is not bound."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from aiohttp import web

from tests.support.apiserver import FrontServer
from tests.support.apiserver.storage import Document
from tests.support.live.claims import (
    CLAIMS,
    FINALIZER,
    GPU,
    a_claim,
    extended,
    fails_once,
    prepare_devices,
    remove_claims,
    sharing,
)
from tests.support.live.live_cluster import PODS, Cluster, running

MAPPING = {"containerName": "c", "resourceName": GPU, "requestName": "container-0-request-1"}


@pytest.fixture
def server(api_server: FrontServer) -> Iterator[FrontServer]:
    """A node with two devices, of a class that provides an extended resource."""
    prepare_devices(api_server)
    yield api_server
    remove_claims(api_server)


def written(server: FrontServer, pod: str = "p") -> list[str]:
    """Writes of claims, of the pod's binding, and of what its status says besides conditions and nominations."""
    out = []
    for one in server.asked:
        if "/resourceclaims" in one.path and one.method != "GET":
            tail = one.path.partition("/resourceclaims")[2]
            out.append(f"{one.method} {'status' if tail.endswith('/status') else 'claim'}")
        elif one.path.endswith(f"/pods/{pod}/binding"):
            out.append("bind")
    return out


def claims(server: FrontServer) -> list[Document]:
    return server.storage.all(CLAIMS)


BOUND = ["POST claim", "PUT claim", "PUT status", "bind"]


def test_an_extended_resource(server: FrontServer) -> None:
    """A claim is created for the pod, protected, allocated and reserved; the pod's status names it."""
    with running(server, "1.36") as cluster:
        cluster.make(PODS, extended())
        cluster.until(lambda: cluster.is_bound("p"))
        pod, (claim,) = cluster.pod("p"), claims(server)
    meta = claim["metadata"]
    assert meta["name"].startswith("p-extended-resources-")
    assert meta["generateName"] == "p-extended-resources-"
    assert meta["annotations"] == {"resource.kubernetes.io/extended-resource-claim": "true"}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": pod["metadata"]["uid"], "controller": True}
    assert meta["ownerReferences"] == [owner]
    assert meta["finalizers"] == [FINALIZER]
    assert [entry["name"] for entry in claim["status"]["reservedFor"]] == ["p"]
    assert [entry["device"] for entry in claim["status"]["allocation"]["devices"]["results"]] == ["g"]
    said = {"requestMappings": [MAPPING], "resourceClaimName": meta["name"]}
    assert pod["status"]["extendedResourceClaimStatus"] == said
    assert written(server) == BOUND


AGAIN = ["PUT claim", "DELETE claim", *BOUND]


@pytest.mark.parametrize(
    ("method", "where", "code", "writes"),
    [
        pytest.param("POST", "/binding", 403, [*BOUND, *AGAIN], id="binding refused"),
        pytest.param("POST", "/resourceclaims", 403, ["POST claim", *BOUND], id="creation refused"),
        pytest.param("PUT", "/status", 403, [*BOUND[:3], *AGAIN], id="status refused"),
        pytest.param("PUT", "/status", 409, [*BOUND[:3], "PUT status", "bind"], id="status in conflict"),
    ],
)
def test_a_failure_with_an_extended_resource(
    server: FrontServer, method: str, where: str, code: int, writes: list[str]
) -> None:
    """The claim is deleted when the pod is not bound, and another one is made; a conflict is tried again."""
    fails_once(server, method, lambda path: path.endswith(where), code)
    with running(server, "1.36") as cluster:
        cluster.make(PODS, extended())
        cluster.until(lambda: cluster.is_bound("p"))
        (claim,) = claims(server)
        assert (
            cluster.pod("p")["status"]["extendedResourceClaimStatus"]["resourceClaimName"] == claim["metadata"]["name"]
        )
    assert written(server) == writes


def test_a_shared_claim(server: FrontServer) -> None:
    """The first pod allocates its device, the second is added to those that it is reserved for."""

    def bound(cluster: Cluster, name: str) -> None:
        cluster.make(PODS, sharing(name))
        cluster.until(lambda: cluster.is_bound(name))

    server.storage.create(CLAIMS, "default", a_claim())
    with running(server, "1.36") as cluster:
        bound(cluster, "p")
        bound(cluster, "q")
        (claim,) = claims(server)
    assert [entry["name"] for entry in claim["status"]["reservedFor"]] == ["p", "q"]
    assert claim["metadata"]["finalizers"] == [FINALIZER]
    assert written(server) == ["PUT claim", "PUT status", "bind", "PUT status"]


def test_a_claim_is_taken_back(server: FrontServer) -> None:
    """When binding fails the claim stays allocated and is not reserved any more, until the pod is tried again."""
    seen: list[Document] = []

    async def look(request: web.Request) -> Any:
        if request.method == "PATCH" and request.path.endswith("/c/status"):
            seen.append(await request.json())
        return None

    fails_once(server, "POST", lambda path: path.endswith("/binding"), 403)
    server.faults.append(look)
    made = server.storage.create(CLAIMS, "default", a_claim())
    with running(server, "1.36") as cluster:
        cluster.make(PODS, sharing("p"))
        cluster.until(lambda: cluster.is_bound("p"))
        (claim,) = claims(server)
        uid = cluster.pod("p")["metadata"]["uid"]
    taken = {"reservedFor": [{"$patch": "delete", "uid": uid}]}
    assert seen == [{"metadata": {"uid": made["metadata"]["uid"]}, "status": taken}]
    assert [entry["uid"] for entry in claim["status"]["reservedFor"]] == [uid]
    assert written(server) == ["PUT claim", "PUT status", "bind", "PATCH status", "PUT status", "bind"]


def test_devices_that_are_in_the_way(server: FrontServer) -> None:
    """A claim that nobody uses, with a device of a node that the pod cannot have, loses it, and the pod is bound."""
    here = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}
    result = {"request": "r", "driver": "gpu.example.com", "pool": "n2", "device": "g"}
    allocation = {"devices": {"results": [result]}, "nodeSelector": {"nodeSelectorTerms": [here]}}
    claim = a_claim()
    claim["metadata"]["finalizers"] = [FINALIZER]
    server.storage.create(CLAIMS, "default", {**claim, "status": {"allocation": allocation}})
    messages: list[str] = []

    async def look(request: web.Request) -> Any:
        if request.method == "PATCH" and request.path.endswith("/pods/p/status"):
            messages.extend(one["message"] for one in (await request.json())["status"].get("conditions", ()))
        return None

    server.faults.append(look)
    with running(server, "1.36") as cluster:
        cluster.make(PODS, sharing("p"))
        cluster.until(lambda: cluster.is_bound("p"))
        (claim,) = claims(server)
    assert claim["status"]["allocation"]["devices"]["results"][0]["pool"] == "n1"
    assert [entry["name"] for entry in claim["status"]["reservedFor"]] == ["p"]
    assert written(server) == ["PUT status", "PUT status", "bind"]
    assert messages[0].startswith("0/1 nodes are available: 1 resourceclaim not available on the node.")
    assert "deallocation of ResourceClaim completed" in messages[0]


def test_the_expected_node(server: FrontServer) -> None:
    """It is announced before PreBind, taken back with the condition when binding fails, and announced again."""
    seen: list[Document] = []

    async def look(request: web.Request) -> Any:
        if request.method == "PATCH" and request.path.endswith("/pods/p/status"):
            seen.append((await request.json())["status"])
        return None

    fails_once(server, "POST", lambda path: path.endswith("/binding"), 403)
    server.faults.append(look)
    server.storage.create(CLAIMS, "default", a_claim())
    with running(server, "1.36") as cluster:
        cluster.make(PODS, sharing("p"))
        cluster.until(lambda: cluster.is_bound("p"))
    announced, taken_back, again = seen
    assert announced == again == {"nominatedNodeName": "n1"}
    assert [one["reason"] for one in taken_back.pop("conditions")] == ["SchedulerError"]
    assert taken_back == {"nominatedNodeName": None}
