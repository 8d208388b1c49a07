"""Bindings against a server that does not answer all of them."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Coroutine, Mapping
from typing import Any

import attrs
import msgspec
import pytest
from aiohttp import web

from clusterstate.objects import Pod
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import ApiClient
from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.live.writes import LiveClient, StatusTurns
from kubescheduler.releases.lookup import live_release
from tests.support.apiserver import FrontServer
from tests.support.apiserver.front_server import lost
from tests.support.live.dry_runs import read
from tests.support.live.live_cluster import PODS, HastyClock, a_pod
from tests.support.processes import SECONDS


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


@pytest.mark.parametrize(
    ("error", "said"),
    [
        pytest.param(LookupError("no such member"), '"LookupError: no such member"', id="unforeseen"),
        pytest.param(ApiError('pods "p" not found', 404), r'"pods \"p\" not found"', id="refused, with quotes in it"),
    ],
)
def test_a_status_that_cannot_be_written_is_reported(
    io: IoThread, api: ApiClient, pod: Pod, error: Exception, said: str
) -> None:
    """Nobody waits for it, so nobody else would hear of it."""

    def raising(*_: object) -> None:
        raise error

    troubles: queue.Queue[str] = queue.Queue()
    rules = msgspec.structs.replace(live_release("1.36").writes, status=raising)
    LiveClient(api, io, rules, trouble=troubles.put).write_status_later(pod, {"nominatedNodeName": "n1"})
    assert troubles.get(timeout=SECONDS) == f'"Error updating pod" err={said} pod="default/p"'


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


def a(message: str) -> dict[str, Any]:
    """A condition."""
    return {"conditions": [{"type": "PodScheduled", "message": message}]}


def to(node: str) -> dict[str, Any]:
    """A nomination."""
    return {"nominatedNodeName": node}


@attrs.define(eq=False)
class HeldWrites:
    """Writes that take until they are let go."""

    go: asyncio.Event = attrs.field(factory=asyncio.Event)
    begun: list[Mapping[str, Any]] = attrs.field(factory=list)
    fails: int = 0
    """How many of the first ones fail."""

    async def write(self, _: Pod, status: Mapping[str, Any]) -> None:
        self.begun.append(status)
        await self.go.wait()
        if len(self.begun) <= self.fails:
            raise ConnectionError("no")


def the_pod(name: str = "p") -> Pod:
    document = a_pod(name)
    document["metadata"]["uid"] = name
    found: Pod = read(document, "Pod")
    return found


def written(asked: list[Mapping[str, Any]], fails: int = 0) -> tuple[list[Any], list[Any]]:
    """(what is written of these, what each comes to), when all are asked for while the first is under way."""

    async def run() -> tuple[list[Any], list[Any]]:
        writes = HeldWrites(fails=fails)
        turns = StatusTurns(writes.write)
        works: list[Coroutine[Any, Any, None]] = [turns.take(the_pod(), status) for status in asked]
        tasks = [asyncio.ensure_future(work) for work in works]
        await asyncio.sleep(0)
        writes.go.set()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert len(turns) == 0
        return writes.begun, outcomes

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param([a("x")], [a("x")], id="one"),
        pytest.param([a("x"), a("y")], [a("x"), a("y")], id="another"),
        pytest.param([a("x"), a("x"), a("x")], [a("x")], id="the same again"),
        pytest.param([a("x"), a("y"), a("z")], [a("x"), a("z")], id="one that waits is replaced"),
        pytest.param([a("x"), a("y"), a("x")], [a("x")], id="and says then what is written"),
        pytest.param(
            [a("x"), to("n"), to("m"), a("y")], [a("x"), to("m"), a("y")], id="other members keep their place"
        ),
        pytest.param([a("x"), to("n"), a("x")], [a("x"), to("n"), a("x")], id="not the last that was written"),
        pytest.param([a("x"), to("n"), {**a("x"), **to("")}], [a("x"), to("n"), {**a("x"), **to("")}], id="both"),
    ],
)
def test_what_is_written(asked: list[Mapping[str, Any]], expected: list[Mapping[str, Any]]) -> None:
    """Everything that was asked for is written, or what came later in its stead."""
    assert written(asked) == (expected, [None] * len(asked))


def test_a_write_that_fails_is_not_written() -> None:
    """The same status is written by who comes next."""
    begun, outcomes = written([a("x"), a("x")], fails=1)
    assert begun == [a("x"), a("x")]
    assert [type(outcome) for outcome in outcomes] == [ConnectionError, type(None)]


def test_who_replaced_a_write_hears_of_its_failure() -> None:
    """As who asked for it first."""
    _, outcomes = written([a("x"), a("y"), a("z")], fails=2)
    assert [type(outcome) for outcome in outcomes] == [ConnectionError] * 3


def test_pods_do_not_wait_for_one_another() -> None:
    """Writes of different pods are under way at the same time."""

    async def run() -> int:
        writes = HeldWrites()
        turns = StatusTurns(writes.write)
        tasks = [asyncio.ensure_future(turns.take(the_pod(name), a("x"))) for name in "abc"]
        await asyncio.sleep(0)
        under_way = len(writes.begun)
        writes.go.set()
        await asyncio.gather(*tasks)
        return under_way

    assert asyncio.run(run()) == 3


def test_a_write_that_is_given_up_leaves_nothing() -> None:
    """Neither while it waits nor while it is under way."""

    async def run() -> tuple[int, list[Any]]:
        writes = HeldWrites()
        turns = StatusTurns(writes.write)
        tasks = [asyncio.ensure_future(turns.take(the_pod(), status)) for status in (a("x"), to("n"), a("y"))]
        await asyncio.sleep(0)
        for task in tasks[:2]:
            task.cancel()
        writes.go.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        return len(turns), writes.begun

    assert asyncio.run(run()) == (0, [a("x"), a("y")])
