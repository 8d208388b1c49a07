"""GenericScheduler: deciding by predicates and priorities. ``schedule_one`` has an attempt from top to bottom."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import attrs

from algorithmprovider.custom_code import CustomCodeError
from clusterstate.cache import ClusterCache
from clusterstate.errors import SchedulingError
from clusterstate.growable import NO_NUMBERS, IntArray, Mask
from clusterstate.objects import ClaimVolume, Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.algorithm import Algorithm
from kubescheduler.core.decision import NO_NODES, Decision
from kubescheduler.core.decision_records import ExtenderTrace, nominee_of
from kubescheduler.core.evidence import Explainer, ScoreSource
from kubescheduler.core.extender_calls import SnapshotRows, filter_with_extenders, score_with_extenders
from kubescheduler.core.filtering import Filtered, find_feasible
from kubescheduler.core.nominated import NominatedMemory
from kubescheduler.core.pod_classes import ClassState, Memory, Sharing
from kubescheduler.core.preemption import PreemptionMemory
from kubescheduler.core.preemption import preempt as find_preemption
from kubescheduler.core.schedule_one import Attempt
from kubescheduler.core.scoring import prioritize
from kubescheduler.core.selection import FirstByName, TieBreak
from kubescheduler.core.status import Status
from predicates.types import Verdict
from priorities.types import PriorityError

if TYPE_CHECKING:
    from kubescheduler.core.equal_runs import PlacedRun

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
        self.checks = (*algorithm.predicates, *algorithm.idle)
        self._preemption = PreemptionMemory(cache, algorithm.behaviour.order)
        self.nominated = NominatedMemory(cache)
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
            decision = self._attempt(pod, thorough=thorough).decide()
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

    def scores_on(self, pod: Pod, rows: IntArray) -> Decision:
        """What it would say if the nodes of these rows, and no others, had passed every check.

        rows: (n,) of the cluster. Extenders' filters are called, and have no say.
        """
        return GenericScheduler(self.algorithm, self.cache)._attempt(pod, thorough=True, instead=rows).decide()

    def _with_preemption(self, pod: Pod, decision: Decision) -> Decision:
        """A decision that found no node, with what preemption would do."""
        self.steps("")
        try:
            state = self.state(self._attempt(pod).ready())
            found = find_preemption(decision, state, self.cache, self.algorithm, self._preemption)
        except SchedulingError as error:
            return attrs.evolve(decision, error=str(error), error_at="postFilter")
        self.steps("preemption_evaluation")
        return attrs.evolve(decision, preemption=found, nominated=nominee_of(found))

    def _left_alone(self, pod: Pod, text: str) -> Decision:
        names, listed = self.cache.columns.published
        total = self.cache.columns.node_count
        return Decision(pod, self.algorithm.release, names, listed, total, error=text, tried=False)

    def _attempt(self, pod: Pod, *, thorough: bool = False, instead: IntArray | None = None) -> PredicatesAttempt:
        """Before anything is decided. instead: the rows to score in place of those that pass; None: these."""
        cache = self.cache
        filtered = Filtered(cache.columns.published[1])
        given = (pod, cache, self.algorithm, self.tie_break, self._weights, thorough, instead)
        return PredicatesAttempt(*given, scheduler=self, filtered=filtered)

    def again(self, pod: Pod) -> Decision:
        """The same with every score, and without a say in the choice among equal totals."""
        return GenericScheduler(self.algorithm, self.cache).decide(pod, thorough=True)

    def state(self, info: PodInfo) -> ClassState:
        """What is remembered for pods like one of this class."""
        return self._memory.state(info, self.cache.snapshot(), self.cache.columns.log, self._new_state)

    def _new_state(self, info: PodInfo, share: Sharing) -> ClassState:
        return ClassState(info, self.algorithm, share)


class PredicatesAttempt(Attempt, eq=False, kw_only=True):
    """An attempt by predicates and priorities. Upstream: 1.16 genericScheduler.Schedule."""

    scheduler: GenericScheduler
    filtered: Filtered
    reached: str = "filter"
    traces: tuple[ExtenderTrace, ...] = ()
    idle: tuple[tuple[str, Verdict], ...] = ()
    places: SnapshotRows | None = None
    """The rows of the nodes, with what is made of the node objects that extenders answer."""

    def ready(self) -> PodInfo:
        """Claims have to be there first."""
        info = self.cache.info(self.pod)
        if any(isinstance(volume, ClaimVolume) for volume in info.spec.volumes):
            error = self.algorithm.behaviour.waits(info, self.cache.objects)
            if error is not None:
                raise SchedulingError(error)
        if not self.cache.columns.listed_count:
            raise SchedulingError(NO_NODES)
        return info.naming(self.pod.node_name)

    def state(self, info: PodInfo, snapshot: Snapshot) -> ClassState:  # noqa: ARG002
        """What is remembered for pods of this class."""
        return self.scheduler.state(info)

    def keeps(self) -> bool:
        """Not where extenders have a say, nor where room may have to be left for nominated pods."""
        algorithm = self.algorithm
        if self.thorough or self.instead is not None or algorithm.extenders:
            return False
        nominates = algorithm.behaviour.nominates and bool(self.cache.nominated())
        return algorithm.percentage_of_nodes_to_score >= 100 and not nominates

    def found_by_totals(self, state: ClassState, listed: Mask) -> None:
        """The nodes that fit are those that are kept for the class."""
        shared = state.shared
        self.filtered = Filtered(listed, shared.feasible, verdicts=shared.verdicts)
        self.scheduler.steps("predicate_evaluation")

    def chosen_by_totals(self, host: str) -> None:  # noqa: ARG002
        """The priorities are over."""
        self.scheduler.steps("priority_evaluation")

    def find(self, state: ClassState, snapshot: Snapshot, listed: Mask) -> IntArray:  # noqa: ARG002
        """Predicates, then extenders."""
        algorithm, info = self.algorithm, state.info
        filtered = self.filtered = find_feasible(self.pod, state, self.cache, algorithm, self.scheduler.nominated)
        self.idle = tuple((rule.name, rule.check(info, snapshot)) for rule in algorithm.idle if self.thorough)
        self.places = algorithm.behaviour.places(snapshot)
        if algorithm.extenders:
            filtered.feasible, self.traces = filter_with_extenders(
                self.pod, algorithm.extenders, self.places, filtered.feasible
            )
            filtered.everywhere = False
        if self.instead is not None:
            filtered.feasible, filtered.everywhere = self.instead, False
        self.scheduler.steps("predicate_evaluation" if len(filtered.feasible) else "")
        return filtered.feasible

    def scores(self, feasible: IntArray) -> bool:
        """1.4 scores a single node, too."""
        return super().scores(feasible) or (self.algorithm.behaviour.scores_single and len(feasible) > 0)

    def score(self, state: ClassState, snapshot: Snapshot, feasible: IntArray) -> None:
        """Priorities, then extenders."""
        algorithm, log, places = self.algorithm, self.cache.columns.log, self.places
        assert places is not None
        views = places.views(self.pod, self.cache, self.weights, feasible)
        self.scored = prioritize(state, places.snapshot, self.filtered, algorithm, log, views)
        self.source = ScoreSource(state.info, self.cache.snapshot, algorithm.priorities, log, views=views)
        if algorithm.extenders:
            sums, self.traces = score_with_extenders(self.pod, algorithm.extenders, self.traces, places, feasible)
            self.scored.totals = self.scored.totals + sums
        elif self.keeps():
            self.keep_totals(state, snapshot)

    def chosen(self, host: str | None, feasible: IntArray, names: tuple[str, ...]) -> None:  # noqa: ARG002
        """The priorities are over."""
        self.scheduler.steps("" if host is None else "priority_evaluation")

    def given_up(self, error: SchedulingError) -> str:
        """1.4 tells some errors of priorities as often as there are nodes."""
        text = str(error)
        if isinstance(error, PriorityError):
            text = self.algorithm.behaviour.priority_error(error, len(self.filtered.feasible))
        self.filtered.feasible = NO_NUMBERS
        return text

    def outcome(self, names: tuple[str, ...], listed: Mask, host: str | None, error: str | None) -> Decision:  # noqa: ARG002
        """What all this comes to."""
        scheduler, filtered = self.scheduler, self.filtered
        return self.decision(
            names,
            filtered,
            host,
            error,
            verdicts=filtered.verdicts,
            idle=self.idle,
            feasible=filtered.feasible,
            extenders=self.traces,
            refused=_refused(self.traces) if self.traces else {},
            appends=True,
            fit_error=self.algorithm.behaviour.fit_error,
            explainer=Explainer(self.cache, scheduler.checks, partial(scheduler.again, self.pod)),
        )


def _refused(traces: Iterable[ExtenderTrace]) -> dict[str, Status]:
    """Node → every extender's reason for refusing it, in the order they were asked."""
    found: dict[str, list[str]] = {}
    for trace in traces:
        for name, message in (trace.failed or {}).items():
            found.setdefault(name, []).append(message)
    return {name: Status.unschedulable(*messages) for name, messages in found.items()}
