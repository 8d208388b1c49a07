"""A pod, three nodes, and callers of the extender process."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import attrs
import numpy as np
import pytest

from clusterstate.objects import Node, ObjectMeta, Pod
from clusterstate.snapshot import Snapshot
from kubescheduler.extender.answers import ExtenderError
from kubescheduler.extender.client import HTTPExtender
from kubescheduler.extender.config import ExtenderConfig
from kubescheduler.extender.wire import WireFormat
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.releases.lookup import release_named
from predicates.types import FitPredicate, Verdict
from priorities.types import PriorityConfig
from tests.support.build import Cluster, names_where

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


def error_of(call: Any, *args: Any) -> str:
    """The text of the extender error that the call raises."""
    with pytest.raises(ExtenderError) as caught:
        call(*args)
    return str(caught.value)


HANDLE: Any = SimpleNamespace(feature_gates={}, client=None)
"""A handle of a scheduler without gates set and without an API."""


def check_of(plugin: ColumnPlugin) -> FitPredicate:
    assert plugin.check is not None
    return plugin.check


def scoring_of(plugin: ColumnPlugin) -> PriorityConfig:
    assert plugin.scoring is not None
    return plugin.scoring


def verdict(plugin: ColumnPlugin, cluster: Cluster, pod: Pod, snapshot: Snapshot | None = None) -> Verdict:
    """What Filter says; nothing where the plugin does not apply."""
    info, rule = cluster.info(pod), check_of(plugin)
    info.node_name = pod.node_name
    return rule.check(info, cluster.snapshot if snapshot is None else snapshot) if rule.applies(info) else {}


def refused(plugin: ColumnPlugin, cluster: Cluster, pod: Pod, snapshot: Snapshot | None = None) -> dict[str, list[str]]:
    """Reason → the nodes that fail for it; reasons that fail nowhere left out."""
    asked = cluster.snapshot if snapshot is None else snapshot
    found = {reason: names_where(asked, mask) for reason, mask in verdict(plugin, cluster, pod, asked).items()}
    return {reason: names for reason, names in found.items() if names}


def scores(plugin: ColumnPlugin, cluster: Cluster, pod: Pod, rows: Any = None) -> tuple[list[int], list[int]]:
    """(raw, normalised) over some rows, by default all, as if just those were feasible."""
    info, config, snapshot = cluster.info(pod), scoring_of(plugin), cluster.snapshot
    feasible = snapshot if rows is None else snapshot.take(np.array(rows, np.int64))
    raw = config.map(info, feasible)
    final = raw if config.reduce is None else config.reduce(info, feasible, raw)
    assert raw.dtype == final.dtype == np.int64
    assert raw.shape == final.shape == (len(feasible),)
    constant = config.constant(info)
    if constant is not None:
        assert {*raw.tolist(), *final.tolist()} <= {constant}
    return raw.tolist(), final.tolist()
