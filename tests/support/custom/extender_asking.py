"""A pod, three nodes, and callers of the extender process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import attrs
import pytest

from clusterstate.objects import Node, ObjectMeta, Pod
from kubescheduler.extender.answers import ExtenderError
from kubescheduler.extender.client import HTTPExtender
from kubescheduler.extender.config import ExtenderConfig
from kubescheduler.extender.wire import WireFormat
from kubescheduler.releases.lookup import release_named
from tests.support.custom.extender_process import extender

WIRE_1_16 = release_named("1.16").wire

MS = 1_000_000


def node(name: str) -> Node:
    """A node with a manifest."""
    return Node(ObjectMeta(name), manifest={"kind": "Node", "metadata": {"name": name, "labels": {"zone": "a"}}})


NODES = [node("n0"), node("n1"), node("n2")]
NAMES = ("n0", "n1", "n2")
POD = Pod(
    ObjectMeta("p", "ns", "uid-1"),
    manifest={
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "ns"},
        "spec": {"hostNetwork": True, "hostPID": False, "initContainers": [{"name": "i"}], "containers": []},
    },
)


@attrs.define
class Asking:
    """Makes callers of the extender process, by behaviour."""

    address: str
    made: list[HTTPExtender] = attrs.Factory(list)

    def __call__(self, behaviour: str, wire: WireFormat = WIRE_1_16, **settings: Any) -> HTTPExtender:
        verbs = {"filter_verb": "filter", "prioritize_verb": "prioritize", "bind_verb": "bind"}
        config = ExtenderConfig(f"{self.address}/{behaviour}", **(verbs | settings))
        self.made.append(HTTPExtender(config, wire))
        return self.made[-1]

    def url(self, rest: str) -> str:
        return f"{self.address}/{rest}"


@contextmanager
def asking_process() -> Iterator[Asking]:
    """Starts the process; closes what has been made at the end."""
    with extender() as address:
        asking = Asking(address)
        try:
            yield asking
        finally:
            for made in asking.made:
                made.close()


def error_of(call: Any, *args: Any) -> str:
    """The text of the extender error that the call raises."""
    with pytest.raises(ExtenderError) as caught:
        call(*args)
    return str(caught.value)
