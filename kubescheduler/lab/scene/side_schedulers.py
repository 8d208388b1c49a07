"""What decides for the sides of a scene, kept as long as neither the cluster nor the side changes.

``SideSchedulers`` is what a scene asks; its caches follow a cluster's changes object by object where they can.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

import attrs
import msgspec

from clusterstate.cache import TERMINATED, ClusterCache
from clusterstate.errors import ConfigError, InputError
from clusterstate.objects import ClusterObject, Node, Pod
from kubescheduler.api.cluster import Cluster
from kubescheduler.api.engine_choice import tie_break_of
from kubescheduler.engine.engine_contract import Engine, PodScheduler, cache_for
from kubescheduler.engine.engine_flags import ALL_NODES
from kubescheduler.lab.scene.scene_state import SceneFault, Side

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
    stayed = zip(
        (each for each in then if id(each) not in left), (each for each in now if id(each) not in kept), strict=True
    )
    if not all(one is other for one, other in stayed):
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


def _pods_on(objects: Iterable[ClusterObject], names: set[str]) -> list[Pod]:
    return [each for each in objects if isinstance(each, Pod) and each.node_name in names] if names else []


T = TypeVar("T")


class MadeEngine(msgspec.Struct, frozen=True, eq=False):
    """A side's engine, or why there is none."""

    engine: Engine | None
    """None where the side's description cannot be used."""
    notes: tuple[str, ...]
    """What a reader of the description would not expect."""
    problems: tuple[str, ...]
    """Why there is no engine."""


class KeptValues:
    """The latest values, by the things that they were made of; these are compared by identity."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, tuple[tuple[Any, ...], Any]] = OrderedDict()

    def value(self, of: tuple[Any, ...], make: Callable[[], T], *more: Hashable) -> T:
        """What was made of these things before, or is made now. more: compared by equality."""
        key = (*map(id, of), *more)
        found = self._values.get(key)
        if found is None:
            found = self._values[key] = (of, make())
            while len(self._values) > self._most:
                self._values.popitem(last=False)
        else:
            self._values.move_to_end(key)
        value: T = found[1]
        return value


class SideSchedulers:
    """Engines, clusters and schedulers of sides. Sides that see objects alike share one cache of the cluster, which
    nobody changes: pods are bound in other clusters."""

    def __init__(self) -> None:
        self._engines = KeptValues(8)
        self._clusters = KeptValues(8)
        self._caches = ClusterCaches()
        self._caches_aside = ClusterCaches()
        """Of the clusters in which a pod that runs waits: apart, so that the others are not changed forth and back."""
        self._schedulers = KeptValues(8)
        self._latest: dict[Hashable, tuple[Cluster, Cluster]] = {}
        """Release and gates → the cluster that was last read for them, and as what."""

    def made(self, side: Side) -> MadeEngine:
        """The side's engine."""
        return self._engines.value((side,), lambda: _made(side))

    def engine(self, side: Side) -> Engine:
        """The side's engine. Raises SceneFault with everything that is wrong with its description."""
        made = self.made(side)
        if made.engine is None:
            raise SceneFault(made.problems)
        return made.engine

    def read(self, cluster: Cluster, side: Side) -> Cluster | SceneFault:
        """The cluster as the side's release stores it, or why the release refuses to read it."""
        if side.release == cluster.release:
            return cluster
        gates = side.spec.feature_gates
        under = (side.release, gates if isinstance(gates, str) else tuple(sorted(gates.items())))
        found = self._clusters.value((cluster,), lambda: _read(cluster, side, self._latest.get(under)), *under)
        if isinstance(found, Cluster):
            self._latest[under] = (cluster, found)
        return found

    def cluster(self, cluster: Cluster, side: Side) -> Cluster:
        """The cluster as the side's release stores it. Raises SceneFault."""
        found = self.read(cluster, side)
        if isinstance(found, SceneFault):
            raise found
        return found

    def problems(self, cluster: Cluster, side: Side) -> tuple[str, ...]:
        """Why the side cannot decide in the cluster."""
        found = self.read(cluster, side)
        return (*self.made(side).problems, *(found.problems if isinstance(found, SceneFault) else ()))

    def filled(self, cluster: Cluster, side: Side, *, aside: bool = False) -> FilledCache:
        """The cluster as the side's engine sees it, its cache not to be changed. aside: it is not the scene's cluster,
        but that with a pod that runs taken off its node. Raises SceneFault."""
        caches = self._caches_aside if aside else self._caches
        return caches.filled(self.engine(side), self.cluster(cluster, side))

    def scheduler(self, cluster: Cluster, side: Side, *, aside: bool = False) -> PodScheduler:
        """The side's scheduler over the cluster; not to be used for placing pods. aside: see ``filled``. Raises
        SceneFault.

        One that chooses by chance, by turns or among a sample of the nodes is new each time, so that a question has the
        same answer whatever was asked before.
        """
        cache, engine = self.filled(cluster, side, aside=aside).cache, self.engine(side)

        def make() -> PodScheduler:
            return engine.scheduler(cache, tie_break_of(engine, side.tie_break, side.seed))

        kept = self._schedulers.value((cache, side), make)
        repeats = side.tie_break == "first" and kept.algorithm.percentage_of_nodes_to_score == ALL_NODES
        return kept if repeats else make()


def _made(side: Side) -> MadeEngine:
    notes: list[str] = []
    try:
        engine = side.spec.engine(notes.append)
    except ConfigError as error:
        return MadeEngine(None, tuple(notes), error.problems)
    return MadeEngine(engine, tuple(dict.fromkeys(notes)), ())


def _read(cluster: Cluster, side: Side, like: tuple[Cluster, Cluster] | None) -> Cluster | SceneFault:
    try:
        return cluster.for_release(side.release, side.spec.gates, like=like)
    except InputError as error:
        return SceneFault(error.problems)
