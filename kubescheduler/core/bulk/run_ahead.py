"""Pods that no rule can tell apart, decided one at a time: each is placed before the next is asked for.

Who decides so need not know which pods follow, nor what is done between them: what does not follow from the last
placement alone ends the run.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs
import msgspec

from clusterstate.cache import ClusterCache
from clusterstate.changes import PODS, Reads
from clusterstate.errors import SchedulingError, StaleDecisionError
from clusterstate.growable import IntArray
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from kubescheduler.core.algorithm import Algorithm
from kubescheduler.core.bulk.bulk_choice import Choice, Choose, RunOfPods
from kubescheduler.core.bulk.bulk_rules import RunOverError
from kubescheduler.core.bulk.bulk_run import ReadyRun, asks_for_a_node, can_run
from kubescheduler.core.class_states import ClassState
from kubescheduler.core.decision import Decision
from kubescheduler.core.deferred_decision import DeferredDecision, placed_by
from kubescheduler.core.selection import TieBreak

ELSE = tuple(flag.value for flag in Reads if flag not in (Reads.PODS, Reads.ALL_PODS))
"""What the placement of a pod does not change."""


class AskedLater(msgspec.Struct, eq=False):
    """What a Decision on one of the pods says beyond its node, as long as the cluster is as it was."""

    cache: ClusterCache
    pod: Pod
    afresh: Callable[[Pod], Decision]
    host: str
    _position: int = -1

    def __post_init__(self) -> None:
        self._position = self.cache.columns.log.position

    def decision(self) -> Decision:
        """The whole decision. Raises StaleDecisionError once the cluster has changed."""
        if self.cache.columns.log.position != self._position:
            raise StaleDecisionError(
                f"pod {self.pod.key} was placed with others like it, and the cluster has changed since; "
                "ask for its scores before it is bound"
            )
        return attrs.evolve(self.afresh(self.pod), host=self.host)


class Expected(msgspec.Struct, frozen=True, eq=False):
    """The cluster as it was when a pod was chosen a row, to see whether only this pod has come since."""

    cache: ClusterCache
    position: int
    """Of the cluster's log."""
    version: int
    """Of everything that is not a matter of pods."""
    row: int
    pods: tuple[Pod, ...]
    """The pods on the row."""
    info: PodInfo
    """The class of the pod that was chosen the row."""

    @classmethod
    def of(cls, cache: ClusterCache, row: int, info: PodInfo) -> Expected:
        """As the cluster is now."""
        columns = cache.columns
        log, pods = columns.log, tuple(columns.pods[row].values())
        return cls(cache, log.position, log.version_of(ELSE), row, pods, info)

    def stands(self) -> bool:
        """Whether such a pod is on its row now, and nothing else has changed."""
        columns = self.cache.columns
        changes = columns.log.since(self.position)
        if not changes or columns.log.version_of(ELSE) != self.version:
            return False
        if changes.count((self.row, PODS)) != len(changes):
            return False
        now = tuple(columns.pods[self.row].values())
        if len(now) != len(self.pods) + 1 or any(map(operator.is_not, now, self.pods)):
            return False
        return self.cache.info(now[-1]).key == self.info.key


class RunSettings(msgspec.Struct, frozen=True, eq=False):
    """What holds for all pods of a run."""

    state: ClassState
    """What is remembered of them."""
    state_of: Callable[[PodInfo], ClassState]
    count: int
    """How many are placed at most."""
    release: str
    """Who decides."""
    afresh: Callable[[Pod], Decision]
    """Decides on a pod without a say in the choice among equal totals."""
    is_held: Callable[[Pod], bool]
    """Whether a pod is not decided on, for what it does not have in common with the others."""


class RunAhead(msgspec.Struct, eq=False):
    """A run of pods under way."""

    _ready: ReadyRun
    _like: RunSettings
    _run: RunOfPods
    _steps: Iterator[int]
    _last: tuple[int, Expected] | None = None
    """(key, what is expected) of the last pod that was chosen a row."""
    _over: bool = False
    _shared: Mapping[str, Any] | None = None
    """What the decisions have in common, as of the last one."""

    @classmethod
    def of(
        cls,
        ready: ReadyRun,
        like: RunSettings,
        tie_break: TieBreak,
        choose: Choose | None = None,
        order: IntArray | None = None,
    ) -> RunAhead | None:
        """None: the pods are decided one by one. choose, order: see ReadyRun."""
        try:
            run, steps = ready.steps(like.count, tie_break, choose, order)
        except RunOverError:
            return None
        return cls(ready, like, run, steps)

    def decide(self, pod: Pod) -> Decision | None:
        """Where the next pod goes, which is to be placed there before the one after it is decided on; None: the run is
        over, and the pod is undecided."""
        row = None if self._over else self._next(pod)
        if row is None:
            self._over = True
            return None
        cache = self._ready.cache
        columns = cache.columns
        columns.copied()
        names, listed = columns.published
        if self._shared is None or self._shared["names"] is not names or self._shared["listed"] is not listed:
            self._shared = placed_by(self._like.release, names, listed, columns.node_count)
        host = names[row]
        return DeferredDecision.of(AskedLater(cache, pod, self._like.afresh, host).decision, pod, host, self._shared)

    @property
    def choice(self) -> Choice | None:
        """Among which nodes the last pod was given its own, as long as no other is decided on; None: there is none."""
        return None if self._last is None or self._over else self._run.choice(self._last[0])

    def _next(self, pod: Pod) -> int | None:
        last = self._last
        if last is not None and not last[1].stands():
            return None
        info = self._admitted(pod)
        if info is None:
            return None
        if last is not None:
            self._run.is_there(last[0])
        key = next(self._steps, None)
        if key is None:
            return None
        row = self._run.row_of(key)
        self._last = key, Expected.of(self._ready.cache, row, info)
        return row

    def _admitted(self, pod: Pod) -> PodInfo | None:
        """The class of a pod; None: it is not like the others."""
        cache = self._ready.cache
        if pod.node_name or pod.nominated_node_name or cache.nominated() or self._like.is_held(pod):
            return None
        info = cache.info(pod)
        if self._last is not None and info is self._last[1].info:
            return info
        if self._like.state_of(info) is not self._like.state or not self._ready.rules.likes.admits(info):
            return None
        return info


def run_ahead(
    pod: Pod,
    count: int,
    cache: ClusterCache,
    algorithm: Algorithm,
    tie_break: TieBreak,
    state_of: Callable[[PodInfo], ClassState],
    afresh: Callable[[Pod], Decision],
    is_held: Callable[[Pod], bool],
) -> RunAhead | None:
    """A run of pods like this one by a legacy release, for so many at most; None: they are decided one by one. See
    RunSettings."""
    if not can_run(algorithm) or not cache.columns.listed_count or not asks_for_a_node(pod):
        return None
    priorities = algorithm.priorities
    try:
        state = state_of(cache.info(pod))
        ready = ReadyRun.of(cache, state, priorities, 0 if priorities else 1)
    except SchedulingError:
        return None
    like = RunSettings(state, state_of, count, algorithm.release, afresh, is_held)
    return None if ready is None else RunAhead.of(ready, like, tie_break)
