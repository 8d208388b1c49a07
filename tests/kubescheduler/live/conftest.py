"""An API server and a client of it, for tests of the live scheduler."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kubescheduler.live.transport.api_client import ApiClient, ClientOptions, Limits
from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.live.transport.server_access import ServerAccess
from tests.support.apiserver import ApiServer, FrontServer


@pytest.fixture
def server(io: IoThread) -> Iterator[ApiServer]:
    """An empty API server in this process, for what a real one cannot be made to do."""
    with ApiServer(io) as server:
        yield server


@pytest.fixture
def api(io: IoThread, api_server: FrontServer) -> Iterator[ApiClient]:
    """A client without limits."""
    client = ApiClient(ServerAccess(api_server.url), ClientOptions(Limits(0, 0)))
    yield client
    io.wait(client.close())
