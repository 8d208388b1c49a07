"""The caches of a scene's clusters: changed where a cluster differs in some nodes and pods, filled anew otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import attrs
import msgspec

from clusterstate.cache import TERMINATED, ClusterCache
from clusterstate.objects import ClusterObject, Node, Pod
from kubescheduler.api.cluster import Cluster
from kubescheduler.engine.engine_contract import Engine, cache_for

MOST_CACHES = 4
"""Caches that are kept: one for each release that decides."""

MOST_CHANGED = 1000
"""Nodes and pods that are changed in a cache; one with more changes is filled anew."""


@attrs.define(eq=False)
class FilledCache:
    """A cache and the cluster that it is of."""

    cluster: Cluster
    cache: ClusterCache
    turn: int = 0
    """How often it was changed; what was decided before says nothing of its scores any more."""


class CacheChange(msgspec.Struct, frozen=True, eq=False):
    """What makes the cache of one cluster that of another."""

    gone: Sequence[str]
    """Names of nodes that are no longer there."""
    nodes: Sequence[Node]
    """Nodes that are new, or otherwise than before."""
    taken: Sequence[Pod]
    """All pods of the nodes whose pods differ, which leave them, since a cache has the pods of a node in order."""
    placed: Sequence[Pod]
    """Pods that these nodes have then, in order."""


class ClusterCaches:
    """Caches of clusters of several releases. What they are of moves with the clusters that are asked for, so that a
    cache is current only until the next is asked for."""

    def __init__(self) -> None:
        self._filled: list[FilledCache] = []

    def filled(self, engine: Engine, cluster: Cluster) -> FilledCache:
        """The cache of a cluster as an engine sees it.

        Raises as changing and filling a cache do; one that was changed by half is not kept.
        """
        known = next((each for each in self._filled if each.cache.view == engine.view), None)
        change = None if known is None else cache_change(cluster, known.cluster)
        self._filled = [each for each in self._filled if each is not known]
        if known is None or change is None:
            known = FilledCache(cluster, cache_for(engine, cluster.objects))
        else:
            _changed(known, cluster, change)
        self._filled = [known, *self._filled[: MOST_CACHES - 1]]
        return known


def _changed(filled: FilledCache, cluster: Cluster, change: CacheChange) -> None:
    """The order in which nodes are visited, and that of the pods of a node, is that of a cache that is filled anew."""
    filled.cluster, cache = cluster, filled.cache
    if not (change.gone or change.nodes or change.taken or change.placed):
        return
    for pod in change.taken:
        cache.remove_pod(pod)
    for name in change.gone:
        cache.remove_node(name)
    for node in change.nodes:
        cache.update_node(node)
    for pod in change.placed:
        cache.add_pod(pod)
    if change.gone or change.nodes:
        cache.tree.relist(cluster.nodes)
        cache.columns.images.refresh()
    filled.turn += 1


def cache_change(cluster: Cluster, before: Cluster) -> CacheChange | None:
    """What differs between the caches of two clusters; None where more does than some nodes and the pods on them."""
    if cluster is before:
        return CacheChange((), (), (), ())
    now, then = _seen(cluster.objects), _seen(before.objects)
    new, old = _without(now, then), _without(then, now)
    if len(new) + len(old) > MOST_CHANGED or not all(map(_changeable, (*new, *old))):
        return None
    left, kept = set(map(id, old)), set(map(id, new))
    if not _same((each for each in then if id(each) not in left), (each for each in now if id(each) not in kept)):
        return None
    nodes = [each for each in new if isinstance(each, Node)]
    names = {node.name for node in nodes}
    touched = {each.node_name for each in (*new, *old) if isinstance(each, Pod)}
    return CacheChange(
        [each.name for each in old if isinstance(each, Node) and each.name not in names],
        nodes,
        _pods_on(then, touched),
        _pods_on(now, touched),
    )


def _seen(objects: Iterable[ClusterObject]) -> list[ClusterObject]:
    """What caches have of a cluster: not the pods that wait and that no node is held for, nor those that have ended."""
    return [
        obj
        for obj in objects
        if not isinstance(obj, Pod) or ((obj.node_name or obj.nominated_node_name) and obj.phase not in TERMINATED)
    ]


def _without(objects: Sequence[ClusterObject], others: Iterable[ClusterObject]) -> list[ClusterObject]:
    known = set(map(id, others))
    return [each for each in objects if id(each) not in known]


def _changeable(obj: ClusterObject) -> bool:
    return isinstance(obj, Node) or (isinstance(obj, Pod) and bool(obj.node_name))


def _same(some: Iterator[ClusterObject], others: Iterator[ClusterObject]) -> bool:
    return all(one is other for one, other in zip(some, others, strict=True))


def _pods_on(objects: Iterable[ClusterObject], names: set[str]) -> list[Pod]:
    return [each for each in objects if isinstance(each, Pod) and each.node_name in names] if names else []
