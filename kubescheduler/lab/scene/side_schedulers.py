"""What decides for the sides of a scene, kept as long as neither the cluster nor the side changes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import msgspec

from clusterstate.errors import ConfigError, InputError
from kubescheduler.api.cluster import Cluster
from kubescheduler.api.engine_choice import tie_break_of
from kubescheduler.engine.engine_contract import Engine, PodScheduler
from kubescheduler.engine.engine_flags import ALL_NODES
from kubescheduler.lab.scene.cluster_caches import ClusterCaches, FilledCache
from kubescheduler.lab.scene.scene_faults import SceneFault
from kubescheduler.lab.scene.scene_side import Side

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
