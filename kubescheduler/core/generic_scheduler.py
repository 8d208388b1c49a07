"""GenericScheduler: filter, score, select."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import attrs
import numpy as np

from algorithmprovider.custom_code import CustomCodeError
from clusterstate.cache import ClusterCache
from clusterstate.errors import SchedulingError
from clusterstate.growable import IntArray
from clusterstate.objects import ClaimVolume, Pod
from clusterstate.podinfo import PodInfo
from clusterstate.roster import Roster
from kubescheduler.core.algorithm import Algorithm
from kubescheduler.core.answer_rows import SnapshotRows
from kubescheduler.core.class_states import ClassState, Memory, Sharing
from kubescheduler.core.decision import Decision
from kubescheduler.core.decision_records import ExtenderTrace, nominee_of
from kubescheduler.core.extender_calls import filter_with_extenders, score_with_extenders
from kubescheduler.core.filtering import Filtered, find_feasible
from kubescheduler.core.node_explanation import Explainer
from kubescheduler.core.node_scores import ScoreSource
from kubescheduler.core.preemption import preempt as find_preemption
from kubescheduler.core.scoring import Scored, prioritize
from kubescheduler.core.selection import FirstByName, TieBreak
from kubescheduler.core.status import Status
from predicates.types import Verdict
from priorities.types import PriorityError

NO_NODES = "no nodes available to schedule pods"

Steps = Callable[[str], object]
"""Told of the name of a part of the algorithm when it is over, of an empty one when the next begins."""


def no_steps(_: str) -> None:
    """Nobody listens."""


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
        self._roster = Roster(cache.columns)
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

    def scores_on(self, pod: Pod, rows: IntArray) -> Decision:
        """What it would say if the nodes of these rows, and no others, had passed every check.

        rows: (n,) of the cluster. Extenders' filters are called, and have no say.
        """
        return GenericScheduler(self.algorithm, self.cache)._attempt(pod, True, rows)

    def _with_preemption(self, pod: Pod, decision: Decision) -> Decision:
        """A decision that found no node, with what preemption would do."""
        self.steps("")
        try:
            found = find_preemption(decision, self._ready(pod), self.cache, self.algorithm, self._roster)
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
        behaviour, extenders = self.algorithm.behaviour, self.algorithm.extenders
        names, listed = columns.published
        filtered, scored = Filtered(listed=listed), Scored()
        traces: tuple[ExtenderTrace, ...] = ()
        idle: tuple[tuple[str, Verdict], ...] = ()
        refused: Mapping[str, Status] = {}
        source: ScoreSource | None = None
        host = error = None
        reached = "filter"
        try:
            info = self._ready(pod)
            snapshot = self.cache.snapshot()
            state = self._memory.state(info, snapshot, columns.log, self._new_state)
            filtered = find_feasible(pod, state, self.cache, self.algorithm)
            idle = tuple((rule.name, rule.check(info, snapshot)) for rule in self.algorithm.idle if thorough)
            places = behaviour.places(snapshot)
            if extenders:
                filtered.feasible, traces = filter_with_extenders(pod, extenders, places, filtered.feasible)
                refused, filtered.everywhere = _refused(traces), False
            if instead is not None:
                filtered.feasible, filtered.everywhere = instead, False
            self.steps("predicate_evaluation" if len(filtered.feasible) else "")
            if len(filtered.feasible) > (0 if thorough or behaviour.scores_single else 1):
                reached = "score"
                scored, source, traces = self._scores(pod, state, filtered, places, traces)
                host = names[self._select(filtered.feasible, scored.totals)]
            elif len(filtered.feasible):
                host = names[int(filtered.feasible[0])]
            self.steps("" if host is None else "priority_evaluation")
        except SchedulingError as e:
            error, host = str(e), None
            if isinstance(e, PriorityError):
                error = behaviour.priority_error(e, len(filtered.feasible))
            filtered.feasible, scored, source = np.zeros(0, np.int64), Scored(), None
        except CustomCodeError as e:
            e.at = reached
            raise
        return Decision(
            pod=pod,
            release=self.algorithm.release,
            names=names,
            listed=filtered.listed,
            nodes_total=columns.node_count,
            verdicts=filtered.verdicts,
            idle=idle,
            with_nominated=filtered.with_nominated,
            every_reason=self.algorithm.always_check_all_predicates,
            feasible=filtered.feasible,
            totals=scored.totals,
            scores=scored.scores,
            weights=self._weights,
            extenders=traces,
            score_source=source,
            refused=refused,
            appends=True,
            host=host,
            error=error,
            error_at="" if error is None else reached,
            known=columns.known,
            fit_error=behaviour.fit_error,
            explainer=Explainer(self.cache, self._checks, partial(self._again, pod)),
        )

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
