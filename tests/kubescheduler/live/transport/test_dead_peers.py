"""Requests and streams whose server is gone without a word end, by the system's own questions."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from kubescheduler.live.transport.api_client import ApiClient, ClientOptions
from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.live.transport.server_access import ServerAccess
from kubescheduler.live.transport.token_bucket import Limits
from tests.support.apiserver import ApiServer

TCP = Path("/proc/net/tcp")
KEEP_ALIVE, HERTZ = "02", 100
"""The timer of questions whether somebody is there; its ticks a second."""

pytestmark = pytest.mark.skipif(sys.platform != "linux" or not TCP.exists(), reason="reads the system's timers")


def timers(url: str) -> Mapping[str, tuple[str, float]]:
    """Port of each client of a server → (its timer, seconds until that)."""
    port = f":{int(url.rpartition(':')[2]):04X}"
    found = {}
    for line in TCP.read_text().splitlines()[1:]:
        _, local, remote, state, _, timer, *_ = line.split()
        if remote.endswith(port) and state == "01":
            kind, _, ticks = timer.partition(":")
            found[local] = kind, int(ticks, 16) / HERTZ
    return found


def test_the_system_asks_whether_the_server_is_there(io: IoThread, server: ApiServer) -> None:
    """On the connections of requests, and on those of streams, soon after the server was last heard."""
    client = ApiClient(ServerAccess(server.url), ClientOptions(Limits(0, 0)))

    async def under_way() -> Mapping[str, tuple[str, float]]:
        await client.request("GET", "/api/v1/pods")
        async with client.watch("/api/v1/pods", [("watch", "true")]):
            return timers(server.url)

    found = io.wait(under_way())
    io.wait(client.close())
    assert len(found) == 2
    assert [(kind, seconds <= 30.0) for kind, seconds in found.values()] == [(KEEP_ALIVE, True)] * 2
