"""DefaultBinder."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from clusterstate.errors import SchedulingError
from clusterstate.objects import Pod
from kubescheduler.core.status import Code
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.plugins.queue_and_bind import default_binder
from tests.support.build import make_pod
from tests.support.custom.extender_asking import HANDLE


class Client:
    """Notes what it is told, or refuses it."""

    def __init__(self, refusal: str = "") -> None:
        self.bound: list[tuple[str, str]] = []
        self._refusal = refusal

    def bind(self, pod: Pod, node_name: str) -> None:
        if self._refusal:
            raise SchedulingError(self._refusal)
        self.bound.append((pod.key, node_name))


def handle(client: Client) -> Any:
    return SimpleNamespace(client=client)


def test_it_binds_through_the_client() -> None:
    """Success is no status."""
    client = Client()
    assert default_binder(None, handle(client)).bind(CycleState(), make_pod("p"), "n1") is None
    assert client.bound == [("default/p", "n1")]


def test_without_a_client_all_is_well() -> None:
    """There is nobody to tell."""
    assert default_binder(None, HANDLE).bind(CycleState(), make_pod(), "n1") is None


def test_a_refusal_is_an_error() -> None:
    """With the API's text."""
    status = default_binder(None, handle(Client("no such node"))).bind(CycleState(), make_pod(), "n1")
    assert status is not None
    assert (status.code, status.message) == (Code.Error, "no such node")
