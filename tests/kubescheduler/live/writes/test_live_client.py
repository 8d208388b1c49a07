"""Bindings against a server that does not answer all of them."""

from __future__ import annotations

import asyncio
import queue
from typing import Any

import msgspec
import pytest
from aiohttp import web

from clusterstate.objects import Pod
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import ApiClient
from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.live.writes.live_client import LiveClient
from kubescheduler.releases.lookup import live_release
from tests.support.apiserver import FrontServer
from tests.support.apiserver.front_server import lost
from tests.support.live.dry_runs import read
from tests.support.live.live_clock import HastyClock
from tests.support.live.served_clusters import PODS, a_pod

SECONDS = 30.0
"""Until a test gives up."""


@pytest.fixture
def client(io: IoThread, api: ApiClient) -> LiveClient:
    """Of 1.36."""
    return LiveClient(api, io, live_release("1.36").writes, trouble=print, clock=HastyClock())


@pytest.fixture
def pod(api_server: FrontServer) -> Pod:
    """A pod that waits."""
    found: Pod = read(api_server.storage.create(PODS, "default", a_pod("p")), "Pod")
    return found


def asked(server: FrontServer) -> list[tuple[str, str]]:
    return [(one.method, one.path.rpartition("/")[2]) for one in server.asked]


def loses(server: FrontServer, *, done: bool, silent: int = 0) -> None:
    """The answer to a binding is lost, and so are those to so many questions after it."""
    left = [silent]

    async def fault(request: web.Request) -> Any:
        if request.path.endswith("/binding"):
            if done:
                await server.served(request)
            return lost(request)
        if left[0]:
            left[0] -= 1
            return lost(request)
        return None

    server.faults.append(fault)


@pytest.mark.parametrize("silent", [0, 3])
def test_an_answer_that_is_lost(api_server: FrontServer, client: LiveClient, pod: Pod, silent: int) -> None:
    """The pod itself says that it was bound, as soon as the server answers again."""
    loses(api_server, done=True, silent=silent)
    client.send_binding(pod, "n1").wait()
    client.bind(pod, "n1")
    assert asked(api_server) == [("POST", "binding"), *[("GET", "p")] * (silent + 1)]


def test_a_request_that_is_lost(api_server: FrontServer, client: LiveClient, pod: Pod) -> None:
    """The pod itself says that it was not."""
    loses(api_server, done=False)
    with pytest.raises(ApiError, match="EOF"):
        client.bind(pod, "n1")
    assert asked(api_server) == [("POST", "binding"), ("GET", "p")]


def test_a_pod_that_is_another_one_by_now(api_server: FrontServer, client: LiveClient, pod: Pod) -> None:
    """A pod of the same name on the same node says nothing about this one."""
    loses(api_server, done=False)
    api_server.storage.delete(PODS, "default", "p")
    api_server.storage.create(PODS, "default", a_pod("p", nodeName="n1"))
    with pytest.raises(ApiError, match="EOF"):
        client.bind(pod, "n1")


def test_an_answer_that_is_no(api_server: FrontServer, client: LiveClient, pod: Pod) -> None:
    """It is believed, without another question."""
    api_server.storage.delete(PODS, "default", "p")
    with pytest.raises(ApiError, match='pods "p" not found'):
        client.bind(pod, "n1")
    assert asked(api_server) == [("POST", "binding")]


def test_a_status_that_cannot_be_made_is_reported(io: IoThread, api: ApiClient, pod: Pod) -> None:
    """Nobody waits for it, so nobody else would hear of it."""

    def raising(*_: object) -> None:
        raise LookupError("no such member")

    troubles: queue.Queue[str] = queue.Queue()
    rules = msgspec.structs.replace(live_release("1.36").writes, status=raising)
    LiveClient(api, io, rules, trouble=troubles.put).write_status_later(pod, {"nominatedNodeName": "n1"})
    assert "LookupError: no such member" in troubles.get(timeout=SECONDS)


def test_statuses_that_pile_up(io: IoThread, api_server: FrontServer, client: LiveClient, pod: Pod) -> None:
    """However often a status is asked for while the server does not answer, it is written once."""
    answers = io.wait(an_event())

    async def hold(request: web.Request) -> None:
        if request.method == "PATCH":
            await answers.wait()

    api_server.faults.append(hold)
    for _ in range(5):
        client.write_status_later(pod, {"nominatedNodeName": "n1"})
    io.call(answers.set)
    client.patch_pod_status(
        pod, {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}
    )
    bodies = [one.body["status"] for one in api_server.asked if one.method == "PATCH"]
    assert [sorted(body)[-1] for body in bodies] == ["nominatedNodeName", "conditions"]


async def an_event() -> asyncio.Event:
    """For the loop that this runs on."""
    return asyncio.Event()
