"""Decisions where totals follow from the amounts on nodes, beside those of a scheduler that remembers nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clusterstate.manifests.decode import Decoder
from kubescheduler.core.selection import FirstByName
from kubescheduler.engine.engine_contract import cache_for
from kubescheduler.engine.spec import EngineSpec

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


@pytest.mark.parametrize("plugin", SCORING)
def test_nodes_with_equal_amounts_may_see_different_devices(plugin: str, tmp_path: Path) -> None:
    """Devices that stand for an extended resource are scored on every node as they are there (1.36)."""
    profile = {"pluginConfig": [{"name": plugin, "args": SCORING[plugin]}]}
    config = {"kind": "KubeSchedulerConfiguration", "apiVersion": "kubescheduler.config.k8s.io/v1"}
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**config, "profiles": [profile]}))
    engine = EngineSpec.parse(f"release=1.36,config={path}").engine(lambda _: None)
    decode: Callable[[dict[str, Any]], Any] = Decoder().decode_object
    provider = manifest("DeviceClass", "gpus", spec={"extendedResourceName": GPU, "selectors": []})
    documents = [provider, *[document for at in range(12) for document in node_with_devices(at)]]
    cache = cache_for(engine, [decode(document) for document in documents])
    running = engine.scheduler(cache, FirstByName())
    for at in range(16):
        limits = {GPU: "1"} if at % 2 else {}
        container = {"name": "c", "resources": {"requests": {"cpu": "500m", **limits}, "limits": limits}}
        one = decode(manifest("Pod", f"p{at}", spec={"containers": [container]}))
        found = running.decide(one)
        assert found.to_dict() == engine.scheduler(cache, FirstByName()).decide(one).to_dict()
        assert found.host is not None
        cache.assume_pod(one, found.host)
