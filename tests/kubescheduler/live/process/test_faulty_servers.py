"""Schedulers beside servers, networks and clocks that fail: every pod is bound once, where it fits.

Beside a real server there are 1,000 nodes and 5,000 pods; beside that in this process a few. Each node has room for
five pods, so that every place is taken in the end, and a place too few or too many is seen. ``FAULTS_SEED`` is the
seed of what goes wrong, ``FAULTS_NODES`` another number of nodes; ``-s`` shows what happened, in figures.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kubescheduler.live.transport.io_thread import IoThread
from tests.support.apiserver import FrontServer
from tests.support.apiserver.forwarding_server import ForwardingServer
from tests.support.faults.fault_trial import Trial
from tests.support.faults.history import PodHistory

REAL, SMALL, IN_PROCESS = 1000, 200, 20
"""Nodes on a real server; there, with releases of before; and in this process."""
OLD = pytest.mark.parametrize("release", ["1.16", "1.20"])


@pytest.fixture
def trial(request: pytest.FixtureRequest, io: IoThread, api_server: FrontServer, tmp_path: Path) -> Iterator[Trial]:
    """An empty server; its size is the release's."""
    real = isinstance(api_server, ForwardingServer)
    url = api_server.real.url if isinstance(api_server, ForwardingServer) else api_server.url
    old = "release" in request.fixturenames
    nodes = int(os.environ.get("FAULTS_NODES", (SMALL if old else REAL) if real else IN_PROCESS))
    history = PodHistory(io, url, "admin-token")
    with history.running():
        yield Trial(io, api_server, history, tmp_path, nodes, int(os.environ.get("FAULTS_SEED", "1")))


def test_the_server_is_killed_and_comes_back(trial: Trial) -> None:
    """What was not bound until then is bound after it."""
    trial.fill()
    with trial.schedulers("1.36"):
        trial.some(0.3)
        trial.server.restart()
        trial.check(elects=False)


def test_watches_are_cut(trial: Trial) -> None:
    """Nothing is missed, nothing is seen twice."""
    with trial.schedulers("1.36"), trial.cut_watches():
        trial.fill()
        trial.check(elects=False)


def test_writes_fail(trial: Trial) -> None:
    """Refused bindings are tried again; those whose answer was lost are not."""
    trial.fail_writes()
    trial.fill()
    with trial.schedulers("1.36"):
        trial.check(elects=False)


def test_pods_are_deleted_while_they_are_bound(trial: Trial) -> None:
    """Their room is free again, and nobody waits for them."""
    trial.delete_pods(trial.pods // 50)
    trial.fill()
    with trial.schedulers("1.36"):
        trial.check(elects=False)
    assert len(trial.deleted) >= trial.pods // 100


def test_chosen_nodes_are_removed_before_the_binding(trial: Trial) -> None:
    """Later pods go elsewhere; those on their way there are the server's to clean up."""
    trial.remove_nodes(trial.nodes // 20)
    trial.fill()
    with trial.schedulers("1.36"):
        trial.check(elects=False)
    assert trial.removed


@pytest.mark.parametrize("ahead", [(30.0, 0.0), (0.0, 30.0)], ids=["ahead", "behind"])
def test_the_clock_of_the_leader_is_off(trial: Trial, ahead: tuple[float, float]) -> None:
    """One leads at a time all the same, and the other follows it when it is killed."""
    trial.fill()
    with ExitStack() as stack:
        trial.join(stack, "1.36", ahead[0])
        trial.some(0.2)
        trial.join(stack, "1.36", ahead[1])
        trial.some(0.5)
        trial.kill_leader()
        trial.check()


def everything(trial: Trial, release: str) -> None:
    """All of it at once, with the clock of one replica of three off."""
    trial.fail_writes()
    trial.delete_pods(trial.pods // 50)
    trial.remove_nodes(trial.nodes // 20)
    trial.fill()
    with trial.cut_watches(), trial.schedulers(release, 30.0, 0.0, 0.0):
        trial.some(0.1)
        trial.kill_leader()
        trial.some(0.3)
        trial.server.restart()
        trial.some(0.6)
        trial.kill_leader()
        trial.check()
    assert sum(one.statuses.count(-9) for one in trial.replicas) == 2


def test_everything_at_once(trial: Trial) -> None:
    """1.36."""
    everything(trial, "1.36")


@OLD
def test_everything_at_once_with_releases_of_before(trial: Trial, release: str) -> None:
    """A smaller cluster, with locks and events of their times."""
    everything(trial, release)
