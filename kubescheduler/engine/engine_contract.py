"""What an engine and its schedulers are, whatever the release; and the caches that they work on."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from clusterstate.cache import ClusterCache
from clusterstate.errors import ClusterStateError, ConfigError, DecodeError
from clusterstate.objects import Pod
from kubescheduler.sources.cluster_input import uid_problems

if TYPE_CHECKING:
    from clusterstate.growable import IntArray
    from clusterstate.objects import ClusterObject
    from clusterstate.podinfo import ReleaseView
    from kubescheduler.core.algorithm import Algorithm
    from kubescheduler.core.decision import Decision
    from kubescheduler.core.equal_runs import PlacedRun
    from kubescheduler.core.extender_calls import Extender
    from kubescheduler.core.selection import TieBreak

Notice = Callable[[str], None]
"""Is called with what a reader would not expect."""


class PodScheduler(Protocol):
    """What decides, whatever the release."""

    @property
    def algorithm(self) -> Algorithm:
        """What it decides by."""

    @property
    def cache(self) -> ClusterCache:
        """The cluster that it decides in."""

    @property
    def has_custom_plugins(self) -> bool:
        """Whether it has a plugin that does not come with the scheduler."""

    def foreign(self, pod: Pod) -> str:
        """Why the release ignores a pod of another scheduler; empty when it is this one's."""

    def points(self, pod: Pod) -> Mapping[str, tuple[str, ...]]:
        """Extension point → the plugins that run there for a pod, in order; predicates stand under ``filter``."""

    def decide(
        self,
        pod: Pod,
        *,
        preempt: bool = False,
        thorough: bool = False,
        enqueued: bool = False,
        in_sequence: bool = False,
        reports: bool = True,
    ) -> Decision:
        """Where the pod goes, and why: see GenericScheduler.decide and ProfiledScheduler.decide."""

    def place_run(self, pods: Sequence[Pod]) -> PlacedRun | None:
        """Decides and assumes the first pods in one go, if no rule can tell them apart: see
        GenericScheduler.place_run."""

    def scores_on(self, pod: Pod, rows: IntArray) -> Decision:
        """What it would say if the nodes of these rows, and no others, had passed every check."""


class Engine(Protocol):
    """A configured release, to be put over any cluster."""

    @property
    def release(self) -> str:
        """The release whose rules it has."""

    @property
    def view(self) -> ReleaseView:
        """How it sees objects; the caches it is given have to be made with it."""

    @property
    def extenders(self) -> tuple[Extender, ...]:
        """The extenders that it asks."""

    @property
    def document(self) -> Mapping[str, Any]:
        """The KubeSchedulerConfiguration that it was made of; empty for releases without."""

    def upstream_tie(self, rng: random.Random) -> TieBreak:
        """How the release itself chooses among nodes with equal totals."""

    def scheduler(self, cache: ClusterCache, tie_break: TieBreak | None = None) -> PodScheduler:
        """A scheduler over a cluster; by default the first name wins a tie."""


def cache_for(engine: Engine, objects: Iterable[ClusterObject]) -> ClusterCache:
    """A fresh cache of objects, as the engine's release sees them under its feature gates: the one way to make one.

    Raises DecodeError that names every pod that the release cannot tell from another.
    """
    return filled_cache(objects, engine.view)


def filled_cache(objects: Iterable[ClusterObject], view: ReleaseView) -> ClusterCache:
    """A fresh cache of objects as a release sees them. Raises DecodeError as ``cache_for`` does."""
    every = list(objects)
    try:
        return ClusterCache.of(every, view)
    except ClusterStateError:
        running = (obj for obj in every if isinstance(obj, Pod) and obj.node_name)
        if problems := [*uid_problems(running, option="--no-defaulting (in Python defaulting=False)")]:
            raise DecodeError(problems) from None
        raise


def check_view(cache: ClusterCache, engine: Engine) -> None:
    """Raises ConfigError for a cache of another release or other feature gates, which see objects differently."""
    if cache.view != engine.view:
        raise ConfigError(
            f"the cluster's cache is not as release {engine.release} sees objects under its feature gates; "
            "make it with the view of the engine: cache_for(engine, objects)"
        )
