"""What decides for the sides of a scene, kept as long as neither the cluster nor the side changes."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import attrs

from clusterstate.cache import ClusterCache
from clusterstate.errors import ConfigError, InputError
from clusterstate.objects import ClusterObject, Pod
from kubescheduler.api.cluster import Cluster
from kubescheduler.api.engine_choice import tie_break_of
from kubescheduler.engine.engine_contract import Engine, PodScheduler, cache_for
from kubescheduler.engine.engine_flags import ALL_NODES
from kubescheduler.lab.scene.scene_faults import SceneFault
from kubescheduler.lab.scene.scene_side import Side

T = TypeVar("T")

MOST_CACHES = 4
"""Caches of clusters that are kept: one for each release that decides, mostly."""


@attrs.frozen(eq=False)
class MadeEngine:
    """A side's engine, or why there is none."""

    engine: Engine | None
    """None where the side's description cannot be used."""
    notes: tuple[str, ...]
    """What a reader of the description would not expect."""
    problems: tuple[str, ...]
    """Why there is no engine."""


class Kept:
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
        self._engines = Kept(8)
        self._clusters = Kept(8)
        self._caches = Kept(MOST_CACHES)
        self._schedulers = Kept(8)
        self._latest: dict[Hashable, tuple[Cluster, Cluster]] = {}
        """Release and gates → the cluster that was last read for them, and as what."""
        self._filled: list[tuple[Cluster, ClusterCache]] = []
        """The latest caches, and the clusters that they were filled with."""

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

    def cache(self, cluster: Cluster, side: Side) -> ClusterCache:
        """The cluster as the side's engine sees it; not to be changed. Raises SceneFault."""
        engine, own = self.engine(side), self.cluster(cluster, side)
        return self._caches.value((own,), lambda: self._cache(engine, own), engine.view)

    def _cache(self, engine: Engine, cluster: Cluster) -> ClusterCache:
        """A cache of the cluster, that of one before where a scheduler does not see the difference."""
        for before, cache in self._filled:
            if cache.view == engine.view and same_in_caches(cluster, before):
                return cache
        cache = cache_for(engine, cluster.objects)
        self._filled = [(cluster, cache), *self._filled[: MOST_CACHES - 1]]
        return cache

    def scheduler(self, cluster: Cluster, side: Side) -> PodScheduler:
        """The side's scheduler over the cluster; not to be used for placing pods. Raises SceneFault.

        One that chooses by chance, by turns or among a sample of the nodes is new each time, so that a question has the
        same answer whatever was asked before.
        """
        cache, engine = self.cache(cluster, side), self.engine(side)

        def make() -> PodScheduler:
            return engine.scheduler(cache, tie_break_of(engine, side.tie_break, side.seed))

        if side.tie_break != "first" or side.spec.percentage_of_nodes_to_score != ALL_NODES:
            return make()
        return self._schedulers.value((cache, side), make)


def _made(side: Side) -> MadeEngine:
    notes: list[str] = []
    try:
        engine = side.spec.engine(notes.append)
    except ConfigError as error:
        return MadeEngine(None, tuple(notes), error.problems)
    return MadeEngine(engine, tuple(dict.fromkeys(notes)), ())


def same_in_caches(cluster: Cluster, before: Cluster) -> bool:
    """Whether two clusters differ by nothing but pods that wait and that no node is held for; caches have none."""
    of_now = [entry for entry in cluster.entries() if not _unseen(entry.obj)]
    of_before = [entry for entry in before.entries() if not _unseen(entry.obj)]
    return len(of_now) == len(of_before) and all(map(operator.is_, of_now, of_before))


def _unseen(obj: ClusterObject) -> bool:
    return isinstance(obj, Pod) and not obj.node_name and not obj.nominated_node_name


def _read(cluster: Cluster, side: Side, like: tuple[Cluster, Cluster] | None) -> Cluster | SceneFault:
    try:
        return cluster.for_release(side.release, side.spec.gates, like=like)
    except InputError as error:
        return SceneFault(error.problems)
