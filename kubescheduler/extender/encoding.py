"""Pods and nodes as the JSON an extender is sent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from clusterstate.objects import Node, Pod

CACHED_NODES = 16_384
"""Node names whose JSON is kept; the oldest go first."""
TYPE_META = ("apiVersion", "kind")


def manifest_of(obj: Pod | Node) -> dict[str, Any]:
    """The object as it was read, or else written anew; without apiVersion and kind, as items of a list are."""
    if obj.manifest is None:
        from clusterstate.manifests.kinds import encode_object

        found: Mapping[str, Any] = encode_object(obj)
    else:
        found = obj.manifest
    return {key: value for key, value in found.items() if key not in TYPE_META}


def encode_pod(pod: Pod, represent: Callable[[dict[str, Any]], dict[str, Any]]) -> msgspec.Raw:
    """The pod's JSON after ``represent``, the release's way to write a pod."""
    return msgspec.Raw(msgspec.json.encode(represent(manifest_of(pod)), enc_hook=_plain))


def pod_as_read(manifest: dict[str, Any]) -> dict[str, Any]:
    """The v1 form. Upstream: 1.16 and later."""
    return manifest


def pod_internal(manifest: dict[str, Any]) -> dict[str, Any]:
    """The internal form: host flags in securityContext, no init containers, volumes null when absent. Upstream: 1.4."""
    spec = dict(manifest.get("spec") or {})
    spec.pop("initContainers", None)
    spec.setdefault("volumes", None)
    security = dict(spec.get("securityContext") or {})
    for flag in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.pop(flag, False):
            security[flag] = True
    spec["securityContext"] = security
    return {**manifest, "spec": spec}


class NodeEncoder(msgspec.Struct, eq=False):
    """Writes each node once and keeps its JSON while it is asked for. Extenders may share one; it is thread-safe."""

    capacity: int = CACHED_NODES
    _kept: dict[str, tuple[Node, msgspec.Raw]] = msgspec.field(default_factory=dict)
    _lock: threading.Lock = msgspec.field(default_factory=threading.Lock)

    def encode(self, nodes: Iterable[Node]) -> list[msgspec.Raw]:
        """The nodes' JSON, in order. The same object is written once: frozen objects do not change."""
        with self._lock:
            return [self._encode(node) for node in nodes]

    def _encode(self, node: Node) -> msgspec.Raw:
        kept = self._kept.get(node.name)
        if kept is not None and kept[0] is node:
            return kept[1]
        raw = msgspec.Raw(msgspec.json.encode(manifest_of(node), enc_hook=_plain))
        if kept is None and len(self._kept) >= self.capacity:
            del self._kept[next(iter(self._kept))]
        self._kept[node.name] = (node, raw)
        return raw


def _plain(value: object) -> object:
    """Mappings that are no dict."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
