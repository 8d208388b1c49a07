"""Which API of events is written to, and what is said when the server does not say."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from kubescheduler.live.logs.log_writer import LogWriter
from kubescheduler.live.process.events_lookup import look_up_events
from kubescheduler.live.recording.broadcaster import EventBroadcaster, Surface
from kubescheduler.live.transport.api_client import ApiClient
from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.releases.lookup import live_release
from tests.support.apiserver import FrontServer
from tests.support.live.live_clock import StoodClock

RULES_1_36 = live_release("1.36").events


@pytest.mark.parametrize(
    ("refusals", "said"),
    [
        pytest.param([], [], id="at once"),
        pytest.param([401, 401], ["does not accept our credentials; asking it again: Unauthorized"] * 2, id="later"),
    ],
)
def test_who_is_not_known_asks_again(
    io: IoThread, api_server: FrontServer, api: ApiClient, refusals: list[int], said: list[str]
) -> None:
    """Each refusal is one line; the question is asked until the server accepts the credentials."""
    lines: list[str] = []
    left = list(refusals)

    async def refuse(_: web.Request) -> web.StreamResponse | None:
        return web.json_response({"kind": "Status", "message": "Unauthorized"}, status=left.pop()) if left else None

    api_server.faults.append(refuse)
    log, clock = LogWriter(lines.append), StoodClock()
    surface = Surface("host", lambda _: "")
    events = EventBroadcaster(api, io, RULES_1_36, surface, trouble=lines.append, clock=clock)

    async def look() -> None:
        await look_up_events(api, RULES_1_36, events, log, clock)
        await asyncio.gather(*events.tasks)

    io.wait(look())
    assert [line.partition("the API server ")[2].strip() for line in lines] == said
    assert clock.slept == [1.0, 2.0][: len(refusals)]
    assert [one.path.partition("?")[0] for one in api_server.asked] == ["/apis/events.k8s.io/v1"] * (1 + len(refusals))
