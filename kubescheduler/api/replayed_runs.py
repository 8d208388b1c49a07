"""Decisions on pods that were placed in bulk: all but the node is found by repeating the run up to the pod."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import attrs
import msgspec

from clusterstate.errors import StaleDecisionError
from kubescheduler.core.decision import Decision
from kubescheduler.core.equal_runs import placed_in_order
from kubescheduler.core.results import AT_ONCE
from kubescheduler.engine.engine_contract import cache_for

if TYPE_CHECKING:
    from clusterstate.cache import ClusterCache
    from clusterstate.growable import Mask
    from clusterstate.objects import ClusterObject, Pod
    from kubescheduler.api.cluster import Cluster
    from kubescheduler.core.equal_runs import PlacedRun
    from kubescheduler.core.selection import TieBreak
    from kubescheduler.engine.engine_contract import Engine, PodScheduler


ASK, SHARED = "_ask", "_shared"
OWN = ("pod", "host")
"""The fields that each has of its own."""
FIELDS = frozenset(field.name for field in attrs.fields(Decision))
"""What a Decision has."""


class LazyDecision(Decision):
    """A Decision on a pod that was placed with others like it: what is not known of it is decided when it is first
    read."""

    __slots__ = (ASK, SHARED)

    @classmethod
    def of(cls, ask: Callable[[], Decision], pod: Pod, host: str, shared: Mapping[str, Any]) -> LazyDecision:
        """ask: the decision itself, with the same host. shared: see ``placed_by``."""
        out = object.__new__(cls)
        set_in = object.__setattr__
        set_in(out, ASK, ask)
        set_in(out, SHARED, shared)
        set_in(out, "pod", pod)
        set_in(out, "host", host)
        return out

    def __getattr__(self, name: str) -> Any:
        """A field that is not this decision's own, or not known yet. Raises what deciding raises."""
        if name not in FIELDS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        shared = object.__getattribute__(self, SHARED)
        if name in shared:
            return shared[name]
        with shared.get("turn", AT_ONCE):
            found = object.__getattribute__(self, ASK)()
            for field in FIELDS.difference(shared, OWN):
                object.__setattr__(self, field, getattr(found, field))
        return object.__getattribute__(self, name)


def placed_by(
    release: str,
    names: tuple[str, ...],
    listed: Mask,
    nodes_total: int,
    *,
    from_kept_ranking: bool = False,
    **more: Any,
) -> Mapping[str, Any]:
    """Fields that Decisions on the pods of a run have in common; see Decision. more: further ones."""
    return {
        "release": release,
        "names": names,
        "listed": listed,
        "nodes_total": nodes_total,
        "from_kept_ranking": from_kept_ranking,
        "extenders": (),
        "error": None,
        "error_at": "",
        "tried": True,
        "preemption": None,
        "nominated": None,
        **more,
    }


class Journal(msgspec.Struct, eq=False):
    """What a scheduler's cluster began with, and what was done to it since, in order."""

    engine: Engine
    cluster: Cluster
    """At the beginning."""
    tie_break: TieBreak | None
    """The scheduler's; it goes on drawing."""
    _done: list[tuple[ClusterObject, str | None]] = msgspec.field(default_factory=list)
    """(object, the node that it was bound to; None: it was added)."""

    def added(self, obj: ClusterObject) -> None:
        """An object came."""
        self._done.append((obj, None))

    def bound(self, pod: Pod, host: str) -> None:
        """A pod was bound."""
        self._done.append((pod, host))

    def __len__(self) -> int:
        return len(self._done)

    def cache(self, count: int) -> ClusterCache:
        """The cluster as it was after so much of it."""
        out = cache_for(self.engine, self.cluster.objects)
        for obj, host in islice(self._done, count):
            if host is None:
                out.add(obj)
            else:
                out.assume_pod(obj, host)  # type: ignore[arg-type]
        return out


class BeforeRun(msgspec.Struct, frozen=True, eq=False):
    """A scheduler as it was before a run."""

    journal: Journal
    count: int
    """How much of the journal was done by then."""
    position: int
    """Of the cluster's log."""
    tie_break: TieBreak | None

    def scheduler(self) -> PodScheduler:
        """A copy. Raises StaleDecisionError where the cluster cannot be had as it was."""
        cache = self.journal.cache(self.count)
        if cache.columns.log.position != self.position:
            raise StaleDecisionError(
                "the scheduler's cache was changed by something else than the scheduler, so nobody knows it as it was "
                "when this pod was placed; use decide and bind for each pod to have all that is said of it"
            )
        return self.journal.engine.scheduler(cache, copy.deepcopy(self.tie_break))


class RunsToReplay(msgspec.Struct, frozen=True, eq=False):
    """Places runs as a scheduler does, and remembers what it takes to repeat the last one."""

    scheduler: PodScheduler
    journal: Journal
    _before: list[BeforeRun] = msgspec.field(default_factory=list)
    """The last run's."""

    def place_run(self, pods: Sequence[Pod]) -> PlacedRun | None:
        """See ``GenericScheduler.place_run``."""
        journal, log = self.journal, self.scheduler.cache.columns.log
        self._before[:] = [BeforeRun(journal, len(journal), log.position, copy.deepcopy(journal.tie_break))]
        return self.scheduler.place_run(pods)

    def decisions(self, run: PlacedRun, **known: Any) -> Iterator[Decision]:
        """The decision on each pod of the run that was placed last. known: fields of all of them."""
        replayed = ReplayedRun(self._before[0], run.pods)
        names, listed = self.scheduler.cache.columns.published
        shared = [
            placed_by(run.release, names, listed, run.nodes_total, from_kept_ranking=kept, **known)
            for kept in (False, True)
        ]
        each = zip(run.pods, run.hosts, run.by_ranking.tolist(), strict=True)
        for at, (pod, host, kept) in enumerate(each):
            yield LazyDecision.of(partial(replayed.decision, at), pod, host, shared[kept])


class ReplayedRun(msgspec.Struct, eq=False):
    """A run of pods that is repeated as far as somebody asks."""

    before: BeforeRun
    pods: Sequence[Pod]
    _scheduler: PodScheduler | None = None
    _at: int = 0
    """How many of the pods are placed."""

    def decision(self, at: int) -> Decision:
        """The decision on the pod at a position of the run. Raises StaleDecisionError where something else than a
        scheduler has changed its cache."""
        scheduler, self._scheduler = self._scheduler, None  # nobody knows how far one is that was interrupted
        if scheduler is None or at < self._at:
            scheduler, self._at = self.before.scheduler(), 0
        one = partial(decided_and_placed, scheduler)
        for _ in placed_in_order(scheduler.place_run, self.pods[self._at : at], one):
            pass
        decision = one(self.pods[at])
        self._scheduler, self._at = scheduler, at + 1
        return decision


def decided_and_placed(scheduler: PodScheduler, pod: Pod) -> Decision:
    """The decision on the next of pods that are placed one after the other, and the pod placed."""
    decision = scheduler.decide(pod, in_sequence=True)
    if decision.host is not None:
        scheduler.cache.assume_pod(pod, decision.host)
    return decision
