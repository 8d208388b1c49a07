"""Decisions where totals follow from the amounts on nodes, beside those of a scheduler that remembers nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from clusterstate.cache import ClusterCache
from clusterstate.changes import Reads
from clusterstate.footprint import Footprint
from clusterstate.manifests.decode import Decoder
from kubescheduler.core.algorithm import Algorithm, WeightedPriority
from kubescheduler.core.attempt import GenericScheduler
from kubescheduler.core.selection import FirstByName
from kubescheduler.engine.spec import Engine, EngineSpec, cache_for
from predicates.types import FitPredicate, Verdict
from priorities.types import PriorityConfig
from tests.support.build import cache_of, make_node, make_pod

GPU = "example.com/gpu"
GPU_FIRST = [{"name": GPU, "weight": 1}, {"name": "cpu", "weight": 1}]
SCORING: dict[str, dict[str, Any]] = {
    "NodeResourcesFit": {"scoringStrategy": {"type": "LeastAllocated", "resources": GPU_FIRST}},
    "NodeResourcesBalancedAllocation": {"resources": GPU_FIRST},
}


def manifest(kind: str, name: str, **fields: Any) -> dict[str, Any]:
    """An object in the default namespace."""
    return {"kind": kind, "metadata": {"name": name, "namespace": "default", "uid": name}, **fields}


def node_with_devices(at: int) -> list[dict[str, Any]]:
    """A node that can give what all others can, and its devices, of which some nodes have more."""
    name = f"n{at}"
    spec = {
        "driver": "d",
        "nodeName": name,
        "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": f"d{number}"} for number in range(2 + 2 * (at % 4))],
    }
    status = {"allocatable": {"cpu": "8", "memory": "16Gi", "pods": "20"}}
    return [manifest("Node", name, status=status), manifest("ResourceSlice", f"s{at}", spec=spec)]


def pod_that_asks(name: str, **amounts: str) -> dict[str, Any]:
    """A pod of one container; what it may use is what it asks for."""
    container = {"name": "c", "resources": {"requests": amounts, "limits": amounts}}
    return manifest("Pod", name, spec={"containers": [container]})


class Deciding:
    """A scheduler of 1.36, and for each decision one that remembers nothing."""

    def __init__(self, folder: Path, profile: dict[str, Any], documents: list[dict[str, Any]]) -> None:
        config = {"kind": "KubeSchedulerConfiguration", "apiVersion": "kubescheduler.config.k8s.io/v1"}
        path = folder / "config.json"
        path.write_text(json.dumps({**config, "profiles": [profile]}))
        self.engine: Engine = EngineSpec.parse(f"release=1.36,config={path}").engine(lambda _: None)
        self.decode: Callable[[dict[str, Any]], Any] = Decoder().decode_object
        self.cache: ClusterCache = cache_for(self.engine, [self.decode(document) for document in documents])
        self.running = self.engine.scheduler(self.cache, FirstByName())

    def decide(self, name: str, **amounts: str) -> Any:
        """The pod as it was placed, alike by both; None: on no node."""
        one = self.decode(pod_that_asks(name, **amounts))
        found, anew = self.running.decide(one), self.engine.scheduler(self.cache, FirstByName()).decide(one)
        assert (found.to_dict(), found.codes()) == (anew.to_dict(), anew.codes())
        return None if found.host is None else self.cache.assume_pod(one, found.host)


@pytest.mark.parametrize("plugin", SCORING)
def test_nodes_with_equal_amounts_may_see_different_devices(plugin: str, tmp_path: Path) -> None:
    """Devices that stand for an extended resource are scored on every node as they are there (1.36)."""
    provider = manifest("DeviceClass", "gpus", spec={"extendedResourceName": GPU, "selectors": []})
    documents = [provider, *[document for at in range(12) for document in node_with_devices(at)]]
    deciding = Deciding(tmp_path, {"pluginConfig": [{"name": plugin, "args": SCORING[plugin]}]}, documents)
    for at in range(16):
        limits = {GPU: "1"} if at % 2 else {}
        assert deciding.decide(f"p{at}", cpu="500m", **limits) is not None


def test_what_is_refused_changes_with_the_classes_of_devices(tmp_path: Path) -> None:
    """A node that has none of a resource refuses pods until a class provides it, also where its amounts were refused
    before (1.36)."""
    profile = {"plugins": {"multiPoint": {"disabled": [{"name": "DynamicResources"}]}}}
    native = {"cpu": "8", "memory": "16Gi", "pods": "20", GPU: "4"}
    documents = [
        manifest("Node", f"n{at}", status={"allocatable": {**native, **({GPU: "0"} if at < 2 else {})}})
        for at in range(6)
    ]
    deciding = Deciding(tmp_path, profile, documents)
    provider = deciding.decode(manifest("DeviceClass", "gpus", spec={"extendedResourceName": GPU, "selectors": []}))
    for at, change in enumerate((None, deciding.cache.add, None, deciding.cache.remove)):
        if change is not None:
            change(provider)
        for number in range(3):
            assert deciding.decide(f"gpu{at}-{number}", cpu="100m", **{GPU: "1"}) is not None
        plain = deciding.decode(pod_that_asks(f"plain{at}", cpu="100m"))
        deciding.cache.assume_pod(plain, "n0")
        placed = deciding.decide(f"gpu{at}-last", cpu="100m", **{GPU: "1"})
        deciding.cache.forget_pod(placed)
        deciding.cache.forget_pod(msgspec.structs.replace(plain, node_name="n0"))


def test_sums_that_go_round_change_what_taking_pods_away_can_mend(tmp_path: Path) -> None:
    """A node that has none of a resource seems to have room once its sum is past 64 bits, and refuses for good when a
    pod leaves (1.36)."""
    most = {"cpu": "8", "memory": "16Gi", "pods": "20", GPU: str((1 << 63) - 1)}
    documents = [
        manifest("Node", f"n{at}", status={"allocatable": {**most, **({GPU: "0"} if at < 2 else {})}})
        for at in range(6)
    ]
    deciding = Deciding(tmp_path, {}, documents)
    large = [deciding.decode(pod_that_asks(f"large{at}", **{GPU: str(1 << 62)})) for at in range(3)]
    for one in large:
        deciding.cache.assume_pod(one, "n0")
    for at in range(3):
        assert deciding.decide(f"p{at}", cpu="100m", **{GPU: "1"}) is not None
    for at, one in enumerate(large):
        deciding.cache.forget_pod(msgspec.structs.replace(one, node_name="n0"))
        assert deciding.decide(f"after{at}", cpu="100m", **{GPU: "1"}) is not None


@pytest.mark.parametrize("reads", [Reads.NODE, Reads.NODE | Reads.ALL_NODES])
def test_time_changes_what_is_refused(reads: Reads) -> None:
    """A check that time alone changes is asked each time, also where nothing else looks beyond amounts."""
    now = [0]

    def check(_: Any, snapshot: Any) -> Verdict:
        return {"late": np.array([name == "b" and now[0] > 0 for name in snapshot.names])}

    late = FitPredicate("Late", check, Footprint(reads, moment=lambda *_: now[0]))
    first = PriorityConfig(
        "First", lambda _, there: np.array([int(n == "b") for n in there.names]), footprint=Footprint(Reads.NODE)
    )
    cache = cache_of([make_node(name) for name in "abcd"])
    scheduler = GenericScheduler(Algorithm("1.16", (late,), (WeightedPriority(first, 1),)), cache)
    for number in range(6):
        now[0] = number // 3
        one = make_pod(f"p{number}")
        host = scheduler.decide(one).host
        assert host == "ba"[now[0]]
        cache.assume_pod(one, host)


def test_the_lowest_total_is_not_taken_for_a_refusal() -> None:
    """Where the totals of all nodes that fit come to -2^63, none is chosen that is refused."""

    def check(_: Any, snapshot: Any) -> Verdict:
        return {"not a": np.array([name == "a" for name in snapshot.names])}

    rule = PriorityConfig(
        "Large", lambda _, there: np.full(len(there), 16, np.int64), footprint=Footprint(equal_for_equal_usage=True)
    )
    algorithm = Algorithm(
        "1.16", (FitPredicate("NotA", check, Footprint(Reads.NODE)),), (WeightedPriority(rule, 1 << 59),)
    )
    scheduler = GenericScheduler(algorithm, cache_of([make_node(name) for name in "abcd"]))
    assert [scheduler.decide(make_pod(f"p{number}")).host for number in range(5)] == ["b"] * 5
