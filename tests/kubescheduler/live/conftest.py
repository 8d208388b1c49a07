"""An API server and a client of it, for tests of the live scheduler."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kubescheduler.live.transport.api_client import ApiClient, ClientOptions
from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.live.transport.server_access import ServerAccess
from kubescheduler.live.transport.token_bucket import Limits
from tests.support.apiserver import ApiServer
from tests.support.apiserver.real_server import RealServer, assets, real_server


@pytest.fixture
def io() -> Iterator[IoThread]:
    """The thread of the server, and of the client."""
    with IoThread() as thread:
        yield thread


@pytest.fixture
def server(io: IoThread) -> Iterator[ApiServer]:
    """An empty API server."""
    with ApiServer(io) as server:
        yield server


@pytest.fixture
def api(io: IoThread, server: ApiServer) -> Iterator[ApiClient]:
    """A client without limits."""
    client = ApiClient(ServerAccess(server.url), ClientOptions(Limits(0, 0)))
    yield client
    io.wait(client.close())


@pytest.fixture(scope="session")
def real_apiserver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """A real API server, where KUBEBUILDER_ASSETS names a folder with kube-apiserver and etcd."""
    binaries = assets()
    if binaries is None:
        pytest.skip("KUBEBUILDER_ASSETS names no folder with kube-apiserver and etcd")
    with real_server(binaries, tmp_path_factory.mktemp("apiserver")) as server:
        yield server
