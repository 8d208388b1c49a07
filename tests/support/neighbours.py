"""Small scenarios that two releases answer differently."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from kubescheduler.engine.evaluate_protocol import evaluate

Manifest = dict[str, Any]


class Differing(NamedTuple):
    """What a change makes of one query."""

    change: str
    """Its name."""
    cluster: dict[str, list[Manifest]]
    query: Manifest
    at: tuple[str, ...]
    """Where the answers differ."""
    before: Any
    after: Any


def answer(case: Differing, release: str) -> Any:
    """What a release says at the place."""
    scenario = {"id": "s", "cluster": case.cluster, "queries": [{"id": "q", **case.query}]}
    found: Any
    [found] = evaluate([json.dumps(scenario).encode()], release)
    for key in case.at:
        found = (found or {}).get(key)
    return found


def node(name: str, labels: dict[str, str] | None = None, **allocatable: str) -> Manifest:
    """A node with room for ten pods."""
    room = {"cpu": "4", "memory": "8Gi", "pods": "10", **{k.replace("__", "/"): v for k, v in allocatable.items()}}
    hostname = {"kubernetes.io/hostname": name}
    metadata = {"name": name, "labels": {**hostname, **(labels or {})}}
    return {"kind": "Node", "metadata": metadata, "status": {"allocatable": room, "capacity": room}}


def pod(name: str, on: str = "", labels: dict[str, str] | None = None, **spec: Any) -> Manifest:
    """A pod with one container that asks for nothing."""
    whole = {"containers": [{"name": "c", "image": "i"}], **spec, **({"nodeName": on} if on else {})}
    metadata = {"name": name, "namespace": "default", "uid": name, "labels": labels or {}}
    return {"kind": "Pod", "metadata": metadata, "spec": whole}


def asking(**requests: str) -> list[Manifest]:
    """One container with requests."""
    return [{"name": "c", "image": "i", "resources": {"requests": requests}}]
