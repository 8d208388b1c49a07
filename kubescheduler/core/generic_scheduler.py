"""GenericScheduler: filter, score, select."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import attrs
import msgspec
import numpy as np

from algorithmprovider.custom_code import CustomCodeError
from clusterstate.cache import ClusterCache
from clusterstate.errors import SchedulingError
from clusterstate.growable import IntArray
from clusterstate.objects import ClaimVolume, Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.algorithm import Algorithm
from kubescheduler.core.decision import NO_NODES, Decision
from kubescheduler.core.decision_records import ExtenderTrace, nominee_of
from kubescheduler.core.evidence import Explainer, ScoreSource
from kubescheduler.core.extender_calls import SnapshotRows, filter_with_extenders, score_with_extenders
from kubescheduler.core.filtering import Filtered, find_feasible
from kubescheduler.core.lazy_results import LazyScores
from kubescheduler.core.nominated import NominatedMemory
from kubescheduler.core.pod_classes import ClassState, Memory, Sharing
from kubescheduler.core.preemption import PreemptionMemory
from kubescheduler.core.preemption import preempt as find_preemption
from kubescheduler.core.scoring import Scored, prioritize
from kubescheduler.core.selection import FirstByName, TieBreak
from kubescheduler.core.status import Status
from kubescheduler.core.totals import kept_totals
from predicates.types import Verdict
from priorities.types import PriorityError

if TYPE_CHECKING:
    from kubescheduler.core.equal_runs import PlacedRun, RunAhead

Steps = Callable[[str], object]
"""Told of the name of a part of the algorithm when it is over, of an empty one when the next begins."""


def no_steps(_: str) -> None:
    """Nobody listens."""


class _Attempt(msgspec.Struct):
    """What an attempt has found so far."""

    filtered: Filtered
    scored: Scored = msgspec.field(default_factory=Scored)
    traces: tuple[ExtenderTrace, ...] = ()
    idle: tuple[tuple[str, Verdict], ...] = ()
    source: ScoreSource | None = None
    held: LazyScores | None = None
    """The scores instead of ``scored``, where they were patched."""
    host: str | None = None
    error: str | None = None
    reached: str = "filter"
    """The point that it has come to."""


class GenericScheduler:
    """Decides where pods go in one cluster by one algorithm. Upstream: 1.16 genericScheduler.

    ``decide`` changes nothing in the cluster; ``cache.assume_pod`` places the pod it decided on.
    """

    def __init__(self, algorithm: Algorithm, cache: ClusterCache, tie_break: TieBreak | None = None) -> None:
        self.algorithm = algorithm
        self.cache = cache
        self.tie_break: TieBreak = tie_break or FirstByName()
        self._memory = Memory((*algorithm.predicates, *(p.config for p in algorithm.priorities)))
        self._checks = (*algorithm.predicates, *algorithm.idle)
        self._preemption = PreemptionMemory(cache)
        self._nominated = NominatedMemory(cache)
        self._keeps = not algorithm.extenders and algorithm.percentage_of_nodes_to_score >= 100
        self._weights = {p.config.name: p.weight for p in algorithm.priorities}
        self.steps: Steps = no_steps
        """What is told when a part of the algorithm begins (an empty name) and ends."""

    @property
    def has_custom_plugins(self) -> bool:
        """There are no plugins."""
        return False

    def foreign(self, pod: Pod) -> str:
        """Why a pod is left alone: it names another scheduler than this one is known to be; else empty."""
        mine, named = self.algorithm.scheduler_name, self.algorithm.behaviour.scheduler_of(pod)
        return "" if mine is None or named == mine else f"the pod names scheduler {named}, and this one is {mine}"

    def points(self, pod: Pod) -> Mapping[str, tuple[str, ...]]:  # noqa: ARG002
        """The predicates under ``filter``, in the order they run."""
        return {"filter": tuple(predicate.name for predicate in self.algorithm.predicates)}

    def decide(
        self,
        pod: Pod,
        *,
        preempt: bool = False,
        thorough: bool = False,
        enqueued: bool = False,  # noqa: ARG002
        in_sequence: bool = False,  # noqa: ARG002
    ) -> Decision:
        """Where the pod goes. Never raises for what a release reports: see ``Decision.message``.

        thorough: score also when just one node fits (releases return that node unscored), and judge by idle
        predicates too. preempt: when nothing fits, also say what preemption would do. enqueued: without meaning
        here, no predicate holds pods back from the queue.
        """
        if text := self.foreign(pod):
            return self._left_alone(pod, text)
        try:
            self.steps("")
            decision = self._attempt(pod, thorough)
            preempt = preempt and self.algorithm.behaviour.preempts
            if not preempt or decision.host is not None or decision.error is not None:
                return decision
            return self._with_preemption(pod, decision)
        except CustomCodeError as error:
            raise error.of_pod(pod.key) from error

    def place_run(self, pods: Sequence[Pod], *, in_sequence: bool = False) -> PlacedRun | None:  # noqa: ARG002
        """Decides and assumes the first of the pods that no rule can tell apart, one after another as ``decide`` and
        ``assume_pod`` do; None, or fewer than there are: from there on pods have to be decided one by one.

        in_sequence: without meaning here.
        """
        if self.steps is not no_steps:
            return None
        from kubescheduler.core.equal_runs import placed_in_bulk

        snapshot, log = self.cache.snapshot(), self.cache.columns.log
        return placed_in_bulk(
            pods,
            self.cache,
            self.algorithm,
            self.tie_break,
            lambda info: self._memory.state(info, snapshot, log, self._new_state),
            lambda pod: bool(self.foreign(pod)),
        )

    def run_ahead(self, pod: Pod, count: int) -> RunAhead | None:
        """A run of pods like this one, for so many at most, each placed before the next is decided on; None: pods
        have to be decided one by one."""
        if self.steps is not no_steps:
            return None
        from kubescheduler.core.equal_runs import run_ahead

        snapshot, log = self.cache.snapshot, self.cache.columns.log
        return run_ahead(
            pod,
            count,
            self.cache,
            self.algorithm,
            self.tie_break,
            lambda info: self._memory.state(info, snapshot(), log, self._new_state),
            self.afresh,
            lambda pod: bool(self.foreign(pod)),
        )

    def afresh(self, pod: Pod) -> Decision:
        """A decision that has no say in the choice among equal totals."""
        draws = not isinstance(self.tie_break, FirstByName)
        return (GenericScheduler(self.algorithm, self.cache) if draws else self).decide(pod)

    def scores_on(self, pod: Pod, rows: IntArray) -> Decision:
        """What it would say if the nodes of these rows, and no others, had passed every check.

        rows: (n,) of the cluster. Extenders' filters are called, and have no say.
        """
        return GenericScheduler(self.algorithm, self.cache)._attempt(pod, True, rows)

    def _with_preemption(self, pod: Pod, decision: Decision) -> Decision:
        """A decision that found no node, with what preemption would do."""
        self.steps("")
        try:
            state = self._state(self._ready(pod))
            found = find_preemption(decision, state, self.cache, self.algorithm, self._preemption)
        except SchedulingError as error:
            return attrs.evolve(decision, error=str(error), error_at="postFilter")
        self.steps("preemption_evaluation")
        return attrs.evolve(decision, preemption=found, nominated=nominee_of(found))

    def _left_alone(self, pod: Pod, text: str) -> Decision:
        names, listed = self.cache.columns.published
        total = self.cache.columns.node_count
        return Decision(pod, self.algorithm.release, names, listed, total, error=text, tried=False)

    def _attempt(self, pod: Pod, thorough: bool, instead: IntArray | None = None) -> Decision:
        """instead: the rows to score in place of those that pass; None: these."""
        columns = self.cache.columns
        names, listed = columns.published
        found = _Attempt(Filtered(listed=listed))
        try:
            self._run(pod, thorough, instead, found)
        except SchedulingError as e:
            found.error, found.host = str(e), None
            if isinstance(e, PriorityError):
                found.error = self.algorithm.behaviour.priority_error(e, len(found.filtered.feasible))
            found.filtered.feasible, found.scored, found.source = np.zeros(0, np.int64), Scored(), None
            found.held = None
        except CustomCodeError as e:
            e.at = found.reached
            raise
        return Decision(
            pod=pod,
            release=self.algorithm.release,
            names=names,
            listed=found.filtered.listed,
            nodes_total=columns.node_count,
            verdicts=found.filtered.verdicts,
            idle=found.idle,
            with_nominated=found.filtered.with_nominated,
            every_reason=self.algorithm.always_check_all_predicates,
            feasible=found.filtered.feasible,
            totals=found.scored.totals,
            scores=found.scored.scores,
            held=found.held,
            weights=self._weights,
            extenders=found.traces,
            score_source=found.source,
            refused=_refused(found.traces) if found.traces else {},
            appends=True,
            host=found.host,
            error=found.error,
            error_at="" if found.error is None else found.reached,
            known=columns.known,
            fit_error=self.algorithm.behaviour.fit_error,
            explainer=Explainer(self.cache, self._checks, partial(self._again, pod)),
        )

    def _run(self, pod: Pod, thorough: bool, instead: IntArray | None, found: _Attempt) -> None:
        """Filter, score and select. Raises SchedulingError; what was found until then is in ``found``."""
        columns, algorithm = self.cache.columns, self.algorithm
        names = columns.published[0]
        info = self._ready(pod)
        snapshot = self.cache.snapshot()
        state = self._state(info)
        keeps = self._keeps and not thorough and instead is None and not self._leaves_room
        if keeps and self._patch(state, snapshot, found):
            return
        state.kept = None
        filtered = found.filtered = find_feasible(pod, state, self.cache, algorithm, self._nominated)
        found.idle = tuple((rule.name, rule.check(info, snapshot)) for rule in algorithm.idle if thorough)
        places = algorithm.behaviour.places(snapshot)
        if algorithm.extenders:
            filtered.feasible, found.traces = filter_with_extenders(pod, algorithm.extenders, places, filtered.feasible)
            filtered.everywhere = False
        if instead is not None:
            filtered.feasible, filtered.everywhere = instead, False
        self.steps("predicate_evaluation" if len(filtered.feasible) else "")
        if len(filtered.feasible) > (0 if thorough or algorithm.behaviour.scores_single else 1):
            found.reached = "score"
            found.scored, found.source, found.traces = self._scores(pod, state, filtered, places, found.traces)
            if keeps:
                listed, ranks = filtered.listed, columns.ranks
                state.kept = kept_totals(state, snapshot, columns.log, found.scored, self._weights, listed, ranks)
            found.host = names[self._select(filtered.feasible, found.scored.totals)]
        elif len(filtered.feasible):
            found.host = names[int(filtered.feasible[0])]
        self.steps("" if found.host is None else "priority_evaluation")

    @property
    def _leaves_room(self) -> bool:
        """Whether pods are nominated to nodes that this one may have to leave room for."""
        return self.algorithm.behaviour.nominates and bool(self.cache.nominated())

    def _patch(self, state: ClassState, snapshot: Snapshot, found: _Attempt) -> bool:
        """Decides by what is kept of the last decision on a pod of the class, if that can be brought up to date."""
        kept, columns, algorithm = state.kept, self.cache.columns, self.algorithm
        names, listed = columns.published
        held = None if kept is None else kept.patch(state, snapshot, columns.log, listed, columns.ranks)
        if held is None:
            return False
        shared = state.shared
        found.filtered = Filtered(listed, shared.feasible, verdicts=shared.verdicts)
        self.steps("predicate_evaluation")
        found.reached = "score"
        found.held = held
        found.source = ScoreSource(state.info, self.cache.snapshot, algorithm.priorities, columns.log)
        found.host = names[kept.choose(held, self.tie_break)]
        self.steps("priority_evaluation")
        return True

    def _scores(
        self,
        pod: Pod,
        state: ClassState,
        filtered: Filtered,
        places: SnapshotRows,
        traces: tuple[ExtenderTrace, ...],
    ) -> tuple[Scored, ScoreSource, tuple[ExtenderTrace, ...]]:
        """The scores of the nodes that are left, what they were made of, and what extenders said."""
        algorithm, log = self.algorithm, self.cache.columns.log
        views = places.views(pod, self.cache, self._weights, filtered.feasible)
        scored = prioritize(state, places.snapshot, filtered, algorithm, log, views)
        source = ScoreSource(state.info, self.cache.snapshot, algorithm.priorities, log, views=views)
        if algorithm.extenders:
            sums, traces = score_with_extenders(pod, algorithm.extenders, traces, places, filtered.feasible)
            scored.totals = scored.totals + sums
        return scored, source, traces

    def _again(self, pod: Pod) -> Decision:
        """The same with every score, and without a say in the choice among equal totals."""
        return GenericScheduler(self.algorithm, self.cache).decide(pod, thorough=True)

    def _ready(self, pod: Pod) -> PodInfo:
        """The pod's class, once it is known that it can be scheduled at all."""
        info = self.cache.info(pod)
        if any(isinstance(volume, ClaimVolume) for volume in info.spec.volumes):
            error = self.algorithm.behaviour.waits(info, self.cache.objects)
            if error is not None:
                raise SchedulingError(error)
        if not self.cache.columns.listed_count:
            raise SchedulingError(NO_NODES)
        return info.naming(pod.node_name)

    def _state(self, info: PodInfo) -> ClassState:
        """What is remembered for pods like one of this class."""
        return self._memory.state(info, self.cache.snapshot(), self.cache.columns.log, self._new_state)

    def _new_state(self, info: PodInfo, share: Sharing) -> ClassState:
        return ClassState(info, self.algorithm, share)

    def _select(self, feasible: IntArray, totals: IntArray) -> int:
        first = int(totals.argmax())
        tied = np.flatnonzero(totals == totals[first])
        return self.tie_break.choose(feasible[tied], self.cache.columns.ranks)


def _refused(traces: Iterable[ExtenderTrace]) -> dict[str, Status]:
    """Node → every extender's reason for refusing it, in the order they were asked."""
    found: dict[str, list[str]] = {}
    for trace in traces:
        for name, message in (trace.failed or {}).items():
            found.setdefault(name, []).append(message)
    return {name: Status.unschedulable(*messages) for name, messages in found.items()}
