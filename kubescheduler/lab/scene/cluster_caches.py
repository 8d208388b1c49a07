"""The caches of a scene's clusters: filled anew only where schedulers would see more than some nodes otherwise."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from clusterstate.cache import ClusterCache
from clusterstate.objects import ClusterObject, Node, Pod
from clusterstate.release_view import ReleaseView
from kubescheduler.api.cluster import Cluster
from kubescheduler.engine.engine_contract import Engine, cache_for

MOST_CACHES = 8
"""Caches that are kept: for each release that decides, one with the asked pod on its node and one without."""

MOST_UPDATED = 64
"""Nodes that are updated in a cache; a cache with more changes is filled anew."""


@attrs.define(eq=False)
class FilledCache:
    """A cache and the cluster that it is of."""

    cluster: Cluster
    cache: ClusterCache
    turn: int = 0
    """How often nodes were updated; what was decided before says nothing of its scores any more."""


class ClusterCaches:
    """Caches of clusters of several releases. What they are of moves with the clusters that are asked for, so that a
    cache is current only until the next is asked for."""

    def __init__(self) -> None:
        self._filled: list[FilledCache] = []

    def filled(self, engine: Engine, cluster: Cluster) -> FilledCache:
        """The cache of a cluster as an engine sees it."""
        alike = [each for each in self._filled if each.cache.view == engine.view]
        for each in alike:
            if each.cluster is cluster:
                return each
        for each in alike:
            nodes = other_nodes(cluster, each.cluster, engine.view)
            if nodes is not None:
                return _updated(each, cluster, nodes)
        fresh = FilledCache(cluster, cache_for(engine, cluster.objects))
        self._filled = [fresh, *self._filled[: MOST_CACHES - 1]]
        return fresh


def _updated(filled: FilledCache, cluster: Cluster, nodes: list[Node]) -> FilledCache:
    filled.cluster = cluster
    for node in nodes:
        filled.cache.update_node(node)
    if nodes:
        filled.cache.columns.images.refresh()
        filled.turn += 1
    return filled


def other_nodes(cluster: Cluster, before: Cluster, view: ReleaseView) -> list[Node] | None:
    """The nodes of a cluster that are otherwise than before; None where more is, beside pods that wait and that no node
    is held for, which caches do not have. Nodes stay in their zone, and so in the order in which they are visited."""
    now, then = _seen(cluster.objects), _seen(before.objects)
    if len(now) != len(then):
        return None
    out: list[Node] = []
    for obj, old in zip(now, then, strict=True):
        if obj is old:
            continue
        if not (isinstance(obj, Node) and isinstance(old, Node) and obj.name == old.name):
            return None
        if view.zone_key(obj) != view.zone_key(old) or len(out) == MOST_UPDATED:
            return None
        out.append(obj)
    return out


def _seen(objects: Iterable[ClusterObject]) -> list[ClusterObject]:
    return [obj for obj in objects if not isinstance(obj, Pod) or obj.node_name or obj.nominated_node_name]
