"""Caches that follow a cluster: what is bound, and what the real scheduler makes room for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clusterstate.cache import ClusterCache
from clusterstate.cluster_objects import KEPT
from clusterstate.objects import Node, Pod


class FollowedCluster:
    """Brings several caches up to date with what informers report."""

    def __init__(self, caches: Sequence[ClusterCache]) -> None:
        self._caches = caches

    def changed(self, old: Any, new: Any) -> None:
        """An object came (``old`` is None), changed, or went (``new`` is None)."""
        if old is not None and old == new:
            return
        if isinstance(old if new is None else new, Pod):
            self._pod_changed(old, new)
            return
        for cache in self._caches:
            if new is None:
                _remove(cache, old)
            elif isinstance(new, Node) or type(new) in KEPT:
                cache.add(new)

    def nominate(self, pod: Pod, node_name: str) -> None:
        """The real scheduler makes room for a pod on a node, which is not there for less important ones; an empty
        name takes that back. Where the pod is assumed elsewhere nothing changes."""
        for cache in self._caches:
            if not cache.is_assumed(pod):
                cache.nominate(pod, node_name)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        for cache in self._caches:
            if new is not None and new.node_name:
                cache.nominate(new, "")
                known = new in cache and not cache.is_assumed(new)
                (cache.update_pod if known else cache.add_pod)(new)
            elif old is not None:
                cache.nominate(old, "")
                if old in cache:
                    (cache.forget_pod if cache.is_assumed(old) else cache.remove_pod)(old)


def _remove(cache: ClusterCache, obj: Any) -> None:
    if isinstance(obj, Node) or type(obj) in KEPT:
        cache.remove(obj)
