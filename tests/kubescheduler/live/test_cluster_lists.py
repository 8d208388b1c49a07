"""Lists of a whole cluster at one version."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from aiohttp import web

from kubescheduler.live.cluster_lists import list_cluster
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import ApiClient
from kubescheduler.live.transport.io_thread import IoThread
from tests.support.apiserver import FrontServer
from tests.support.live.live_cluster import NODES, PODS, a_node, a_pod


def unheard(done: int, total: int) -> None:
    """Nobody is told of progress."""


def refuse(api_server: FrontServer, code: int, **where: str) -> None:
    """Has the server refuse lists with this in their address."""

    async def answer(request: web.Request) -> web.Response | None:
        if all(request.query.get(key) == value for key, value in where.items() if key != "path") and (
            request.path == where.get("path", request.path)
        ):
            return web.json_response({"kind": "Status", "message": f"it is {code}", "code": code}, status=code)
        return None

    api_server.faults.append(answer)


@pytest.fixture
def cluster(api_server: FrontServer) -> FrontServer:
    """A server with 3 nodes and 1,201 pods: three pages."""
    for name in "abc":
        api_server.storage.create(NODES, "", a_node(name))
    for number in range(1201):
        api_server.storage.create(PODS, "default", a_pod(f"p{number:04}"))
    return api_server


def test_everything_at_one_version(io: IoThread, cluster: FrontServer, api: ApiClient) -> None:
    """All pages of all kinds are read, each asked for at the version of the nodes, with GET alone."""
    news: list[tuple[int, int]] = []
    before = cluster.storage.version
    found = io.wait(list_cluster(api, lambda done, total: news.append((done, total))))
    assert {kind: found.counts[kind] for kind in ("Node", "Pod")} == {"Node": 3, "Pod": 1201}
    assert before <= int(found.version) <= cluster.storage.version
    assert found.notes() == []
    assert news[-1] == (found.counts.total(),) * 2
    assert {one.method for one in cluster.asked} == {"GET"}
    exact = [one.path for one in cluster.asked if "resourceVersionMatch=Exact" in one.path]
    assert len(exact) == len(found.kinds) - 1
    document = msgspec.json.decode(found.document())
    assert document["metadata"] == {"resourceVersion": found.version}
    assert {(item["apiVersion"], item["kind"]) for item in document["items"]} >= {("v1", "Node"), ("v1", "Pod")}
    assert found.counts.total() == len(document["items"])


def test_a_version_that_is_gone(io: IoThread, cluster: FrontServer, api: ApiClient) -> None:
    """A server that no longer has the version is asked for what it has, and the versions are said."""
    refuse(cluster, 410, path=PODS, resourceVersionMatch="Exact")

    async def meanwhile(request: web.Request) -> None:
        if request.path == PODS:
            cluster.storage.create(NODES, "", a_node(f"late-{cluster.storage.version}"))

    cluster.faults.append(meanwhile)
    found = io.wait(list_cluster(api, unheard))
    assert found.counts["Pod"] == 1201
    assert found.version == ""
    (note,) = found.notes()
    versions = re.match(r"the server did not list everything at one resourceVersion: Node (\d+), Pod (\d+)", note)
    assert versions
    assert int(versions[1]) < int(versions[2])


def test_what_may_not_be_listed(io: IoThread, cluster: FrontServer, api: ApiClient) -> None:
    """A kind that is forbidden is left out with a note; one that the server does not have without."""
    refuse(cluster, 403, path="/api/v1/services")
    refuse(cluster, 404, path="/apis/resource.k8s.io/v1/resourceslices")
    found = io.wait(list_cluster(api, unheard))
    assert found.notes() == ["services are left out: it is 403"]
    assert any("/apis/resource.k8s.io/v1beta2/resourceslices" in one.path for one in cluster.asked)


@pytest.mark.parametrize(("path", "code"), [(PODS, 403), (NODES, 403), (NODES, 500), ("/api/v1/services", 500)])
def test_what_must_be_listed(io: IoThread, cluster: FrontServer, api: ApiClient, path: str, code: int) -> None:
    """Without nodes and pods there is nothing; and an error that is no refusal is one."""
    refuse(cluster, code, path=path)
    with pytest.raises(ApiError, match=f"it is {code}"):
        io.wait(list_cluster(api, unheard))


def test_a_list_that_is_no_list(io: IoThread, cluster: FrontServer, api: ApiClient) -> None:
    """An answer that cannot be read is an error of the API."""

    async def garble(request: web.Request) -> Any:
        return web.Response(text="<html>") if request.path == PODS else None

    cluster.faults.append(garble)
    with pytest.raises(ApiError, match="the server's list of pods is not readable"):
        io.wait(list_cluster(api, unheard))
