"""A reader of kube-scheduler-simulator's files, written from its own types and independent of what writes them.

Upstream: ResourcesForSnap of its snapshot service, and the maps of its result store. Like Go's decoder it insists on
the type of every member; unlike it, also on there being no other members at the top.
"""

from __future__ import annotations

from typing import Any

import msgspec

PREFIX = "kube-scheduler-simulator.sigs.k8s.io/"

Words = dict[str, str]
"""Plugin → what it said."""
ByNode = dict[str, Words]
"""Node → plugin → what it said, or its score as a text."""


class Metadata(msgspec.Struct, rename="camel"):
    """What every object has."""

    name: str
    namespace: str = ""
    uid: str = ""
    labels: Words = {}
    annotations: Words = {}


class Object(msgspec.Struct, rename="camel"):
    """An object of a list."""

    metadata: Metadata
    kind: str = ""
    api_version: str = ""
    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}


class Export(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """An export file; every list is there."""

    pods: list[Object]
    nodes: list[Object]
    pvs: list[Object]
    pvcs: list[Object]
    storage_classes: list[Object]
    priority_classes: list[Object]
    namespaces: list[Object]
    scheduler_config: dict[str, Any] | None


class HostPriority(msgspec.Struct, rename="pascal"):
    """One score of an extender."""

    host: str
    score: int


RESULTS: dict[str, Any] = {
    "prefilter-result-status": Words,
    "prefilter-result": dict[str, list[str]],
    "filter-result": ByNode,
    "postfilter-result": ByNode,
    "prescore-result": Words,
    "score-result": ByNode,
    "finalscore-result": ByNode,
    "reserve-result": Words,
    "permit-result": Words,
    "permit-result-timeout": Words,
    "prebind-result": Words,
    "bind-result": Words,
    "extender-filter-result": dict[str, dict[str, Any]],
    "extender-prioritize-result": dict[str, list[HostPriority]],
    "extender-preempt-result": dict[str, Any],
    "extender-bind-result": dict[str, Any],
    "result-history": list[Words],
}
"""Annotation → the type of its JSON."""


def read_export(text: str | bytes) -> Export:
    """An export file. Raises msgspec.ValidationError."""
    return msgspec.json.decode(text, type=Export)


def results_of(annotations: Words) -> dict[str, Any]:
    """The results on a pod by their names without prefix. Raises KeyError for one that the simulator does not have."""
    found = {name.removeprefix(PREFIX): text for name, text in annotations.items() if name.startswith(PREFIX)}
    chosen = {"selected-node": found.pop("selected-node")} if "selected-node" in found else {}
    return {**{name: msgspec.json.decode(text, type=RESULTS[name]) for name, text in found.items()}, **chosen}
