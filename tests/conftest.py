"""Signals, and what many tests talk to: API servers and an extender."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kubescheduler.live.transport.io_thread import IoThread
    from tests.support.apiserver.front_server import FrontServer
    from tests.support.apiserver.real_server import RealServer
    from tests.support.custom.extender_asking import Asking

pytest_plugins = ["pytester", "tests.support.laws"]

gc.set_threshold(20_000)  # hundreds of modules and thousands of tests would be gone through again and again

# A shell that starts the tests in the background ignores SIGINT, and so would every process that they interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: tests wait a third of the time, for clocks, servers and browsers."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture
def io() -> Iterator[IoThread]:
    """A thread for the requests of a test, and for the servers in this process."""
    from kubescheduler.live.transport.io_thread import IoThread

    with IoThread() as thread:
        yield thread


@pytest.fixture(scope="session")
def real_apiserver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """A real API server, where KUBEBUILDER_ASSETS names a folder with kube-apiserver and etcd."""
    from tests.support.apiserver.real_server import assets, real_server

    binaries = assets()
    if binaries is None:
        pytest.skip("KUBEBUILDER_ASSETS names no folder with kube-apiserver and etcd")
    with real_server(binaries, tmp_path_factory.mktemp("apiserver")) as server:
        yield server


@pytest.fixture(params=["in process", "real"])
def api_server(request: pytest.FixtureRequest, io: IoThread) -> Iterator[FrontServer]:
    """An empty API server: the one in this process, then a real one, where there is one."""
    from tests.support.apiserver import ApiServer
    from tests.support.apiserver.forwarding_server import ForwardingServer

    if request.param == "in process":
        with ApiServer(io) as server:
            yield server
        return
    real: RealServer = request.getfixturevalue("real_apiserver")
    real.revive()
    with ForwardingServer(io, real) as front:
        front.storage.clear()
        yield front
    front.storage.clear()


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """Of the extender in a process of its own, which answers as the path says."""
    from tests.support.custom.extender_process import extender

    with extender() as found:
        yield found


@pytest.fixture(scope="module")
def asking(address: str) -> Iterator[Asking]:
    """Makes callers of that extender, which are closed at the end."""
    from tests.support.custom.extender_asking import Asking

    asking = Asking(address)
    yield asking
    for made in asking.made:
        made.close()
